"""Archives: the same files give the same bytes, damage is seen, and nothing that an archive says is believed."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.packing import Findings, Limits, copy_out, members, safe_path
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.tools.files import archives
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_find import locked

LIMITS = Limits(bytes=10_000_000, files=1000)


def tar_of(*entries: tuple[str, bytes | str], into: Callable[[tarfile.TarInfo], None] | None = None) -> bytes:
    """Return a tar; an entry with a text is a link to it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in entries:
            head = tarfile.TarInfo(name)
            if isinstance(content, str):
                head.type, head.linkname = tarfile.SYMTYPE, content
            else:
                head.size = len(content)
            if into is not None:
                into(head)
            archive.addfile(head, io.BytesIO(content if isinstance(content, bytes) else b""))
    return out.getvalue()


def unpack(device: Device, data: bytes, name: str = "given.tar", **more: Any) -> Any:
    return device.call("archive.unpack", files=[device.store.take(data, name=name)], under="Out", **more)


def archive_of(text: str) -> bytes:
    return gzip.compress(tar_of(("a.txt", text.encode())), mtime=0)


def there(device: Device) -> list[str]:
    return sorted(str(path.relative_to(device.folder)) for path in device.folder.rglob("*") if path.is_file())


def test_a_folder_comes_back_as_it_was(device: Device) -> None:
    device.write("Papers/a.txt", "one")
    device.write("Papers/deep/.hidden", b"\x00\x01")
    device.write("Papers/empty.txt", "")
    (device.folder / "Papers/link").symlink_to("/etc/passwd")
    device.write("Papers/.starloom-trash/x/old.txt", "gone")
    packed = device.call("archive.pack", path="Papers", device_name="box 1")
    (ref,) = packed["archives"]
    assert re.fullmatch(r"box_1-\w+-Papers-[0-9a-f]{8}-20[0-9]{6}T[0-9]{6}Z\.tar\.gz", ref["name"])
    assert ref["device"] == "box 1"
    assert (packed["files"], packed["unpacked_bytes"], packed["unreadable_count"]) == (3, 5, 0)
    back = device.call("archive.unpack", files=[ref], under="Back")
    (folder,) = back["folders"]
    root = device.folder / folder
    assert {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()} == {
        "a.txt": b"one",
        "deep/.hidden": b"\x00\x01",
        "empty.txt": b"",
    }
    read = device.call("fs.hash", files=back["files"], compare=True)
    assert read["equal"] is True
    assert all(row["same"] for row in read["files"])
    assert device.said.fractions[-1] == 1.0


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of all that is in a folder, and of itself, by the paths below it."""
    return {str(path.relative_to(folder)): f"{path.stat().st_mode & 0o7777:o}" for path in (folder, *folder.rglob("*"))}


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("tool", ["archive.pack", "archive.zip"])
@pytest.mark.usefixtures("usual_umask")
def test_modes_times_and_empty_folders_come_back(device: Device, tool: str) -> None:
    for name, mode in ((".ssh/id", 0o600), ("bin/run.sh", 0o755), ("all.txt", 0o666), ("mine.txt", 0o444)):
        path = device.write(f"Home/{name}", name)
        path.chmod(mode)
        os.utime(path, (1_700_000_001, 1_700_000_001))
    (device.folder / "Home/empty/inner").mkdir(parents=True)
    for name, mode in ((".ssh", 0o700), ("empty", 0o2777), ("bin", 0o555)):
        (device.folder / "Home" / name).chmod(mode)
    packed = device.call(tool, path="Home")
    back = device.call("archive.unpack", files=packed.get("archives") or packed["files"], under="Back")
    assert modes(device.folder / back["folders"][0]) == {
        ".": "755",
        ".ssh": "700",
        ".ssh/id": "600",
        "all.txt": "644",
        "bin": "755",
        "bin/run.sh": "755",
        "empty": "755",
        "empty/inner": "755",
        "mine.txt": "644",
    }
    times = {int(path.stat().st_mtime) for path in (device.folder / "Back").rglob("*") if path.is_file()}
    assert times == {1_700_000_001}
    again = device.call("archive.unpack", files=packed.get("archives") or packed["files"], under="Back")
    assert again["folders"] == back["folders"]


@pytest.mark.usefixtures("usual_umask")
def test_a_private_folder_stays_private_and_folders_that_are_missing_are_no_same_folder(device: Device) -> None:
    device.write("Keys/a.pem", "secret")
    (device.folder / "Keys").chmod(0o700)
    (device.folder / "Keys/empty").mkdir()
    packed = device.call("archive.pack", path="Keys")
    (first,) = device.call("archive.unpack", files=packed["archives"], under="Back")["folders"]
    assert modes(device.folder / first) == {".": "700", "a.pem": "644", "empty": "755"}
    (device.folder / first / "empty").rmdir()
    (second,) = device.call("archive.unpack", files=packed["archives"], under="Back")["folders"]
    assert second != first


def test_a_backup_is_the_same_as_long_as_nothing_in_it_changes(device: Device) -> None:
    device.write("Papers/deep/a.txt", "one")

    def packed() -> str:
        return str(device.call("archive.pack", path="Papers")["archives"][0]["artifact"])

    first = packed()
    device.write("Papers/deep/passing.txt", "x").unlink()
    os.utime(device.folder / "Papers/deep", (1, 1))
    assert packed() == first
    (device.folder / "Papers/deep").chmod(0o700)
    assert packed() != first


@pytest.mark.usefixtures("usual_umask")
def test_an_archive_of_a_stranger_gives_no_rights_beyond_those_of_a_new_file(device: Device) -> None:
    def become(head: tarfile.TarInfo) -> None:
        folder = head.name.endswith("/")
        head.type, head.mode = tarfile.DIRTYPE if folder else tarfile.REGTYPE, 0 if "none" in head.name else 0o7777

    names = ("./", "in/", "in/all", "none", "none.d/")
    (folder,) = unpack(device, tar_of(*((name, b"") for name in names), into=become))["folders"]
    assert modes(device.folder / folder) == {
        ".": "755",
        "in": "755",
        "in/all": "755",
        "none": "600",
        "none.d": "700",
    }


@pytest.mark.parametrize("name", ["../out/", "/out/", "a/../../out/", "C:/out/", "a\\b/"])
def test_a_folder_whose_name_leads_out_takes_nothing(device: Device, name: str) -> None:
    def become(head: tarfile.TarInfo) -> None:
        head.type = tarfile.DIRTYPE if head.name.endswith("/") else tarfile.REGTYPE

    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("good.txt", "x")
        archive.writestr(name, "")
    for data in (tar_of(("good.txt", b"x"), (name, b""), into=become), zipped.getvalue()):
        with pytest.raises(ToolFailed, match="leads out"):
            unpack(device, data)
    assert there(device) == []
    assert not (device.folder.parent / "out").exists()


@pytest.mark.parametrize(
    ("system", "date", "mode", "time"),
    [
        (0, (2020, 2, 3, 4, 5, 6), "644", datetime(2020, 2, 3, 4, 5, 6).timestamp()),  # noqa: DTZ001 - as ZIP has it
        (3, (2020, 2, 3, 4, 5, 6), "600", datetime(2020, 2, 3, 4, 5, 6).timestamp()),  # noqa: DTZ001 - as ZIP has it
        (3, (1980, 1, 1, 0, 0, 0), "600", None),
    ],
)
@pytest.mark.usefixtures("usual_umask")
def test_a_zip_of_another_system_tells_times_and_no_modes(
    device: Device, system: int, date: tuple[int, int, int, int, int, int], mode: str, time: float | None
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        head = zipfile.ZipInfo("a.txt", date)
        head.create_system, head.external_attr = system, 0o600 << 16
        archive.writestr(head, "x")
    (folder,) = unpack(device, out.getvalue(), "given.zip")["folders"]
    path = device.folder / folder / "a.txt"
    assert modes(path.parent)["a.txt"] == mode
    assert (path.stat().st_mtime == time) if time is not None else (path.stat().st_mtime > 1_000_000_000)


def test_the_same_files_give_the_same_bytes_and_are_kept_when_unpacked_again(device: Device) -> None:
    device.write("Papers/a.txt", "one")
    first, second = (device.call("archive.pack", path="Papers")["archives"][0]["artifact"] for _ in range(2))
    assert first == second
    ref = {"artifact": first, "name": "p.tar.gz"}
    again = [device.call("archive.unpack", files=[ref], under="Out")["folders"] for _ in range(2)]
    assert again == [["Out/p"], ["Out/p"]]
    device.write("Out/p/a.txt", "two")
    assert device.call("archive.unpack", files=[ref], under="Out")["folders"] == ["Out/p (2)"]
    assert not list(device.folder.rglob("*.part"))


def test_one_file_can_be_packed_and_what_is_not_there_cannot(device: Device) -> None:
    device.write("note.txt", "x")
    assert device.call("archive.pack", path="note.txt")["files"] == 1
    with pytest.raises(ToolFailed, match="no file or folder of this device"):
        device.call("archive.pack", path="nowhere")


def test_a_file_that_cannot_be_read_is_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = device.write("Papers/locked.txt", "x")
    device.write("Papers/open.txt", "y")
    real = Beneath.open

    def refuse(files: Beneath, path: Path) -> Any:
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return real(files, path)

    monkeypatch.setattr(Beneath, "open", refuse)
    packed = device.call("archive.pack", path="Papers")
    assert (packed["files"], packed["unreadable"]) == (1, ["locked.txt: Permission denied"])


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bz2.compress, lzma.compress])
def test_tars_of_others_are_read_however_they_are_packed(device: Device, pack: Callable[[bytes], bytes]) -> None:
    found = unpack(device, pack(tar_of(("a/b.txt", b"hello"), ("c.txt", b""))))
    assert there(device) == ["Out/given/a/b.txt", "Out/given/c.txt"]
    assert [(row["name"], row["bytes"]) for row in found["files"]] == [("a/b.txt", 5), ("c.txt", 0)]
    assert found["files"][0]["sha256"] == hashlib.sha256(b"hello").hexdigest()


@pytest.mark.parametrize("name", ["PKI/ca.pem", "PK", "BZhang.txt", "BZh9"])
def test_a_plain_tar_may_begin_with_a_name_that_begins_as_another_format(device: Device, name: str) -> None:
    found = unpack(device, tar_of((name, b"hello")))
    assert there(device) == [f"Out/given/{name}"]
    assert device.call("archive.verify", files=[device.store.take(tar_of((name, b"x")), name="a.tar")])["ok"] is True
    assert found["count"] == 1


def test_a_zip_is_read_and_its_links_are_left_out(device: Device) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.txt", "hello")
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found = unpack(device, out.getvalue(), "given.zip")
    assert there(device) == ["Out/given/a/b.txt"]
    assert found["summary"][0]["left_out"] == 1


@pytest.mark.parametrize(
    "name", ["../out.txt", "a/../../out.txt", "/etc/out.txt", "C:/out.txt", "a\\..\\b", "a\x01b", "."]
)
def test_a_name_that_leads_out_takes_nothing(device: Device, name: str) -> None:
    with pytest.raises(ToolFailed):
        unpack(device, tar_of(("good.txt", b"x"), (name, b"evil")))
    assert there(device) == []
    assert not (device.folder.parent / "out.txt").exists()


def test_a_link_is_left_out_and_what_is_written_through_it_stays_inside(device: Device, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    found = unpack(device, tar_of(("door", str(outside)), ("door/in.txt", b"x"), ("dev", "x")))
    assert list(outside.iterdir()) == []
    assert there(device) == ["Out/given/door/in.txt"]
    assert found["summary"][0]["left_out"] == 2
    assert found["summary"][0]["left_out_names"] == ["door: a link", "dev: a link"]


def test_devices_hard_links_and_pipes_are_left_out_with_the_reason(device: Device) -> None:
    none, second = "neither a file nor a folder", "a second name (hard link) of /etc/passwd"
    for kind, why in ((tarfile.CHRTYPE, none), (tarfile.FIFOTYPE, none), (tarfile.LNKTYPE, second)):

        def become(head: tarfile.TarInfo, kind: bytes = kind) -> None:
            head.type, head.size, head.linkname = kind, 0, "/etc/passwd"

        summary = unpack(device, tar_of(("odd", b""), into=become))["summary"][0]
        assert (summary["left_out"], summary["left_out_names"]) == (1, [f"odd: {why}"])
    assert there(device) == []


def named_by_linux(name: str, *, mark: str = "grusz.txt", field: bytes = b"") -> bytes:
    """Return a ZIP whose name is bytes of UTF-8 without the mark for it, as the zip program of Linux writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        head = zipfile.ZipInfo(mark)
        head.extra = field
        archive.writestr(head, "hello")
    return out.getvalue().replace(mark.encode(), name.encode("latin-1"))


