"""A file that a call replaces is never lost: a kill at any step, a trash that takes nothing, other calls (T150).

The steps are those that change the disk. Each is tried as the last one before a kill: with an exchange of two names,
on a file system that has none, and with a trash on another file system.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.platforms import exchange
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device
from tests.killed_steps import KILLED, run_killed

OLD, NEW = "the old contents", "the new contents"


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


REPLACING = """
import errno, pathlib, shutil
from starloom_agent.platforms import exchange
from starloom_agent.toolkit.files.placing import place
from starloom_agent.toolkit.interface import Folders, ToolContext
folder, private, system = *map(pathlib.Path, sys.argv[1:3]), sys.argv[3]
def as_system(rename):
    def renamed(before, name, after, wanted, flags):
        if system == "plain" and flags == 2:
            raise OSError(errno.EINVAL, "no exchange")
        if system == "other" and os.fstat(before).st_ino != os.fstat(after).st_ino:
            raise OSError(errno.EXDEV, "another file system")
        return rename(before, name, after, wanted, flags)
    return renamed
exchange._rename = as_system(counted(exchange._rename))
for module, name in ((os, "rename"), (os, "unlink"), (os, "fsync"), (os, "mkdir"), (shutil, "rmtree"),
                     (shutil, "copyfileobj")):
    setattr(module, name, counted(getattr(module, name)))
