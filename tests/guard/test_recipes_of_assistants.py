"""T291: a person who runs a recipe that an assistant saved is asked what a plan of the assistant would ask."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.approvals.need import needs_approval
from starloom.core.rights.reserved import KEPT_BY_ASSISTANT
from starloom.core.state import inputs as i
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.builders import TOOLS, Driver

ON = {"name": "nas"}
FILES = [
    ToolOffer(name=name, repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE])
    for name in ("fs.trash", "fs.move", "fs.copy", "other.write")
]
CALLS: dict[str, dict[str, Any]] = {
    "one file into the trash": {"tool": "fs.trash", "args": {"paths": ["a.txt"]}},
    "a file moved away": {"tool": "fs.move", "args": {"path": "a.txt", "to": "b.txt"}},
    "a file written over": {"tool": "fs.copy", "args": {"from": "a.txt", "to": "b.txt", "on_clash": "replace"}},
    "a write of a tool of others": {"tool": "other.write"},
}


def _plan(call: dict[str, Any]) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": [{"id": "a", "device": ON, **call}]}, recipe="tidy")
    assert check.plan is not None, check.faults
    return check.plan


def _saved(driver: Driver, by: str, number: int = 0) -> None:
    saved = i.RecipeSaved(
        approves=by == "person:ann", base_version=number, by=by, id=driver.ident(), name="tidy", text="x", title="Tidy"
    )
    assert not driver.do(saved).faults


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_t291_it_asks_until_a_person_saves_it(call: dict[str, Any]) -> None:
    driver, made = Driver(), _plan(call)
    driver.add_device("nas", tools=[*TOOLS, *FILES])
    _saved(driver, "assistant:helper")
    assert needs_approval(driver.shard.fleet, made, strict=False, by="person:ann"), "its preview says so"
    driver.submit(made)
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert question.text.endswith(KEPT_BY_ASSISTANT)
    assert (driver.state(), driver.take()) == ("awaiting_approval", [])
    _saved(driver, "person:ann", 1)
    driver.submit(made, "c2")
    assert [sent.at.constellation for sent in driver.take()] == ["c2"]


def test_t291_its_reading_asks_nobody() -> None:
    driver = Driver("nas")
    _saved(driver, "assistant:helper")
    driver.submit(_plan({"tool": "t.pure"}))
    assert len(driver.take()) == 1
