"""The journal of a task in real processes: an attempt that is killed in the middle loses nothing for the undo."""

from __future__ import annotations

import json
import os
import signal
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.work import registry
from starloom_agent.work.execution.journal import Journal, journal_file, read
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
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

    def begin(self, task: str, tool: str, args: dict[str, Any], constellation: str = "c1") -> Call:
        self.attempts += 1
        spec = CallSpec(
            args=json.dumps(args),
            cage="none",
            confined=TOOLS[tool].confined,
            connection_file=str(self.home / "run" / "connection.json"),
            effectless=False,
            fence=f"1.{self.attempts}",
            journal=str(journal_file(self.home / "run", constellation, task)),
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


def test_an_undo_brings_back_what_a_killed_attempt_replaced(place: Place) -> None:
    files = album(place)
    (place.folder / "copied/album").mkdir(parents=True)
    replaced = [number for number in range(9) if number != 3]  # that one is long, and would be compared
    for number in replaced:
        (place.folder / f"copied/album/{number}.txt").write_text(f"old {number}")
    third = place.folder / "copied/album/2.txt"
    begun = place.begin("copy", "fs.copy", COPY)
    try:
        until(lambda: third.read_text() == "new 2", "the third file is replaced")
        os.kill(begun.leader, signal.SIGKILL)
        assert begun.end().outcome is not Outcome.OK
    finally:
        begun.close()
    short(files / "3.txt")
    done = place.call("copy", "fs.copy", COPY)
    assert ["replaced" in item for item in done["added"]] == [number != 3 for number in range(9)]
    undone = place.call("undo-copy", "fs.trash", {"paths": done["added"]})
    assert len(undone["restored"]) == len(replaced)
    assert {name: data for name, data in place.contents().items() if name.startswith("copied")} == {
        f"copied/album/{number}.txt": f"old {number}".encode() for number in replaced
    }


def test_t321_files_of_others_are_not_named_by_a_later_attempt(place: Place) -> None:
    """One has the contents of the task, another took the place of a file that was noted, a third was never there."""
    files = album(place)
    copied = place.folder / "copied/album"
    place.killed("copy", "fs.copy", COPY, copied / "2.txt")
    (copied / "of others").write_text("new 0")
    (copied / "of others").rename(copied / "0.txt")
    (copied / "5.txt").write_text("new 5")
    (copied / "1.txt").unlink()
    short(files / "3.txt")
    done = place.call("copy", "fs.copy", COPY)
    assert {Path(item["path"]).name for item in done["added"]} == {
        "copied", "album", *(f"{number}.txt" for number in (1, 2, 3, 4, 6, 7, 8))
    }  # fmt: skip


def test_a_file_that_was_changed_since_a_killed_attempt_is_not_taken(place: Place) -> None:
    album(place)
    place.killed("copy", "fs.copy", COPY, place.folder / "copied/album/2.txt")
    (place.folder / "copied/album/0.txt").write_text("of a person")
    short(place.folder / "album/3.txt")
    done = place.call("copy", "fs.copy", {**COPY, "path": "album/3.txt", "to": "copied/album/3.txt"})
    before = place.contents()
    call = place.begin("undo-copy", "fs.trash", {"paths": done["added"]})
    ended = call.end()
    assert (ended.code, "0.txt was changed since it was written" in ended.detail) == (Code.CONFLICT, True)
    assert place.contents() == before


def test_a_file_that_two_attempts_replaced_comes_back_as_it_was_first(place: Place) -> None:
    files = album(place)
    copied = place.folder / "copied/album"
    copied.mkdir(parents=True)
    (copied / "0.txt").write_text("old")
    place.killed("copy", "fs.copy", COPY, copied / "2.txt")
    (files / "0.txt").write_text("newer 0")
    (files / "1.txt").write_text("newer 1")
    short(files / "3.txt")
    done = place.call("copy", "fs.copy", COPY)
    place.call("undo-copy", "fs.trash", {"paths": done["added"]})
    assert {name for name in place.contents() if name.startswith("copied")} == {"copied/album/0.txt"}
    assert (copied / "0.txt").read_text() == "old"


def test_a_result_that_was_lost_is_told_again(place: Place) -> None:
    """An archive of the first attempt is unpacked; nothing is left to do for the second one."""
    archive = place.folder / "photos.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for number in range(11):
            made.writestr(f"day/{number}.txt", f"picture {number}")
    before = place.names()
    args = {"files": [{"path": "photos.zip"}], "under": "out"}
    first = place.call("unpack", "archive.unpack", args)["added"]
    again = place.call("unpack", "archive.unpack", args)["added"]
    assert [item for item in again if "holds" in item] == first
    undone = place.call("undo-unpack", "fs.trash", {"paths": again})
    assert [(item["folder"], item["files"]) for item in undone["items"]] == [(True, 0), (True, 11)]
    assert place.names() == before


def test_another_task_names_nothing_of_this_one(place: Place) -> None:
    place.call("one", "fs.write", {"path": "deep/a", "text": "of one"})
    assert place.call("two", "fs.write", {"path": "deep/a", "text": "of one"})["added"] == []
    again = place.call("one", "fs.write", {"path": "deep/a", "text": "of one"})
    assert [item["path"] for item in again["added"]] == ["deep", "deep/a"]


def test_a_note_that_was_cut_is_none_and_ends_no_other(place: Place) -> None:
    place.call("one", "fs.write", {"path": "a", "text": "of one"})
    file = journal_file(place.home / "run", "c1", "one")
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2])
    place.call("one", "fs.write", {"path": "b", "text": "of one"})
    assert [Path(note.at).name for note in read(file)] == ["a", "b"]


