"""Other calls of a task as a way to more than was approved: real hub, real sockets, tools that do not only read."""

from __future__ import annotations

from typing import Any

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Code, Effect, EffectSeen, Outcome, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle
from tests.guard.test_rights import RUNNERS, V1, C, as_token, dispatched, plan, worker

READ = {"id": "read", "tool": "t.read", "args": {"way": 1}}
OTHER = {"tool": "t.read", "args": {"way": 2}}


async def failed(agent: Agent, dispatch: f.Dispatch, effect: EffectSeen = EffectSeen.NONE) -> None:
    await agent.done(dispatch, code=Code.TOOL_FAILED, detail="broken", effect=effect, outcome=Outcome.ERROR)
    await settle(60)


async def submitted(world: World, made: dict[str, Any]) -> str:
    return str((await world.submit(made))["id"])


async def state(world: World, name: str) -> dict[str, Any]:
    async with world.client() as http:
        return dict((await http.get(f"{C}/{name}")).json())


async def test_t110_an_edit_by_a_program_adds_no_call_that_a_person_would_be_asked_about(world: World) -> None:
    agent = await worker(world)
    made = await submitted(world, plan(READ, {"id": "next", "tool": "t.read", "inputs": {"x": {"from": "read"}}}))
    edit = {"update_task": {"id": "next", "any_of": [{"tool": "t.change", "args": {"name": "nginx"}}]}}
    async with as_token(world, *RUNNERS[0]) as http:
        reply = await http.post(f"{C}/{made}/edits", json={"base_version": 1, "operations": [edit], "reason": "x"})
    assert (reply.status_code, "scope approve" in reply.text) == (403, True), reply.text
    assert (await state(world, made))["version"] == 1
    assert {one.tool for one in await dispatched(agent)} == {"t.read"}


async def test_t110_another_call_on_another_device_waits_for_a_person(world: World) -> None:
    agent = await worker(world)
    other = {"tool": "t.change", "args": {"name": "nginx"}, "device": {"name": "srv"}}
    made = await submitted(world, plan({**READ, "any_of": [other]}))
    assert (await state(world, made))["state"] == "awaiting_approval"
    async with world.client() as http:
        question = (await http.get(f"{V1}/approvals")).json()["items"][0]
    assert "t.change" in str(question)
    assert await dispatched(agent) == []


async def test_t110_a_device_that_always_fails_gets_each_call_once(world: World) -> None:
    agent = await worker(world)
    made = await submitted(world, plan({**READ, "any_of": [OTHER, {"tool": "t.read", "args": {"way": 3}}]}))
    got = []
    for _ in range(3):
        got.append(await agent.next(f.Dispatch))
        await failed(agent, got[-1])
    assert (await state(world, made))["state"] == "failed"
    assert [one.args for one in got] == ['{"way":1}', '{"way":2}', '{"way":3}']
    assert await dispatched(agent) == []


async def test_t110_a_device_that_may_have_changed_something_gets_no_other_call(world: World) -> None:
    reader = await worker(world)
    agent = await world.join("two")
    once = ToolOffer(effects=[Effect.WRITE], name="t.once", repeatability=Repeatability.NEVER, title="once")
    await agent.connect(world, offer=Offer(digest="d", slots=1, tools=[once]))
    change = {"id": "change", "tool": "t.once", "any_of": [OTHER]}
    made = await submitted(world, plan(change, policy={"approval": "never"}))
    await failed(agent, await agent.next(f.Dispatch), EffectSeen.MAYBE)
    assert (await state(world, made))["state"] == "failed"
    assert [await dispatched(one) for one in (agent, reader)] == [[], []]


async def test_t110_an_honest_device_is_gone_round_and_the_report_says_so(world: World) -> None:
    agent = await worker(world)
    made = await submitted(world, plan({**READ, "any_of": [OTHER]}))
    await failed(agent, await agent.next(f.Dispatch))
    await agent.done(await agent.next(f.Dispatch), '{"rows":[]}')
    await settle(60)
    assert (await state(world, made))["state"] == "succeeded"
    async with world.client() as http:
        report = (await http.get(f"{C}/{made}/report")).json()
        why = (await http.get(f"{C}/{made}/why", params={"task_id": "read"})).json()
    assert (report["recoveries"]["rerouted"], report["model"]["spared"]) == (1, 1)
    assert "t.read on srv did not succeed" in str(why)


async def test_t110_a_declared_tool_stands_in_the_plan_that_is_shown_and_one_that_does_more_does_not(
    world: World,
) -> None:
    agents = {}
    for name, tools in (
        ("desk", [offered("csv.read")]),
        ("srv", [offered("db.read", stands_for="csv.read")]),
        ("evil", [offered("all.read", effects=[Effect.READ, Effect.CONTROL], stands_for="csv.read")]),
    ):
        agents[name] = await world.online(name, offer=Offer(digest=name, slots=2, tools=tools))
    document = plan({"id": "read", "tool": "csv.read", "args": {"way": 1}})
    async with world.client() as http:
        shown = (await http.post(f"{C}/preview", json={"plan": document})).json()
    assert "where that cannot be done: db.read" in shown["tasks"][0]["why"]
    assert "all.read" not in str(shown)
    made = await world.submit(document, plan_hash=shown["plan_hash"])
    assert made["state"] == "active", "a call that only reads asks nobody"
    await failed(agents["desk"], await agents["desk"].next(f.Dispatch))
    instead = await agents["srv"].next(f.Dispatch)
    assert (instead.tool, instead.args) == ("db.read", '{"way":1}')
    await agents["srv"].done(instead, "[]")
    await settle(60)
    assert (await state(world, str(made["id"])))["state"] == "succeeded"
    assert await dispatched(agents["evil"]) == []


def offered(name: str, **fields: Any) -> ToolOffer:
    given: dict[str, Any] = {"effects": [Effect.READ], "repeatability": Repeatability.PURE, "title": name, **fields}
    return ToolOffer(name=name, **given)
