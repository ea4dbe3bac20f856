from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_agent.tools.files.find import score, search_words
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


def test_folders_are_grouped_with_their_files_and_sizes(device: Device) -> None:
    device.write("Pictures/B/two.PNG", b"22")
    device.write("Pictures/A/one.jpg", b"1")
    device.write("Pictures/A/notes.txt", b"no picture")
    device.write("Pictures/.hidden/three.png", b"333")
    found = device.call("fs.find", root="Pictures", kinds=["image"], group_by="folder")
    assert [(folder["path"], folder["bytes"]) for folder in found["folders"]] == [("Pictures/A", 1), ("Pictures/B", 2)]
    assert found["folders"][0]["files"][0]["path"] == "Pictures/A/one.jpg"
    assert found["folders"][0]["files"][0]["below"] == "Pictures/A/one.jpg"
    assert (found["total_bytes"], found["count"], found["truncated"]) == (3, 2, False)


def test_links_are_not_followed_out_of_the_folder(device: Device, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    (device.folder / "way-out").symlink_to(tmp_path)
    (device.folder / "secret.png").symlink_to(tmp_path / "secret.png")
    assert device.call("fs.find")["count"] == 0
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.read", path="way-out/secret.png")
    assert failed.value.code is Code.POLICY_REFUSED


def test_words_find_the_best_first_and_months_by_number(device: Device) -> None:
    device.write("papers/2026-03 invoice.pdf", b"x")
    device.write("papers/2026-04 invoice.pdf", b"x")
    device.write("letters/aunt.txt", b"x")
    found = device.call("fs.find", words="the March invoice", device_name="laptop")
    assert [row["name"] for row in found["files"]] == ["2026-03 invoice.pdf", "2026-04 invoice.pdf"]
    assert {row["device"] for row in found["files"]} == {"laptop"}


def test_words_without_a_root_say_the_whole_folder_and_the_path_can_be_read(device: Device) -> None:
    here = device.write("Lese liste.md", b"x")
    (row,) = device.call("fs.find", words="lese liste")["files"]
    assert row["path"] == os.fspath(here.resolve())
    assert device.call("fs.read", path=row["path"])["text"] == "x"


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert search_words("Where is THE Résumé file") == ["where", "resume"]
    assert search_words("the file") == ["the", "file"]
    assert search_words("oma.jpg from 2026.03") == ["oma", ".jpg", "2026", "03"]
    assert score("Pictures/zebra.jpg", ["oma", ".jpg"]) == score("Pictures/a.jpg", ["oma", ".jpg"]) == 0
    assert score("oma.jpg", ["oma", ".jpg"]) > score("oma.png", ["oma", ".jpg"]) > 0
    assert score("a.jpg", [".jpg"]) > score("jpg/a.png", [".jpg"]) == 0
    assert score("a/Résumé.pdf", ["resume"]) > score("resume/a.pdf", ["resume"]) > score("a.pdf", ["resume"]) == 0


def test_a_comma_parts_the_words_of_several_files(device: Device) -> None:
    for name in ("x.pdf", "y.pdf", "z.pdf"):
        device.write(name, b"x")
    found = device.call("fs.find", words="x.pdf, y.pdf,")["files"]
    best = max(row["score"] for row in found)
    assert sorted(row["name"] for row in found if row["score"] == best) == ["x.pdf", "y.pdf"]


def test_a_file_that_is_named_so_comes_before_those_that_are_alike(device: Device) -> None:
    for name in ("a/contract (alt).txt", "b/Contract.TXT", "c/contract Schmidt.txt"):
        device.write(name, b"x")
    found = device.call("fs.find", words="letter.txt, contract.txt")["files"]
    assert [row["name"] for row in found] == ["Contract.TXT", "contract (alt).txt", "contract Schmidt.txt"]


def test_size_age_and_pattern_narrow_the_search(device: Device) -> None:
    old = device.write("old.log", b"12345")
    device.write("new.log", b"12345")
    device.write("small.log", b"1")
    os.utime(old, (1_000_000, 1_000_000))
    assert [row["name"] for row in device.call("fs.find", older_than="30d")["files"]] == ["old.log"]
    fresh = device.call("fs.find", newer_than="1d", min_bytes=2, pattern="*.log")
    assert [row["name"] for row in fresh["files"]] == ["new.log"]


def test_ages_may_be_moments(device: Device) -> None:
    for name, day in (("sunday", 22), ("monday", 23), ("tuesday", 24)):
        taken = datetime(2026, 3, day, 15, tzinfo=UTC).timestamp()
        os.utime(device.write(f"{name}.jpg", b"x"), (taken, taken))
    found = device.call("fs.find", newer_than="2026-03-23T00:00:00+00:00", older_than="2026-03-24T00:00:00+00:00")
    assert [row["name"] for row in found["files"]] == ["monday.jpg"]
    with pytest.raises(ToolFailed, match="not a moment"):
        device.call("fs.find", newer_than="2026-13-01")


def test_an_age_that_is_none_is_refused_also_where_nothing_is_found(device: Device) -> None:
    for name, age in (("newer_than", "lately"), ("older_than", "2026-13-01")):
        asked: dict[str, Any] = {name: age, "pattern": "*.none"}
        with pytest.raises(ToolFailed) as failed:
            device.call("fs.find", **asked)
        assert failed.value.code is Code.BAD_ARGUMENTS


def test_a_limit_is_said(device: Device) -> None:
    for number in range(5):
        device.write(f"{number}.txt", b"x")
    found = device.call("fs.find", limit=2)
    assert (len(found["files"]), found["count"], found["truncated"]) == (2, 5, True)


@pytest.mark.parametrize("args", [{}, {"group_by": "folder", "whole": True}, {"root": "many"}, {"same_size": True}])
def test_files_beyond_the_limit_are_named_as_left_out(device: Device, args: dict[str, Any]) -> None:
    for number in range(5):
        device.write(f"many/{number}.txt", "x")
    found = device.call("fs.find", limit=2, device_name="box", **args)
    (row,) = found["left_out"]
    assert (row["path"], row["device"]) == (args.get("root", "."), "box")
    assert row["why"].startswith("3 more files fit, and a list has at most 2")
    assert device.call("fs.find", limit=5, **args)["left_out"] == []


@pytest.mark.parametrize("args", [{"order": "newest"}, {"largest": True}, {"words": "txt"}])
def test_the_first_of_an_order_leave_nothing_out(device: Device, args: dict[str, Any]) -> None:
    for number in range(5):
        device.write(f"{number}.txt", "x")
    found = device.call("fs.find", limit=2, **args)
    assert (found["left_out"], found["truncated"]) == ([], True)


def test_without_a_root_every_granted_folder_is_searched(device: Device, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_bytes(b"b")
    device.write("a.txt", b"a")
    granted = Folders.of(write=[str(device.folder), str(other)])
    assert [row["path"] for row in device.call("fs.find", granted=granted)["files"]] == ["a.txt", str(other / "b.txt")]


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("other/*.mov", 1), ("other/*/*.mov", 1), ("*/d/*.mov", 1), ("d/*.mov", 1), ("oth*", 0), ("nether/*.mov", 0)],
)
def test_a_pattern_may_begin_with_the_granted_folder(device: Device, tmp_path: Path, pattern: str, count: int) -> None:
    clip = tmp_path / "other" / "d" / "a.mov"
    clip.parent.mkdir(parents=True)
    clip.write_bytes(b"x")
    granted = Folders.of(write=[str(device.folder), str(tmp_path / "other")])
    found = device.call("fs.find", granted=granted, pattern=pattern)
    assert [row["path"] for row in found["files"]] == [str(clip)] * count