def test_names_of_a_zip_of_linux_are_read_as_they_were_written(device: Device) -> None:
    utf8, dos = "gr\u00fc\u00df.c".encode().decode("latin-1"), "gr\x81\xe1.xyz"
    unpack(device, named_by_linux(utf8, mark="gr____.c"), "utf8.zip")
    raw = dos.encode("latin-1")
    written = b"\x01" + struct.pack("<I", zlib.crc32(raw)) + "gr\u00fc\u00df.xyz".encode()
    field = struct.pack("<HH", 0x7075, len(written)) + written
    unpack(device, named_by_linux(dos, mark="gr__.xyz", field=field), "field.zip")
    unpack(device, named_by_linux(dos, mark="gr__.xyz"), "dos.zip")
    stale = struct.pack("<HH", 0x7075, len(written)) + b"\x01...." + written[5:]
    unpack(device, named_by_linux(dos, mark="gr__.xyz", field=stale), "stale.zip")
    names = ["dos/gr\u00fc\u00df.xyz", "field/gr\u00fc\u00df.xyz", "stale/gr\u00fc\u00df.xyz", "utf8/gr\u00fc\u00df.c"]
    assert there(device) == [f"Out/{name}" for name in names]


def test_a_name_in_a_field_that_leads_out_takes_nothing(device: Device) -> None:
    written = b"\x01" + struct.pack("<I", zlib.crc32(b"good.txt")) + b"../out.txt"
    field = struct.pack("<HH", 0x7075, len(written)) + written
    with pytest.raises(ToolFailed, match=r"given.zip: the archive has a file '../out.txt'"):
        unpack(device, named_by_linux("good.txt", mark="good.txt", field=field), "given.zip")
    assert there(device) == []


