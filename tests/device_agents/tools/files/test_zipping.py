"""`archive.zip`: one file that every system opens, with all that it can hold."""

from __future__ import annotations

import io
import zipfile

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


def test_a_folder_is_one_zip_file_with_what_is_in_it(device: Device) -> None:
    device.write("Fotos/a.txt", b"one")
    device.write("Fotos/inner/b.txt", b"two" * 1000)
    device.write("Fotos/.hidden", b"h")
    (device.folder / "Fotos" / "way-out").symlink_to("/etc")
    found = device.call("archive.zip", path="Fotos")
    (kept,) = found["files"]
    assert (kept["name"], kept["media"], found["count"]) == ("Fotos.zip", "application/zip", 3)
    assert found["unpacked_bytes"] == 3 + 3000 + 1
    assert [row["path"] for row in found["left_out"]] == ["way-out"]
    with zipfile.ZipFile(io.BytesIO(device.store.read(kept))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == {
            ".hidden": b"h",
            "a.txt": b"one",
            "inner/": b"",
            "inner/b.txt": b"two" * 1000,
        }


def test_one_file_and_an_empty_folder_are_packed_as_well(device: Device) -> None:
    device.write("note.txt", b"n")
    (device.folder / "bare").mkdir()
    assert device.call("archive.zip", path="note.txt")["count"] == 1
    assert device.call("archive.zip", path="bare")["count"] == 0


def test_what_is_not_there_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("archive.zip", path="nothing")
    assert failed.value.code is Code.FILE_NOT_FOUND
