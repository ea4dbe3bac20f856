"""The trash inside a folder is no part of the folder: no copy, archive, search or list of logs takes it along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_archives import tar_of

INNER = f"sub/{TRASH}"
WHY = "it is the trash, which goes with no folder"


@pytest.fixture
def folder(device: Device) -> Path:
    device.write("in/kept.log", "2026-01-01 00:00:00 error kept")
    device.write("in/sub/kept.txt", "kept")
    for number in range(2):
        device.write(f"in/{INNER}/{number}-x/gone{number}.log", "2026-01-01 00:00:00 error gone")
    return device.folder / "in"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_copy_leaves_out_the_trash_and_says_so(device: Device, folder: Path) -> None:
    found = device.call("fs.copy", path="in", to="out")
    assert names(device.folder / "out") == ["kept.log", "kept.txt", "sub"]
    assert (found["files"], found["left_out"]) == (2, [{"path": f"in/{INNER}", "why": WHY}])
    assert device.call("fs.copy", path="in/sub/kept.txt", to="one.txt")["left_out"] == []


def test_an_archive_leaves_out_the_trash_and_says_so(device: Device, folder: Path) -> None:
    packed = device.call("archive.pack", path="in")
    assert (packed["files"], packed["unreadable"]) == (2, [])
    assert packed["left_out"] == [{"path": f"in/{INNER}", "why": WHY}]
    unpacked = device.call("archive.unpack", files=packed["archives"], under="out")
    assert sorted(row["name"] for row in unpacked["files"]) == ["kept.log", "sub/kept.txt"]


@pytest.mark.parametrize("args", [{"whole": True}, {"hidden": True}])
def test_a_search_leaves_out_the_trash_and_says_so(args: dict[str, Any], device: Device, folder: Path) -> None:
    found = device.call("fs.find", root="in", **args)
    assert sorted(row["name"] for row in found["files"]) == ["kept.log", "kept.txt"]
    assert found["left_out"] == [{"path": f"in/{INNER}", "why": WHY}]


def test_a_search_for_one_file_finds_no_older_one_in_the_trash(device: Device, folder: Path) -> None:
    device.write(f"in/{TRASH}/1-x/kept.txt", "older")
    found = device.call("fs.find", root="in", file="kept.txt", hidden=True)
    assert [row["path"] for row in found["files"]] == ["in/sub/kept.txt"]
    assert found["left_out"] == []


def test_logs_of_the_trash_are_not_searched(device: Device, folder: Path) -> None:
    found = device.call("log.search", path="in", since="2020-01-01")
    assert {row["source"] for row in found["rows"]} == {"kept.log"}


@pytest.mark.parametrize("below", ["", "/0-x"])
def test_the_trash_itself_may_be_looked_into_and_copied_out_of(below: str, device: Device, folder: Path) -> None:
    root = f"in/{INNER}{below}"
    assert "gone0.log" in {row["name"] for row in device.call("fs.find", root=root)["files"]}
    device.call("fs.copy", path=root, to="out")
    assert "gone0.log" in names(device.folder / "out")


def test_an_unpacked_folder_with_such_a_name_in_it_is_recognised(device: Device) -> None:
    """Or each unpacking of it would make another folder."""
    packed = device.store.take(tar_of((f"{TRASH}/a", b"a"), ("b", b"b")), name="x.tar")
    for _ in range(2):
        assert device.call("archive.unpack", files=[packed], under="out")["folders"] == ["out/x"]