context = ToolContext(workdir=private, artifacts=None, output=None, folders=Folders.of(write=[str(folder)]))
made = private / "made"
made.write_text(sys.argv[4])
place(context, made, folder / "deep/file")
print(steps)
"""


def replaced_in(home: Path, system: str, last: int) -> tuple[int, str]:
    """Replace a file in a process that is killed before its step `last`; return its end and its words."""
    folder, private = home / "folder", home / "private"
    for path in (folder / "deep", private):
        path.mkdir(parents=True, exist_ok=True)
    (folder / "deep/file").write_text(OLD)
    return run_killed(REPLACING, last, str(folder), str(private), system, NEW)


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("file*") if path.is_file()}


@pytest.mark.parametrize("system", ["exchange", "plain", "other"])
def test_t150_a_kill_at_any_step_loses_neither_file(system: str, tmp_path: Path) -> None:
    code, said = replaced_in(tmp_path / "whole", system, 0)
    assert code == 0
    steps = int(said)
    assert steps > 5
    for last in range(1, steps + 1):
        home = tmp_path / str(last)
        assert replaced_in(home, system, last)[0] == KILLED
        folder = home / "folder"
        found = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
        assert OLD in found.values(), (system, last, found)
        there = folder / "deep/file"
        if there.exists():
            assert there.read_text() in (OLD, NEW), (system, last)
        else:
            # Without an exchange the place is free for a moment; the old file is in the trash with its note.
            assert system == "plain"
        assert OLD in [text for path, text in found.items() if path.name == "file"], (system, last, found)


def _in_trash(folder: int) -> bool:
    return TRASH in Path(f"/proc/self/fd/{folder}").readlink().parts


def test_t150_a_trash_elsewhere_has_the_whole_old_file(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = exchange._rename

    def other(before: int, name: str, after: int, wanted: str, flags: int) -> None:
        if _in_trash(before) != _in_trash(after):
            raise OSError(errno.EXDEV, "another file system")
        rename(before, name, after, wanted, flags)

    monkeypatch.setattr(exchange, "_rename", other)
    old = device.write("deep/file", OLD)
    old.chmod(0o640)
    os.utime(old, (1_000, 1_000))
    added = device.call("fs.write", path="deep/file", text=NEW, on_clash="replace")["added"]
    assert old.read_text() == NEW
    device.call("fs.trash", paths=added)
    assert (old.read_text(), old.stat().st_mode & 0o777, old.stat().st_mtime) == (OLD, 0o640, 1_000)
    (ticket,) = device.call("fs.trash", paths=["deep/file"])["tickets"]
    device.call("fs.restore", tickets=[ticket])
    assert old.read_text() == OLD
    assert not list(device.folder.rglob("*.part"))


def _is_a_file(trash: Path, _: Path) -> None:
    trash.write_text("no folder")


def _is_a_link(trash: Path, outside: Path) -> None:
    trash.symlink_to(outside)


def _is_a_dead_link(trash: Path, outside: Path) -> None:
    trash.symlink_to(outside / "nowhere")


@pytest.mark.parametrize("spoil", [_is_a_file, _is_a_link, _is_a_dead_link])
@pytest.mark.parametrize("tool", ["fs.write", "artifact.get", "fs.copy", "fs.trash"])
def test_t150_without_a_trash_the_old_file_stays(tool: str, spoil: Any, device: Device, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    old = device.write("file", OLD)
    device.write("other", NEW)
    spoil(device.folder / TRASH, outside)
    calls: dict[str, dict[str, Any]] = {
        "fs.write": {"path": "file", "text": NEW, "on_clash": "replace"},
        "artifact.get": {"artifact": device.store.take(NEW.encode()), "to": "file", "on_clash": "replace"},
        "fs.copy": {"path": "other", "to": "file", "on_clash": "replace"},
        "fs.trash": {"paths": ["file"]},
    }
    with pytest.raises(ToolFailed):
        device.call(tool, **calls[tool])
    assert old.read_text() == OLD
    assert sorted(path.name for path in device.folder.iterdir()) == sorted([TRASH, "file", "other"])
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("step", ["make_folder", "create"])
def test_t150_with_a_full_or_locked_trash_the_old_file_stays(
    step: str, number: int, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write("file", OLD)
    real = getattr(Beneath, step)

    def refuse(files: Beneath, path: Path) -> Any:
        if TRASH in path.parts:
            raise OSError(number, os.strerror(number), str(path))
        return real(files, path)

    monkeypatch.setattr(Beneath, step, refuse)
    for tool, args in (
        ("fs.write", {"path": "file", "text": NEW, "on_clash": "replace"}),
        ("fs.trash", {"paths": ["file"]}),
    ):
        with pytest.raises(ToolFailed) as failed:
            device.call(tool, **args)
        full = number in (errno.ENOSPC, errno.EDQUOT)
        assert failed.value.code is (Code.NO_SPACE if full else Code.TOOL_FAILED)
    assert texts(device.folder) == {"file": OLD}
    monkeypatch.undo()
    assert device.call("fs.write", path="file", text=NEW, on_clash="replace")["written"] == 1


def test_t150_on_a_disk_that_fills_the_old_file_stays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    old = device.write("file", OLD)
    rename = exchange._rename

    def full(before: int, name: str, after: int, wanted: str, flags: int) -> None:
        if flags == exchange._EXCHANGE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(before, name, after, wanted, flags)

    monkeypatch.setattr(exchange, "_rename", full)
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.write", path="file", text=NEW, on_clash="replace")
    assert failed.value.code is Code.NO_SPACE
    assert old.read_text() == OLD
    assert list((device.folder / TRASH).iterdir()) == []


def test_t150_a_file_that_comes_to_a_free_place_stays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls that both found the place free: the later one takes a number, or is refused."""
    place = Beneath.place
    rivals = iter(["theirs", "theirs too"])

    def late(files: Beneath, source: Path, target: Path, **more: Any) -> int:
        text = next(rivals, None)
        if text is not None:
            target.write_text(text)
        return place(files, source, target, **more)

    monkeypatch.setattr(Beneath, "place", late)
    found = device.call("fs.write", files=[device.store.take(NEW.encode(), name="file.txt")])
    assert {path.name: path.read_text() for path in device.folder.glob("*.txt")} == {
        "file.txt": "theirs",
        "file (2).txt": "theirs too",
        "file (3).txt": NEW,
    }
    assert [item["path"] for item in found["added"]] == ["file (3).txt"]


@pytest.mark.parametrize("tool", ["fs.copy", "fs.move", "fs.restore"])
def test_t150_a_move_over_a_file_that_just_came_is_refused(
    tool: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write("new", NEW)
    if tool == "fs.restore":
        device.write("file", NEW)
        args: dict[str, Any] = {"tickets": device.call("fs.trash", paths=["file"])["tickets"]}
    else:
        args = {"path": "new", "to": "file"}
    make_folder = Beneath.make_folder

    def late(files: Beneath, path: Path) -> None:
        make_folder(files, path)
        if path == device.folder:
            (device.folder / "file").write_text(OLD)

    monkeypatch.setattr(Beneath, "make_folder", late)
    with pytest.raises(ToolFailed):
        device.call(tool, **args)
    assert (device.folder / "file").read_text() == OLD
    assert NEW in texts(device.folder).values() or (device.folder / "new").read_text() == NEW
