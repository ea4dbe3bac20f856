"""T322: what an attempt left on a device is taken back by the hub's own undo alone: no plan and no model names it.

The files that `left_by` stands for are shown to nobody before the call, so no approval and no envelope would hold it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import AddTask, UpdateTask
from starloom_protocol.records.entities import RuleRecord
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, plan, task
from tests.core.plan.goals.pursued import Pursued, call

COPY: dict[str, Any] = {"id": "copy", "tool": "fs.copy", "args": {"path": "a", "to": "b"}}
TAKE: dict[str, Any] = {"id": "take", "tool": "fs.trash", "args": {"paths": [], "left_by": "copy"}}
RULE: dict[str, Any] = {"name": "r", "when": {"task": "t", "event": "succeeded"}, "reason": "x"}
BACK: dict[str, Any] = {"tool": "fs.restore", "args": {"left_by": "copy"}}


def hidden(task: dict[str, Any]) -> dict[str, Any]:
    return {"starloom": 1, "name": "n", "tasks": [COPY, {"id": "t", "tool": "fs.list", "args": {"path": "."}, **task}]}


@pytest.mark.parametrize(
    "document",
    [
        {"starloom": 1, "name": "n", "tasks": [COPY, TAKE]},
        hidden({"tool": "fs.trash", "args": {"paths": []}, "inputs": {"left_by": {"from": "copy", "output": "/x"}}}),
        hidden({"any_of": [BACK]}),
        hidden({"undo": BACK}),
        hidden({"undo": {"tool": "fs.trash", "args": {"paths": []}, "outputs": {"left_by": "/x"}}}),
        hidden({"verify": {**BACK, "expect": [{"exit_code": 0}]}}),
        hidden({}) | {"rules": [{**RULE, "edit": [{"add_task": TAKE}]}]},
    ],
)
def test_t322_no_plan_names_what_an_attempt_left(document: dict[str, Any]) -> None:
    faults = check_plan(document).faults
    assert [one.code for one in faults if one.place.endswith("left_by")] == [Code.FORBIDDEN]
    assert "given by an undo alone" in faults[0].reason


@pytest.mark.parametrize("by", ["person:ann", "assistant:ann", "model"])
@pytest.mark.parametrize(
    "changes",
    [
        {"tool": "fs.trash", "args": canonical({"paths": [], "left_by": "copy"})},
        {"tool": "fs.trash", "inputs": [{"name": "left_by", "source": "a"}]},
        {"any_of": [{"tool": "fs.restore", "args": canonical({"left_by": "copy"})}]},
        {"undo": {"tool": "fs.restore", "args": canonical({"left_by": "copy"})}},
    ],
)
def test_t322_no_change_of_a_task_names_what_an_attempt_left(by: str, changes: dict[str, Any]) -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(task("a"), task("copy", "x=a"), task("t", "x=copy")))
    raw = {name: msgspec.Raw(canonical(value).encode()) for name, value in changes.items()}
    update = UpdateTask(id="t", changes=raw)
    (fault,) = driver.edit(update, by=by).faults
    assert (fault.code, fault.place) == (Code.FORBIDDEN, "t")
    assert driver.shard.constellations["c1"].specs["t"].tool == "t.pure"


def test_t322_no_rule_names_what_an_attempt_left() -> None:
    added = canonical(msgspec.to_builtins([AddTask(spec=task("t", tool="fs.trash", args=canonical(TAKE["args"])))]))
    rule = RuleRecord(name="r", task="a", event="succeeded", operations=added, order=0, reason="")
    driver = Driver("one")
    driver.submit(plan(task("a"), rules=[rule]))
    driver.result(driver.take()[0], 1)
    assert driver.take() == []
    assert "t" not in driver.shard.constellations["c1"].tasks


@pytest.mark.parametrize("tool", ["fs.trash", "fs.restore"])
@pytest.mark.parametrize("may", [{}, {"paths": ["notes"]}])
def test_t322_no_step_of_a_goal_names_what_an_attempt_left(tool: str, may: dict[str, Any]) -> None:
    one = Pursued({"id": "copy", "tool": "t.pure"}, goal={"may": {"tools": ["fs.restore", "fs.trash"], **may}})
    one.reply("allow")
    one.take()
    one.step(call(tool, paths=[], left_by="copy") if tool == "fs.trash" else call(tool, left_by="copy", under="notes"))
    assert not one.take()
    assert "given by an undo alone" in one.turns[-1][1]
