"""The journal of a task in real processes: an attempt that is killed in the middle loses nothing for the undo."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.work import registry
from starloom_agent.work.execution.journal import journal_file
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Outcome
from tests.device_agents.played_call import Call, Loop
from tests.waiting import until

TOOLS = {tool.name: tool for tool in registry.all_tools()}
LONG_BYTES = 4 * 1024**3
"""A file of holes that takes a process so long that it is killed before it is through."""


@dataclass
class Place:
    """A folder that a device allows, and the attempts of its tasks."""

    home: Path
    loop: Loop
    attempts: int = 0

    @property
    def folder(self) -> Path:
        return self.home / "folder"

    def begin(self, task: str, tool: str, args: dict[str, Any]) -> Call:
        self.attempts += 1
        spec = CallSpec(
            args=json.dumps(args),
            cage="none",
            confined=TOOLS[tool].confined,
            connection_file=str(self.home / "run" / "connection.json"),
            effectless=False,
            fence=f"1.{self.attempts}",
            journal=str(journal_file(self.home / "run", "c1", task)),
            module=registry.module_of()[tool],
            read=[str(self.folder)],
            start_to_close_s=60.0,
            tool=tool,
            workdir=str(self.home / "work" / str(self.attempts)),
            write=[str(self.folder)],
        )
        return Call(self.loop, spec)

    def call(self, task: str, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        call = self.begin(task, tool, args)
        try:
            ended = call.end()
        finally:
            call.close()
        return value_of(ended)

    def killed(self, task: str, tool: str, args: dict[str, Any], there: Path) -> None:
        """Begin a call, and kill its process by SIGKILL once a file is there."""
        call = self.begin(task, tool, args)
        try:
            until(there.exists, f"{there.name} is written")
            os.kill(call.leader, signal.SIGKILL)
            assert call.end().outcome is not Outcome.OK
        finally:
            call.close()

    def names(self) -> set[str]:
        """Return all that is in the folder but its trash, folders too."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if TRASH not in path.parts}

    def contents(self) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in self.names() if (self.folder / name).is_file()}


def value_of(ended: Ended) -> dict[str, Any]:
    assert ended.outcome is Outcome.OK, ended
    assert ended.value is not None, "the value is short enough for a result"
    found: dict[str, Any] = parse(ended.value)
    return found


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(warm=True)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("folder", "run", "work"):
        (tmp_path / name).mkdir()
    return Place(tmp_path, loop)


def album(place: Place, count: int = 9, *, long: int = 3) -> Path:
    """Make a folder of files, of which one takes long, until `short` makes it like the others."""
    folder = place.folder / "album"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"new {number}")
    os.truncate(folder / f"{long}.txt", LONG_BYTES)
    return folder


def short(file: Path) -> None:
    file.write_text(f"new {file.stem}")


COPY = {"path": "album", "to": "copied/album", "on_clash": "replace"}


def test_an_undo_takes_back_what_a_killed_attempt_copied(place: Place) -> None:
    """The result of the repeated call named only the files of its own attempt, and the others stayed."""
    files = album(place)
    before = place.names()
    place.killed("copy", "fs.copy", COPY, place.folder / "copied/album/2.txt")
    short(files / "3.txt")
    done = place.call("copy", "fs.copy", COPY)
    assert done["kept"] == 3
    assert [item["path"] for item in done["added"]] == [
        "copied", "copied/album", *(f"copied/album/{number}.txt" for number in range(9))
    ]  # fmt: skip
    undone = place.call("undo-copy", "fs.trash", {"paths": done["added"]})
    assert (len(undone["items"]), undone["missing"]) == (11, [])
    assert place.names() == before