@pytest.mark.parametrize(
    ("start", "kind"), [(b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"), (b"\x28\xb5\x2f\xfd", "Zstandard")]
)
def test_archives_of_other_kinds_are_named(device: Device, start: bytes, kind: str) -> None:
    with pytest.raises(ToolFailed, match=rf"given.tar: it is a file of {kind}; read are tar"):
        unpack(device, start + bytes(600))


def test_an_archive_with_a_password_is_told_by_its_name(device: Device) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "hello")
    closed = bytearray(out.getvalue())
    closed[closed.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ToolFailed, match=r"given.zip: 'a.txt' is encrypted: an archive with a password is not read"):
        unpack(device, bytes(closed), "given.zip")


def test_a_name_twice_takes_nothing(device: Device) -> None:
    with pytest.raises(ToolFailed, match="twice"):
        unpack(device, tar_of(("a.txt", b"x"), ("a.txt", b"y")))
    assert there(device) == []


def test_a_bomb_is_stopped_at_the_limit(device: Device) -> None:
    bomb = gzip.compress(tar_of(*((f"{number}.bin", bytes(1_000_000)) for number in range(8))))
    assert len(bomb) < 20_000
    with pytest.raises(ToolFailed, match="more than"):
        unpack(device, bomb, most_bytes=3_000_000)
    with pytest.raises(ToolFailed, match="more than"):
        unpack(device, bomb, most_files=3)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(4_000_000))
    with pytest.raises(ToolFailed, match="more than"):
        unpack(device, zipped.getvalue(), "given.zip", most_bytes=3_000_000)
    assert there(device) == []