def test_equal_sizes_are_found_across_granted_folders(device: Device, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_bytes(b"same")
    device.write("a.txt", b"same")
    device.write("c.txt", b"another size")
    granted = Folders.of(write=[str(device.folder), str(other)])
    found = device.call("fs.find", granted=granted, root=".", same_size=True, min_bytes=1)
    assert [row["path"] for row in found["files"]] == ["a.txt", str(other / "b.txt")]
    hashed = device.call("fs.hash", granted=granted, files=found["files"])["files"]
    assert hashed[0]["sha256"] == hashed[1]["sha256"]


def test_a_list_without_a_folder_is_of_every_granted_folder(device: Device, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (other / "b.txt").write_bytes(b"b")
    device.write("a.txt", b"a")
    granted = Folders.of(write=[str(device.folder), str(other)])
    for path in ("", "."):
        found = device.call("fs.list", granted=granted, path=path)
        assert [row["name"] for row in found["entries"]] == ["a.txt", "other/inner", "other/b.txt"]
    inner = device.call("fs.list", granted=granted, path="other")
    assert [row["name"] for row in inner["entries"]] == ["inner", "b.txt"]


def test_the_name_of_a_granted_folder_means_that_folder(device: Device) -> None:
    device.write("Pictures/a.png", b"a")
    granted = Folders.of(read=[str(device.folder / "Pictures")])
    found = device.call("fs.find", granted=granted, root="Pictures")
    assert [row["path"] for row in found["files"]] == [str(device.folder / "Pictures/a.png")]


def test_outside_and_missing_folders_say_the_way_out(device: Device, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="starloom-agent grant files:read") as failed:
        device.call("fs.find", root=str(tmp_path))
    assert failed.value.code is Code.POLICY_REFUSED
    with pytest.raises(ToolFailed) as missing:
        device.call("fs.find", root="nowhere")
    assert missing.value.code is Code.FILE_NOT_FOUND


def test_a_folder_is_listed_folders_first(device: Device) -> None:
    device.write("b.txt", b"b")
    device.write("z/a.txt", b"a")
    found = device.call("fs.list")
    assert [(entry["name"], entry["kind"]) for entry in found["entries"]] == [("z", "folder"), ("b.txt", "file")]


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("PDFs", {"a.PDF"}),
        ("all pictures", {"b.png", "c.jpg"}),
        ("photos and PDFs", {"a.PDF", "b.png", "c.jpg"}),
        ("*.tx?", {"d.txt"}),
        (".txt", {"d.txt"}),
        ("all files", {"a.PDF", "b.png", "c.jpg", "d.txt", "invoice.csv"}),
        ("wav files", set()),
        ("spreadsheets", {"invoice.csv"}),
        ("invoices", {"invoice.csv"}),
    ],
)
def test_a_sort_of_file_is_meant_as_people_call_it(device: Device, what: str, found: set[str]) -> None:
    for name in ("a.PDF", "b.png", "c.jpg", "d.txt", "invoice.csv"):
        device.write(f"Downloads/{name}", name)
    rows = device.call("fs.find", root="Downloads", what=what)["files"]
    assert {row["name"] for row in rows} == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("all wav files", {"a.wav"}),
        ("every wav", {"a.wav"}),
        ("all recordings, wave", {"a.wav", "wave.txt"}),
        ("wav files", {"a.wav", "wave.txt"}),
    ],
)
def test_all_files_of_a_sort_are_no_words_of_names(device: Device, words: str, found: set[str]) -> None:
    for name in ("a.wav", "wave.txt", "all.txt"):
        device.write(name, name)
    assert {row["name"] for row in device.call("fs.find", words=words)["files"]} == found


