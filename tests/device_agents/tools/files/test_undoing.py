"""The undo of a write takes away what the call wrote, and nothing that somebody wrote there since."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

OLD, NEW, SINCE = "the old one", "the new one", "their work."
"""All of one length, so that no size tells them apart."""


def _text(device: Device, **more: Any) -> Any:
    return device.call("fs.write", path="in/file", text=NEW, **more)


def _files(device: Device, **more: Any) -> Any:
    return device.call("fs.write", files=[device.store.take(NEW.encode(), name="file")], under="in", **more)


def _artifact(device: Device, **more: Any) -> Any:
    return device.call("artifact.get", artifact=device.store.take(NEW.encode()), to="in/file", **more)


def _copy(device: Device, **more: Any) -> Any:
    device.write("from", NEW)
    return device.call("fs.copy", path="from", to="in/file", **more)


WRITERS: list[Callable[..., Any]] = [_text, _files, _artifact, _copy]


def undo(device: Device, result: Any) -> Any:
    return device.call("fs.trash", paths=result["added"])


def outside_the_trash(device: Device) -> dict[str, str]:
    found = [path for path in device.folder.rglob("*") if path.is_file() and TRASH not in path.parts]
    return {str(path.relative_to(device.folder)): path.read_text() for path in found}


def in_the_trash(device: Device) -> list[str]:
    return [path.name for path in (device.folder / TRASH).rglob("file*")] if (device.folder / TRASH).exists() else []


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("write", WRITERS)
def test_an_undo_leaves_a_file_that_was_written_since(
    write: Callable[..., Any], replaces: bool, device: Device
) -> None:
    if replaces:
        device.write("in/file", OLD)
    result = write(device, on_clash="replace")
    about = (device.folder / "in/file").stat()
    device.write("in/file", SINCE)
    # A program that keeps the time of a file it changes: neither size nor time tells.
    os.utime(device.folder / "in/file", ns=(about.st_atime_ns, about.st_mtime_ns))
    before = in_the_trash(device)
    for _ in range(2):
        with pytest.raises(
            ToolFailed, match=r"in/file was changed since .*other contents.*move it away; then undo again"
        ) as failed:
            undo(device, result)
        assert (failed.value.code, failed.value.effect) == (Code.CONFLICT, False)
        assert (device.folder / "in/file").read_text() == SINCE
        assert in_the_trash(device) == before
    (device.folder / "in/file").rename(device.folder / "theirs")
    undo(device, result)
    found = outside_the_trash(device)
    assert (found["theirs"], found.get("in/file")) == (SINCE, OLD if replaces else None)


@pytest.mark.parametrize("write", WRITERS)
def test_an_undo_takes_a_file_with_other_times_and_rights(write: Callable[..., Any], device: Device) -> None:
    device.write("in/file", OLD)
    result = write(device, on_clash="replace")
    os.utime(device.folder / "in/file", (1, 1))
    (device.folder / "in/file").chmod(0o600)
    for _ in range(2):
        undo(device, result)
        assert (device.folder / "in/file").read_text() == OLD


def test_an_undo_takes_all_files_or_none(device: Device) -> None:
    for name in "abc":
        device.write(f"tree/{name}", f"new {name}")
    device.write("to/b", "old b")
    result = device.call("fs.copy", path="tree", to="to", on_clash="replace")
    device.write("to/a", SINCE)
    before = outside_the_trash(device)
    with pytest.raises(ToolFailed, match="to/a was changed since"):
        undo(device, result)
    assert outside_the_trash(device) == before
    device.write("to/a", "new a")
    undo(device, result)
    assert {path: text for path, text in outside_the_trash(device).items() if path.startswith("to/")} == {
        "to/b": "old b"
    }


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_an_undo_takes_nothing_of_another_kind(kind: str, device: Device) -> None:
    result = _text(device)
    at = device.folder / "in/file"
    at.unlink()
    if kind == "folder":
        device.write("in/file/inner", SINCE)
    else:
        device.write("aside", NEW)
        at.symlink_to("nowhere")
    with pytest.raises(ToolFailed, match=r"in/file was changed since"):
        device.call("fs.trash", paths=[{**item, "path": "in/file"} for item in result["added"]])
    assert at.is_symlink() if kind == "link" else (at / "inner").read_text() == SINCE


def test_an_undo_leaves_a_folder_that_holds_a_file_by_now(device: Device) -> None:
    result = device.call("fs.write", folders=[{"path": "/x/one/two"}, {"path": "/x/one"}], under="in", name_by="path")
    (folder,) = [item["path"] for item in result["added"] if item["path"].endswith("two")]
    device.write(f"{folder}/deep/.theirs", SINCE)
    with pytest.raises(ToolFailed, match=r"two was changed since .*it holds deep/\.theirs"):
        undo(device, result)
    assert outside_the_trash(device) == {f"{folder}/deep/.theirs": SINCE}
    (device.folder / folder / "deep/.theirs").unlink()
    undo(device, result)
    assert not (device.folder / folder).exists()


def test_a_path_alone_goes_to_the_trash_whatever_is_there(device: Device) -> None:
    result = _text(device)
    device.write("in/file", SINCE)
    assert device.call("fs.trash", paths=[result["added"][-1]["path"]])["count"] == 1


@pytest.mark.parametrize("write", WRITERS)
def test_an_undo_takes_the_empty_folders_that_the_call_made(write: Callable[..., Any], device: Device) -> None:
    result = write(device)
    assert [(item["path"], "on_way" in item) for item in result["added"]] == [("in", True), ("in/file", False)]
    undone = undo(device, result)
    assert (undone["count"], undone["left_out"]) == (2, [])
    assert not (device.folder / "in").exists()
    assert undo(device, result)["missing"] == ["in/file"]


@pytest.mark.parametrize("write", WRITERS)
def test_a_folder_on_the_way_stays_where_somebody_put_a_file(write: Callable[..., Any], device: Device) -> None:
    result = write(device)
    device.write("in/theirs", SINCE)
    undone = undo(device, result)
    assert undone["left_out"] == [{"path": "in", "why": "it holds theirs"}]
    assert outside_the_trash(device).get("in/theirs") == SINCE
    assert "in/file" not in outside_the_trash(device)


def test_a_folder_that_was_there_before_a_write_stays_after_its_undo(device: Device) -> None:
    (device.folder / "in").mkdir()
    undo(device, _text(device))
    assert (device.folder / "in").is_dir()


def test_a_file_that_changes_while_an_undo_looks_at_it_stays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device.write("in/file", OLD)
    result = _text(device, on_clash="replace")
    move = Beneath.move

    def late(files: Beneath, source: Path, target: Path) -> None:
        if source.name == "file" and TRASH not in source.parts:
            source.with_name("half").write_text(SINCE)
            source.with_name("half").rename(source)
        move(files, source, target)

    monkeypatch.setattr(Beneath, "move", late)
    with pytest.raises(ToolFailed, match="was changed since"):
        undo(device, result)
    assert outside_the_trash(device)["in/file"] == SINCE
    monkeypatch.undo()
    (device.folder / "in/file").unlink()
    undo(device, result)
    assert outside_the_trash(device) == {"in/file": OLD}


def test_an_undo_without_one_of_its_tickets_changes_nothing(device: Device) -> None:
    device.write("in/file", OLD)
    result = _text(device, on_clash="replace")
    other = device.call("fs.write", path="other", text=NEW)
    items = [{**result["added"][0], "replaced": "1-none"}, *other["added"]]
    with pytest.raises(ToolFailed, match="no ticket"):
        device.call("fs.trash", paths=items)
    assert outside_the_trash(device) == {"in/file": NEW, "other": NEW}


def test_results_of_earlier_agents_are_undone_as_before(device: Device) -> None:
    device.write("in/file", OLD)
    (item,) = _text(device, on_clash="replace")["added"]
    device.call("fs.write", path="other", text=NEW)
    device.call("fs.trash", paths=[{"path": item["path"], "replaced": item["replaced"]}, "other"])
    assert outside_the_trash(device) == {"in/file": OLD}


def _packed(device: Device) -> Any:
    device.write("tree/a", "one")
    device.write("tree/deep/b", "two")
    return device.call("archive.pack", path="tree")["archives"]


def _unpacked(device: Device) -> Any:
    return device.call("archive.unpack", files=_packed(device), under="out")


def test_an_undo_takes_an_unpacked_folder_whole(device: Device) -> None:
    result = _unpacked(device)
    (folder,) = result["folders"]
    assert [item["path"] for item in result["added"]] == [folder]
    for _ in range(2):
        undo(device, result)
        assert not (device.folder / folder).exists()
    assert outside_the_trash(device) == {"tree/a": "one", "tree/deep/b": "two"}


@pytest.mark.parametrize("change", ["added", "changed", "gone", "link", "hidden"])
def test_an_undo_leaves_an_unpacked_folder_that_somebody_changed(change: str, device: Device) -> None:
    result = _unpacked(device)
    (folder,) = result["folders"]
    at = device.folder / folder
    if change == "link":
        (at / "link").symlink_to("a")
    elif change == "gone":
        (at / "a").unlink()
    else:
        device.write(f"{folder}/{ {'added': 'deep/mine', 'changed': 'a', 'hidden': '.mine'}[change] }", SINCE)
    before = sorted(str(path) for path in at.rglob("*"))
    with pytest.raises(ToolFailed, match=f"{re.escape(folder)} was changed since") as failed:
        undo(device, result)
    assert (failed.value.code, failed.value.effect) == (Code.CONFLICT, False)
    assert sorted(str(path) for path in at.rglob("*")) == before


def test_an_undo_takes_no_folder_that_was_there_before_it_was_unpacked(device: Device) -> None:
    archives = _packed(device)
    device.call("archive.unpack", files=archives, under="out")
    again = device.call("archive.unpack", files=archives, under="out")
    assert again["added"] == []
    undo(device, again)
    assert (device.folder / again["folders"][0]).is_dir()


def test_a_copied_folder_has_its_empty_folders_and_modes_and_its_undo_leaves_none(device: Device) -> None:
    device.write("tree/private/key", "k")
    (device.folder / "tree/bare/inner").mkdir(parents=True)
    (device.folder / "tree/private").chmod(0o700)
    (device.folder / "tree/bare").chmod(0o2555)
    (device.folder / "bare").mkdir()
    (device.folder / "tree/link").symlink_to("private/key")
    copied = [device.call("fs.copy", path=path, to=f"to/{path}") for path in ("tree", "bare")]
    assert [row["files"] for row in copied] == [1, 0]
    assert copied[0]["left_out"] == [{"path": "tree/link", "why": "a link is not copied"}]
    there = device.folder / "to/tree"
    assert (there / "bare/inner").is_dir()
    assert (device.folder / "to/bare").is_dir()
    assert (there / "private").stat().st_mode & 0o7777 == 0o700
    assert (there / "bare").stat().st_mode & 0o7777 == 0o755
    device.write("to/tree/bare/later.txt", "mine")
    for row in copied[::-1]:
        device.call("fs.trash", paths=row["added"])
    assert [path.name for path in (device.folder / "to").rglob("*") if "trash" not in str(path)] == [
        "tree",
        "bare",
        "later.txt",
    ]
