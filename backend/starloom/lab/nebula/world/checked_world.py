"""The end of a task as its check sees it: the world before and after, the calls of own tools, the answer, the log.

Data with questions; nothing here decides whether something is right. A change of the world while a task runs (P5) is
written here as well, because the end that is seen must not hold the task to it.
"""

from __future__ import annotations

import fnmatch
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from starloom.lab.nebula.world.devices import NAMES, changes_something
from starloom.lab.nebula.world.files.ground import FILES, WORLD, Ground
from starloom.lab.nebula.world.world_program import CALLS

Files = dict[str, bytes]
Checkpoint = tuple[str, bool, int]
"""Its name, whether it is met, and its weight: a check yields these."""
IGNORED: Final = ("*/.git/index", ".git/index", "*/.git/COMMIT_EDITMSG", ".starloom-trash/*")
"""Files that tools may rewrite without a change that anybody sees, and the trash, which can be restored."""


@dataclass(frozen=True)
class Call:
    """One call of a device's own tools, such as `mail.send`; `refused` says why it did nothing, and one that
    `lied` said yes and did nothing."""

    device: str
    tool: str
    args: Mapping[str, Any]
    refused: str = ""
    lied: bool = False
    at_ms: int = 0
    """The time of this machine at which it was noted; 0 where nobody noted it."""

    @property
    def counts(self) -> bool:
        """Whether it did more than look, and did it."""
        return changes_something(self.tool) and not self.refused and not self.lied


@dataclass(frozen=True)
class Snapshot:
    """Every file of every device, and the states and calls of their own tools, at one moment."""

    files: Mapping[str, Files]
    states: Mapping[str, Mapping[str, Any]]
    calls: Sequence[Call]


@dataclass(frozen=True)
class AnswerSeen:
    """The answer of a constellation: its state and sentence, and its items as (title, value)."""

    state: str
    sentence: str = ""
    items: Sequence[tuple[str, Any]] = ()

    @property
    def text(self) -> str:
        """All that it says, as one text."""
        return "\n".join([self.sentence, *(f"{title}: {_as_text(value)}" for title, value in self.items)])

    @property
    def tables(self) -> list[list[dict[str, Any]]]:
        """Every list of rows in it, whatever it is called."""
        return [table for _, value in self.items for table in _tables(value)]

    def rows(self, *fields: str) -> list[dict[str, Any]]:
        """Return the first table whose rows all have these fields, or none."""
        for table in self.tables:
            if table and all(name in row for row in table for name in fields):
                return table
        return []

    def says(self, *words: str) -> bool:
        """Return whether all of these stand somewhere in it, whatever their case."""
        text = self.text.casefold()
        return all(word.casefold() in text for word in words)


@dataclass(frozen=True)
class CheckedWorld:
    """All that a check sees; `truth` is what the task's fixture computed, `words` what stands for `@{...}`."""

    before: Snapshot
    after: Snapshot
    answer: AnswerSeen
    truth: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Any] = ()
    asked: Sequence[str] = ()
    """The texts of the questions that a person was asked."""

    def file(self, device: str, path: str) -> bytes | None:
        return self.after.files[device].get(path)

    def text(self, device: str, path: str) -> str:
        """Return a text file, empty where there is none."""
        return (self.file(device, path) or b"").decode("utf-8", "replace")

    def had(self, device: str, path: str) -> bytes:
        return self.before.files[device][path]

    def below(self, device: str, pattern: str, *, before: bool = False) -> Files:
        """Return the files whose path fits a pattern such as `logs/*.log`."""
        files = (self.before if before else self.after).files[device]
        return {path: data for path, data in sorted(files.items()) if fnmatch.fnmatchcase(path, pattern)}

    def changed(self, device: str) -> list[str]:
        """Return the paths that were added, changed or removed on a device."""
        was, now = self.before.files[device], self.after.files[device]
        return sorted(path for path in {*was, *now} if was.get(path) != now.get(path) and not ignored(path))

    def calls(self, device: str = "", tool: str = "") -> list[Call]:
        """Return the calls that did something, or all of a tool that only looks; of one device and tool if named."""
        only_looks = bool(tool) and not changes_something(tool)
        return [
            call
            for call in self.after.calls
            if (call.counts or only_looks) and tool in ("", call.tool) and device in ("", call.device)
        ]

    def state(self, device: str, area: str) -> Any:
        return self.after.states[device][area]


def take_snapshot(devices: Path) -> Snapshot:
    """Read the whole world below the folder of the devices."""
    files = {name: dict(_read(devices / name / FILES)) for name in NAMES}
    states = {name: _states(devices / name / WORLD) for name in NAMES}
    return Snapshot(files, states, calls_of(devices))


def calls_of(devices: Path) -> list[Call]:
    """Read the calls of all devices' own tools."""
    return [call for name in NAMES for call in _calls(name, devices / name / WORLD / CALLS)]


def _read(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(root)), path.read_bytes()


def _states(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def _calls(device: str, path: Path) -> Iterator[Call]:
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield Call(device, row["tool"], row["args"], row["refused"], bool(row.get("lied")), row["at_ms"])


def ignored(path: str) -> bool:
    """Return whether a path counts as no change."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in IGNORED)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _tables(value: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(value, list):
        if value and all(isinstance(row, dict) for row in value):
            yield value
        for part in value:
            yield from _tables(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tables(part)


PLACE: Final = "elsewhere/came-meanwhile.txt"


@dataclass(frozen=True)
class Meanwhile:
    """One change: what it was in words, the files that it wrote by device, and what a check must know of it."""

    said: str
    files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    truth: Mapping[str, Any] = field(default_factory=dict)

    def known_to(self, seen: CheckedWorld) -> CheckedWorld:
        """Return the same end with this change in the world before and in the truth: the task did not make it."""
        files = {name: {**files_before, **self.files.get(name, {})} for name, files_before in seen.before.files.items()}
        return replace(seen, before=replace(seen.before, files=files), truth={**seen.truth, **self.truth})


def neutral(ground: Ground, task: str, seed: int) -> Meanwhile:
    """Write a file on a device drawn by the seed."""
    device = random.Random(f"change/{task}/{seed}").choice(NAMES)  # noqa: S311 - where an examination changes something
    text = "Somebody wrote this while the task ran.\n"
    ground.write(device, PLACE, text)
    return Meanwhile(f"{PLACE} was written on {device}", {device: {PLACE: text.encode()}})
