"""`fs.move` of several files into a folder, by their kind: each that moved is told, and one undo puts all back."""

from __future__ import annotations

import os
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_ways_back import undone

NAMES = ("beach.jpg", "letter.pdf", "song.mp3", "film.mp4", "all.zip", "notes")


@pytest.fixture
def rows(device: Device) -> list[dict[str, Any]]:
    for name in NAMES:
        device.write(f"in/{name}", f"1 {name}")
    return [row for row in device.call("fs.list", path="in")["entries"] if row["kind"] == "file"]


def below(device: Device) -> list[str]:
    folder = device.folder / "in"
    return sorted(os.fspath(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def tidied(device: Device, rows: list[dict[str, Any]]) -> Any:
    return device.call("fs.move", paths=rows, to="in", by_kind=True)


def test_each_goes_into_the_folder_of_its_kind(device: Device, rows: list[dict[str, Any]]) -> None:
    found = tidied(device, rows)
    assert (found["count"], found["left_out"], found["moved"]) == (6, [], True)
    assert below(device) == [
        "Archives/all.zip",
        "Documents/letter.pdf",
        "Music/song.mp3",
        "Others/notes",
        "Pictures/beach.jpg",
        "Videos/film.mp4",
    ]


def test_one_undo_puts_all_back_and_may_be_repeated(device: Device, rows: list[dict[str, Any]]) -> None:
    found = tidied(device, rows)
    for moved in (True, False):
        back = undone(device, "fs.move", found)
        assert {item["moved"] for item in back["items"]} == {moved}
        assert below(device) == sorted(NAMES)


def test_an_undo_takes_away_the_folders_that_the_move_made_while_they_are_empty(
    device: Device, rows: list[dict[str, Any]]
) -> None:
    """Empty folders stayed behind, which nobody had made."""
    device.write("in/Music/own.mp3", "mine")
    (device.folder / "in/Videos").mkdir()
    found = tidied(device, rows)
    device.write("in/Others/theirs", "theirs")
    undone(device, "fs.move", found)
    folders = {path.name for path in (device.folder / "in").iterdir() if path.is_dir()}
    assert folders == {"Music", "Others", "Videos"}


def test_an_attempt_after_a_cut_tells_what_the_first_has_moved(device: Device, rows: list[dict[str, Any]]) -> None:
    tidied(device, rows[:2])
    found = tidied(device, rows)
    assert (found["count"], found["left_out"]) == (6, [])
    undone(device, "fs.move", found)
    assert below(device) == sorted(NAMES)


def test_what_cannot_move_stays_and_is_named(device: Device, rows: list[dict[str, Any]]) -> None:
    device.write("in/Pictures/beach.jpg", "another one")
    device.write("in/Music", "a file where the folder would be")
    device.write("in/letter.pdf", "changed since")
    device.write("in/film.mp4.part", "half")
    (device.folder / "in/notes").unlink()
    left = [*rows, {"path": "in/film.mp4.part"}, {"path": "in/Pictures"}]
    whys = {row["path"]: row["why"] for row in tidied(device, left)["left_out"]}
    assert {path: why.replace(str(device.folder), "") for path, why in whys.items()} == {
        "in/beach.jpg": "/in/Pictures/beach.jpg exists already",
        "in/letter.pdf": "it was changed since it was found",
        "in/song.mp3": "Not a directory",
        "in/film.mp4.part": "a program is still writing it, by its ending",
        "in/notes": "it is not there any more",
        "in/Pictures": "it is no file",
    }
    assert "in/song.mp3" in {f"in/{name}" for name in below(device)}


def test_without_kinds_all_go_into_the_folder(device: Device, rows: list[dict[str, Any]]) -> None:
    found = device.call("fs.move", paths=["in/notes", "in/song.mp3"], to="out")
    assert [item["path"] for item in found["put_back"]] == ["out/notes", "out/song.mp3"]


@pytest.mark.parametrize(
    "args",
    [
        {"path": "in/notes", "paths": ["in/notes"], "to": "out"},
        {"path": "in/notes", "to": "out/", "by_kind": True},
        {"to": "out"},
        {"paths": ["in/notes", "../../etc/passwd"], "to": "out"},
        {"paths": ["in/notes"], "to": "/etc"},
        {"paths": ["in/notes"], "to": ".starloom-trash"},
    ],
)
def test_a_call_that_cannot_be_meant_moves_nothing(
    device: Device, rows: list[dict[str, Any]], args: dict[str, Any]
) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.move", **args)
    assert failed.value.code in (Code.BAD_ARGUMENTS, Code.POLICY_REFUSED)
    assert failed.value.effect is False
    assert below(device) == sorted(NAMES)


def test_nothing_to_move_is_no_fault(device: Device) -> None:
    assert device.call("fs.move", paths=[], to="in") == {
        "count": 0,
        "left_out": [],
        "moved": False,
        "path": "in",
        "put_back": [],
    }
