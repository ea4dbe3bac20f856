"""The sample's facts: its words, folders and pictures, and the figures taken from its log. Starts no process."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starloom.client.view import View
from starloom.host.sample_start import own_folder
from starloom_protocol.records.entities import Attempt, Item
from starloom_protocol.stream.feed import Event
from starloom_protocol.values import parse

CUT_TASK = "send.3"
CUT_FAMILY, CUT_KEY = "send", "3"
ARTIFACTS_PATH = "/aip/v1/artifacts/"


def words_for(phone: str, server: str, desktop: str) -> str:
    """Return the request, which names its devices: a fleet may have other phones and servers."""
    return f"Back up the pictures of {phone} to {server}, check every copy, and put a contact sheet on {desktop}."


@dataclass(frozen=True)
class Places:
    """Where the sample's devices keep their things, below the hub's home."""

    home: Path

    @property
    def phone(self) -> Path:
        return self.home / "demo" / "phone"

    @property
    def server(self) -> Path:
        return self.home / "demo" / "server"

    @property
    def desktop(self) -> Path:
        """The folder that this computer grants. It is no demo device: a person's own files lie there, too."""
        return own_folder(self.home)

    @property
    def pictures(self) -> Path:
        return self.phone / "Pictures"

    @property
    def sheets(self) -> tuple[Path, Path]:
        """The contact sheet and the catalogue."""
        return self.desktop / "Pictures" / "index.html", self.desktop / "Pictures" / "catalogue.csv"

    @property
    def answered(self) -> Path:
        """The id of the constellation in which the sample ended well, as text."""
        return self.home / "demo" / "answered"

    @property
    def made(self) -> Path:
        return self.home / "demo" / "made.json"

    def agent_home(self, name: str) -> Path:
        return self.home / "agents" / name


@dataclass(frozen=True)
class Upload:
    """The paths under which a folder's files go up, and how many bytes they are together."""

    paths: frozenset[str]
    total: int


def upload_of(view: View, phone: Path) -> Upload | None:
    """Return the upload of `send.3`, once the plan knows its folder; the files are read from the phone's disk."""
    item = view.record(f"item/{CUT_FAMILY}/{CUT_KEY}", Item)
    if item is None:
        return None
    files = parse(item.value)["files"]
    paths, total = set(), 0
    for file in files:
        data = _on_disk(phone, Path(file["path"])).read_bytes()
        paths.add(ARTIFACTS_PATH + hashlib.sha256(data).hexdigest())
        total += len(data)
    return Upload(frozenset(paths), total)


def _on_disk(phone: Path, path: Path) -> Path:
    return path if path.is_absolute() else phone / path


@dataclass
class Figures:
    """The figures that `make demo-check` prints at its end; durations are in seconds."""

    succeeded: bool
    answer_files: int
    wall_s: float
    task_s: float
    versions: int
    fault_injected: int
    attempts_repeated: int
    nonzero_sleeps: int

    def line(self) -> str:
        return json.dumps(asdict(self))


def figures_of(view: View, events: list[Event], sleeps: int) -> Figures:
    """Take the figures from a final constellation and its log."""
    head, answer = view.head, view.answer
    if head is None:
        raise ValueError("the constellation has no head")
    attempts = view.each("attempt", Attempt)
    task_ms = sum(item.ended_ms - (item.started_ms or item.leased_ms) for item in attempts.values() if item.ended_ms)
    started: dict[str, int] = {}
    for name, item in attempts.items():
        if item.started_ms:
            started[name.rpartition("/")[0]] = started.get(name.rpartition("/")[0], 0) + 1
    return Figures(
        succeeded=head.state == "succeeded",
        answer_files=sum(1 for item in (answer.items if answer else []) if item.show in ("file", "table")),
        wall_s=round((head.ended_ms - head.created_ms) / 1000, 2),
        task_s=round(task_ms / 1000, 2),
        versions=head.version,
        fault_injected=sum(1 for event in events if event.kind == "fault_injected"),
        attempts_repeated=sum(1 for count in started.values() if count > 1),
        nonzero_sleeps=sleeps,
    )


def sleeps_in(view: View) -> int:
    """Count the tasks of the plan that only wait: the sample must have none."""
    return sum(1 for spec in view.specs.values() if spec.tool in ("wait.until", "lab.sleep"))


def evidence(view: View, events: list[Event], figures: Figures) -> dict[str, Any]:
    """Return the data that a checker needs beside the disks and ledgers."""
    answer = view.answer
    return {
        "constellation": view.constellation,
        "figures": asdict(figures),
        "sentence": answer.sentence if answer else "",
        "items": [
            {"title": item.title, "value": None if item.value is None else parse(item.value), "artifact": item.artifact}
            for item in (answer.items if answer else [])
        ],
        "versions": [
            {"number": item.number, "author": item.author, "reason": item.reason, "added": item.added}
            for item in view.versions
        ],
        "faults": [event.note for event in events if event.kind == "fault_injected"],
        "attempts": {
            name: {"device": item.device, "end": item.end, "started_ms": item.started_ms, "ended_ms": item.ended_ms}
            for name, item in view.each("attempt", Attempt).items()
        },
        "tasks": {name: {"state": item.state, "checked": item.checked} for name, item in view.tasks.items()},
        "tools": {name: spec.tool for name, spec in view.specs.items() if spec.tool},
    }
