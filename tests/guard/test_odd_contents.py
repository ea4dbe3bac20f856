"""What is in a file, and how it is called, holds up no search, packing, check of pictures (T176), copy (T254, T263).

Nor does it push out a backup (T264).
"""

from __future__ import annotations

import io
import os
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from starloom_agent.toolkit.pictures.decoding import small_version
from starloom_agent.toolkit.pictures.png import NotReadable
from starloom_agent.toolkit.text.moments import moment_of
from starloom_agent.tools.files.find import fold
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.conftest import device as device
from tests.device_agents.tools.files.test_archives import archive_of

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
    """To put these accents into order takes hours."""
    device.write("d/a.txt", ("e" + "\u0301\u0323" * 1_000_000).encode())
    device.write("d/b.txt", "Am See wird es früh kühl".encode())
    found = device.call("fs.search", root="d", text="fruh kuhl")
    assert [row["path"] for row in found["rows"]] == ["d/b.txt"]
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
    """To decode it takes many minutes."""
    device.write("d/whole.jpg", progressive(0))
    device.write("d/endless.jpg", progressive(20_000))
    found = device.call("image.check", files=[{"path": "d/whole.jpg"}, {"path": "d/endless.jpg"}])
    assert [row["name"] for row in found["unopened"]] == ["endless.jpg"]
    assert not found["bad"]
    with pytest.raises(NotReadable, match="more scans"):
        small_version(progressive(20_000), 100)
    assert small_version(progressive(90), 100)[2] == 100


@pytest.mark.parametrize(
    "filled",
    [b"\xff\xe0\x00\x02" * 5_000_000, b"\xff" * 20_000_000, bytes(20_000_000), b"\xff\xf0\xff\xf0" * 5_000_000],
    ids=["parts", "filled", "junk", "no length"],
)
@pytest.mark.parametrize("end", [b"", b"\xff\xd9"], ids=["open", "ended"])
def test_t176_a_head_without_end_is_not_looked_at(device: Device, filled: bytes, end: bytes) -> None:
    """Each byte of it is read by itself: a second for each megabyte of a file that is no picture."""
    whole = progressive(0)
    for name, data in (("a.jpg", whole[:2] + end + filled), ("b.jpg", whole[:2] + end + filled + whole[2:])):
        device.write(name, data)
        found = device.call("image.check", files=[{"path": name}])
        assert [row["why"] for row in found["bad"]] == ["its JPEG data is broken"]
        with pytest.raises(NotReadable, match="its JPEG data is broken"):
            small_version(data, 100)


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


@pytest.mark.parametrize("line", ["0001-01-01 00:00:00", "9999-12-31 23:59:59", "2026-99-99 00:00", "Feb 30 00:00:00"])
def test_t176_a_line_with_a_time_at_the_end_of_the_calendar_hides_no_other(device: Device, line: str) -> None:
    device.write("d/app.log", f"{line} error: odd\n2026-01-01 00:00:00 error: real\n".encode())
    found = device.call("log.search", path="d", since="2025-01-01")
    assert "2026-01-01 00:00:00 error: real" in [row["text"] for row in found["rows"]]


def test_t176_a_leap_day_that_is_still_to_come_is_no_time_of_last_year() -> None:
    assert moment_of("Feb 29 10:00:00 host x", datetime(2028, 1, 5, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "name", ["a" * 251 + ".txt", "\N{HIRAGANA LETTER A}" * 83 + ".txt", "ab" * 127], ids=["short", "wide", "bare"]
)
def test_t254_a_name_as_long_as_a_disk_takes_keeps_no_file_back(device: Device, name: str) -> None:
    for number in (*range(1, 13), 12):
        files = [device.store.take(str(number).encode(), name=name), device.store.take(b"other", name="other")]
        device.call("fs.write", files=files, under="there")
    found = sorted(device.folder.glob("there/*"))
    assert len(found) == 13, "the last one is there already"
    assert all(path.suffix == Path(name).suffix for path in found if path.name != "other")


@pytest.mark.parametrize("mtime_s", [10**400, -(10**400), 2**63])
def test_t263_a_time_that_no_disk_takes_keeps_no_other_file_back(device: Device, mtime_s: int) -> None:
    odd = device.store.take(b"odd", name="odd") | {"mtime_s": mtime_s}
    written = device.call("fs.write", files=[odd, device.store.take(b"good", name="good")], under="in")
    assert written["written"] == 2
    assert {"file": "odd", "path": "in/odd", "why": "this device does not keep its time"} in written["changed"]


@pytest.mark.parametrize("stamp", ["99999999T999999Z", "20260101T250000Z", "٢" * 8 + "T000000Z", "99991231T235959Z"])
def test_t264_an_odd_date_in_a_name_pushes_out_no_backup(device: Device, stamp: str) -> None:
    """Each of them stood before every real one, which went to the trash: the new one, too."""
    nights = [f"box-Docs-2026010{night}T000000Z.tar.gz" for night in (1, 2, 3)]
    for name in (*nights, f"box-Docs-{stamp}.tar.gz"):
        device.write(f"Out/{name}", archive_of(name))
    found = device.call("archive.rotate", under="Out", files=[{"name": nights[2]}], keep=2)
    assert {row["archive"]: row["state"] for row in found["rows"] if stamp not in row["archive"]} == {
        nights[2]: "new",
        nights[1]: "kept",
        nights[0]: "in the trash",
    }
    assert (device.folder / f"Out/box-Docs-{stamp}.tar.gz").exists()
    beyond = [row["state"] for row in found["rows"] if stamp in row["archive"]]
    assert beyond == (["dated after the new one, does not count"] if stamp == "99991231T235959Z" else [])
