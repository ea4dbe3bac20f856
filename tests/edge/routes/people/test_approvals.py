"""Approvals over REST, in a whole hub whose clock is turned: who gave which answer, what stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from starloom.planner.fleet import FleetSnapshot as PlannersFleet
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.edge.world import Agent, NoRecipes, World

API = "/api/v1"
RESTART = {"id": "restart", "tool": "t.restart", "args": {"name": "nginx"}}
PLAN: dict[str, Any] = {"starloom": 1, "name": "Restart", "tasks": [RESTART]}
CLEARING = [{"value": "go", "label": "Away with it"}, {"value": "stay", "label": "Remove nothing"}]


@pytest.fixture
async def agent(world: World) -> AsyncIterator[Agent]:
    """A device that can restart things."""
    joined = await world.join("vps")
    tool = ToolOffer(name="t.restart", effects=[Effect.CHANGE], repeatability=Repeatability.NEVER)
    await joined.connect(world, offer=Offer(digest="d", slots=4, tools=[tool]))
    yield joined
    assert joined.ws is not None
    await joined.ws.leave()


@pytest.fixture
async def http(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with world.client() as client:
        yield client


async def items(http: httpx.AsyncClient, path: str) -> list[dict[str, Any]]:
    answer = await http.get(API + path)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_always_stands_is_listed_and_taken_back(world: World, agent: Agent, http: httpx.AsyncClient) -> None:
    first = await world.submit(PLAN)
    (asked,) = await items(http, "/approvals")
    assert [(call["tool"], call["args"]) for call in asked["calls"]] == [("t.restart", {"name": "nginx"})]
    always = await http.post(f"{API}/approvals/{asked['id']}/approve", json={"always": True, "reason": "weekly"})
    assert (always.status_code, always.json()["answer"]) == (200, "always")
    (kept,) = await items(http, "/standing-approvals")
    assert (kept["args"], kept["devices"]) == ({"name": "nginx"}, [{"id": agent.id, "name": "vps"}])
    assert kept["constellation"] == first["id"]
    assert (await world.submit(PLAN))["state"] == "active"
    (told,) = await items(http, "/approvals?state=answered")
    assert (told["answer"], told["reason"]) == ("always", "weekly")
    assert told["answered_by"].startswith("person:")
    assert told["answered_at"]
    assert (await http.delete(f"{API}/standing-approvals/{kept['id']}")).status_code == 200
    assert (await http.delete(f"{API}/standing-approvals/{kept['id']}")).status_code == 404
    assert (await world.submit(PLAN))["state"] == "awaiting_approval"


async def test_the_calls_that_an_approval_is_about_are_told_with_their_arguments(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    rule = {
        "name": "again",
        "when": {"task": "restart", "event": "failed"},
        "edit": [{"add_task": {"id": "twice", "tool": "t.restart", "args": {"name": "db"}}}],
        "reason": "once more",
    }
    await world.submit({**PLAN, "rules": [rule]})
    planner = world.hub.planner
    assert isinstance(planner, NoRecipes)
    planner.fleet = PlannersFleet.of(world.hub.fleet.devices, world.hub.fleet.offers)
    (asked,) = await items(http, "/approvals")
    found = (await http.get(f"{API}/approvals/{asked['id']}/calls")).json()
    assert [(call["task"], call["tool"], call["args"]) for call in found["items"]] == [
        ("restart", "t.restart", {"name": "nginx"}),
        ("twice", "t.restart", {"name": "db"}),
    ]
    assert found["items"][0]["devices"] == ["vps"]
    assert (found["items"][0]["effects"], found["more"]) == (["change"], 0)
    assert (await http.get(f"{API}/approvals/c-none:approve-plan/calls")).status_code == 404


async def test_a_question_with_several_choices_is_not_answered_by_a_yes(world: World, http: httpx.AsyncClient) -> None:
    choices = [
        {"value": "oak", "label": "Oak"},
        {"value": "elm", "label": "Elm"},
        {"value": "none", "label": "Neither", "fails": True},
    ]
    made = await world.submit({"starloom": 1, "tasks": [{"id": "ask", "person": "Which?", "choices": choices}]})
    (asked,) = await items(http, "/approvals")
    refused = await http.post(f"{API}/approvals/{asked['id']}/approve", json={})
    assert (refused.status_code, "--value oak" in refused.json()["hint"]) == (422, True), refused.text
    assert len(await items(http, "/approvals")) == 1, "nothing was answered"
    denied = await http.post(f"{API}/approvals/{asked['id']}/deny", json={})
    assert denied.json()["answer"] == "none", "the only choice that fails is the meaning of a no"
    assert made["id"] in asked["id"]


async def test_an_answer_after_which_files_are_gone_is_named(world: World, http: httpx.AsyncClient) -> None:
    ask = {"id": "ask", "person": "Clear it?", "choices": CLEARING}
    clear = {"id": "clear", "tool": "fs.trash", "args": {"paths": ["a.txt"]}}
    edge = {"from": "ask", "to": "clear", "when": {"output": "/value", "op": "eq", "value": "go"}}
    plan = {"starloom": 1, "policy": {"approval": "never"}, "tasks": [ask, clear], "dependencies": [edge]}
    await world.submit(plan | {"name": "Tidy"}, able=False)
    (asked,) = await items(http, "/approvals")
    assert (asked["takes_away"], asked["only"]) == (["go"], [])
    await http.post(f"{API}/approvals/{asked['id']}/answer", json={"value": "stay"})
    (told,) = await items(http, "/approvals?state=answered")
    assert told["takes_away"] == []


async def test_a_question_names_the_people_whose_answer_alone_counts(world: World, http: httpx.AsyncClient) -> None:
    await http.post(f"{API}/tokens", json={"role": "approver", "for": "zo\xeb", "kind": "person"})
    await world.submit({"starloom": 1, "tasks": [{"id": "ask", "person": "Well?", "ask": ["zo\xeb"]}]})
    (asked,) = await items(http, "/approvals")
    assert asked["only"] == ["zo\xeb"]


async def test_what_nobody_answers_is_denied_when_its_time_is_over(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    made = await world.submit(PLAN)
    await world.clock.advance(24 * 3_600_000)
    assert await items(http, "/approvals") == []
    found = (await http.get(f"{API}/constellations/{made['id']}")).json()
    assert found["state"] == "cancelled"
    late = await http.post(f"{API}/approvals/{made['id']}:approve-plan/approve")
    assert (late.status_code, "answered by engine with deny" in late.text) == (409, True)


async def test_an_edit_voids_the_question_and_names_the_new_one(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    made = await world.submit(PLAN)
    (old,) = await items(http, "/approvals")
    edit = {"base_version": 1, "operations": [{"update_task": {"id": "restart", "args": {"name": "ssh"}}}]}
    assert (await http.post(f"{API}/constellations/{made['id']}/edits", json=edit)).status_code == 200
    (new,) = await items(http, "/approvals")
    assert (new["version"], new["calls"][0]["args"]) == (2, {"name": "ssh"})
    void = await http.post(f"{API}/approvals/{old['id']}/approve")
    assert (void.status_code, new["id"] in void.text) == (409, True)
    assert (await http.post(f"{API}/approvals/{new['id']}/approve")).status_code == 200


async def test_a_viewer_sees_and_does_not_answer_an_approver_answers(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    await world.submit(PLAN)
    (asked,) = await items(http, "/approvals")
    _, seeing = await world.new_token("viewer")
    async with world.client(seeing) as viewer:
        assert len(await items(viewer, "/approvals")) == 1
        assert (await viewer.post(f"{API}/approvals/{asked['id']}/approve")).status_code == 403
        assert (await viewer.delete(f"{API}/standing-approvals/s-1")).status_code == 403
    _, answering = await world.new_token("approver")
    async with world.client(answering) as approver:
        assert (await approver.post(f"{API}/approvals/{asked['id']}/deny", json={"reason": "no"})).status_code == 200


async def test_the_one_open_question_is_answered_by_its_constellation(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    made = await world.submit(PLAN)
    assert (await http.post(f"{API}/approvals/{made['id']}/approve")).status_code == 200
    assert await items(http, "/approvals") == []


async def test_calls_on_a_device_that_is_gone_say_so_and_are_not_approved_silently(
    world: World, agent: Agent, http: httpx.AsyncClient
) -> None:
    await world.submit({**PLAN, "tasks": [{**PLAN["tasks"][0], "device": {"name": "vps"}}]})
    (asked,) = await items(http, "/approvals")
    calls = (await http.get(f"{API}/approvals/{asked['id']}/calls")).json()
    assert (calls["gone"], calls["held"]) == ([], [])
    await http.post(f"{API}/devices/vps/revoke", json={})
    (told,) = (await http.get(f"{API}/approvals/{asked['id']}/calls")).json()["gone"]
    assert told.startswith("vps, which was revoked on ")
    refused = await http.post(f"{API}/approvals/{asked['id']}/approve", json={})
    assert (refused.status_code, refused.json()["reason"]) == (409, told)
    allowed = await http.post(f"{API}/approvals/{asked['id']}/approve", json={"anyway": True})
    assert allowed.json()["answer"] == "allow"