def test_old_journals_go_and_a_long_one_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.work.execution.journal._BYTES_MOST", 100)
    monkeypatch.setattr("starloom_agent.work.execution.journal._ALL_BYTES_MOST", 4 * 4096)
    for number in range(9):
        journal = Journal(journal_file(tmp_path, "c1", f"t{number}"), tmp_path / "work")
        for name in range(9):
            journal.making(tmp_path / "folder" / str(name))
        assert len(journal.own) == 9
    kept = list((tmp_path / "written").iterdir())
    assert len(kept) <= 5
    assert all(0 < len(read(file)) < 9 for file in kept)
    for file in kept:
        os.utime(file, (0, 0))
    Journal(journal_file(tmp_path, "c1", "new"), tmp_path / "work")
    assert len(list((tmp_path / "written").iterdir())) == 1


def test_an_undo_takes_back_what_a_stopped_task_noted(place: Place) -> None:
    """A stopped attempt gives no result, and nobody repeats it: its device alone knows what it wrote."""
    album(place)
    before = place.names()
    place.killed("copy", "fs.copy", COPY, place.folder / "copied/album/2.txt")
    (place.folder / "copied/of others.txt").write_text("theirs")
    undone = place.call("undo-copy", "fs.trash", {"paths": [], "left_by": "copy"})
    assert (len(undone["items"]), undone["missing"]) == (4, [])
    assert place.names() == before | {"copied", "copied/of others.txt"}
    again = place.call("undo-copy", "fs.trash", {"paths": [], "left_by": "copy"})
    assert again["items"] == undone["items"]
    assert place.call("undo-other", "fs.trash", {"paths": [], "left_by": "other"})["items"] == []


def test_t321_an_undo_names_no_work_of_another_constellation(place: Place) -> None:
    place.call("write", "fs.write", {"path": "a", "text": "a"})
    other = place.begin("undo-write", "fs.trash", {"paths": [], "left_by": "write"}, constellation="c2")
    assert value_of(other.end())["items"] == []
    assert place.names() == {"a"}


def test_a_later_attempt_tells_of_the_moves_of_an_earlier_one(place: Place) -> None:
    for name in ("a.txt", "b.jpg", "c.txt"):
        (place.folder / name).write_text(name)
    before = place.contents()
    args = {"paths": ["a.txt", "b.jpg"], "to": ".", "by_kind": True}
    place.call("sort", "fs.move", args)
    done = place.call("sort", "fs.move", {**args, "paths": ["a.txt", "b.jpg", "c.txt"]})
    assert ([item["was"] for item in done["put_back"]], done["left_out"]) == (["a.txt", "b.jpg", "c.txt"], [])
    assert done["count"] == 3
    place.call("undo-sort", "fs.restore", {"put_back": done["put_back"]})
    assert place.contents() == before


def test_moves_of_a_stopped_task_are_put_back(place: Place) -> None:
    (place.folder / "a.txt").write_text("a")
    before = place.names()
    place.call("move", "fs.move", {"path": "a.txt", "to": "deep/b.txt"})
    place.call("undo-move", "fs.restore", {"left_by": "move"})
    assert place.names() == before


def test_a_later_attempt_has_the_tickets_of_an_earlier_one(place: Place) -> None:
    for name in ("a.txt", "b.txt"):
        (place.folder / name).write_text(name)
    before = place.contents()
    first = place.call("clear", "fs.trash", {"paths": ["a.txt"]})
    done = place.call("clear", "fs.trash", {"paths": ["a.txt", "b.txt"]})
    assert (done["tickets"][0], done["count"], done["missing"]) == (first["tickets"][0], 2, [])
    place.call("undo-clear", "fs.restore", {"tickets": done["tickets"]})
    assert place.contents() == before


def test_notes_are_flushed_at_once_and_then_each_second_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut loses what was not flushed: one note alone never, of many those of a second."""
    flushed: list[int] = []
    now_s = [0.0]
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    monkeypatch.setattr("starloom_agent.work.execution.journal.time.monotonic", lambda: now_s[0])
    file = journal_file(tmp_path, "c1", "t")
    journal = Journal(file, tmp_path / "private")
    for at_s in (0.0, 0.1, 0.9, 1.0, 1.1, 2.5):
        now_s[0] = at_s
        journal.making(tmp_path / f"made {at_s}")
    assert len(read(file)) == 6
    assert len(flushed) == 3
    assert flushed[0] == min(flushed) > 0
    assert flushed[-1] == file.stat().st_size
