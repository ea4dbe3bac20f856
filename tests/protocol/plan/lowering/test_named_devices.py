"""`device: {from, output, within}` in plans: its lowering, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.types.signatures import built_in_results
from starloom_protocol.records.entities import ForEach, Selector
from starloom_protocol.vocabulary import Code, Repeatability

TOOLS = {"system.info": Repeatability.PURE, "fs.copy": Repeatability.IDEMPOTENT, "data.vote": Repeatability.PURE}
WITHIN = {"labels": ["server"]}


def checked(device: Any, tool: str = "fs.copy", **fields: Any) -> Any:
    tasks = [{"id": "pick", "tool": "system.info"}, {"id": "run", "tool": tool, "device": device, **fields}]
    document = {"starloom": 1, "name": "Test", "tasks": tasks}
    return check_plan(document, known_tools=TOOLS, known_signatures=built_in_results())


def test_a_device_by_a_result_is_a_group_of_one() -> None:
    made = checked({"from": "pick", "output": "/device", "within": WITHIN}).plan
    assert made is not None
    assert made.specs[1].for_each == ForEach(source="pick", output="/device", devices=Selector(labels=["server"]))
    assert made.specs[1].device is None


def test_a_call_that_only_reads_may_go_anywhere() -> None:
    assert checked({"from": "pick", "output": "/device"}, tool="system.info").faults == []


@pytest.mark.parametrize(
    ("device", "fields", "code", "place"),
    [
        ({"from": "pick", "output": "/device"}, {}, Code.PLAN_INVALID, "device"),
        ({"from": "gone", "within": WITHIN}, {}, Code.UNKNOWN_TASK, "for_each.from"),
        ({"from": "pick", "output": "/device", "within": WITHIN, "os": "linux"}, {}, Code.PLAN_INVALID, "device.os"),
        ({"from": "pick", "output": "/nothing", "within": WITHIN}, {}, Code.UNKNOWN_OUTPUT, "for_each.output"),
        ({"from": "pick", "output": "/cpus", "within": WITHIN}, {}, Code.WRONG_TYPE, "device.output"),
        ({"name": "a", "output": "/x"}, {}, Code.PLAN_INVALID, "device.output"),
        ({"within": WITHIN}, {}, Code.PLAN_INVALID, "device.within"),
        (
            {"from": "pick", "output": "/device", "within": WITHIN},
            {"for_each": {"times": 2}},
            Code.PLAN_INVALID,
            "device.from",
        ),
    ],
)
def test_a_device_that_is_no_choice_is_refused(device: Any, fields: Any, code: Code, place: str) -> None:
    found = [(item.code, item.place) for item in checked(device, **fields).faults]
    assert (code, f"tasks[1].{place}") in found, found


def test_calls_that_vote_have_no_device_by_a_result() -> None:
    found = checked({"from": "pick", "output": "/device"}, tool="system.info", vote={"n": 2}).faults
    assert "tasks[1].device" in [item.place for item in found]


def test_an_edit_sets_no_device_by_a_result() -> None:
    device = {"from": "pick", "output": "/device", "within": WITHIN}
    found, _ = check_edit([{"update_task": {"id": "run", "device": device}}])
    assert [item.place for item in found] == ["operations[0].update_task.device.from"]


def test_a_task_on_a_device_by_a_result_takes_no_judge() -> None:
    device = {"from": "pick", "output": "/device", "within": WITHIN}
    found = checked(device, tool="system.info", judge="Is it right?")
    assert [fault.place for fault in found.faults] == ["tasks[1].judge"]