def test_only_files_of_equal_size_can_be_equal(device: Device) -> None:
    for name, text in {"a": "one", "b": "two", "c": "three", "deep/d": "six"}.items():
        device.write(name, text)
    found = device.call("fs.find", same_size=True, not_under="deep")
    assert [row["name"] for row in found["files"]] == ["a", "b"]
    assert (found["count"], found["total_bytes"], found["truncated"]) == (2, 6, False)
    assert device.call("fs.find", same_size=True, not_under="deep", limit=2)["truncated"]


def test_a_folder_that_is_not_there_may_be_nothing(device: Device) -> None:
    assert device.call("fs.find", root="Nowhere", missing="nothing")["files"] == []
    with pytest.raises(ToolFailed, match="not a folder"):
        device.call("fs.find", root="Nowhere")


def test_a_point_means_every_granted_folder(device: Device, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "far.txt").write_text("x")
    device.write("near.txt", "x")
    granted = Folders.of(write=[str(device.folder), str(other)])
    found = device.call("fs.find", root=".", granted=granted)["files"]
    assert {row["name"] for row in found} == {"near.txt", "far.txt"}


@pytest.mark.parametrize("name", ["Keepsakes", "./Keepsakes/", "Keepsakes/deep/.."])
def test_the_name_of_a_granted_folder_is_that_folder(device: Device, name: str) -> None:
    device.write("Keepsakes/deep/diary.txt", b"one")
    context = device.context(granted=Folders.of(write=[str(device.folder / "Keepsakes")]))
    assert context.resolve_read(name) == context.resolve_write(name) == device.folder / "Keepsakes"


