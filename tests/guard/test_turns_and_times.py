"""A device whose results decide about further turns, about a time and about a question: real hub, real sockets.

It may lie about each of them; it gets no more turns, no other arguments, no later time and no answer than the plan and
a person allow.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, settle
from tests.guard.test_rights import dispatched

MOST = 3
UNTIL = {"output": "/done", "op": "eq", "value": True}


def offer() -> Offer:
    made = an_offer("t.look")
    writes = ToolOffer(name="t.write", effects=[Effect.WRITE], repeatability=Repeatability.IDEMPOTENT, title="w")
    return type(made)(digest="d2", slots=made.slots, tools=[*made.tools, writes])


async def joined(world: World, *names: str) -> dict[str, Agent]:
    found = {}
    for name in names:
        found[name] = await world.online(name, offer=offer())
    return found


def plan(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Turns", "tasks": list(tasks), **fields}


def head(world: World) -> Any:
    (made,) = (item for item in world.engine.shard.constellations.values() if item.head.name == "Turns")
    return made


def repeated(tool: str = "t.look", **fields: Any) -> dict[str, Any]:
    return {"id": "r", "tool": tool, "device": {"name": "liar"}, "repeat": {"max": MOST, "until": UNTIL, **fields}}


@pytest.mark.parametrize("value", [None, {"done": False}, {"done": "true"}, {"done": [True]}, [], "x" * 5_000])
async def test_t99_a_device_that_never_ends_gets_the_turns_of_the_plan(world: World, value: Any) -> None:
    liar = (await joined(world, "liar"))["liar"]
    await world.submit(plan(repeated()))
    for _ in range(MOST):
        await liar.done(await liar.next(f.Dispatch), canonical(value))
        await settle()
    assert await dispatched(liar) == [], "no turn follows the last one"
    assert (str(head(world).head.state), str(head(world).groups["r"].code)) == ("failed", "condition_unmet")


async def test_t99_turns_of_a_call_that_writes_wait_for_a_person(world: World) -> None:
    liar = (await joined(world, "liar"))["liar"]
    claimed = {**repeated("t.write"), "repeatability": "pure"}
    await world.submit(plan(claimed, policy={"approval": "never"}))
    assert await dispatched(liar) == []
    assert str(head(world).head.state) == "awaiting_approval"
    (question,) = head(world).questions.values()
    assert f"t.write up to {MOST} times" in question.text


@pytest.mark.parametrize("value", [{"secret": "canary"}, {"each": "/number"}, {"output": ""}, "../../etc/passwd"])
async def test_t99_a_carried_value_stays_data(world: World, value: Any) -> None:
    liar = (await joined(world, "liar"))["liar"]
    await world.submit(plan({**repeated(carry={"at": "/next"}), "args": {"at": "first"}}))
    first = await liar.next(f.Dispatch)
    said = canonical({"done": False, "next": value})
    await liar.done(first, said)
    second = await liar.next(f.Dispatch)
    assert (second.args, second.secrets) == ("{}", {})
    (carried,) = second.inputs
    assert (carried.name, [(part.value, part.output) for part in carried.parts]) == ("at", [(said, "/next")])
    assert head(world).specs["r.2"].secrets == []


@pytest.mark.parametrize("value", ["2099-01-01 00:00Z", 1e308, "soon", {"now": True}, "9" * 9_000, "\u202e2026", None])
async def test_t99_a_time_of_a_stranger_is_bounded(world: World, value: Any) -> None:
    agents = await joined(world, "liar", "other")
    note = {"id": "note", "tool": "t.look", "device": {"name": "liar"}}
    waits = {"id": "w", "tool": "t.look", "device": {"name": "other"}, "not_before": {"from": "note", "output": "/at"}}
    await world.submit(plan(note, waits))
    await agents["liar"].done(await agents["liar"].next(f.Dispatch), canonical({"at": value}))
    assert await dispatched(agents["other"]) == []
    assert (str(head(world).tasks["w"].code), str(head(world).head.state)) == ("moment_outside", "failed")


TEXTS = ["\x1b[2Kyes", "<script>alert(1)</script>", '"}],"answer":"go', "\u202eYes, answer go", "x" * 12_000]


@pytest.mark.parametrize("text", TEXTS)
async def test_t99_a_result_beside_a_question_is_text_and_answers_nothing(world: World, text: str) -> None:
    agents = await joined(world, "liar", "other")
    made = {"id": "made", "tool": "t.look", "device": {"name": "liar"}}
    ask: dict[str, Any] = {"id": "ask", "person": "Go on?", "shows": {"from": "made", "output": "/text"}}
    ask["choices"] = [{"value": "go", "label": "Go"}, {"value": "no", "label": "No", "fails": True}]
    run = {"id": "run", "tool": "t.look", "device": {"name": "other"}}
    await world.submit(plan(made, ask, run, dependencies=[{"from": "ask", "to": "run"}]))
    await agents["liar"].done(await agents["liar"].next(f.Dispatch), canonical({"text": text}))
    assert await dispatched(agents["other"]) == []
    async with world.client() as http:
        (item,) = json.loads((await http.get("/api/v1/approvals")).text)["items"]
    assert (item["text"], item["answer"], [one["value"] for one in item["choices"]]) == ("Go on?", None, ["go", "no"])
    assert text.startswith(item["shown"]["value"])
    assert len(item["shown"]["value"]) + item["shown"]["left_out"] == len(text)


async def test_t99_without_its_value_no_question_is_asked(world: World) -> None:
    liar = (await joined(world, "liar"))["liar"]
    made = {"id": "made", "tool": "t.look", "device": {"name": "liar"}}
    await world.submit(plan(made, {"id": "ask", "person": "Go?", "shows": {"from": "made", "output": "/text"}}))
    await liar.done(await liar.next(f.Dispatch), canonical({"else": 1}))
    await settle()
    assert (head(world).questions, str(head(world).head.state)) == ({}, "failed")


async def test_t99_an_honest_device_has_its_turns_its_time_and_its_question(world: World) -> None:
    """Without this the tests above could pass because nothing ever goes on."""
    liar = (await joined(world, "liar"))["liar"]
    waits = {"id": "w", "tool": "t.look", "not_before": {"from": "r", "output": "/at"}}
    ask = {"id": "ask", "person": "Go?", "shows": {"from": "w", "output": "/text"}}
    await world.submit(plan(repeated(), waits, ask))
    await liar.done(await liar.next(f.Dispatch), canonical({"done": False}))
    await liar.done(await liar.next(f.Dispatch), canonical({"done": True, "at": 0}))
    await liar.done(await liar.next(f.Dispatch), canonical({"text": "ready"}))
    await settle()
    (question,) = head(world).questions.values()
    assert question.shown is not None
    assert question.shown.value == '"ready"'
