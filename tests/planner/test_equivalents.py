"""Declared equivalents: which hold, and how one stands in the plan that is shown, hashed and approved."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.equivalents import check_with_equivalents, equivalents
from starloom_protocol.plan import PlanCheck, check_plan, signatures_of
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import DeviceLink, Effect, Repeatability

READ, PURE = [Effect.READ], Repeatability.PURE
ROWS = canonical({"type": "object", "properties": {"rows": {"type": "array"}}, "additionalProperties": False})
TEXT = canonical({"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False})


def device(name: str, **fields: Any) -> Device:
    return Device(
        id=f"d-{name}", joined_ms=0, key="k", link=DeviceLink.ONLINE, name=name, os="linux", session=1, **fields
    )


def tool(name: str, **fields: Any) -> ToolOffer:
    return ToolOffer(**{"effects": READ, "name": name, "repeatability": PURE, "returns": ROWS, **fields})


def fleet(*tools: ToolOffer, **fields: Any) -> tuple[dict[str, Device], dict[str, Offer]]:
    """A desk with `csv.read`, and a server with these tools."""
    devices = {"d-desk": device("desk"), "d-srv": device("srv", **fields)}
    offers = {"d-desk": Offer(digest="a", tools=[tool("csv.read")]), "d-srv": Offer(digest="b", tools=list(tools))}
    return devices, offers


def plan_of(*tools: ToolOffer, **task: Any) -> PlanCheck:
    devices, offers = fleet(*tools)
    every = [one for offer in offers.values() for one in offer.tools]
    read = {"id": "read", "tool": "csv.read", "args": {"path": "a"}, **task}
    document = {"starloom": 1, "tasks": [read], "result": [{"title": "Rows", "from": "read", "output": "/rows"}]}

    def check(one: Any) -> PlanCheck:
        return check_plan(
            one,
            known_devices=["desk", "srv", "d-desk", "d-srv"],
            known_tools={one.name: one.repeatability for one in every},
            known_signatures=signatures_of(every),
        )

    return check_with_equivalents(document, equivalents(devices, offers), check)


def calls(found: PlanCheck) -> list[tuple[str, str]]:
    assert found.plan is not None, found.faults
    return [(call.tool, call.args) for call in found.plan.specs[0].any_of]


def test_a_declared_tool_is_written_into_the_plan_on_the_device_whose_owner_says_so() -> None:
    found = plan_of(tool("db.read", stands_for="csv.read"))
    assert calls(found) == [("db.read", '{"path":"a"}')]
    assert found.plan is not None
    where = found.plan.specs[0].any_of[0].device
    assert where is not None
    assert [one.id for one in where.any] == ["d-srv"]
    assert found.plan.hash != plan_of().plan.hash  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "fields",
    [
        {"effects": [Effect.READ, Effect.WRITE], "repeatability": Repeatability.IDEMPOTENT},
        {"effects": [Effect.READ, Effect.REACH]},
        {"repeatability": Repeatability.NEVER},
        {"effects_by": {"mode": {"a": READ}}},
        {"returns": TEXT},
        {"args": canonical({"type": "object", "properties": {"x": {}}, "additionalProperties": False})},
    ],
    ids=["writes", "reaches", "never", "narrowed", "gives-other", "takes-other"],
)
def test_one_that_does_more_or_gives_less_is_left_out_and_breaks_no_plan(fields: dict[str, Any]) -> None:
    assert calls(plan_of(tool("db.read", stands_for="csv.read", **fields))) == []


def test_another_device_that_offers_the_tool_with_more_effects_voids_the_declaration() -> None:
    devices, offers = fleet(tool("db.read", stands_for="csv.read"))
    devices["d-evil"] = device("evil")
    offers["d-evil"] = Offer(digest="c", tools=[tool("db.read", effects=[Effect.READ, Effect.CONTROL])])
    assert equivalents(devices, offers) == {}


def test_tools_that_stand_for_each_other_or_for_themselves_go_round_once() -> None:
    devices, offers = fleet(tool("db.read", stands_for="csv.read"), tool("x.read", stands_for="x.read"))
    offers["d-desk"] = Offer(digest="a", tools=[tool("csv.read", stands_for="db.read")])
    assert sorted(equivalents(devices, offers)) == [("csv.read", "db.read"), ("db.read", "csv.read")]
    found = plan_of(tool("db.read", stands_for="csv.read"), tool("csv.read", stands_for="db.read"))
    assert calls(found) == [("db.read", '{"path":"a"}')]


def test_a_revoked_device_declares_nothing() -> None:
    assert equivalents(*fleet(tool("db.read", stands_for="csv.read"), revoked=True)) == {}


def test_what_the_author_wrote_is_as_it_was_written() -> None:
    declared = tool("db.read", stands_for="csv.read")
    for task in (
        {"any_of": [{"tool": "csv.read", "args": {"path": "b"}}]},
        {"repeatability": "pure"},
        {"device": {"any": [{"name": "desk"}]}},
    ):
        found = plan_of(declared, **task)
        assert "db.read" not in [name for name, _ in calls(found)], task


def test_a_task_that_names_a_device_gets_no_call_elsewhere() -> None:
    declared = tool("db.read", stands_for="csv.read")
    assert calls(plan_of(declared, device={"name": "desk"})) == []
    found = plan_of(declared, tool("csv.read"), device={"name": "srv"})
    assert found.plan is not None
    (call,) = found.plan.specs[0].any_of
    assert call.device is not None
    assert (call.device.name, call.device.any) == ("srv", [])
