"""T176: what is in a file, and how it is called, holds up no search, no packing and no check of pictures."""

from __future__ import annotations

import io
import os
import sys
import time
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from starloom_agent.toolkit.pictures.decoding import small_version
from starloom_agent.toolkit.pictures.png import NotReadable
from starloom_agent.tools.files.find import fold
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.conftest import device as device

SECOND_2413 = 14_000_000_000
"""A file system keeps such a time; a ZIP file has no year after 2107."""


def packed(device: Device, name: str) -> tuple[list[str], list[str]]:
    """Return the names in the ZIP file of a folder, and those that were left out."""
    found = device.call("archive.zip", path=name)
    (kept,) = found["files"]
    with zipfile.ZipFile(io.BytesIO(device.store.read(kept))) as archive:
        assert archive.testzip() is None
        return archive.namelist(), [row["path"] for row in found["left_out"]]


def test_t176_a_long_row_of_accents_holds_up_no_search(device: Device) -> None:
    device.write("d/a.txt", ("e" + "\u0301\u0323" * 1_000_000).encode())
    device.write("d/b.txt", "Am See wird es früh kühl".encode())
    begun = time.process_time()
    found = device.call("fs.search", root="d", text="fruh kuhl")
    assert [row["path"] for row in found["rows"]] == ["d/b.txt"]
    # In order, the accents of this file are those of a day.
    assert time.process_time() - begun < 60
    assert fold("Élan \ufb01n STRASSE straße ǖ\u0f73") == "elan fin strasse strasse u"


def test_t176_a_file_from_the_far_future_is_packed(device: Device) -> None:
    device.write("d/a.txt", b"a")
    device.write("d/b.txt", b"b")
    os.utime(device.folder / "d/a.txt", (SECOND_2413, SECOND_2413))
    assert sorted(packed(device, "d")[0]) == ["a.txt", "b.txt"]


def progressive(more_scans: int) -> bytes:
    """Return a grey JPEG of several scans, the last of which comes again so many times."""
    made = io.BytesIO()
    Image.new("L", (4000, 4000), 128).save(made, "JPEG", progressive=True)
    data = made.getvalue()
    return data[:-2] + data[data.rfind(b"\xff\xda") : -2] * more_scans + data[-2:]


def test_t176_a_small_picture_of_many_scans_is_not_decoded(device: Device) -> None:
    device.write("d/whole.jpg", progressive(0))
    device.write("d/endless.jpg", progressive(20_000))
    begun = time.process_time()
    found = device.call("image.check", files=[{"path": "d/whole.jpg"}, {"path": "d/endless.jpg"}])
    assert [row["name"] for row in found["unopened"]] == ["endless.jpg"]
    assert not found["bad"]
    with pytest.raises(NotReadable, match="more scans"):
        small_version(progressive(20_000), 100)
    assert small_version(progressive(90), 100)[2] == 100
    assert time.process_time() - begun < 60


@pytest.mark.skipif(sys.platform == "win32", reason="no such name is possible there")
@pytest.mark.parametrize(
    "name", ["..\\..\\evil.bat", "x\\..\\..\\evil", "C:evil", "C:\\evil", "\\evil", "\\\\host\\share\\e"]
)
def test_t176_no_name_in_an_archive_leads_out_on_another_system(device: Device, name: str) -> None:
    device.write("d/good.txt", b"a")
    device.write("d/dev-x2d\\x2dd.mount", b"a")
    device.write(f"d/{name}", b"a")
    inside, left_out = packed(device, "d")
    assert sorted(inside) == ["dev-x2d\\x2dd.mount", "good.txt"]
    assert left_out == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="no such name is possible there")
def test_t176_a_name_that_is_no_text_is_said_and_holds_up_nothing(device: Device) -> None:
    device.write("d/good.txt", b"a")
    Path(os.fsdecode(os.fsencode(device.folder / "d") + b"/x-\xff")).write_bytes(b"b")
    inside, left_out = packed(device, "d")
    assert (inside, len(left_out)) == (["good.txt"], 1)
