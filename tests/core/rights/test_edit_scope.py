"""The scope of edits: what a plan may do is the sum of what its tasks may do, at a cost that does not go with it."""

from __future__ import annotations

from typing import Any

from starloom.core.rights.edit_scope import Scope, wider_than_approved
from starloom_protocol.records.entities import FileOut, Selector, TaskSpec, ToolOffer, UndoCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Gate, Repeatability
from tests.builders import TOOLS, Driver, edge, plan, task
from tests.cost import GROWTH_MOST, calls

WRITE = ToolOffer(name="t.write", repeatability=Repeatability.NEVER, effects=[Effect.WRITE])
EITHER = ToolOffer(
    name="t.either",
    repeatability=Repeatability.NEVER,
    effects=[Effect.READ, Effect.CHANGE],
    effects_by={"how": {"look": [Effect.READ], "do": [Effect.CHANGE]}},
)


def fleet(devices: int = 3) -> Driver:
    driver = Driver()
    for number in range(devices):
        tools = [*TOOLS, WRITE, EITHER] if number != 1 else [*TOOLS, WRITE]
        driver.add_device(f"n{number}", tools=tools)
    return driver


def call(name: str, tool: str, args: dict[str, Any] | None = None, **fields: Any) -> TaskSpec:
    return task(name, tool=tool, args=canonical(args or {}), **fields)


MIXED = [
    task("plain"),
    call("here", "t.write", {"path": "/a"}),
    call("there", "t.write", {"path": "/b"}, device=Selector(name="n1")),
    task("late", "path=plain/x", tool="t.write"),
    task("later", "path=plain/y", tool="t.write"),
    call("look", "t.either", {"how": "look"}),
    call("do", "t.either", {"how": "do"}, device=Selector(name="n2")),
    task("saves", files_out=[FileOut(output="/f", to="docs/a")]),
    task("undone", undo=UndoCall(tool="t.write", args=canonical({"path": "/c"}))),
    task("named", device=Selector(name="n0")),
]


def test_the_power_of_a_plan_is_that_of_its_tasks_together() -> None:
    found = fleet().shard.fleet
    together = Scope(found, {spec.id: spec for spec in MIXED}).power()
    one_by_one: dict[str, Any] = {}
    for spec in MIXED:
        for device, power in Scope(found, {spec.id: spec}).power().items():
            one_by_one[device] = one_by_one[device] | power if device in one_by_one else power
    assert together == one_by_one
    assert {place for power in together.values() for place in power.places} == {
        "/a", "/b", "/c", "docs/a", "the result of plain/x", "the result of plain/y",
    }  # fmt: skip


def test_the_ways_of_values_are_those_of_each_edge() -> None:
    scope = Scope(fleet().shard.fleet, {spec.id: spec for spec in MIXED})
    links = [
        edge(f"{source}>{target}", Gate.DATA, input="x")
        for source, target in (("here", "there"), ("plain", "there"), ("named", "do"), ("look", "named"))
    ]
    together = scope.device_pairs(links)
    assert together == {way for link in links for way in scope.device_pairs([link])}
    assert {("d-n0", "d-n2"), ("d-n2", "d-n0"), ("d-n1", "d-n1")} <= together


def held_against(tasks: int, devices: int) -> int:
    """Return the calls that judge one added task of a plan of so many."""
    driver = fleet(devices)
    run = driver.submit(plan(*(task(f"t{number}") for number in range(tasks)), task("more")))
    before = {name: spec for name, spec in run.specs.items() if name != "more"}
    judged: list[list[str]] = []
    made = calls(lambda: judged.append(wider_than_approved(driver.shard.fleet, run, before, dict(run.deps))))
    assert judged == [[]]
    return made


def test_an_edit_looks_at_each_task_and_at_each_device_once() -> None:
    base = held_against(100, 4)
    assert held_against(200, 4) <= GROWTH_MOST * base
    assert held_against(100, 40) <= GROWTH_MOST * base, "ten times the devices, and the tasks are alike"
