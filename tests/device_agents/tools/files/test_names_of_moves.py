"""Moves whose two names are near each other: into the moved folder itself, or another case of its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.platforms import exchange
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


def test_a_folder_cannot_move_into_itself(device: Device) -> None:
    device.write("a/file", "text")
    with pytest.raises(ToolFailed, match="cannot move into itself") as failed:
        device.call("fs.move", path="a", to="a/b/c")
    assert (failed.value.code, failed.value.effect) == (Code.BAD_ARGUMENTS, False)
    assert [path.name for path in (device.folder / "a").iterdir()] == ["file"]


def test_a_move_may_change_the_case_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that tells no letter cases apart: both names are there, and the list has one."""
    device.write("photo.jpg", "text")
    status = Beneath.status

    def caseless(files: Beneath, path: Path) -> os.stat_result | None:
        return status(files, path) or status(files, path.with_name(path.name.swapcase()))

    def taken(*_: Any) -> None:
        raise FileExistsError

    with monkeypatch.context() as patched:
        patched.setattr(Beneath, "status", caseless)
        patched.setattr(exchange, "rename_free", taken)
        moved = device.call("fs.move", path="photo.jpg", to="PHOTO.JPG")
    assert (moved["count"], moved["left_out"]) == (1, [])
    assert [path.name for path in device.folder.iterdir()] == ["PHOTO.JPG"]


def test_two_names_of_one_file_are_two_elsewhere(device: Device) -> None:
    one = device.write("photo.jpg", "text")
    os.link(one, device.folder / "PHOTO.JPG")
    with pytest.raises(ToolFailed, match="exists already"):
        device.call("fs.move", path="photo.jpg", to="PHOTO.JPG")


def test_a_second_name_that_is_there_already_leaves_nothing_beside_it(device: Device) -> None:
    device.write("old", "text")
    files = Beneath((), (device.folder,))
    for _ in range(2):
        files.link(device.folder / "old", device.folder / "new")
    assert sorted(path.name for path in device.folder.iterdir()) == ["new", "old"]


def test_a_copy_keeps_its_holes(device: Device) -> None:
    path = device.write("disk.img", "begin")
    with path.open("r+b") as file:
        file.truncate(40 << 20)
    added = device.call("fs.copy", path="disk.img", to="copy.img")["added"]
    copy = device.folder / "copy.img"
    assert copy.read_bytes() == path.read_bytes()
    assert copy.stat().st_blocks * 512 < 4 << 20
    device.call("fs.trash", paths=added)