def test_every_file_tool_reads_the_name_of_a_granted_folder_alike(device: Device) -> None:
    device.write("Keepsakes/diary.txt", b"one")
    granted = Folders.of(write=[str(device.folder / "Keepsakes")])
    listed = device.call("fs.list", path="Keepsakes", granted=granted)
    assert [entry["name"] for entry in listed["entries"]] == ["diary.txt"]
    assert device.call("archive.pack", path="Keepsakes", granted=granted)["summary"]["files"] == 1
    assert device.call("fs.find", root="Keepsakes", granted=granted)["total_bytes"] == 3
    assert device.call("fs.read", path="Keepsakes/diary.txt", granted=granted)["text"] == "one"


def test_a_folder_inside_the_first_granted_one_comes_before_a_granted_folder_of_its_name(device: Device) -> None:
    device.write("Keepsakes/Keepsakes/inner.txt", b"inner")
    context = device.context(granted=Folders.of(write=[str(device.folder / "Keepsakes")]))
    assert context.resolve_read("Keepsakes") == device.folder / "Keepsakes" / "Keepsakes"


def test_a_folder_called_like_the_agents_workspace_is_made_in_the_granted_folder(device: Device) -> None:
    home = device.folder.parent / "agent" / "workspace"
    context = device.context(granted=Folders.of(write=[str(device.folder), str(home)]))
    assert context.resolve_write("workspace/a.txt") == device.folder / "workspace" / "a.txt"


def test_sizes_are_measured_by_the_name_of_a_granted_folder(device: Device) -> None:
    device.write("Keepsakes/deep/diary.txt", b"one")
    granted = Folders.of(write=[str(device.folder / "Keepsakes")])
    rows = device.call("disk.usage", path="Keepsakes", top=3, granted=granted)["rows"]
    assert [row["folder"] for row in rows] == [str(device.folder / "Keepsakes" / "deep")]


def test_a_working_folder_has_no_short_name(device: Device) -> None:
    device.write("Keepsakes/diary.txt", b"one")
    context = device.context(granted=Folders.of(write=[str(device.folder / "Keepsakes")]))
    assert context.resolve_cwd("Keepsakes") == device.folder / "Keepsakes" / "Keepsakes"


def test_a_root_that_is_a_file_is_that_file_alone(device: Device) -> None:
    device.write("notes/diary.txt", b"one")
    device.write("notes/other.txt", b"two")
    (folder,) = device.call("fs.find", root="notes/diary.txt", group_by="folder", whole=True)["folders"]
    assert (folder["path"], [row["path"] for row in folder["files"]]) == ("notes", ["notes/diary.txt"])


def test_one_file_is_found_by_its_name_or_by_its_path(device: Device) -> None:
    device.write("diary.txt", b"top")
    device.write("old/diary.txt", b"old")
    device.write("old/plan.txt", b"plan")
    wanted: tuple[tuple[dict[str, Any], str], ...] = (
        ({"file": "diary.txt"}, "diary.txt"),
        ({"file": "old/diary.txt"}, "old/diary.txt"),
        ({"file": "diary.txt", "root": "old"}, "old/diary.txt"),
        ({"file": "plan.txt"}, "old/plan.txt"),
    )
    for args, path in wanted:
        assert [row["path"] for row in device.call("fs.find", **args)["files"]] == [path]