def test_a_zip_that_lies_about_its_sizes_is_refused(device: Device) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(4_000_000))
    data = out.getvalue().replace((4_000_000).to_bytes(4, "little"), (40).to_bytes(4, "little"))
    with pytest.raises(ToolFailed):
        unpack(device, data, "given.zip", most_bytes=3_000_000)
    assert there(device) == []


def test_headers_that_grow_without_end_are_refused(device: Device) -> None:
    head = tarfile.TarInfo("././@LongLink")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, 500_000_000
    endless = gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + bytes(40_000_000))
    with pytest.raises(ToolFailed, match="headers are far too big"):
        unpack(device, endless)


@pytest.mark.parametrize("cut", [0.2, 0.6, 0.99])
def test_a_damaged_archive_is_told_and_leaves_nothing(device: Device, cut: float) -> None:
    device.write("Papers/a.bin", hashlib.sha256(b"x").digest() * 2000)
    (ref,) = device.call("archive.pack", path="Papers")["archives"]
    data = device.store.read(ref)
    broken = device.store.take(data[: int(len(data) * cut)], name="broken.tar.gz")
    with pytest.raises(ToolFailed):
        device.call("archive.unpack", files=[broken], under="Out")
    found = device.call("archive.verify", files=[broken], device_name="box")
    assert found["ok"] is False
    assert "broken.tar.gz" in found["why"]
    assert not (device.folder / "Out").exists() or not list((device.folder / "Out").iterdir())


