"""A file with two names, or in a folder with two mounts, is no copy of itself (T314)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.device_agents.tools.conftest import Device


@pytest.fixture
def device(tmp_path: Path) -> Device:
    made = Device(tmp_path)
    made.write("photos/holiday.jpg", b"the only photo")
    (made.folder / "mounted").mkdir()
    # A second mount of the folder shows the same number on the same disk, as a second name does.
    os.link(made.folder / "photos/holiday.jpg", made.folder / "mounted/holiday.jpg")
    return made


def test_t314_a_search_for_files_of_one_size_has_it_once(device: Device) -> None:
    assert device.call("fs.find", same_size=True)["files"] == []
    device.write("photos/copy.jpg", b"the only photo")
    found = device.call("fs.find", same_size=True)
    assert len(found["files"]) == found["count"] == 2
    assert "photos/copy.jpg" in {file["path"] for file in found["files"]}
    assert device.call("fs.find")["count"] == 3


def test_t314_no_trash_takes_it_beside_itself(device: Device) -> None:
    sha = device.call("fs.hash", files=[{"path": "photos/holiday.jpg"}])["files"][0]["sha256"]
    extra = {"path": "mounted/holiday.jpg", "sha256": sha, "kept": "photos/holiday.jpg"}
    trashed = device.call("fs.trash", paths=[extra])
    assert trashed["count"] == 0
    (left,) = trashed["left_out"]
    assert left["why"] == "photos/holiday.jpg, which is to stay, is the same file"
    assert (device.folder / "mounted/holiday.jpg").exists()