def test_a_file_that_is_missing_or_not_the_only_one_is_refused(device: Device) -> None:
    device.write("a/diary.txt", b"a")
    device.write("b/diary.txt", b"b")
    with pytest.raises(ToolFailed, match=r"2 files are called diary.txt: a/diary.txt, b/diary.txt"):
        device.call("fs.find", file="diary.txt")
    with pytest.raises(ToolFailed, match=r"there is no file plan\.txt in a"):
        device.call("fs.find", file="plan.txt", root="a")


def test_a_file_named_by_its_whole_path_is_taken_inside_and_refused_outside(device: Device, tmp_path: Path) -> None:
    inside = device.write("old/.hidden/diary.txt", b"old").resolve()
    outside = tmp_path / "passwd"
    outside.write_bytes(b"x")
    (row,) = device.call("fs.find", file=str(inside), root=".")["files"]
    assert row["path"] == str(inside)
    (device.folder / "link.txt").symlink_to(outside)
    for wanted in (outside, tmp_path / "not there", device.folder / "link.txt"):
        with pytest.raises(ToolFailed, match="outside") as failed:
            device.call("fs.find", file=str(wanted), root=".")
        assert failed.value.code is Code.POLICY_REFUSED
        assert "grant files:read" in str(failed.value)
    with pytest.raises(ToolFailed, match=r"there is no file .*gone\.txt in the folders that this device allows"):
        device.call("fs.find", file=str(device.folder / "gone.txt"), root=".")
    device.write("new/a", b"")
    with pytest.raises(ToolFailed, match=r"there is no file .*diary\.txt in new"):
        device.call("fs.find", file=str(inside), root="new")


def test_the_largest_files_are_kept(device: Device) -> None:
    for size in range(1, 90):
        device.write(f"{size:02}.bin", b"x" * size)
    found = device.call("fs.find", largest=True, limit=2)
    assert [row["bytes"] for row in found["files"]] == [89, 88]
    assert found["truncated"] is True


@pytest.mark.parametrize(
    ("order", "first"),
    [("newest", ["03", "05"]), ("oldest", ["04", "02"]), ("largest", ["89", "88"]), ("smallest", ["01", "02"])],
)
def test_the_first_files_of_an_order_are_kept(device: Device, order: str, first: list[str]) -> None:
    for size in range(1, 90):
        made = device.write(f"{size:02}.bin", b"x" * size)
        os.utime(made, (5000, {3: 9000, 5: 8000, 4: 1000, 2: 2000}.get(size, 5000)))
    found = device.call("fs.find", order=order, limit=2)
    assert [row["name"].removesuffix(".bin") for row in found["files"]] == first
    assert (found["count"], found["truncated"]) == (89, True)


def test_entries_of_a_folder_say_their_device(device: Device) -> None:
    device.write("a.txt", b"a")
    assert device.call("fs.list", device_name="nas")["entries"][0]["device"] == "nas"


def test_entries_beyond_the_limit_of_a_listing_are_counted_as_left_out(device: Device) -> None:
    for number in range(5):
        device.write(f"in/{number}.txt", b"a")
    assert device.call("fs.list", path="in", limit=5)["left_out"] == []
    (row,) = device.call("fs.list", path="in", limit=2, device_name="nas")["left_out"]
    assert row == {"device": "nas", "path": "in", "why": "3 more entries are there, and a list has at most 2"}


def test_a_listing_tells_pipes_from_files(device: Device) -> None:
    os.mkfifo(device.write("notes.txt", b"x").parent / "pipe")
    kinds = {row["name"]: row["kind"] for row in device.call("fs.list")["entries"]}
    assert (kinds["notes.txt"], kinds["pipe"]) == ("file", "other")


@pytest.mark.parametrize("args", [{}, {"whole": True}, {"group_by": "folder"}, {"what": "pictures"}])
def test_a_file_whose_name_is_no_text_is_named_as_left_out(device: Device, args: dict[str, Any]) -> None:
    """Backups and copies said that everything was there; only a list of the folder showed it."""
    inner = device.folder / "in"
    inner.mkdir()
    for name in (b"nur\xe9.png", b"plain.png"):
        (inner / os.fsdecode(name)).write_bytes(b"x")
    found = device.call("fs.find", root="in", **args)
    assert (found["count"], found["unreadable"]) == (1, 1)
    assert found["left_out"] == [{"path": r"in/nur\xe9.png", "why": "its name is no text (UTF-8); rename it"}]


