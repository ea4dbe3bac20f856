"""T153: a ticket of the trash leads a goal to no place outside of its folders, and no item to another item's place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_protocol.vocabulary import Code
from tests.core.plan.goals.pursued import Pursued, call
from tests.device_agents.tools.conftest import Device

TICKET = "1700000000-0123456789ab"


def goal(*paths: str) -> dict[str, Any]:
    return {"may": {"tools": ["fs.restore", "fs.trash"], "paths": list(paths)}}


def proposed(args: dict[str, Any], *paths: str, tool: str = "fs.restore") -> Pursued:
    one = Pursued(goal=goal(*paths))
    one.reply("allow")
    one.step(call(tool, **args))
    return one


@pytest.mark.parametrize("paths", [["."], ["notes"], ["/"], [TICKET]])
@pytest.mark.parametrize("more", [{}, {"under": ""}, {"under": ["notes"]}, {"under": None}])
def test_t153_a_ticket_alone_names_no_place(paths: list[str], more: dict[str, Any]) -> None:
    one = proposed({"tickets": [TICKET], **more}, *paths)
    assert not one.take()
    assert "outside of the folders" in one.turns[-1][1]


@pytest.mark.parametrize("under", ["secrets", "notes/../secrets", "/etc"])
def test_t153_a_ticket_below_another_folder_is_refused(under: str) -> None:
    one = proposed({"tickets": [TICKET], "under": under}, "notes")
    assert not one.take()
    assert "outside of the folders of why: notes" in one.turns[-1][1]


def test_t153_an_item_with_a_ticket_names_no_place() -> None:
    args = {"paths": [{"path": "notes/a", "replaced": TICKET}]}
    assert not proposed(args, "notes", tool="fs.trash").take()


@pytest.mark.parametrize("under", [{}, {"under": "notes"}])
def test_t153_a_goal_names_no_places_to_move_back_between(under: dict[str, str]) -> None:
    item = {"path": "notes/a", "was": "secrets/a", "state": "0"}
    assert not proposed({"put_back": [item], **under}, "notes").take()


def test_t153_a_ticket_below_a_folder_of_the_goal_is_taken() -> None:
    one = proposed({"tickets": [TICKET], "under": "notes/a"}, "notes")
    assert one.end_calls() == ["why.1"]


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


@pytest.fixture
def granted(device: Device) -> Folders:
    other = device.folder.with_name("other")
    other.mkdir()
    return Folders.of(write=[str(device.folder), str(other)])


def trashed(device: Device, granted: Folders, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("theirs")
    (ticket,) = device.call("fs.trash", granted=granted, paths=[str(path)])["tickets"]
    return str(ticket)


def test_t153_a_device_restores_below_the_folder_alone(device: Device, granted: Folders) -> None:
    mine = trashed(device, granted, device.folder / "notes/mine")
    others = [device.folder / "secrets/key", granted.write[1] / "key", device.folder / "notes2/key"]
    for other in others:
        theirs = trashed(device, granted, other)
        for _ in range(2):
            with pytest.raises(ToolFailed, match="does not lead into notes") as failed:
                device.call("fs.restore", granted=granted, tickets=[mine, theirs], under="notes")
            assert (failed.value.code, failed.value.effect) == (Code.FORBIDDEN, False)
            assert not other.exists()
            assert str(other) not in failed.value.detail
            assert not (device.folder / "notes/mine").exists()
    found = device.call("fs.restore", granted=granted, tickets=[mine], under="notes")
    assert [item["moved"] for item in found["items"]] == [True]
    assert device.call("fs.restore", granted=granted, tickets=[theirs])["count"] == 1
    with pytest.raises(ToolFailed, match="does not lead into notes"):
        device.call("fs.restore", granted=granted, tickets=[theirs], under="notes")


def test_t153_an_item_brings_back_the_file_of_its_own_place_alone(device: Device, granted: Folders) -> None:
    theirs = trashed(device, granted, granted.write[1] / "key")
    mine = device.write("notes/a", "mine")
    with pytest.raises(ToolFailed, match="of another place than notes/a") as failed:
        device.call("fs.trash", granted=granted, paths=[{"path": "notes/a", "replaced": theirs}])
    assert (failed.value.code, failed.value.effect) == (Code.BAD_ARGUMENTS, False)
    assert mine.read_text() == "mine"
    assert not (granted.write[1] / "key").exists()
