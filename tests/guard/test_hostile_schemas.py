"""A device that offers tools with schemas made to break their reader: the hub reads the schemas of every device for
each preview, so one schema could stop the work of all.

Schemas that never end, refer through thousands of places, or are none: each in an offer to a real hub, which goes on
to answer previews and requests for the tools of others, and in the listing of the command line.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom.planner.preview.secret_flow import taking
from starloom_protocol.plan.types.schemas import shape_of
from starloom_protocol.plan.types.signatures import signature_of
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.tools.results import SCHEMA_CHARS_MAX, fields_of
from starloom_protocol.values import MISSING, point
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import World, settle
from tests.guard.test_rights import C, dispatched, plan

DIGITS = "9" * 5_000


def _ref(place: object) -> dict[str, str]:
    return {"$ref": f"#/d/{place}"}


def _twice(at: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": _ref(at), "b": _ref(at)}}


_WIDE = [*({"anyOf": [_ref(at + 1)] * 280} for at in range(3)), {"enum": []}]
"""22 million ways through it, and none leads to a value."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "alternatives without end": {**_ref(0), "d": _WIDE},
    "alternatives of a field": {"type": "object", "properties": {"a": _ref(0)}, "d": _WIDE},
    "fields without end": {**_twice(0), "d": [*(_twice(at + 1) for at in range(60)), {"type": "string"}]},
    "a long way": {**_ref(0), "d": [*(_ref(at + 1) for at in range(700)), {}]},
    "a place of 5,000 digits": {**_ref(DIGITS), "d": [{}]},
    "a circle": {**_ref(0), "d": [{"anyOf": [_ref(0), _ref(0)]}]},
    "itself": {"$ref": "#"},
    "fields as a list": {"type": "object", "properties": [1, 2]},
    "fields that are numbers": {"type": "object", "properties": {"a": 5, "b": None, "c": [1]}},
    "needed fields as a number": {"type": "object", "properties": {"a": {}}, "required": 5},
    "kinds that are none": {"type": [{"a": 1}, None, 5]},
    "definitions that are none": {"$ref": "#/$defs/a", "$defs": [1]},
    "a definition that is none": {"$ref": "#/$defs/a", "$defs": {"a": 5}},
    "positions that are none": {"type": "array", "prefixItems": 5, "maxItems": "x", "items": [1]},
}


@pytest.mark.parametrize("kind", SCHEMAS)
async def test_t124_no_schema_of_a_device_stops_the_work_of_others(world: World, kind: str) -> None:
    text = json.dumps(SCHEMAS[kind])
    assert len(text) <= SCHEMA_CHARS_MAX
    evil, honest = await world.join("evil"), await world.join("srv")
    hostile = ToolOffer(args=text, effects=[Effect.READ], name="t.evil", returns=text)
    await evil.connect(world, offer=Offer(digest="e", slots=1, tools=[hostile]))
    sound = ToolOffer(effects=[Effect.READ], name="t.read", repeatability=Repeatability.PURE)
    await honest.connect(world, offer=Offer(digest="h", slots=1, tools=[sound]))
    async with world.client() as http:
        shown = await http.post(f"{C}/preview", json={"plan": plan({"id": "look", "tool": "t.read"})})
        assert shown.status_code == 200, shown.text
        both = plan(
            {"id": "bad", "tool": "t.evil"},
            {"id": "look", "tool": "t.read", "args": {"a": {"task": "bad", "output": "/a/a/a/b"}}},
        )
        assert (await http.post(f"{C}/preview", json={"plan": both})).status_code in (200, 422)
        assert (await http.post(C, json={"plan": plan({"id": "look", "tool": "t.read"})})).status_code == 202
        await settle(60)
    assert [frame.tool for frame in await dispatched(honest)] == ["t.read"]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_t124_a_schema_is_read_within_bounds_and_named_in_the_terminal(kind: str) -> None:
    text = json.dumps(SCHEMAS[kind])
    found = signature_of([ToolOffer(args=text, name="t.evil", returns=text)])
    for pointer in ("/a", "/0", "/a/b/a/b", f"/{DIGITS[:250]}"):
        found.gives.at(pointer)
    assert found.gives.may_be(shape_of('{"type": "object"}')) in (True, False)
    assert all(len(name) < 100_000 for name in fields_of(text))
    assert taking(ToolOffer(args=text, name="t.evil")) == frozenset()


def test_t124_a_position_is_a_short_number_in_plain_digits() -> None:
    entries = ["a", "b", "c", "d"]
    assert point(entries, "/3") == "d"
    assert [point(entries, f"/{step}") for step in (DIGITS, "٣", "03", "-1", "4")] == [MISSING] * 5


async def test_t124_a_size_that_a_device_names_is_not_read(world: World) -> None:
    evil = await world.join("evil")
    sound = ToolOffer(effects=[Effect.READ], name="t.read", repeatability=Repeatability.PURE)
    await evil.connect(world, offer=Offer(digest="h", slots=1, tools=[sound]))
    async with world.client() as http:
        shown = plan({"id": "look", "tool": "t.read"}, result=[{"from": "look", "output": "/x", "title": "X"}])
        made = (await http.post(C, json={"plan": shown})).json()
        given = await evil.next(f.Dispatch)
        await evil.done(given, '{"y":1}', facts={"!/x": '"many"', "!": '"many"'})
        await settle(60)
        assert (await http.get(f"{C}/{made['id']}")).json()["state"] == "succeeded"
    attempts = world.engine.shard.constellations[made["id"]].attempts
    assert [attempt.facts for attempt in attempts.values()] == [{}]
    assert world.engine.counts.failed_steps == 0