@pytest.mark.parametrize(
    ("args", "missed"),
    [
        ({}, ["in/locked", r"in/nur\xe9.png"]),
        ({"kinds": ["document"]}, ["in/locked"]),
        ({"what": "PDFs"}, ["in/locked"]),
        ({"words": "picture"}, ["in/locked"]),
        ({"words": "nur"}, ["in/locked", r"in/nur\xe9.png"]),
    ],
)
def test_what_cannot_be_searched_is_named_unless_it_would_not_fit(
    device: Device, args: dict[str, Any], missed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write("in/plain.png", b"x")
    (device.folder / "in" / os.fsdecode(b"nur\xe9.png")).write_bytes(b"x")
    locked(device, "in/locked", monkeypatch)
    found = device.call("fs.find", root="in", device_name="nas", **args)
    assert [(row["path"], row["device"]) for row in found["left_out"]] == [(path, "nas") for path in missed]
    assert found["left_out"][0]["why"] == "it cannot be read: Permission denied"


def test_a_file_that_is_not_found_may_be_in_a_folder_that_cannot_be_read(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write("in/other.txt", b"x")
    locked(device, "in/locked", monkeypatch)
    with pytest.raises(
        ToolFailed, match=r"there is no file a\.txt in in, as far as it can be read \(in/locked: it cannot"
    ):
        device.call("fs.find", root="in", file="a.txt")


def locked(device: Device, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder that cannot be read, whoever runs the test."""
    folder = device.folder / path
    folder.mkdir(parents=True)
    scan = Beneath.scan

    def refuse(files: Beneath, at: Path) -> Any:
        if at == folder:
            raise PermissionError(13, "Permission denied", str(at))
        return scan(files, at)

    monkeypatch.setattr(Beneath, "scan", refuse)


def test_a_file_that_may_not_be_read_is_left_out_but_can_be_looked_for(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("in/a.png", "in/secret.png", "in/note.txt"):
        device.write(name, b"x")
    secret = device.folder / "in/secret.png"
    monkeypatch.setattr(Beneath, "is_readable", lambda _, path: path != secret)
    for more in ({"kinds": ["image"]}, {"what": "pictures"}, {"whole": True, "pattern": "*.png"}, {"same_size": True}):
        asked: dict[str, Any] = {"root": "in", **more}
        found = device.call("fs.find", **asked)
        assert "secret.png" not in {row["name"] for row in found["files"]}
        assert found["left_out"] == [{"path": "in/secret.png", "why": "it cannot be read: Permission denied"}]
        assert found["unreadable"] == 1
    assert device.call("fs.find", root="in", pattern="*.txt")["left_out"] == []
    for question in ({"words": "secret"}, {"largest": True, "limit": 3}, {"file": "secret.png"}):
        asked = {"root": "in", **question}
        found = device.call("fs.find", **asked)
        assert "secret.png" in {row["name"] for row in found["files"]}
        assert found["left_out"] == []


def test_a_folder_of_another_device_leaves_nothing_out(device: Device, tmp_path: Path) -> None:
    device.write("in/a.txt", b"x")
    assert device.call("fs.find", root="in", not_under=str(tmp_path / "elsewhere"))["count"] == 1


@pytest.mark.parametrize("tool", ["fs.list", "fs.find"])
def test_a_folder_that_is_not_there_is_named_with_those_like_it_of_every_granted_one(
    device: Device, tmp_path: Path, tool: str
) -> None:
    (tmp_path / "Photos/Urlaub 2026").mkdir(parents=True)
    granted = Folders.of(write=[str(device.folder), str(tmp_path / "Photos")])
    asked: dict[str, Any] = {"path" if tool == "fs.list" else "root": "Urlaub 2025"}
    with pytest.raises(ToolFailed, match=r"Urlaub 2025 .*; there is 'Urlaub 2026'") as failed:
        device.call(tool, granted=granted, **asked)
    assert failed.value.code is Code.FILE_NOT_FOUND
