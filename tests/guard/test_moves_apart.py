"""A call that moves files to another file system while others write there, or that is killed (T313)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.platforms import carrying, exchange
from starloom_agent.platforms.carrying import PART
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.platforms.test_carrying import apart
from tests.device_agents.tools.conftest import Device

Status = os.stat_result


class Killed(BaseException):
    """The process ends; nothing behind it runs."""


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device in whose folder another disk is mounted at `usb`."""
    made = Device(tmp_path)
    usb = made.folder / "usb"
    status = Beneath.status

    def numbered(files: Beneath, path: Path) -> Status | None:
        about = status(files, path)
        if about is None or not path.is_relative_to(usb):
            return about
        return os.stat_result([*about[:2], about.st_dev + 1, *about[3:]])

    monkeypatch.setattr(exchange, "_rename", apart(exchange._rename, usb))
    monkeypatch.setattr(Beneath, "status", numbered)
    for name in ("a", "b"):
        made.write(f"usb/album/{name}", f"text of {name}")
    return made


def when_brought(monkeypatch: pytest.MonkeyPatch, write: Any) -> None:
    """Let something happen when the copy has just come to its place."""
    rename = exchange._rename

    def brought(*given: Any) -> None:
        rename(*given)
        write()

    monkeypatch.setattr(exchange, "_rename", brought)


@pytest.mark.parametrize("several", [False, True])
def test_t313_what_is_written_during_a_move_stays_and_is_named(
    several: bool, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = device.folder / "usb/album/a"
    when_brought(monkeypatch, lambda: late.write_text("written meanwhile"))
    args: Any = {"paths": ["usb/album/a"], "to": "here"} if several else {"path": "usb/album", "to": "here"}
    moved = device.call("fs.move", **args)
    (left,) = moved["left_out"]
    assert left["path"] == ("usb/album/a" if several else "usb/album")
    assert left["why"] == "something was written there while it moved, and stays"
    assert late.read_text() == "written meanwhile"
    assert (device.folder / "here/a").read_text() == "text of a"


def test_t313_what_is_written_on_the_way_to_the_trash_stays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    late = device.folder / "usb/album/photo"
    with monkeypatch.context() as patched:
        when_brought(patched, lambda: late.write_text("the only copy"))
        found = device.call("fs.trash", paths=["usb/album"])
    assert [left["path"] for left in found["left_out"]] == ["usb/album"]
    assert late.read_text() == "the only copy"
    with pytest.raises(ToolFailed, match="exists again"):
        device.call("fs.restore", tickets=found["tickets"])
    late.unlink()
    late.parent.rmdir()
    device.call("fs.restore", tickets=found["tickets"])
    assert (device.folder / "usb/album/b").read_text() == "text of b"


def test_t313_what_is_written_on_the_way_back_keeps_its_ticket(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    (ticket,) = device.call("fs.trash", paths=["usb/album"])["tickets"]
    kept = device.folder / TRASH / ticket / "album"
    with monkeypatch.context() as patched:
        when_brought(patched, lambda: (kept / "late").write_text("the only copy"))
        device.call("fs.restore", tickets=[ticket])
    assert (kept / "late").read_text() == "the only copy"
    assert (device.folder / "usb/album/b").read_text() == "text of b"


@pytest.mark.parametrize("tool", ["fs.move", "fs.trash"])
@pytest.mark.parametrize("moment", ["copy", "brought"])
def test_t313_a_killed_call_is_finished_by_the_next_attempt(
    moment: str, tool: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise Killed

    args: Any = {"path": "usb/album", "to": "here"} if tool == "fs.move" else {"paths": ["usb/album"]}
    with monkeypatch.context() as patched:
        if moment == "copy":
            patched.setattr(carrying, "copy_file", killed)
        else:
            when_brought(patched, killed)
        patched.setattr(carrying, "erase", lambda *_: None)
        patched.setattr("starloom_agent.toolkit.files.trash.close_ticket", lambda *_: True)
        with pytest.raises(Killed):
            device.call(tool, **args)
    assert any(path.name.startswith(PART) for path in device.folder.rglob("*"))
    done = device.call(tool, **args)
    assert done["count"] == 1
    assert not (device.folder / "usb/album").exists()
    assert not any(path.name.startswith(PART) for path in device.folder.rglob("*"))
    whole = [path for path in device.folder.rglob("b") if path.is_file()]
    assert [path.read_text() for path in whole] == ["text of b"], "no second copy"
    if tool == "fs.trash":
        device.call("fs.restore", tickets=done["tickets"])
        assert (device.folder / "usb/album/b").read_text() == "text of b"
