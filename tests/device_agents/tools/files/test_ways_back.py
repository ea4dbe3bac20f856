"""The way back that the hub knows of each tool that changes files, on a real folder: an undo gives back all bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import FileOut, OtherCall, TaskSpec, UndoCall
from starloom_protocol.tools.ways_back import ADDED, OF_TOOLS, leaves_saved, tells_added, way_back
from starloom_protocol.values import parse, point
from starloom_protocol.vocabulary import Effect
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_undoing import NEW, OLD, outside_the_trash

Call = tuple[str, dict[str, Any]]
SAVED = [FileOut(output="/x", to="x")]


def _text(_: Device) -> Call:
    return "fs.write", {"path": "in/file", "text": NEW}


def _files(device: Device) -> Call:
    return "fs.write", {"files": [device.store.take(NEW.encode(), name="file")], "under": "in"}


def _folders(_: Device) -> Call:
    return "fs.write", {"folders": [{"path": "made/empty"}], "name_by": "path"}


def _artifact(device: Device) -> Call:
    return "artifact.get", {"artifact": device.store.take(NEW.encode()), "to": "in/file"}


def _copy(_: Device) -> Call:
    return "fs.copy", {"path": "from", "to": "in/file"}


def _copied_folder(_: Device) -> Call:
    return "fs.copy", {"path": "more", "to": "in"}


def _trash(_: Device) -> Call:
    return "fs.trash", {"paths": ["in/file", "more"]}


def _unpack(device: Device) -> Call:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        about = tarfile.TarInfo("inner/file")
        about.size = len(NEW)
        archive.addfile(about, io.BytesIO(NEW.encode()))
    return "archive.unpack", {"files": [device.store.take(packed.getvalue(), name="packed.tar")], "under": "unpacked"}


CLASHING = [_text, _files, _artifact, _copy, _copied_folder]


def undone(device: Device, tool: str, result: Any) -> Any:
    call = way_back(TaskSpec(changed_in=0, id="a", tool=tool))
    assert call is not None
    given = {name: point(result, pointer) for name, pointer in call.outputs.items()}
    return device.call(call.tool, **parse(call.args), **given)


@pytest.fixture
def filled(device: Device) -> Device:
    for path in ("in/file", "more/other", "more/file"):
        device.write(path, f"{OLD} {path}")
    device.write("from", NEW)
    return device


@pytest.mark.parametrize("on_clash", ["fail", "rename", "replace", None])
@pytest.mark.parametrize("taken", [True, False], ids=["taken", "free"])
@pytest.mark.parametrize("write", CLASHING)
def test_each_on_clash_is_taken_back_to_the_byte(
    write: Callable[[Device], Call], taken: bool, on_clash: str | None, filled: Device
) -> None:
    tool, args = write(filled)
    if not taken:
        (filled.folder / "in/file").unlink()
    clash: dict[str, Any] = {} if on_clash is None else {"on_clash": on_clash}
    before = outside_the_trash(filled)
    if tool == "fs.copy" and on_clash == "rename":
        with pytest.raises(msgspec.ValidationError, match="on_clash"):
            filled.call(tool, **args, **clash)
        return
    if taken and (on_clash == "fail" or (tool == "fs.copy" and on_clash is None)):
        with pytest.raises(ToolFailed, match="exists with other contents"):
            filled.call(tool, **args, **clash)
        assert outside_the_trash(filled) == before
        return
    result = filled.call(tool, **args, **clash)
    assert outside_the_trash(filled) != before
    for _ in range(2):
        undone(filled, tool, result)
        assert outside_the_trash(filled) == before


@pytest.mark.parametrize("write", [_trash, _unpack, _folders])
def test_what_was_trashed_or_made_is_taken_back(write: Callable[[Device], Call], filled: Device) -> None:
    tool, args = write(filled)
    before = outside_the_trash(filled), (filled.folder / "made").exists()
    result = filled.call(tool, **args)
    for _ in range(2):
        undone(filled, tool, result)
    assert outside_the_trash(filled) == before[0]
    assert not (filled.folder / "made/empty").exists()


@pytest.mark.parametrize(("path", "to"), [("in/file", "new/name"), ("more", "in/"), ("from", "in/")])
def test_what_was_moved_goes_back_while_it_is_as_it_was_left(path: str, to: str, filled: Device) -> None:
    before = outside_the_trash(filled)
    result = filled.call("fs.move", path=path, to=to)
    assert outside_the_trash(filled) != before
    assert filled.call("fs.move", path=path, to=to)["put_back"] == []
    told = [undone(filled, "fs.move", result)["items"] for _ in range(2)]
    assert told == [[{"path": path, "moved": True}], [{"path": path, "moved": False}]]
    assert outside_the_trash(filled) == before


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ({"in/more/other": "longer than before"}, "was changed since it was moved"),
        ({"in/more/new": ""}, "was changed since it was moved"),
        ({"more": "taken"}, "exists again"),
        (None, "is not there any more"),
    ],
)
def test_what_was_touched_after_a_move_stays(meanwhile: dict[str, str] | None, why: str, filled: Device) -> None:
    result = filled.call("fs.move", path="more", to="in/")
    for path, text in (meanwhile or {}).items():
        filled.write(path, text)
    if meanwhile is None:
        filled.call("fs.trash", paths=["in/more"])
    before = outside_the_trash(filled)
    with pytest.raises(ToolFailed, match=why):
        undone(filled, "fs.move", result)
    assert outside_the_trash(filled) == before


def test_a_move_back_stays_below_the_folder_that_bounds_it(filled: Device) -> None:
    moved = filled.call("fs.move", path="more", to="in/")["put_back"]
    with pytest.raises(ToolFailed, match="is not in"):
        filled.call("fs.restore", put_back=moved, under="in")


def test_each_tool_that_changes_files_has_a_way_back_or_is_named_here() -> None:
    """An undo of a restore would trash what it gave back."""
    changing = {tool.name for tool in all_tools() if tool.grant == "files:write" and Effect.WRITE in tool.effects}
    assert changing - set(OF_TOOLS) == {"fs.restore"}
    assert set(OF_TOOLS) <= changing


def test_a_task_that_does_more_than_its_tool_tells_has_no_way_back() -> None:
    own = UndoCall(tool="t.back")
    assert way_back(TaskSpec(changed_in=0, id="a", tool="fs.write", undo=own)) == own
    more: list[dict[str, Any]] = [{"any_of": [OtherCall(tool="fs.copy")]}, {"undoes": "b"}]
    for fields in more:
        for saved in ([], SAVED):
            assert way_back(TaskSpec(changed_in=0, id="a", files_out=saved, tool="fs.write", **fields)) is None


@pytest.mark.parametrize(
    ("tool", "own", "taken"),
    [
        ("python.run", None, True),
        ("fs.write", None, True),
        ("fs.move", None, False),
        ("archive.rotate", None, False),
        ("python.run", UndoCall(tool="t.back"), False),
        ("python.run", UndoCall(tool="fs.trash", outputs={"paths": ADDED}), True),
    ],
)
def test_saved_files_are_taken_back_by_the_one_call_that_names_them(
    tool: str, own: UndoCall | None, taken: bool
) -> None:
    spec = TaskSpec(changed_in=0, files_out=SAVED, id="a", tool=tool, undo=own)
    assert way_back(spec) == (own or (UndoCall(tool="fs.trash", outputs={"paths": ADDED}) if taken else None))
    assert leaves_saved(spec) is not taken
    assert tells_added(spec)