def test_verify_compares_with_the_list_inside_and_with_the_stored_hash(device: Device) -> None:
    device.write("Papers/a.txt", "one")
    (ref,) = device.call("archive.pack", path="Papers")["archives"]
    good = device.call("archive.verify", files=[ref], device_name="box")
    assert (good["ok"], good["archives"][0]["files"], good["archives"][0]["listed"]) == (True, 1, True)
    assert good["archives"][0]["device"] == "box"
    plain = tar_of(("a.txt", b"two"))
    with tarfile.open(fileobj=gzip.GzipFile(fileobj=io.BytesIO(device.store.read(ref)))) as archive:
        listed = archive.extractfile(".starloom-files.json")
        assert listed is not None
        forged = tar_of(("a.txt", b"two"), (".starloom-files.json", listed.read()))
    bad = device.call("archive.verify", files=[device.store.take(forged, name="forged.tar")])
    assert bad["archives"][0]["wrong"] == [{"path": "a.txt", "why": "has other contents"}]
    assert device.call("archive.verify", files=[device.store.take(plain)])["archives"][0]["listed"] is False
    device.write("copy.tar.gz", device.store.read(ref) + b"x")
    other = device.call("archive.verify", files=[{"path": "copy.tar.gz", "sha256": ref["artifact"]}])
    assert other["archives"][0]["why"] == "its bytes are not those that were stored"


def test_rotation_keeps_the_newest_of_each_series_and_the_rest_can_come_back(device: Device) -> None:
    names = [f"box-Papers-2026010{day}T000000Z.tar.gz" for day in range(1, 6)]
    for name in (*names, "box-Other-20260101T000000Z.tar.gz", "mine.tar.gz"):
        device.write(f"Backups/{name}", archive_of(name))
    found = device.call("archive.rotate", under="Backups", files=[{"name": names[4]}], keep=2, device_name="nas")
    assert [(row["archive"], row["state"]) for row in found["rows"]] == [
        (names[4], "new"),
        (names[3], "kept"),
        *((name, "in the trash") for name in (names[2], names[1], names[0])),
    ]
    left = sorted(path.name for path in (device.folder / "Backups").iterdir() if path.is_file())
    assert left == sorted([*names[3:], "box-Other-20260101T000000Z.tar.gz", "mine.tar.gz"])
    device.call("fs.restore", tickets=[found["rows"][2]["ticket"]])
    assert (device.folder / "Backups" / names[2]).read_bytes() == archive_of(names[2])
    again = device.call("archive.rotate", under="Backups", files=[{"name": "mine.tar.gz"}], keep=1)
    assert again["rows"] == []


def test_two_folders_that_are_called_alike_push_out_no_backups_of_each_other(device: Device) -> None:
    device.write("Work/Documents/a.txt", "work")
    device.write("Private/Documents/a.txt", "private")
    device.write("Private_Documents/a.txt", "other")

    def night(path: str, device_name: str = "box") -> tuple[str, int]:
        """Return the series of a night's archive, and how many went into the trash."""
        packed = device.call("archive.pack", path=path, device_name=device_name)
        stored = device.call("fs.write", files=packed["archives"], under="Backups", name_by="name")
        rotated = device.call("archive.rotate", files=stored["files"], under="Backups", keep=1)
        return rotated["rows"][0]["series"], rotated["trashed"]

    nights = [
        night("Work/Documents"),
        night("Private/Documents"),
        night("Private_Documents"),
        night("Work/Documents", "box-Work"),
    ]
    series = [name for name, _ in nights]
    assert len(set(series)) == len(series)
    assert [gone for _, gone in nights] == [0, 0, 0, 0]
    assert series[0].startswith("box-Work-Documents-")
    assert night("Work/Documents")[0] == series[0]


