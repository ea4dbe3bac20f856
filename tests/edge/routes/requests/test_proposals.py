"""Proposals over REST: each caller sees, keeps and dismisses its own; a kept recipe is on trial and tells its runs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state import inputs
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, settle

V1 = "/api/v1"
P = f"{V1}/recipe-proposals"
R = f"{V1}/recipes"
WORDS = "weigh the quiet barrels"
PLAN = {"starloom": 1, "name": WORDS, "tasks": [{"id": "a", "tool": "t.one", "args": {"folder": "Cellar"}}]}


@pytest.fixture
async def planned(world: World) -> World:
    """A hub with real recipes, and a device that carries out what it is given."""
    fleet = world.hub.fleet
    planner = Planning(
        load_catalogue(),
        lambda: FleetSnapshot.of(fleet.devices, fleet.offers),
        lambda: fleet.recipes.values(),
        lambda: fleet.recipe_runs.values(),
    )
    object.__setattr__(world.hub, "planner", planner)
    agent = await world.online("one", offer=an_offer("t.one"))
    world.agent = agent  # type: ignore[attr-defined]
    return world


async def call(world: World, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    async with world.client(token) as http:
        answer = await http.request(method, path, json=body)
    return answer.status_code, answer.json() if answer.content else None


async def ended(world: World, outcome: str = "ok", **body: Any) -> str:
    _, made = await call(world, "POST", f"{V1}/constellations", body or {"plan": PLAN})
    if "recipe" in body:
        await planned_by_a_worker(world, made["id"], body["recipe"])
    await settle()
    more = {} if outcome == "ok" else {"code": "bad_arguments"}
    agent: Any = world.agent  # type: ignore[attr-defined]
    await agent.done(await agent.next(f.Dispatch), outcome=outcome, **more)
    await settle()
    return str(made["id"])


async def planned_by_a_worker(world: World, constellation: str, recipe: str) -> None:
    about: dict[str, Any] = {"by": "worker:w", "constellation": constellation, "job": "plan-1", "worker": "w"}
    plan = world.hub.planner.plan_recipe(recipe, {}).plan
    for item in (
        inputs.JobClaimed(id=f"claim-{constellation}", ttl_ms=60_000, **about),
        inputs.PlanProposed(id=f"plan-{constellation}", plan=plan, **about),
    ):
        assert not (await world.hub.inbox.ask(item)).faults


async def other_person(world: World) -> str:
    _, made = await call(world, "POST", f"{V1}/tokens", {"role": "owner", "for": "bea", "kind": "person"})
    return str(made["token"])


async def proposals(world: World, token: str | None = None) -> list[Any]:
    status, found = await call(world, "GET", P, token=token)
    assert status == 200
    return list(found["items"])


async def test_a_clean_end_is_proposed_with_its_recipe(planned: World) -> None:
    made = await ended(planned)
    (found,) = await proposals(planned)
    assert (found["constellation"], found["name"], found["phrase"]) == (made, "weigh-the-quiet-barrels", WORDS)
    assert (found["effects"], found["values"]) == (["read"], {"folder": "Cellar"})
    assert found["document"]["params"] == {"folder": {"type": "path", "title": "Folder", "default": "Cellar"}}


async def test_another_person_neither_sees_keeps_nor_dismisses_it(planned: World) -> None:
    await ended(planned)
    (found,) = await proposals(planned)
    bea = await other_person(planned)
    assert await proposals(planned, bea) == []
    kept = await call(planned, "POST", R, {"recipe": found["document"], "proposal": found["id"]}, bea)
    assert (kept[0], kept[1]["code"]) == (404, "not_found")
    gone = await call(planned, "DELETE", f"{P}/{found['id']}", token=bea)
    assert (gone[0], gone[1]["code"]) == (404, "not_found")
    assert [one["id"] for one in await proposals(planned)] == [found["id"]]


async def test_a_kept_proposal_is_on_trial_until_three_clean_runs(planned: World) -> None:
    source = await ended(planned)
    (found,) = await proposals(planned)
    status, made = await call(planned, "POST", R, {"recipe": found["document"], "proposal": found["id"]})
    assert (status, made["version"]) == (201, 1)
    assert await proposals(planned) == []
    name = made["name"]
    for ran in range(3):
        understood = (await call(planned, "POST", f"{V1}/constellations/preview", {"request": WORDS}))[1]["understood"]
        first = understood["candidates"][0]
        assert (understood["outcome"], first["recipe"], first["trial"]["clean"]) == ("exact", name, ran)
        refused = await call(planned, "POST", f"{V1}/constellations", {"request": WORDS})
        assert refused[1]["code"] == "recipe_on_trial"
        assert f"({name}), which has had {ran} of 3 clean runs in a row" in refused[1]["reason"]
        await ended(planned, recipe=name)
    trust = (await call(planned, "GET", f"{R}/{name}"))[1]["trust"]
    assert (trust["trial"], trust["in_a_row"], trust["source"], trust["runs"]["clean"]) == (False, 3, source, 3)
    _, shown = await call(planned, "POST", f"{V1}/constellations/preview", {"request": WORDS})
    assert (shown["understood"]["outcome"], shown["understood"]["candidates"][0]["trial"]) == ("exact", None)


async def test_a_dismissed_proposal_does_not_come_back(planned: World) -> None:
    await ended(planned)
    (found,) = await proposals(planned)
    assert (await call(planned, "DELETE", f"{P}/{found['id']}"))[0] == 204
    await ended(planned)
    assert await proposals(planned) == []


async def test_a_version_that_fails_goes_back_and_says_so(planned: World) -> None:
    recipe = {"starloom_recipe": 1, "name": "weigh", "title": "Weigh", "version": 1, "plan": PLAN}
    await call(planned, "POST", R, {"recipe": recipe})
    await ended(planned, recipe="weigh")
    await call(planned, "POST", R, {"recipe": {**recipe, "title": "Weigh anew"}, "base_version": 1})
    for _ in range(2):
        await ended(planned, "error", recipe="weigh")
    _, shown = await call(planned, "GET", f"{R}/weigh")
    assert (shown["version"], shown["title"], shown["trust"]["back_from"]) == (3, "Weigh", 2)
    assert (shown["document"]["version"], shown["trust"]["unread"]) == (3, True)
    rows = (await call(planned, "GET", f"{R}/weigh/versions"))[1]["items"]
    assert [(row["version"], row["back_from"], row["runs"]["failed"]) for row in rows] == [
        (3, 2, 0),
        (2, 0, 2),
        (1, 0, 0),
    ]
    assert "version 2 failed in 2 of its last 2 runs" in rows[0]["because"]
    assert (await call(planned, "POST", f"{R}/weigh/seen"))[0] == 200
    assert (await call(planned, "GET", f"{R}/weigh"))[1]["trust"]["unread"] is False
    assert (await call(planned, "POST", f"{R}/weigh/seen"))[1]["code"] == "not_found"


async def test_an_id_of_another_form_is_refused_whole(planned: World) -> None:
    recipe = {"starloom_recipe": 1, "name": "weigh", "title": "Weigh", "version": 1, "plan": PLAN}
    status, refused = await call(planned, "POST", R, {"recipe": recipe, "proposal": "x"})
    assert (status, refused["code"]) == (422, "bad_request")
    assert "weigh" not in {item["name"] for item in (await call(planned, "GET", R))[1]["items"]}


async def test_words_of_a_recipe_on_trial_run_the_plan_that_its_keeper_was_shown(planned: World) -> None:
    await ended(planned)
    (found,) = await proposals(planned)
    await call(planned, "POST", R, {"recipe": found["document"], "proposal": found["id"]})
    _, shown = await call(planned, "POST", f"{V1}/constellations/preview", {"request": WORDS})
    assert (shown["understood"]["outcome"], len(shown["tasks"])) == ("exact", 1)
    asked = {"request": WORDS, "plan_hash": shown["plan_hash"]}
    status, made = await call(planned, "POST", f"{V1}/constellations", asked)
    assert status == 202
    bea = await other_person(planned)
    _, other = await call(planned, "POST", f"{V1}/constellations/preview", {"request": WORDS}, bea)
    assert (other["understood"]["outcome"], other["plan_hash"]) == ("near", None)
    refused = await call(planned, "POST", f"{V1}/constellations", asked, bea)
    assert refused[1]["code"] == "recipe_on_trial"
    assert made["state"] == "planning"


async def test_a_plan_that_cannot_be_made_again_is_listed_with_the_reason(planned: World) -> None:
    made = await ended(planned)
    (mark,) = planned.hub.access.proposals.values()
    planned.hub.access.proposals[mark.id] = replace(mark, because="two places", plan="", state="left")
    _, shown = await call(planned, "GET", P)
    assert shown["items"] == []
    assert shown["left_out"] == [{"constellation": made, "request": WORDS, "because": "two places"}]
    assert (await call(planned, "GET", P, token=await other_person(planned)))[1]["left_out"] == []
