"""Plans that control devices, and programs that report about themselves: real hub, real sockets.

A person without the right, a program, a schedule, an edit and a device's own offer control no device. What a device
reports ends no work but its own, and floods leave a bounded log.
"""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, settle
from tests.guard.test_rights import dispatched

V1 = "/api/v1"
DRAIN = {"id": "drain", "tool": "device.drain", "args": {"device": "one"}}
RULE = {"progress": "/loss", "op": "gt", "value": 2}


def plan(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Watch", "tasks": list(tasks), **fields}


async def joined(world: World, *names: str, offer: Offer | None = None) -> dict[str, Agent]:
    found = {}
    for name in names:
        found[name] = await world.online(name, offer=offer)
    return found


def draining(world: World) -> list[str]:
    return [device.name for device in world.engine.shard.fleet.devices.values() if device.draining]


async def posted(world: World, path: str, body: dict[str, Any], token: str | None = None) -> Any:
    async with world.client(token) as http:
        return await http.post(f"{V1}{path}", json=body)


@pytest.mark.parametrize(
    ("role", "scopes"), [("viewer", []), ("approver", []), ("operator", ["run", "read"]), ("owner", ["run", "approve"])]
)
async def test_t108_without_the_right_a_plan_drains_nothing(world: World, role: str, scopes: list[str]) -> None:
    await joined(world, "one")
    _, token = await world.new_token(role, scopes)
    for policy in ({}, {"approval": "never"}):
        answer = await posted(world, "/constellations", {"plan": plan(DRAIN, policy=policy)}, token)
        assert answer.status_code == 403, answer.text
    await settle()
    assert draining(world) == []


async def test_t108_a_drain_waits_for_a_person_and_a_no_leaves_the_device(world: World) -> None:
    await joined(world, "one")
    made = await world.submit(plan(DRAIN))
    assert made["state"] == "awaiting_approval"
    assert draining(world) == []
    _, viewer = await world.new_token("viewer")
    path = f"/approvals/{made['id']}:approve-plan"
    assert (await posted(world, f"{path}/approve", {}, viewer)).status_code == 403
    assert (await posted(world, f"{path}/deny", {})).status_code < 300
    await settle()
    assert draining(world) == []


async def test_t108_an_honest_owner_drains_by_a_plan(world: World) -> None:
    await joined(world, "one")
    made = await world.submit(plan(DRAIN))
    answer = await posted(world, f"/approvals/{made['id']}:approve-plan/approve", {})
    assert answer.status_code < 300, answer.text
    await settle()
    assert draining(world) == ["one"]


async def test_t108_no_schedule_drains(world: World) -> None:
    await joined(world, "one")
    body = {"name": "nightly", "cron": "0 3 * * *", "zone": "UTC", "plan": plan(DRAIN)}
    answer = await posted(world, "/schedules", body)
    assert (answer.status_code, "device.drain" in answer.text) == (403, True), answer.text
    assert not world.engine.shard.fleet.schedules


async def test_t108_no_edit_and_no_rule_drains(world: World) -> None:
    agents = await joined(world, "one")
    made = await world.submit(plan({"id": "a", "tool": "t.one"}))
    await agents["one"].next(f.Dispatch)
    edit = {"base_version": 1, "operations": [{"add_task": DRAIN}], "reason": "x"}
    answer = await posted(world, f"/constellations/{made['id']}/edits", edit)
    assert (answer.status_code, "no edit" in answer.text) == (422, True), answer.text
    rule = {"name": "r", "when": {"task": "a", "event": "failed"}, "edit": [{"add_task": DRAIN}], "reason": "x"}
    answer = await posted(world, "/constellations", {"plan": plan({"id": "a", "tool": "t.one"}, rules=[rule])})
    assert (answer.status_code, "no rule" in answer.text) == (422, True), answer.text
    await settle()
    assert draining(world) == []


@pytest.mark.parametrize(
    "task",
    [
        {**DRAIN, "args": {}, "inputs": {"device": {"from": "a", "output": "/device"}}},
        {**DRAIN, "args": {"device": {"each": "/name"}}, "for_each": {"from": "a", "output": "/list"}},
        {**DRAIN, "args": {"device": {"each": "/name"}}, "for_each": {"devices": {"os": "linux"}}},
        {"id": "b", "tool": "t.one", "undo": DRAIN | {"id": None}},
    ],
)
async def test_t108_no_result_names_the_device_that_is_drained(world: World, task: dict[str, Any]) -> None:
    await joined(world, "one")
    answer = await posted(world, "/constellations", {"plan": plan({"id": "a", "tool": "t.one"}, task)})
    assert answer.status_code == 422, answer.text
    assert draining(world) == []


async def test_t108_an_offer_under_the_name_of_a_tool_of_the_hub_counts_for_nothing(world: World) -> None:
    made = an_offer("t.one")
    lies = [
        ToolOffer(name=name, effects=[], repeatability=Repeatability.PURE) for name in ("device.drain", "fleet.devices")
    ]
    evil = type(made)(digest="d3", slots=made.slots, tools=[*made.tools, *lies])
    agents = await joined(world, "one", offer=evil)
    asked = await world.submit(plan(DRAIN, {"id": "look", "tool": "fleet.devices"}))
    assert asked["state"] == "awaiting_approval"
    found = world.engine.shard.constellations[asked["id"]]
    (question,) = found.questions.values()
    assert list(question.effects) == [Effect.CONTROL, Effect.READ]
    assert await dispatched(agents["one"]) == []


async def running(world: World, *tasks: dict[str, Any]) -> tuple[Agent, list[f.Dispatch], Any]:
    agents = await joined(world, "liar")
    made = await world.submit(plan(*tasks))
    dispatches = [await agents["liar"].next(f.Dispatch) for _ in tasks]
    for number, dispatch in enumerate(dispatches):
        agents["liar"].report = number + 1
        await agents["liar"].send(f.Started(at=dispatch.at, report=number + 1))
    await settle()
    return agents["liar"], dispatches, world.engine.shard.constellations[made["id"]]


async def said(agent: Agent, at: f.LeaseRef, *texts: str, offset: int = 0) -> int:
    for text in texts:
        await agent.send(f.LogChunk(at=at, offset=offset, stream="out", text=text))
        offset += len(text.encode())
    await settle()
    return offset


async def test_t108_an_honest_report_ends_the_work_that_its_plan_calls_hopeless(world: World) -> None:
    agent, (dispatch,), found = await running(world, {"id": "a", "tool": "t.one", "stop_when": RULE})
    await said(agent, dispatch.at, '{"loss": 3}\n')
    cancel = await agent.next(f.Cancel)
    assert (cancel.at, "hopeless" in cancel.reason, str(found.tasks["a"].state)) == (dispatch.at, True, "cancelling")


async def test_t108_a_report_about_the_work_of_another_ends_nothing(world: World) -> None:
    _agent, (dispatch,), found = await running(world, {"id": "a", "tool": "t.one", "stop_when": RULE})
    other = await world.online("other")
    before = found.seq
    await said(other, dispatch.at, '{"loss": 3}\n')
    assert (str(found.tasks["a"].state), found.seq) == ("running", before)


async def test_t108_without_a_rule_nobody_listens(world: World) -> None:
    agent, (dispatch,), found = await running(world, {"id": "a", "tool": "t.one"})
    before = found.seq
    await said(agent, dispatch.at, '{"loss": 3}\n')
    assert (str(found.tasks["a"].state), found.seq) == ("running", before)


@pytest.mark.parametrize(
    "text",
    [
        '{"loss": NaN}\n',
        '{"loss": 1e999}\n',
        '{"loss": true}\n',
        '{"loss": [3]}\n',
        '{"loss": {"each": ""}}\n',
        '{"' + "n" * 5_000 + '": 1, "loss": 3}\n',
        '{"loss": "' + "9" * 5_000 + '"}\n',
        "{" * 5_000 + "\n",
        '{"loss": 3}',
    ],
)
async def test_t108_what_is_no_report_ends_nothing_and_leaves_nothing(world: World, text: str) -> None:
    agent, (dispatch,), found = await running(world, {"id": "a", "tool": "t.one", "stop_when": RULE})
    before = found.seq
    await said(agent, dispatch.at, text)
    assert (str(found.tasks["a"].state), found.seq) == ("running", before)


async def test_t108_a_flood_of_reports_leaves_a_bounded_log(world: World) -> None:
    agent, (dispatch,), found = await running(world, {"id": "a", "tool": "t.one", "stop_when": RULE})
    before = found.seq
    await said(agent, dispatch.at, *('{"loss": 1}\n' * 200 for _ in range(40)))
    progress = found.attempt("a", 1).progress
    assert found.seq - before <= 3
    assert progress is not None
    assert (progress.points[-1].value, len(progress.points)) == ("1", found.seq - before)