def test_a_folder_that_nobody_changed_uses_up_no_place(device: Device) -> None:
    def night(day: int, contents: str) -> dict[str, Any]:
        name = f"box-Docs-202601{day:02}T000000Z.tar.gz"
        device.write(f"Backups/{name}", archive_of(contents))
        found: dict[str, Any] = device.call("archive.rotate", under="Backups", files=[{"name": name}], keep=2)
        return found

    def left() -> list[str]:
        return sorted(path.name[15:17] for path in (device.folder / "Backups").iterdir() if path.is_file())

    night(1, "first")
    night(2, "other")
    third = night(3, "other")
    assert [row["state"] for row in third["rows"]] == ["new", "same as the new one, in the trash", "kept"]
    assert (third["kept"], third["trashed"]) == (2, 1)
    assert left() == ["01", "03"]
    for day in (4, 5):
        night(day, "other")
    assert left() == ["01", "05"]
    night(6, "third")
    assert left() == ["05", "06"]
    device.call("fs.restore", tickets=[third["rows"][1]["ticket"]])
    brought_back = device.folder / "Backups" / "box-Docs-20260102T000000Z.tar.gz"
    assert brought_back.read_bytes() == archive_of("other")
    assert brought_back.stat().st_nlink > 1


def test_where_files_cannot_be_linked_both_stay_whole(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refused)
    for day in (1, 2):
        name = f"box-Docs-202601{day:02}T000000Z.tar.gz"
        device.write(f"Backups/{name}", archive_of("same"))
        found = device.call("archive.rotate", under="Backups", files=[{"name": name}], keep=2)
    assert [row["state"] for row in found["rows"]] == ["new", "same as the new one, in the trash"]
    assert sorted(path.name for path in (device.folder / "Backups").iterdir() if path.is_file()) == [name]


def rotated(device: Device, archives: dict[int, bytes], *, keep: int, new: int) -> dict[int, str]:
    """Return the state of each day's archive after a rotation for the newest."""
    name = "box-Docs-202601{:02}T000000Z.tar.gz"
    for day, data in archives.items():
        device.write(f"Backups/{name.format(day)}", data)
    stored = {"path": f"Backups/{name.format(new)}", "sha256": hashlib.sha256(archives[new]).hexdigest()}
    found = device.call("archive.rotate", under="Backups", files=[stored], keep=keep)
    states = {int(row["archive"][15:17]): row["state"] for row in found["rows"]}
    assert found["bad"] == sum(state.startswith("damaged, does not count: ") for state in states.values())
    assert found["kept"] + found["trashed"] + found["bad"] == len(states)
    left = {int(path.name[15:17]) for path in (device.folder / "Backups").iterdir() if path.is_file()}
    assert left == {day for day, state in states.items() if not state.endswith("in the trash")}
    return {day: state.partition(":")[0] for day, state in states.items()}


def test_a_damaged_archive_pushes_out_no_whole_one(device: Device) -> None:
    whole = {day: archive_of(f"day {day}") for day in (1, 2, 5)}
    broken = {3: whole[1][:-9], 4: b""}
    assert rotated(device, whole | broken, keep=2, new=5) == {
        5: "new",
        4: "damaged, does not count",
        3: "damaged, does not count",
        2: "kept",
        1: "in the trash",
    }


def night_of(device: Device, day: int, *, keep: int) -> dict[int, str]:
    """Back the folder `Docs` up as if on a day; return the state of each day's archive."""
    (ref,) = device.call("archive.pack", path="Docs")["archives"]
    name = re.sub("[0-9]{8}T[0-9]{6}Z", f"202601{day:02}T000000Z", ref["name"])
    device.write(f"Backups/{name}", device.store.read(ref))
    found = device.call("archive.rotate", under="Backups", files=[{"path": f"Backups/{name}"}], keep=keep)
    return {int(re.findall("-202601([0-9]{2})T", row["archive"])[0]): row["state"] for row in found["rows"]}


