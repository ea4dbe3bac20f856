"""Schedules as a way around an approval: each way to make one, tried without the hash of the plan that it would run.

A firing has nobody beside it, so the hub keeps no schedule of a plan that does more than read unless a person who may
approve has sent the hash of that very plan. What was approved, or only read, is then changed underneath: its recipe,
its clock, its pause, its owner. A real hub over REST.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import pytest

from starloom.core.state import inputs as i
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Profile, Repeatability, Role
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle
from tests.guard.test_rights import ACTING, V1, C, dispatched, plan, recipe

WRITE = {"id": "note", "tool": "t.write"}
S = f"{V1}/schedules"
CLOCK = {"cron": "0 * * * *", "zone": "UTC"}
WAYS = (
    "plan",
    "recipe",
    "repeated plan",
    "repeated words of a recipe",
    "repeated words of a model",
    "changed",
)


async def joined(world: World) -> Agent:
    agent = await world.join("srv")
    tools = [
        ToolOffer(effects=[Effect.READ], name="t.read", repeatability=Repeatability.PURE),
        ToolOffer(effects=[Effect.READ, Effect.WRITE], name="t.write", repeatability=Repeatability.IDEMPOTENT),
    ]
    await agent.connect(world, offer=Offer(digest="d", slots=8, tools=tools))
    fleet = world.engine.shard.fleet
    seen = world.hub.fleet
    planner = Planning(
        load_catalogue(), lambda: FleetSnapshot.of(fleet.devices, fleet.offers), lambda: list(seen.recipes.values())
    )
    object.__setattr__(world.hub, "planner", planner)
    return agent


async def has_run(world: World, agent: Agent, http: httpx.AsyncClient, identity: str) -> str:
    await agent.done(await agent.next(f.Dispatch), "1")
    await settle(60)
    assert (await http.get(f"{C}/{identity}")).json()["state"] == "succeeded"
    return identity


def made_of(world: World) -> LoweredPlan:
    """Return the plan of the recipe as the hub makes it."""
    made = world.hub.planner.plan_recipe("noting", {}).plan
    assert made is not None
    return made


async def proposed(world: World, constellation: str, made: LoweredPlan, *, by_model: bool = False) -> None:
    """Answer the planning job of a constellation, as a worker does."""
    ask = world.hub.inbox.ask
    await ask(
        i.JobClaimed(
            by="worker:w", constellation=constellation, id=f"j-{constellation}", job="plan-1", ttl_ms=15_000, worker="w"
        )
    )
    answer = i.PlanProposed(
        by="worker:w",
        by_model=by_model,
        constellation=constellation,
        id=f"p-{constellation}",
        job="plan-1",
        plan=made,
        worker="w",
    )
    assert not (await ask(answer)).faults


async def planned(world: World, agent: Agent, http: httpx.AsyncClient, *, by_model: bool) -> str:
    """Run words whose plan came from a model, or from a recipe that the words found; a person allowed it once."""
    checked = check_plan(plan(WRITE))
    assert checked.plan is not None
    made = checked.plan if by_model else made_of(world)
    await world.hub.inbox.ask(i.RequestReceived(by="person:ann", constellation="c-x", id="r", request="take a note"))
    await proposed(world, "c-x", made, by_model=by_model)
    assert (await http.post(f"{V1}/approvals/c-x:approve-plan/approve", json={})).status_code < 300
    return await has_run(world, agent, http, "c-x")


async def asked_by(world: World, agent: Agent, http: httpx.AsyncClient, way: str) -> tuple[str, str, dict[str, Any]]:
    """Return the method, the path and the body of one way to put work that writes on a clock."""
    saved = await http.post(f"{V1}/recipes", json={"recipe": recipe("noting", WRITE)})
    assert saved.status_code in (200, 201), saved.text
    match way:
        case "plan":
            return "POST", f"{V1}/schedules", {**CLOCK, "plan": plan(WRITE)}
        case "recipe":
            return "POST", f"{V1}/schedules", {**CLOCK, "recipe": "noting"}
        case "repeated plan":
            made = (await http.post(C, json={"plan": plan(WRITE)})).json()
            before = await has_run(world, agent, http, made["id"])
        case "repeated words of a recipe":
            before = await planned(world, agent, http, by_model=False)
        case "repeated words of a model":
            before = await planned(world, agent, http, by_model=True)
        case _:
            reads = {**CLOCK, "plan": plan({"id": "look", "tool": "t.read"})}
            made = (await http.post(f"{V1}/schedules", json=reads)).json()
            return "PATCH", f"{V1}/schedules/{made['id']}", {"plan": plan(WRITE)}
    return "POST", f"{V1}/schedules", {**CLOCK, "from_constellation": before}


@pytest.mark.parametrize("way", WAYS)
async def test_t122_no_way_to_make_a_schedule_goes_around_its_approval(world: World, way: str) -> None:
    agent = await joined(world)
    async with world.client() as http:
        method, path, body = await asked_by(world, agent, http, way)
        before = len(await dispatched(agent))
        refused = await http.request(method, path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "needs_approval"), refused.text
        shown = refused.json()["preview"]
        assert (shown["asks_approval"], shown["effects"]) == (True, ["read", "write"])
        wrong = await http.request(method, path, json={**body, "plan_hash": "0" * 64})
        assert wrong.json()["code"] == "plan_hash_mismatch"
        by_model = await http.request(method, path, json={**body, "plan_hash": shown["plan_hash"]}, headers=ACTING)
        assert by_model.status_code >= 400, by_model.text
        if method == "POST":
            assert (await http.get(path)).json()["items"] == []
            told = (await http.post(f"{V1}/schedule-preview", json=body)).json()["plan"]
            assert (told["asks_approval"], told["plan_hash"]) == (True, shown["plan_hash"])
        assert len(await dispatched(agent)) == before
        saved = await http.request(method, path, json={**body, "plan_hash": shown["plan_hash"]})
        assert saved.status_code in (200, 201), saved.text
        made = saved.json()
        assert (made["approved"]["effects"], made["approved"]["devices"]) == (["read", "write"], ["srv"])
        due = round(datetime.fromisoformat(made["next"][0]).timestamp() * 1000)
        await world.clock.advance(due - world.clock.ms)
        await settle(60)
        (fired,) = (await http.get(f"{V1}/schedules/{made['id']}")).json()["running"]
        if (await http.get(f"{C}/{fired}")).json()["state"] == "planning":
            await proposed(world, fired, made_of(world))
    assert len(await dispatched(agent)) == before + 1


async def kept(http: httpx.AsyncClient, body: dict[str, Any]) -> str:
    """Save a schedule as a person who looks at its preview first; return its id."""
    made = await http.post(S, json=body)
    if made.status_code == 409:
        made = await http.post(S, json={**body, "plan_hash": made.json()["preview"]["plan_hash"]})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def test_t123_a_recipe_that_begins_to_write_asks_at_the_next_firing(world: World) -> None:
    agent = await joined(world)
    async with world.client() as http:
        reads = recipe("noting", {"id": "note", "tool": "t.read"})
        assert (await http.post(f"{V1}/recipes", json={"recipe": reads})).status_code == 201
        schedule = await kept(http, {**CLOCK, "recipe": "noting"})
        writes = {**recipe("noting", WRITE), "version": 2}
        changed = await http.post(f"{V1}/recipes", json={"recipe": writes, "base_version": 1})
        assert changed.status_code == 201, changed.text
        assert (await http.post(f"{S}/{schedule}/run")).status_code == 200
        await settle(60)
        (fired,) = (await http.get(f"{S}/{schedule}")).json()["running"]
        await proposed(world, fired, made_of(world))
        found = (await http.get(f"{C}/{fired}")).json()
        assert found["state"] == "awaiting_approval"
        (asked,) = found["questions"]
        assert asked["effects"] == ["read", "write"]
        assert "nobody has approved it for this schedule" in asked["text"]
    assert await dispatched(agent) == []


async def test_t123_a_tool_that_begins_to_write_asks_at_the_next_firing(world: World) -> None:
    agent = await joined(world)
    async with world.client() as http:
        schedule = await kept(http, {**CLOCK, "plan": plan({"id": "look", "tool": "t.read"})})
        wider = [ToolOffer(effects=[Effect.WRITE], name="t.read", repeatability=Repeatability.IDEMPOTENT)]
        offer = Offer(digest="e", slots=8, tools=wider)
        await agent.send(f.OfferFrame(offer=offer, os="linux", policy_digest="p", profile=Profile.WORK))
        await settle(60)
        assert (await http.post(f"{S}/{schedule}/run")).status_code == 200
        await settle(60)
        (fired,) = (await http.get(f"{S}/{schedule}")).json()["running"]
        assert (await http.get(f"{C}/{fired}")).json()["state"] == "awaiting_approval"
    assert await dispatched(agent) == []


CHANGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a faster clock": ("PATCH", "", {"cron": "* * * * *"}),
    "a day off": ("PATCH", "", {"except_days": "25 December"}),
    "another zone": ("PATCH", "", {"zone": "Asia/Tokyo"}),
    "firings beside each other": ("PATCH", "", {"overlap": "allow"}),
    "all that were missed": ("PATCH", "", {"catch_up": "all", "overlap": "queue"}),
    "a firing now": ("POST", "/run", {}),
    "the end of its pause": ("POST", "/resume", {}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("who", ["assistant", "a token that may not approve"])
async def test_t123_what_was_approved_runs_at_the_times_it_was_approved_for(
    world: World, change: str, who: str
) -> None:
    agent = await joined(world)
    _, narrow = await world.new_token(Role.OPERATOR, ["read", "run"])
    method, path, body = CHANGES[change]
    async with world.client() as person, world.client(narrow if who != "assistant" else None) as http:
        http.headers.update(ACTING if who == "assistant" else {})
        schedule = await kept(person, {"cron": "0 3 1 1 *", "zone": "UTC", "plan": plan(WRITE)})
        if path == "/resume":
            assert (await person.post(f"{S}/{schedule}/pause")).status_code == 200
        before = (await person.get(f"{S}/{schedule}")).json()
        refused = await http.request(method, f"{S}/{schedule}{path}", json=body)
        assert refused.json()["code"] in ("forbidden", "needs_approval"), refused.text
        assert (await person.get(f"{S}/{schedule}")).json() == before
        assert await dispatched(agent) == []
        allowed = await person.request(method, f"{S}/{schedule}{path}", json=body)
        assert allowed.status_code == 200, allowed.text


async def test_t123_whoever_may_not_approve_still_names_and_ends_a_schedule(world: World) -> None:
    await joined(world)
    _, narrow = await world.new_token(Role.OPERATOR, ["read", "run"])
    async with world.client() as person, world.client(narrow) as http:
        schedule = await kept(person, {**CLOCK, "plan": plan(WRITE)})
        named = await http.patch(f"{S}/{schedule}", json={"name": "notes"})
        assert (named.status_code, named.json()["approved"]["effects"]) == (200, ["read", "write"])
        assert (await http.post(f"{S}/{schedule}/pause")).status_code == 200


SAME: dict[str, dict[str, Any]] = {
    "nothing": {},
    "fields that say nothing": {"cron": None, "name": None},
    "the clock that it has": CLOCK,
    "the plan that it has": {"plan": plan({"id": "look", "tool": "t.read"})},
    "another name": {"name": "mine"},
}


@pytest.mark.parametrize("change", SAME)
@pytest.mark.parametrize("who", ["assistant", "a token that may not approve"])
async def test_t127_a_change_of_nothing_makes_nobody_the_owner(world: World, change: str, who: str) -> None:
    await joined(world)
    narrow, text = await world.new_token(Role.OPERATOR, ["read", "run"])
    async with world.client() as person, world.client(text) as http:
        http.headers.update(ACTING if who == "assistant" else {})
        schedule = await kept(person, {**CLOCK, "plan": plan({"id": "look", "tool": "t.read"})})
        before = world.engine.shard.fleet.schedules[schedule]
        changed = await http.patch(f"{S}/{schedule}", json=SAME[change])
        assert changed.status_code == (403 if who == "assistant" else 200)
        after = world.engine.shard.fleet.schedules[schedule]
        assert (after.author, after.owner, after.token) == (before.author, before.owner, before.token)
        assert after == before or (change == "another name" and who != "assistant")
        assert (await person.delete(f"{V1}/tokens/{narrow}")).status_code < 300
        assert world.engine.shard.fleet.schedules[schedule].state == "active"


async def test_t127_a_change_of_its_work_makes_its_author_the_owner(world: World) -> None:
    await joined(world)
    narrow, text = await world.new_token(Role.OPERATOR, ["read", "run"])
    async with world.client() as person, world.client(text) as http:
        schedule = await kept(person, {**CLOCK, "plan": plan({"id": "look", "tool": "t.read"})})
        assert (await http.patch(f"{S}/{schedule}", json={"cron": "30 4 * * *"})).status_code == 200
    assert world.engine.shard.fleet.schedules[schedule].token == narrow


LOOK = {"id": "look", "tool": "fs.find", "args": {"root": "."}}
CLEAR = {"id": "clear", "tool": "fs.trash", "inputs": {"paths": {"from": "look", "output": "/files"}}}


@pytest.mark.parametrize("who", ["assistant", "a token that may not approve"])
async def test_t166_only_who_may_approve_sets_the_list_before_the_trash_aside(world: World, who: str) -> None:
    agent = await world.join("nas")
    tools = [
        ToolOffer(effects=[Effect.READ], name="fs.find", repeatability=Repeatability.PURE),
        ToolOffer(effects=[Effect.WRITE], name="fs.trash", repeatability=Repeatability.IDEMPOTENT),
    ]
    await agent.connect(world, offer=Offer(digest="d", slots=8, tools=tools))
    _, narrow = await world.new_token(Role.OPERATOR, ["read", "run"])
    work = {**CLOCK, "plan": plan(LOOK, CLEAR)}
    async with world.client() as person, world.client(narrow if who != "assistant" else None) as http:
        http.headers.update(ACTING if who == "assistant" else {})
        schedule = await kept(person, work)
        shown = (await person.get(f"{S}/{schedule}")).json()
        assert shown["unseen_trash"] is False, "it asks each time, and says so"
        unseen = (await http.post(f"{V1}/schedule-preview", json={**work, "lists": False})).json()
        assert unseen["unseen_trash"] is True
        assert any("nobody sees their list" in one for one in unseen["plan"]["warnings"])
        chosen = {"lists": False, "plan_hash": unseen["plan"]["plan_hash"]}
        assert (await http.post(S, json={**work, **chosen})).json()["code"] == "needs_approval"
        refused = (await http.patch(f"{S}/{schedule}", json=chosen)).json()["code"]
        assert refused == ("forbidden" if who == "assistant" else "needs_approval")
        assert (await person.get(f"{S}/{schedule}")).json() == shown
        assert (await person.patch(f"{S}/{schedule}", json={"lists": False})).json()["code"] == "needs_approval"
        changed = (await person.patch(f"{S}/{schedule}", json=chosen)).json()
        assert changed["unseen_trash"] is True
        assert (await person.patch(f"{S}/{schedule}", json={"cron": "@daily"})).json()["unseen_trash"] is True
        assert (await http.post(f"{S}/{schedule}/run")).json()["code"] == "forbidden"
        assert (await person.post(f"{S}/{schedule}/run")).status_code == 200
        await settle()
        assert await dispatched(agent), "the firing began without a question"
