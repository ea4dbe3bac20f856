"""A plan and an edit are held against what the tools of the connected devices take, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Effect, Outcome, Repeatability, Role
from starloom_protocol.wire import frames as f
from tests.edge.routes.people.test_activity import durable
from tests.edge.routes.work.test_constellations import ready_agent
from tests.edge.world import World, an_offer, chain, settle

C = "/api/v1/constellations"


async def test_an_argument_that_a_tool_does_not_take_is_told_before_anything_runs(world: World) -> None:
    schema = {"properties": {"paths": {}, "root": {}}, "required": ["paths"], "additionalProperties": False}
    tool = ToolOffer(name="t.stat", args=canonical(schema), effects=[Effect.READ], repeatability=Repeatability.PURE)
    await world.online("one", offer=Offer(digest="d", slots=2, tools=[tool]))
    slip = {"id": "a", "tool": "t.stat", "args": {"path": "x"}}
    told = {
        ("unknown_field", "args.path", "Did you mean `paths`?"),
        ("plan_invalid", "args.paths", "Add it, or an input."),
    }
    async with world.client() as http:
        refused = await http.post(C, json={"plan": {"starloom": 1, "name": "slip", "tasks": [slip]}})
        right = {"starloom": 1, "name": "right", "tasks": [{**slip, "args": {"paths": ["x"]}}]}
        made = (await http.post(C, json={"plan": right})).json()["id"]
        await settle()
        body = {"base_version": 1, "operations": [{"add_task": {**slip, "id": "b"}}], "reason": "more"}
        edit = await http.post(f"{C}/{made}/edits", json=body)
        kept = (await http.get(C)).json()["items"]
        version = (await http.get(f"{C}/{made}")).json()["version"]
    for answer, place in ((refused, "tasks[0]."), (edit, "operations[0].add_task.")):
        assert answer.status_code == 422
        errors = answer.json()["errors"]
        assert {(fault["code"], fault["place"].removeprefix(place), fault["hint"]) for fault in errors} == told
    assert ([item["name"] for item in kept], version) == (["right"], 1)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"older_than": "soon"}, "`t.find` takes an age or a moment (7d, 2h, 7y, 22:00, 2026-01-31) or a whole number"),
        ({"older_than": "2026-13-01"}, "not '2026-13-01'"),
        ({"older_than": -5}, "not -5"),
        ({"lasts": "3y"}, "`t.find` takes a duration (90s, 15m, 2h, 3d) here, not '3y'"),
        ({"depth": 99}, "`t.find` takes a whole number (at least 1 and at most 8) here, not 99"),
        ({"share": 0}, "`t.find` takes a number (above 0 and below 1) here, not 0"),
    ],
    ids=lambda one: str(one)[:20],
)
async def test_a_value_that_no_device_takes_is_told_before_anything_runs(
    world: World, args: dict[str, Any], told: str
) -> None:
    age = {"anyOf": [{"type": "string", "format": "starloom-age"}, {"type": "integer", "minimum": 0}]}
    named = {
        "older_than": age,
        "lasts": {"type": "string", "format": "starloom-duration"},
        "depth": {"type": "integer", "minimum": 1, "maximum": 8},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    }
    schema = {"properties": named, "additionalProperties": False}
    tool = ToolOffer(name="t.find", args=canonical(schema), effects=[Effect.READ], repeatability=Repeatability.PURE)
    await world.online("one", offer=Offer(digest="d", slots=2, tools=[tool]))
    right = {"older_than": "7 years", "lasts": "90s", "depth": 8, "share": 0.5}
    async with world.client() as http:
        for path in (C, f"{C}/preview"):
            plan = {"starloom": 1, "name": "x", "tasks": [{"id": "old", "tool": "t.find", "args": right | args}]}
            answer = await http.post(path, json={"plan": plan})
            (fault,) = answer.json()["errors"]
            assert (answer.status_code, fault["code"]) == (422, "bad_arguments")
            assert fault["place"] == f"tasks[0].args.{next(iter(args))}"
            assert told in fault["reason"]
        plan = {"starloom": 1, "name": "x", "tasks": [{"id": "old", "tool": "t.find", "args": right}]}
        assert (await http.post(C, json={"plan": plan})).status_code == 202


async def test_a_preview_refuses_whom_a_question_cannot_ask(world: World) -> None:
    ask = {"id": "q", "person": "Go on?", "ask": ["nobody"]}
    async with world.client() as http:
        answers = [
            await http.post(path, json={"plan": {"starloom": 1, "name": "x", "tasks": [ask]}})
            for path in (C, f"{C}/preview")
        ]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["reason"] == "nobody is not known here"
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


async def test_a_preview_refuses_what_its_caller_may_not_submit(world: World) -> None:
    await ready_agent(world)
    plan = {**chain("t.one"), "policy": {"approval": "never"}}
    _, token = await world.new_token(Role.OPERATOR, ["run", "read"])
    async with world.client(token) as http:
        answers = [await http.post(path, json={"plan": plan}) for path in (C, f"{C}/preview")]
    assert [answer.status_code for answer in answers] == [403, 403], answers[1].text
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


async def test_set_changes_an_argument_in_a_run_that_is_history(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    plan = chain("t.one")
    plan["tasks"][0]["args"] = {"keeps": 1, "grain": -1}
    made = await world.submit(plan)
    await agent.done(await agent.next(f.Dispatch), outcome=Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    store, shard = await durable(world), world.engine.shard
    await store.retire([(made["id"], shard.constellations[made["id"]].seq)])
    del shard.constellations[made["id"]]
    body = {"operations": [{"update_task": {"id": "t0", "set": {"grain": 3}}}], "retry": ["t0"]}
    async with world.client() as http:
        changed = await http.post(f"{C}/{made['id']}/edits", json=body)
        never = await http.post(f"{C}/c-never/edits", json=body)
    assert (changed.status_code, never.status_code) == (200, 404), changed.text
    assert parse((await agent.next(f.Dispatch)).args) == {"grain": 3, "keeps": 1}


async def test_set_for_a_task_that_is_not_there_names_the_nearest(world: World) -> None:
    await ready_agent(world)
    plan = chain("t.one")
    plan["tasks"][0]["id"] = "collect"
    made = await world.submit(plan)
    body = {"operations": [{"update_task": {"id": "colect", "set": {"grain": 3}}}]}
    async with world.client() as http:
        refused = await http.post(f"{C}/{made['id']}/edits", json=body)
    (fault,) = refused.json()["errors"]
    assert (fault["code"], fault["hint"]) == (Code.UNKNOWN_TASK, "Did you mean `collect`?")