@pytest.mark.parametrize("whole", ["a file", "a folder"])
def test_an_archive_that_lacks_what_it_could_not_read_pushes_out_none_that_has_it(
    device: Device, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    device.write("Docs/letters/a.txt", "all my letters")
    device.write("Docs/note.txt", "0")
    night_of(device, 1, keep=2)
    locked, opened, scan = device.folder / "Docs/letters", Beneath.open, Beneath.scan

    def refuse(real: Callable[..., Any]) -> Callable[..., Any]:
        def refused(files: Beneath, path: Path) -> Any:
            if path.is_relative_to(locked):
                raise PermissionError(13, "Permission denied", str(path))
            return real(files, path)

        return refused

    if whole == "a file":
        monkeypatch.setattr(Beneath, "open", refuse(opened))
    else:
        monkeypatch.setattr(Beneath, "scan", refuse(scan))
    for day in (2, 3, 4):
        device.write("Docs/note.txt", str(day))
        states = night_of(device, day, keep=2)
    assert states == {4: "new", 3: "kept", 2: "in the trash", 1: "kept, has files that the newest left out"}
    monkeypatch.undo()
    device.write("Docs/note.txt", "5")
    assert night_of(device, 5, keep=2) == {5: "new", 4: "kept", 3: "in the trash", 1: "in the trash"}


def test_an_archive_without_files_pushes_out_none(device: Device) -> None:
    photo = device.write("Docs/photo.jpg", "x")
    night_of(device, 1, keep=1)
    photo.unlink()
    assert night_of(device, 2, keep=1) == {2: "new, has no file, does not count", 1: "kept"}
    device.write("Docs/photo.jpg", "y")
    assert night_of(device, 3, keep=1) == {3: "new", 2: "in the trash", 1: "in the trash"}


def test_a_new_archive_that_is_not_as_it_was_stored_pushes_out_none(device: Device) -> None:
    name = "box-Docs-20260102T000000Z.tar.gz"
    device.write("Backups/box-Docs-20260101T000000Z.tar.gz", archive_of("one"))
    device.write(f"Backups/{name}", archive_of("other bytes"))
    stored = {"path": f"Backups/{name}", "sha256": hashlib.sha256(archive_of("two")).hexdigest()}
    found = device.call("archive.rotate", under="Backups", files=[stored], keep=1)
    assert (found["bad"], found["kept"], found["trashed"]) == (1, 1, 0)
    assert found["rows"][0]["state"] == "damaged, does not count: its bytes are not those that were stored"


def test_two_damaged_archives_that_are_equal_stay_both(device: Device) -> None:
    broken = archive_of("x")[:-9]
    assert rotated(device, {1: archive_of("one"), 2: broken, 3: broken}, keep=1, new=3) == {
        3: "damaged, does not count",
        2: "damaged, does not count",
        1: "kept",
    }


def test_the_same_folder_is_seen_past_a_damaged_archive(device: Device) -> None:
    same = archive_of("same")
    assert rotated(device, {1: archive_of("one"), 2: same, 3: b"damaged", 4: same}, keep=2, new=4) == {
        4: "new",
        3: "damaged, does not count",
        2: "same as the new one, in the trash",
        1: "kept",
    }


@given(st.text(max_size=60))
def test_any_name_is_refused_or_stays_below(name: str) -> None:
    try:
        path = safe_path(name)
    except ToolFailed:
        return
    assert path
    assert not path.startswith("/")
    assert ".." not in path.split("/")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_changed_archive_never_does_more_than_fail(tmp_path: Path, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["tar", "gz", "zip"]))
    if kind == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/b.txt", b"hello" * 50)
        whole = bytearray(out.getvalue())
    else:
        whole = bytearray(tar_of(("a/b.txt", b"hello" * 50), ("c", "x")))
        if kind == "gz":
            whole = bytearray(gzip.compress(bytes(whole), mtime=0))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "changed"
    path.write_bytes(bytes(whole))
    with contextlib.suppress(ToolFailed):
        for member in members(path, LIMITS, Findings(), Beneath(read=(path.parent,))):
            assert ".." not in member.path.split("/")
            copy_out(member, None)


def test_a_name_that_begins_with_nul_is_left_out_of_a_zip(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/b.txt", b"hello")
        archive.writestr("c.txt", b"hello")
    whole = bytearray(out.getvalue())
    whole[whole.rindex(b"a/b.txt")] = 0
    path, taken = tmp_path / "changed", Findings()
    path.write_bytes(bytes(whole))
    assert [member.path for member in members(path, LIMITS, taken, Beneath(read=(path.parent,)))] == ["c.txt"]
    assert taken.left_out == ["?: it has no name"]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("zeile\numbruch.txt", "zeile%0Aumbruch.txt"),
        ("a\\b.txt", "a%5Cb.txt"),
        ("c: notes.txt", "c%3A notes.txt"),
        ("bell\a.txt", "bell%07.txt"),
        (".starloom-files.json", ".starloom-files.json (2)"),
    ],
)
def test_a_file_with_a_name_that_no_archive_may_have_is_backed_up_under_another(
    device: Device, name: str, stored: str
) -> None:
    (device.folder / "in").mkdir()
    (device.folder / "in" / name).write_text("mine")
    device.write("in/b.txt", "b")
    device.write("in/zeile%0Aumbruch (2).txt", "beside")
    packed = device.call("archive.pack", path="in")
    assert (packed["files"], packed["unreadable_count"], packed["summary"]["renamed"]) == (3, 0, 1)
    (renamed,) = packed["renamed"]
    assert renamed["stored"] == stored
    assert "\n" not in renamed["path"]
    assert device.call("archive.verify", files=packed["archives"])["ok"] is True
    (folder,) = device.call("archive.unpack", files=packed["archives"], under="out")["folders"]
    assert (device.folder / folder / stored).read_text() == "mine"


