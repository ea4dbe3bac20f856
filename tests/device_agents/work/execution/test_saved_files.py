"""`files_out` in the process of a call: its result says what it saved, as those of the tools that write files do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.toolkit.refs import AddedRef
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work import registry
from starloom_agent.work.execution.toolcall import _files_out
from starloom_protocol.records.entities import FileOut
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from tests.device_agents.played_call import Call, Loop
from tests.device_agents.tools.conftest import Device
from tests.device_agents.wire.test_artifacts import KEY, Store, handler
from tests.served import Served

OLD, NEW = "the old contents", "the new contents"
HASH = hashlib.sha256(NEW.encode()).hexdigest()
TOOLS = {tool.name: tool for tool in registry.all_tools()}


@dataclass
class Place:
    """A folder that a device allows, with the processes of calls that may write there."""

    folder: Path
    home: Path
    loop: Loop
    connection: Path

    def call(self, tool: str, args: dict[str, Any], saved: dict[str, str], write: list[str] | None = None) -> Ended:
        spec = CallSpec(
            args=json.dumps(args),
            cage="none",
            confined=TOOLS[tool].confined,
            connection_file=str(self.connection),
            effectless=False,
            fence="1.1",
            files_out=[FileOut(output=output, to=to) for to, output in saved.items()],
            module=registry.module_of()[tool],
            read=[str(self.folder)],
            start_to_close_s=30.0,
            tool=tool,
            workdir=str(self.home / "work" / str(len(list((self.home / "work").iterdir())))),
            write=[str(self.folder)] if write is None else write,
        )
        call = Call(self.loop, spec)
        try:
            return call.end()
        finally:
            call.close()

    def undo(self, added: Any) -> dict[str, Any]:
        ended = self.call("fs.trash", {"paths": added}, {})
        assert ended.outcome is Outcome.OK, ended
        assert ended.value is not None
        found: dict[str, Any] = parse(ended.value)
        return found

    def texts(self) -> dict[str, str]:
        found = (path for path in self.folder.rglob("*") if path.is_file() and TRASH not in path.parts)
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(warm=True)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path, loop: Loop) -> Iterator[Place]:
    for name in ("folder", "run", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "from").write_text(NEW)
    with Served(handler(Store())) as served:
        connection = tmp_path / "run/connection.json"
        connection.write_text(json.dumps({"hub": served.url, "key": KEY.hex(), "token": "t1"}))
        yield Place(tmp_path / "folder", tmp_path, loop, connection)


def saved(ended: Ended) -> list[dict[str, Any]]:
    assert ended.outcome is Outcome.OK, ended
    assert ended.value is not None
    found: list[dict[str, Any]] = parse(ended.value)["added"]
    return found


def test_a_saved_file_is_in_the_result_and_its_undo_brings_the_old_one_back(place: Place) -> None:
    (place.folder / "out").write_text(OLD)
    before = place.texts()
    (item,) = added = saved(place.call("artifact.put", {"paths": ["from"]}, {"out": "/files/0"}))
    assert (item["path"], item["wrote"], bool(item["replaced"])) == ("out", HASH, True)
    assert place.texts() == {**before, "out": NEW}
    for _ in range(2):  # an undo may be repeated
        assert place.undo(added)["restored"] == ["out"]
        assert place.texts() == before


def test_new_files_and_their_folders_are_taken_away_again(place: Place) -> None:
    before = place.texts()
    ended = place.call("artifact.put", {"paths": ["from"]}, {"deep/er/": "/files/0", "b": "/files/0/artifact"})
    assert [item["path"] for item in saved(ended)] == ["deep", "deep/er", "deep/er/from", "b"]
    assert not any("replaced" in item for item in saved(ended))
    place.undo(saved(ended))
    assert place.texts() == before
    assert not (place.folder / "deep").exists()


def test_the_same_contents_are_no_change(place: Place) -> None:
    (place.folder / "out").write_text(NEW)
    assert saved(place.call("artifact.put", {"paths": ["from"]}, {"out": "/files/0"})) == []


def test_two_files_saved_in_one_place_are_taken_back_to_the_first(place: Place) -> None:
    (place.folder / "out").write_text(OLD)
    (place.folder / "more").write_text("more")
    before = place.texts()
    (place.folder / "link").symlink_to("out")
    added = saved(
        place.call("artifact.put", {"paths": ["from", "more"]}, {"out": "/files/0", "link": "/files/1"}),
    )
    assert place.texts() == {**before, "out": "more", "link": "more"}
    place.undo(added)
    assert place.texts() == {**before, "link": OLD}
    assert (place.folder / "link").is_symlink()


def test_the_items_of_a_writer_and_of_its_saved_files_are_one_list(place: Place) -> None:
    place.call("artifact.put", {"paths": ["from"]}, {})
    before = place.texts()
    added = saved(place.call("artifact.get", {"artifact": HASH, "to": "copy"}, {"out": "/sha256"}))
    assert [item["path"] for item in added] == ["copy", "out"]
    place.undo(added)
    assert place.texts() == before


def test_a_place_that_is_not_allowed_is_refused_before_the_call(place: Place) -> None:
    ended = place.call("fs.write", {"path": "a", "text": NEW}, {f"{place.home}/other/a": "/files/0/sha256"})
    assert (ended.outcome, ended.code, ended.effect) == (Outcome.REFUSED, Code.POLICY_REFUSED, EffectSeen.NONE)
    assert f"{place.home}/other/a is outside the folders of files:write" in ended.detail
    assert not (place.folder / "a").exists()


def test_a_call_whose_result_cannot_be_saved_may_have_changed_something(place: Place) -> None:
    """Its effect was told as that of the saving, which had changed nothing."""
    (place.folder / "out").mkdir()
    ended = place.call("fs.write", {"path": "out/from", "text": NEW}, {"out/from": "/none"})
    assert (ended.code, ended.effect) == (Code.NO_VALUE, EffectSeen.MAYBE)


def test_a_device_without_a_folder_saves_no_file_in_the_folder_of_the_call(tmp_path: Path) -> None:
    device = Device(tmp_path)
    ref = device.store.take(NEW.encode(), name="out")
    why = "out has no place: .* type on the device: starloom-agent grant files:write DIR"
    with pytest.raises(ToolFailed, match=why) as no:
        _files_out(device.context(granted=Folders()), {"report": ref}, [FileOut(output="/report", to="out")])
    assert (no.value.code, no.value.effect) == (Code.POLICY_REFUSED, False)


def test_each_result_with_this_list_has_the_items_of_an_undo_in_it() -> None:
    """An undo believes the list: it names the files that may go to the trash."""
    known = {field.encode_name for field in msgspec.structs.fields(AddedRef)}
    found = {}
    for name, tool in TOOLS.items():
        parts = parse(schema_of_result(tool))["$defs"]
        for part in parts.values():
            if "added" in part.get("properties", {}):
                item = part["properties"]["added"]["items"]["$ref"].rpartition("/")[2]
                found[name] = parts[item]["properties"].keys()
    assert found.keys() == {"archive.unpack", "artifact.get", "fs.copy", "fs.write"}
    assert all(fields <= known for fields in found.values())
