"""Archives of strangers that fill a device with what is no file, or that no call can clear away (T157).

Folders, links and depth cost room and memory as files do, and a small archive holds millions of them.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.packing import Findings, Limits, members
from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.conftest import device as device
from tests.device_agents.tools.files.test_archives import tar_of, there, unpack

DEPTH = 1_900
ENTRIES = 3_000


def tar_of_heads(*heads: tarfile.TarInfo) -> bytes:
    """Return a tar of heads alone, for files without contents, folders and links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for head in heads:
            archive.addfile(head)
    return out.getvalue()


def head(name: str, kind: bytes = tarfile.REGTYPE, **pax: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.pax_headers = kind, pax
    return made


def test_t157_folders_count_as_files_do(device: Device) -> None:
    """A path of 4,000 signs makes 2,000 folders: 200,000 of them in a few megabytes would fill any disk."""
    deep = [head(f"{number}/" + "a/" * 40 + "f") for number in range(30)]
    with pytest.raises(ToolFailed, match="more than 1000"):
        unpack(device, gzip.compress(tar_of_heads(*deep)), most_files=1_000)
    assert list((device.folder / "Out").iterdir()) == []
    assert unpack(device, gzip.compress(tar_of_heads(*deep)), most_files=2_000)["count"] == 30


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_t157_what_is_no_file_is_bounded(tmp_path: Path, kind: bytes) -> None:
    block = head("x", kind).tobuf(tarfile.USTAR_FORMAT)
    path = tmp_path / "many.tar.gz"
    path.write_bytes(gzip.compress(block * ENTRIES + bytes(1024)))
    door = Beneath([tmp_path], [])
    with pytest.raises(ToolFailed, match=f"more than {ENTRIES - 1}"):
        list(members(path, Limits(bytes=10**9, files=ENTRIES - 1), Findings(), door))
    taken = Findings()
    assert list(members(path, Limits(bytes=10**9, files=ENTRIES), taken, door)) == []
    assert taken.left_out_count == (0 if kind == tarfile.DIRTYPE else ENTRIES)


def test_t157_names_are_bounded_together(tmp_path: Path) -> None:
    long = "/".join(["n" * 200] * 19)
    path = tmp_path / "names.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, compresslevel=1) as archive:
        for number in range(18_000):
            archive.addfile(head(f"{long}/{number}"))
    with pytest.raises(ToolFailed, match="names"):
        list(members(path, Limits(bytes=10**9, files=200_000), Findings(), Beneath([tmp_path], [])))


def test_t157_a_deep_archive_that_fails_leaves_nothing(device: Device) -> None:
    with pytest.raises(ToolFailed, match="more than 256 folders"):
        unpack(device, tar_of_heads(head("a/" * DEPTH + "f"), head("../out")))
    with pytest.raises(ToolFailed, match="leads out"):
        unpack(device, tar_of_heads(head("a/" * 255 + "f"), head("../out")))
    assert list((device.folder / "Out").iterdir()) == []
    assert there(device) == []


@pytest.mark.parametrize("moment", ["inf", "-inf", "nan", "1e300", "-1e300"])
def test_t157_a_time_that_is_none_damages_one_archive_alone(device: Device, moment: str) -> None:
    odd = gzip.compress(tar_of_heads(head("a", mtime=moment)))
    refs = [device.store.take(odd, name="odd.tar.gz"), device.store.take(tar_of_heads(head("b")), name="good.tar")]
    rows = device.call("archive.verify", files=refs)["archives"]
    assert rows[1]["ok"]
    found = unpack(device, odd)
    assert found["count"] == 1


@pytest.mark.parametrize("body", [b"1" * 900_000, b"0" * 900_000 + b" x=y\n"])
def test_t157_a_head_of_digits_keeps_no_call(device: Device, body: bytes) -> None:
    """A search of Python 3.11.0 to 3.11.9 took hours for an archive of one kilobyte (CVE-2024-6232)."""
    pax = head("./PaxHeader/x", tarfile.XHDTYPE)
    pax.size = len(body)
    block = pax.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)
    with pytest.raises(ToolFailed, match="far too big"):
        unpack(device, gzip.compress(block + head("a").tobuf(tarfile.USTAR_FORMAT) + bytes(1024)))


def test_t157_files_of_digits_are_unpacked(device: Device) -> None:
    digits = b"31415926" * 12_500
    found = unpack(device, gzip.compress(tar_of(("a", digits), ("b", digits), ("c", digits[:100]))))
    assert [row["bytes"] for row in found["files"]] == [100_000, 100_000, 100]
