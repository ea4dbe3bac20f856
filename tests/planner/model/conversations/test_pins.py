"""A model's plan that ties a tool to a device that may not run it is a fault with a way out, before any approval."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.planning import pin_faults
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Fault, Offer
from starloom_protocol.vocabulary import Code
from tests.planner import prompts
from tests.planner.fleets import device, fleet

LACKING = prompts.offer(("files:read",))
BROKEN = msgspec.structs.replace(
    LACKING,
    tools=[
        msgspec.structs.replace(tool, unavailable="no journal is here") if tool.name == "log.search" else tool
        for tool in LACKING.tools
    ],
)
VIEW = fleet(
    device("desk"),
    device("phone"),
    device("attic"),
    device("new"),
    offers={"desk": prompts.offer(prompts.WORKS), "phone": prompts.offer(("files:read",), ("git.",)), "attic": BROKEN},
)


def found(view: FleetSnapshot = VIEW, **task: Any) -> list[Fault]:
    checked = check_plan(
        {"starloom": 1, "name": "x", "tasks": [{"id": "a", **task}]},
        known_devices=view.known_names(),
        known_tools=view.known_tools(),
        known_signatures=view.known_signatures(),
    )
    assert checked.plan is not None, checked.faults
    return pin_faults(checked.plan, view)


def test_a_grant_that_is_missing_names_the_owner_the_answer_and_the_other_device() -> None:
    [fault] = found(tool="fs.trash", args={"paths": ["a"]}, device={"name": "phone"})
    assert (fault.code, fault.reason) == (
        Code.FORBIDDEN,
        "the owner of phone does not allow files:write, which fs.trash needs",
    )
    assert '"needs": [{"grant": "files:write"' in (fault.hint or "")
    assert "other devices that can: desk, new." in (fault.hint or "")
    assert fault.place == "plan, task a, device"


def test_a_tool_that_a_device_does_not_have_or_cannot_run_now_is_a_fault() -> None:
    [lacks] = found(tool="git.status", args={"path": "."}, device={"name": "phone"})
    assert lacks.reason == "phone does not have git.status"
    [broken] = found(tool="log.search", device={"name": "attic"})
    assert broken.reason == "log.search cannot run on attic now: no journal is here"


def test_a_tool_that_nobody_may_run_says_so() -> None:
    view = fleet(device("phone"), offers={"phone": LACKING})
    [fault] = found(view, tool="fs.trash", args={"paths": ["a"]}, device={"name": "phone"})
    assert (fault.hint or "").endswith("no device can.")


@pytest.mark.parametrize(
    "task",
    [
        {"tool": "fs.trash", "args": {"paths": ["a"]}, "device": {"name": "desk"}},
        {"tool": "fs.trash", "args": {"paths": ["a"]}, "device": {"name": "new"}},
        {"tool": "fs.trash", "args": {"paths": ["a"]}, "device": {"tools": ["fs.trash"]}},
        {"tool": "fs.trash", "args": {"paths": ["a"]}},
        {"person": "Shall it begin?"},
    ],
)
def test_what_may_run_or_is_not_tied_is_left_to_placement(task: dict[str, Any]) -> None:
    assert found(**task) == []


def test_an_offer_without_tools_is_no_reason() -> None:
    view = fleet(device("phone"), device("desk"), offers={"phone": Offer(digest="x", grants=[], slots=1, tools=[])})
    assert found(view, tool="fs.read", args={"path": "a"}, device={"name": "desk"}) == []
