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
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.packing import Findings, Limits, copy_out, members, safe_path, write_archive
from starloom_agent.toolkit.files.walking import Found
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
    read = device.call("archive.verify", files=packed["archives"])
    assert [(row["ok"], row["unpacked"]) for row in read["archives"]] == [(True, 1)]


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
    assert "door: not a plain file" in found["summary"][0]["left_out_names"][0]


def test_devices_hard_links_and_pipes_are_left_out(device: Device) -> None:
    for kind in (tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE):

        def become(head: tarfile.TarInfo, kind: bytes = kind) -> None:
            head.type, head.size, head.linkname = kind, 0, "/etc/passwd"

        assert unpack(device, tar_of(("odd", b""), into=become))["summary"][0]["left_out"] == 1
    assert there(device) == []


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
        packed = device.call("archive.pack", path=path, device_name=device_name)
        stored = device.call("fs.write", files=packed["archives"], under="Backups", name_by="name")
        rotated = device.call("archive.rotate", files=stored["files"], under="Backups", keep=1)
        return rotated["rows"][0]["series"], rotated["trashed"]

    series, gone = zip(
        night("Work/Documents"),
        night("Private/Documents"),
        night("Private_Documents"),
        night("Work/Documents", "box-Work"),
        strict=True,
    )
    assert len(set(series)) == len(series)
    assert gone == (0, 0, 0, 0)
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

    def placing(context: ToolContext, half: Path, wanted: str, written: dict[str, Any]) -> tuple[str, bool]:
        shown, new = place(context, half, wanted, written)
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


def lacking(device: Device, *texts: str, left_out: int = 0) -> bytes:
    """Return an archive of files with these texts, made where so many paths could not be looked at."""
    files = [
        Found(path, path.name, path.stat().st_size, 0)
        for number, text in enumerate(texts)
        if (path := device.write(f"Packed/{number}.txt", text))
    ]
    archive = device.folder / "packed.tar.gz"
    archive.unlink(missing_ok=True)
    door = Beneath(read=(device.folder,), write=(device.folder,))
    write_archive(files, archive, lambda _done, _name: None, door, unseen=left_out)
    return archive.read_bytes()


def test_archives_that_are_not_whole_do_not_push_out_the_last_whole_one(device: Device) -> None:
    whole = lacking(device, "letters", "notes")
    assert whole != lacking(device, "letters", "notes", left_out=1)
    nights = {day: lacking(device, f"notes {day}", left_out=1) for day in (3, 4, 5)}
    assert rotated(device, {1: archive_of("older"), 2: whole, **nights}, keep=2, new=5) == {
        5: "new",
        4: "kept",
        3: "in the trash",
        2: "kept, newer ones have more left out",
        1: "in the trash",
    }


def test_where_something_is_always_left_out_the_one_with_the_least_stays(device: Device) -> None:
    nights = {day: lacking(device, f"notes {day}", left_out=count) for day, count in ((1, 1), (2, 2), (3, 2), (4, 2))}
    assert rotated(device, nights, keep=1, new=4) == {
        4: "new",
        3: "in the trash",
        2: "in the trash",
        1: "kept, newer ones have more left out",
    }
    same = {day: lacking(device, f"notes {day}", left_out=1) for day in (1, 2, 3)}
    shutil.rmtree(device.folder / "Backups")
    assert rotated(device, same, keep=2, new=3) == {3: "new", 2: "kept", 1: "in the trash"}


def test_the_archive_of_an_empty_folder_pushes_out_no_photos(device: Device) -> None:
    assert rotated(device, {1: lacking(device, "photo"), 2: lacking(device)}, keep=1, new=2) == {
        2: "new",
        1: "kept, newer ones have more left out",
    }
