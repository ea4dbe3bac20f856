"""Every tool that writes files: a file that was there is there after the call, or the undo of the call brings it back.

The tools come from the registry, so that a new one fails here until it has its row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Effect
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_archives import archive_of, tar_of

WRITERS = {tool.name: tool for tool in all_tools() if Effect.WRITE in tool.effects and tool.confined}
"""The tools that write files themselves. A program that a call starts writes as it likes."""
OLD, NEW = b"the old contents", b"the new contents"
HASH = hashlib.sha256(NEW).hexdigest()
SERIES = "box-Docs-2026010{}T000000Z.tar.gz"

Given = Callable[[Device], Mapping[str, Any]]


def _series(device: Device) -> Mapping[str, Any]:
    for day in (1, 2):
        device.write(f"there/{SERIES.format(day)}", archive_of(str(day)))
    return {"files": [{"name": SERIES.format(2)}], "under": "there", "keep": 1}


def _ticket(device: Device) -> Mapping[str, Any]:
    device.write("there/file", "earlier")
    (ticket,) = device.call("fs.trash", paths=["there/file"])["tickets"]
    device.write("there/file", OLD)
    return {"tickets": [ticket]}


def _at(path: str, given: Given) -> tuple[str, Given]:
    """Return what is called while the old contents lie at a path."""

    def laid(device: Device) -> Mapping[str, Any]:
        device.write(path, OLD)
        return given(device)

    return path, laid


def _new(device: Device, name: str = "file") -> Any:
    return device.store.take(NEW, name=name)


GIVEN: dict[str, list[tuple[str, Given]]] = {
    "archive.rotate": [(f"there/{SERIES.format(1)}", _series)],
    "archive.unpack": [
        _at("there/new/file", lambda device: {"files": [_packed(device)], "under": "there"}),
        _at("there/new", lambda device: {"files": [_packed(device)], "under": "there"}),
    ],
    "artifact.get": [_at("there/file", lambda device: {"artifact": _new(device), "to": "there/file"})],
    "fs.copy": [
        _at("there/file", lambda device: {"path": _source(device, "from"), "to": "there/file"}),
        _at("there/file", lambda device: {"path": _source(device, "tree/file")[:4], "to": "there"}),
    ],
    "fs.move": [_at("there/file", lambda device: {"path": _source(device, "from"), "to": "there/file"})],
    "fs.restore": [_at("there/file", _ticket)],
    "fs.trash": [
        _at("there/file", lambda _: {"paths": ["there/file"]}),
        _at("there/from.json", lambda _: {"paths": ["there/from.json"]}),
    ],
    "fs.write": [
        _at("there/file", lambda device: {"files": [_new(device)], "under": "there"}),
        _at("there/file", lambda device: {"files": [_new(device)], "under": "there", "on_same_hash": "write"}),
        _at(
            f"there/{HASH}.txt", lambda device: {"files": [_new(device, "a.txt")], "under": "there", "name_by": "hash"}
        ),
        _at("there/file", lambda _: {"path": "there/file", "text": NEW.decode()}),
        _at("there/from.json", lambda _: {"path": "there/from.json", "text": NEW.decode()}),
    ],
}


def _packed(device: Device) -> Any:
    return device.store.take(tar_of(("file", NEW)), name="new.tar")


def _source(device: Device, path: str) -> str:
    device.write(path, NEW)
    return path


def choices(tool: str) -> list[Mapping[str, Any]]:
    """Return each choice that the caller has for a place that is taken."""
    properties = msgspec.json.schema(WRITERS[tool].args)["$defs"][WRITERS[tool].args.__name__]["properties"]
    return [{"on_clash": choice} for choice in properties.get("on_clash", {}).get("enum", [])] or [{}]


def contents(device: Device, *, trash: bool) -> list[bytes]:
    found = [path for path in device.folder.rglob("*") if path.is_file()]
    return [path.read_bytes() for path in found if trash or TRASH not in path.parts]


def undo(device: Device, result: Any) -> None:
    """Take back a call as plans and recipes do."""
    if result.get("added"):
        device.call("fs.trash", paths=result["added"])
    if result.get("tickets"):
        device.call("fs.restore", tickets=result["tickets"])


CASES = [
    pytest.param(tool, path, given, choice, id=f"{tool}-{number}-{choice.get('on_clash', '')}")
    for tool, cases in GIVEN.items()
    for number, (path, given) in enumerate(cases)
    for choice in choices(tool)
]


def test_every_writer_of_the_registry_has_its_row() -> None:
    assert GIVEN.keys() == WRITERS.keys()


@pytest.mark.parametrize(("tool", "path", "given", "choice"), CASES)
def test_a_file_that_was_there_is_never_lost(
    tool: str, path: str, given: Given, choice: Mapping[str, Any], device: Device
) -> None:
    args = {**given(device), **choice}
    old = (device.folder / path).read_bytes()
    before = sorted(contents(device, trash=False))
    try:
        result = device.call(tool, **args)
    except ToolFailed:
        assert (device.folder / path).read_bytes() == old
        assert sorted(contents(device, trash=False)) == before
        return
    assert old in contents(device, trash=True)
    if (device.folder / path).is_file() and (device.folder / path).read_bytes() == old:
        return
    for _ in range(2):  # an undo may be repeated
        undo(device, result)
        assert (device.folder / path).read_bytes() == old
    if tool != "fs.trash":
        assert NEW in contents(device, trash=True) or tool == "archive.rotate"


def test_an_undo_brings_back_each_of_several_replaced_files_and_takes_the_new_ones(device: Device) -> None:
    device.write("in/a.txt", "old a")
    device.write("in/b.txt", "old b")
    files = [device.store.take(text.encode(), name=f"{text}.txt") for text in "abc"]
    result = device.call("fs.write", files=files, under="in", on_clash="replace")
    taken = device.call("fs.trash", paths=result["added"])
    assert (taken["restored"], taken["missing"], taken["count"]) == (["in/a.txt", "in/b.txt"], [], 3)
    left = {path.name: path.read_text() for path in (device.folder / "in").iterdir()}
    assert left == {"a.txt": "old a", "b.txt": "old b"}
    again = device.call("fs.trash", paths=result["added"])
    assert (again["restored"], again["missing"], again["count"]) == (["in/a.txt", "in/b.txt"], ["in/c.txt"], 0)
    assert {path.name for path in (device.folder / "in").iterdir()} == {"a.txt", "b.txt"}


def test_files_of_one_call_do_not_replace_each_other(device: Device) -> None:
    device.write("www/index.html", "old")
    files = [device.store.take(text, name="index.html") for text in (b"the site", b"the blog")]
    for kept in (0, 2):
        result = device.call("fs.write", files=files, under="www", on_clash="replace")
        assert [row["path"] for row in result["files"]] == ["www/index.html", "www/index (2).html"]
        assert (result["kept"], [row["why"] for row in result["changed"]]) == (kept, ["another file has its name"])
    left = {path.name: path.read_text() for path in (device.folder / "www").iterdir()}
    assert left == {"index.html": "the site", "index (2).html": "the blog"}


def test_an_undo_of_a_path_that_was_written_twice_brings_back_the_first_file(device: Device) -> None:
    device.write("a.txt", "old")
    added = [
        *device.call("fs.write", path="a.txt", text="first", on_clash="replace")["added"],
        *device.call("fs.write", path="b.txt", text="first")["added"],
        *device.call("fs.write", path="a.txt", text="second", on_clash="replace")["added"],
        *device.call("fs.write", path="b.txt", text="second", on_clash="replace")["added"],
    ]
    for _ in range(2):
        device.call("fs.trash", paths=added)
        assert {path.name: path.read_text() for path in device.folder.glob("*.txt")} == {"a.txt": "old"}


def test_an_undo_that_was_cut_between_its_steps_goes_on(device: Device) -> None:
    device.write("a.txt", "old")
    (item,) = device.call("fs.write", path="a.txt", text="new", on_clash="replace")["added"]
    (device.folder / "a.txt").unlink()
    found = device.call("fs.trash", paths=[item])
    assert (found["restored"], found["count"], (device.folder / "a.txt").read_text()) == (["a.txt"], 0, "old")


def test_a_file_called_like_the_note_of_a_ticket_comes_back(device: Device) -> None:
    """It was written over the note, and no ticket led to it any more."""
    device.write("from.json", "mine")
    (ticket,) = device.call("fs.trash", paths=["from.json"])["tickets"]
    assert device.call("fs.restore", tickets=[ticket])["items"][0]["moved"]
    assert (device.folder / "from.json").read_text() == "mine"


def test_a_ticket_with_a_damaged_note_says_where_its_file_lies(device: Device) -> None:
    device.write("a.txt", "mine")
    (ticket,) = device.call("fs.trash", paths=["a.txt"])["tickets"]
    home = device.folder / TRASH / ticket
    (home / "from.json").write_bytes(b"")
    with pytest.raises(ToolFailed, match=f"the note of ticket {ticket} is damaged.*lies in .*{ticket}"):
        device.call("fs.restore", tickets=[ticket])
    assert (home / "a.txt").read_text() == "mine"


def _link(device: Device) -> Folders:
    device.write("real/file", OLD)
    (device.folder / "there").mkdir()
    (device.folder / "there/file").symlink_to("../real/file")
    return Folders.of(write=[str(device.folder)])


def _second_folder(device: Device) -> Folders:
    second = device.folder.parent / "second"
    (second / "there").mkdir(parents=True)
    (second / "there/file").write_bytes(OLD)
    return Folders.of(write=[str(device.folder), str(second)])


@pytest.mark.parametrize("lay", [_link, _second_folder])
@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("artifact.get", lambda device: {"artifact": _new(device), "to": "there/file"}),
        ("fs.copy", lambda device: {"path": _source(device, "from"), "to": "there/file"}),
        ("fs.write", lambda device: {"files": [_new(device)], "under": "there"}),
        ("fs.write", lambda _: {"path": "there/file", "text": NEW.decode()}),
    ],
)
def test_a_write_through_a_link_or_into_another_folder_is_taken_back(
    tool: str, given: Given, taken: bool, lay: Callable[[Device], Folders], device: Device
) -> None:
    """The undo said that the file is a link, or that it was changed."""
    granted = lay(device)
    (place,) = (path for path in device.folder.parent.rglob("file") if path.is_file() and not path.is_symlink())
    if not taken:
        place.unlink()
    result = device.call(tool, granted=granted, **given(device), on_clash="replace")
    assert place.read_bytes() == NEW
    for _ in range(2):
        device.call("fs.trash", granted=granted, paths=result["added"])
        assert (place.read_bytes() if taken else place.exists()) == (OLD if taken else False)


def test_a_folder_that_is_made_in_another_folder_is_taken_back(device: Device) -> None:
    granted = _second_folder(device)
    made = device.call("fs.write", granted=granted, folders=[{"path": "there/empty"}], name_by="path")
    device.call("fs.trash", granted=granted, paths=made["added"])
    assert not list(device.folder.parent.rglob("granted/**/empty"))
    assert not list(device.folder.parent.rglob("second/there/empty"))


def test_the_folder_of_all_files_is_told_by_its_whole_path(device: Device) -> None:
    rows = [{**device.store.take(b"x"), "below": f"in/{name}", "path": name} for name in ("a/1.txt", "b/2.txt")]
    written = device.call("fs.write", files=rows, under="Shelf", name_by="path")
    assert written["folder"] == str(device.folder / "Shelf/in")
    assert "folder" not in device.call("fs.write", under="Shelf")
    folders = [{"path": "in", "files": [{**row, "sha256": row["artifact"]} for row in rows]}]
    compared = device.call("fs.verify", folders=folders, under="Shelf")
    assert (compared["here"], compared["folder"]) == (2, str(device.folder / "Shelf/in"))
