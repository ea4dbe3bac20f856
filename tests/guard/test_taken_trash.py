"""T257: the trash of a folder is where the way back lies, and no name that a device gives takes its place."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.conftest import device as device
from tests.device_agents.tools.files.test_archives import tar_of


def still_removes(device: Device) -> None:
    """A file can be removed and brought back, which takes a trash."""
    device.write("mine.txt", b"1")
    (item,) = device.call("fs.trash", paths=["mine.txt"])["items"]
    device.call("fs.restore", tickets=[item["ticket"]])
    assert (device.folder / "mine.txt").read_bytes() == b"1"


@pytest.mark.parametrize("name", [TRASH, TRASH.upper(), f"a/{TRASH}"])
@pytest.mark.parametrize("to", ["./", "."])
def test_t257_a_file_of_the_name_of_the_trash_is_called_otherwise(device: Device, name: str, to: str) -> None:
    ref = device.store.take(b"evil", name=name)
    assert device.call("artifact.get", artifact=ref, to=to)["name"] == f"_{name.rpartition('/')[2]}"
    still_removes(device)


@pytest.mark.parametrize("name_by", ["name", "path"])
def test_t257_one_odd_name_keeps_no_other_file_back(device: Device, name_by: str) -> None:
    odd = device.store.take(b"evil", name=TRASH) | {"below": f"{TRASH}/1-x/from.json"}
    good = device.store.take(b"good", name="good") | {"below": "good"}
    written = device.call("fs.write", files=[odd, good], under=".", name_by=name_by)
    assert written["written"] == 2
    assert (device.folder / "good").read_bytes() == b"good"
    assert not (device.folder / TRASH).exists()
    still_removes(device)


def test_t257_an_archive_of_that_name_is_unpacked_beside(device: Device) -> None:
    packed = device.store.take(tar_of(("a", b"a")), name=f"{TRASH}.tar")
    assert device.call("archive.unpack", files=[packed], under=".")["count"] == 1
    still_removes(device)


CALLS: dict[str, dict[str, Any]] = {
    "fs.write": {"path": f"{TRASH}/1-x/from.json", "text": "{}"},
    "fs.copy": {"path": "mine.txt", "to": TRASH},
    "fs.move": {"path": "mine.txt", "to": f"./{TRASH}"},
}


@pytest.mark.parametrize("tool", CALLS)
def test_t257_no_call_writes_into_a_trash_by_its_path(device: Device, tool: str) -> None:
    device.write("mine.txt", b"1")
    with pytest.raises(ToolFailed, match="is in the trash"):
        device.call(tool, **CALLS[tool])
    still_removes(device)


def test_t257_nothing_is_moved_out_of_a_trash(device: Device) -> None:
    device.write("mine.txt", b"1")
    (item,) = device.call("fs.trash", paths=["mine.txt"])["items"]
    with pytest.raises(ToolFailed, match="is in the trash"):
        device.call("fs.move", path=f"{TRASH}/{item['ticket']}/mine.txt", to="else.txt")
    device.call("fs.restore", tickets=[item["ticket"]])


@pytest.mark.parametrize("name", ["..", ".", "/", "../"])
def test_t257_a_name_that_is_none_stays_in_the_folder_that_was_named(device: Device, name: str) -> None:
    (device.folder / "in").mkdir()
    ref = device.store.take(b"evil", name=name)
    assert device.call("artifact.get", artifact=ref, to="in/")["path"] == "in/file"