def test_a_renamed_file_lies_over_no_other_in_its_archive(device: Device) -> None:
    for name in ("a\\b", "a%5Cb", "a%5Cb (2)"):
        device.write(f"in/{name}", name)
    packed = device.call("archive.pack", path="in")
    assert [item["stored"] for item in packed["renamed"]] == ["a%5Cb (3)"]
    (folder,) = device.call("archive.unpack", files=packed["archives"], under="out")["folders"]
    assert {path.name: path.read_text() for path in (device.folder / folder).iterdir()} == {
        "a%5Cb": "a%5Cb",
        "a%5Cb (2)": "a%5Cb (2)",
        "a%5Cb (3)": "a\\b",
    }


def test_a_file_whose_name_is_no_text_is_backed_up_and_comes_back_byte_for_byte(device: Device) -> None:
    names = [b"nur\xe9.png", b"ordner\xff/inner.txt", b"plain.txt"]
    for name in names:
        device.write(os.fsdecode(b"in/" + name), name)
    packed = device.call("archive.pack", path="in")
    assert (packed["files"], packed["unreadable_count"], packed["renamed"]) == (3, 0, [])
    read = device.call("archive.verify", files=packed["archives"])
    assert (read["ok"], read["archives"][0]["files"]) == (True, 3)
    for _ in range(2):  # the same again takes no second folder
        found = device.call("archive.unpack", files=packed["archives"], under="out")
    (summary,) = found["summary"]
    assert (summary["files"], summary["unnamed"], summary["missing"], summary["not_listed"]) == (3, 2, 0, 0)
    assert [row["name"] for row in found["files"]] == ["plain.txt"]
    root = device.folder / found["folders"][0]
    back = {os.fsencode(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert back == {name: name for name in names}


def test_a_file_whose_name_is_no_text_is_read_back_from_the_disk(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write(os.fsdecode(b"in/nur\xe9.png"), b"picture")
    packed = device.call("archive.pack", path="in")
    place = archives._place

    def placing(context: ToolContext, *more: Any) -> tuple[str, bool]:
        shown, new = place(context, *more)
        next((device.folder / shown).iterdir()).write_bytes(b"other")
        return shown, new

    monkeypatch.setattr(archives, "_place", placing)
    (summary,) = device.call("archive.unpack", files=packed["archives"], under="out")["summary"]
    assert (summary["files"], summary["unnamed"], summary["missing"]) == (1, 1, 1)


def test_a_name_that_this_device_cannot_store_is_left_out_by_name(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write(os.fsdecode(b"in/nur\xe9.png"), "x")
    device.write("in/plain.txt", "y")
    packed = device.call("archive.pack", path="in")
    create = Beneath.create

    def refuse(files: Beneath, path: Path) -> Any:
        if b"\xe9" in os.fsencode(path):
            raise OSError(errno.EILSEQ, "Illegal byte sequence", str(path))
        return create(files, path)

    monkeypatch.setattr(Beneath, "create", refuse)
    found = device.call("archive.unpack", files=packed["archives"], under="out")
    (summary,) = found["summary"]
    assert (summary["files"], summary["missing"], summary["left_out"]) == (1, 1, 1)
    assert summary["left_out_names"] == [r"nur\xe9.png: this device cannot store its name"]


def test_nothing_of_the_trash_is_packed_or_counted(device: Device) -> None:
    device.write("in/a.txt", "a")
    device.write(os.fsdecode(b"in/.starloom-trash/t/nur\xe9.png"), "gone")
    packed = device.call("archive.pack", path="in")
    assert (packed["files"], packed["unreadable"], packed["unreadable_count"]) == (1, [], 0)


def test_a_folder_that_cannot_be_read_is_named_by_a_backup(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device.write("in/a.txt", "a")
    locked(device, "in/locked", monkeypatch)
    packed = device.call("archive.pack", path="in")
    assert (packed["unreadable"], packed["unreadable_count"]) == (["locked: it cannot be read: Permission denied"], 1)
    assert packed["summary"]["why"] == "locked: it cannot be read: Permission denied"
