"""Recipes over REST: saved by version, every fault told, exported as written, planned from words; tries stay hidden."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.plan import read_document
from starloom_protocol.values import canonical
from tests.edge.world import World, an_offer, chain
from tests.planner.fleets import device, fleet

R = "/api/v1/recipes"
C = "/api/v1/constellations"
TEXT = """\
starloom_recipe: 1
name: look-around          # a comment that stays
title: Look around
version: 7
phrases: ["look around in {folder}"]
params:
  folder: {type: path, default: Pictures}
effects: [read]
plan:
  starloom: 1
  name: Look around
  tasks:
    - {id: find, tool: fs.find, args: {root: {param: folder}}}
"""


@pytest.fixture
def planned(world: World) -> World:
    """A hub with the real recipes, on a fleet that is not looked at."""
    saved = world.hub.fleet.recipes
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), FleetSnapshot, lambda: saved.values()))
    return world


async def call(world: World, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    async with world.client(token) as http:
        answer = await http.request(method, path, json=body)
    return answer.status_code, answer.json() if answer.content else None


async def test_a_recipe_is_saved_listed_exported_and_understood(planned: World) -> None:
    status, made = await call(planned, "POST", R, {"recipe": TEXT})
    assert (status, made["name"], made["version"], made["built_in"], made["clock"]) == (
        201,
        "look-around",
        1,
        False,
        True,
    )
    names = {item["name"]: item for item in (await call(planned, "GET", R))[1]["items"]}
    assert names["look-around"]["built_in"] is False
    assert names["photo-backup"]["built_in"] is True
    _, shown = await call(planned, "GET", f"{R}/look-around")
    assert shown["text"] == TEXT.replace("version: 7", "version: 1")
    assert "# a comment that stays" in shown["text"]
    assert shown["document"]["plan"]["tasks"][0]["tool"] == "fs.find"
    _, preview = await call(planned, "POST", f"{C}/preview", {"request": "look around in Pictures"})
    assert preview["understood"]["outcome"] == "exact"
    assert preview["recipe"] == "look-around"


@pytest.mark.parametrize("work", [{"request": "look around in Pictures"}, {"recipe": "look-around"}])
async def test_work_with_the_hash_of_another_plan_is_refused_before_it_is_accepted(
    planned: World, work: dict[str, Any]
) -> None:
    """Its plan is made by a job, so that a script which does not wait heard of an acceptance alone."""
    await call(planned, "POST", R, {"recipe": TEXT})
    status, refused = await call(planned, "POST", C, {**work, "plan_hash": "another"})
    assert (status, refused["code"]) == (409, "plan_hash_mismatch"), refused
    status, refused = await call(planned, "POST", C, {**work, "plan_hash": "another", "able": True})
    assert (status, refused["code"]) == (409, "plan_hash_mismatch"), refused
    assert (await call(planned, "GET", C))[1]["items"] == []
    _, shown = await call(planned, "POST", f"{C}/preview", work)
    status, made = await call(planned, "POST", C, {**work, "plan_hash": shown["plan_hash"]})
    assert status == 202, made


async def test_a_phrase_of_a_built_in_recipe_is_refused_with_a_way_out(planned: World) -> None:
    """It was kept, and its words ran the built-in recipe."""
    text = TEXT.replace("look around in {folder}", "please tidy the {folder} by kind")
    status, refused = await call(planned, "POST", R, {"recipe": text})
    assert (status, refused["errors"][0]["place"]) == (409, "phrases[0]"), refused
    assert "is a phrase of the built-in tidy-folder" in refused["errors"][0]["reason"]
    assert "starloom submit -r look-around" in refused["errors"][0]["hint"]
    assert (await call(planned, "GET", f"{R}/look-around"))[0] == 404


async def test_words_with_a_rhythm_are_answered_with_the_clock_of_a_schedule(planned: World) -> None:
    await call(planned, "POST", R, {"recipe": TEXT})
    asked = {"request": "look around in Pictures every night at 2 except on 25 December"}
    rhythm = {
        "cron": "0 2 * * *",
        "except_days": "25 December",
        "in_words": "At 02:00 every day, except 25 December",
        "request": "look around in Pictures",
    }
    _, preview = await call(planned, "POST", f"{C}/preview", asked)
    assert preview["understood"]["rhythm"] == rhythm
    status, refused = await call(planned, "POST", C, asked)
    assert (status, refused["rhythm"]) == (422, rhythm)
    _, plain = await call(planned, "POST", f"{C}/preview", {"request": "look around in Pictures"})
    assert "rhythm" not in plain["understood"]


async def test_another_version_needs_the_one_that_was_seen(planned: World) -> None:
    await call(planned, "POST", R, {"recipe": TEXT})
    status, refused = await call(planned, "POST", R, {"recipe": TEXT})
    assert (status, refused["code"], refused["current_version"]) == (409, "conflict", 1)
    changed = TEXT.replace("Look around\n", "Look around again\n", 1)
    assert (await call(planned, "POST", R, {"recipe": changed, "base_version": 1}))[1]["version"] == 2
    assert (await call(planned, "POST", R, {"recipe": changed, "base_version": 1}))[0] == 409
    _, versions = await call(planned, "GET", f"{R}/look-around/versions")
    assert [(item["version"], item["title"]) for item in versions["items"]] == [
        (2, "Look around again"),
        (1, "Look around"),
    ]
    assert (await call(planned, "GET", f"{R}/look-around?version=1"))[1]["title"] == "Look around"
    status, missing = await call(planned, "GET", f"{R}/look-around?version=9")
    assert status == 404
    assert "kept are: 1, 2" in missing["reason"]


async def test_a_document_is_saved_as_text(planned: World) -> None:
    document = read_document(TEXT)
    assert (await call(planned, "POST", R, {"recipe": document}))[0] == 201
    _, shown = await call(planned, "GET", f"{R}/look-around")
    assert read_document(shown["text"]) == {**document, "version": 1}


async def test_every_fault_is_told_and_nothing_is_kept(planned: World) -> None:
    bad = TEXT.replace("{folder}", "{foldr}").replace("tool: fs.find", "tol: fs.find")
    for path in (R, f"{R}/check"):
        status, refused = await call(planned, "POST", path, {"recipe": bad})
        assert status == 422
        places = {fault["place"] for fault in refused["errors"]}
        assert {"phrases[0]", "plan.tasks[0].tol"} <= places
    assert planned.hub.fleet.recipes == {}
    assert (await call(planned, "POST", f"{R}/check", {"recipe": TEXT}))[1]["params"]["folder"]["type"] == "path"
    assert planned.hub.fleet.recipes == {}


async def test_names_that_nothing_takes_or_uses_are_refused(planned: World) -> None:
    takes = {"additionalProperties": False, "properties": {"names": {"type": "array"}, "root": {"type": "string"}}}
    offer = an_offer("fs.find")
    offer = replace(offer, tools=[replace(tool, args=canonical(takes)) for tool in offer.tools])
    await (await planned.join("laptop")).connect(planned, offer=offer)
    slip = TEXT.replace("{root: {param: folder}}", '{rot: {param: folder}, names: ["{inputs.x}"]}')
    slip = slip.replace("params:\n", "params:\n  idle: {type: text, default: no}\n")
    for path in (R, f"{R}/check"):
        status, refused = await call(planned, "POST", path, {"recipe": slip})
        assert (status, {fault["place"]: fault["reason"] for fault in refused["errors"]}) == (
            422,
            {
                "params.idle": "nothing uses the parameter `idle`",
                "plan.tasks[0].args.names[0]": "`{inputs.x}` is plain text in a plan, which has no slots",
                "plan.tasks[0].args.rot": "`fs.find` takes no `rot`",
            },
        )
    assert planned.hub.fleet.recipes == {}


async def test_a_tool_that_no_device_offers_is_named_and_the_recipe_is_kept(planned: World) -> None:
    bare = TEXT.replace(", args: {root: {param: folder}}", "").replace(' in {folder}"]', '"]')
    bare = bare.replace("params:\n  folder: {type: path, default: Pictures}\n", "")
    assert (await call(planned, "POST", f"{R}/check", {"recipe": bare}))[1]["lacking"] == [], "no device is here yet"
    await (await planned.join("laptop")).connect(planned, offer=an_offer("t.pure"))
    of_the_hub, slip = bare.replace("fs.find", "fleet.devices"), bare.replace("fs.find", "t.puree")
    for path, text, lacking in (
        (f"{R}/check", of_the_hub, []),
        (f"{R}/check", bare.replace("fs.find", "t.pure"), []),
        (f"{R}/check", slip, ["no device offers `t.puree`. Did you mean `t.pure`?"]),
        (R, slip, ["no device offers `t.puree`. Did you mean `t.pure`?"]),
    ):
        status, found = await call(planned, "POST", path, {"recipe": text})
        assert (status, found.get("lacking", found)) == (201 if path == R else 200, lacking)


async def test_a_preview_tells_a_gap_as_the_refusal_does(world: World) -> None:
    seen = fleet(device("nas"))
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: seen, list))
    asked = {"request": "clean up temporary files"}
    status, shown = await call(world, "POST", "/api/v1/constellations/preview", asked)
    refused = (await call(world, "POST", "/api/v1/constellations", asked))[1]
    assert (status, shown["understood"]["candidates"]) == (200, [])
    assert shown["understood"]["gap"].startswith("no recipe deletes files")
    assert shown["understood"]["gap"] in refused["reason"]


async def test_words_that_take_work_back_lead_to_the_newest_request_of_their_person(world: World) -> None:
    seen = fleet(device("nas"))
    object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: seen, list))
    listed = {"title": "Constellations", "path": "/constellations"}

    async def places(words: str) -> list[dict[str, str]]:
        shown = (await call(world, "POST", "/api/v1/constellations/preview", {"request": words}))[1]
        return list(shown["understood"]["places"])

    assert await places("undo the last thing") == [listed]
    status, made = await call(world, "POST", "/api/v1/constellations", {"request": "how is nas"})
    assert status == 202
    newest = {"title": "Your newest request: how is nas", "path": f"/constellations/{made['id']}"}
    for words in ("undo", "do that again but on the other one", "why did this fail"):
        assert await places(words) == [newest, listed]


async def test_built_in_recipes_stand_fast(planned: World) -> None:
    status, refused = await call(planned, "POST", R, {"recipe": TEXT.replace("look-around", "fleet-health")})
    assert (status, refused["code"]) == (409, "conflict")
    assert "built-in" in refused["reason"]
    assert (await call(planned, "DELETE", f"{R}/fleet-health"))[0] == 409
    _, shown = await call(planned, "GET", f"{R}/fleet-health")
    assert "starloom_recipe: 1" in shown["text"]
    assert (await call(planned, "GET", f"{R}/fleet-health/versions"))[1]["items"] == []


async def test_a_saved_recipe_is_removed_whole(planned: World) -> None:
    await call(planned, "POST", R, {"recipe": TEXT})
    assert (await call(planned, "DELETE", f"{R}/look-around"))[0] == 204
    assert (await call(planned, "GET", f"{R}/look-around"))[0] == 404
    assert (await call(planned, "GET", f"{R}/look-around/versions"))[0] == 404
    assert (await call(planned, "DELETE", f"{R}/look-around"))[0] == 404


async def test_a_viewer_may_check_but_not_save(planned: World) -> None:
    _, viewer = await planned.new_token("viewer")
    assert (await call(planned, "POST", f"{R}/check", {"recipe": TEXT}, viewer))[0] == 200
    assert (await call(planned, "POST", R, {"recipe": TEXT}, viewer))[0] == 403
    assert (await call(planned, "DELETE", f"{R}/look-around", None, viewer))[0] == 403


async def test_tries_of_a_row_are_listed_only_when_asked_for(world: World) -> None:
    for number in range(6):
        await world.clock.advance(1)
        labels = {"labels": {"try": "row"}} if number % 2 else {}
        await world.submit(chain("t.one", name=f"plan {number}"), **labels)
    names: list[str] = []
    cursor = ""
    while True:
        _, page = await call(world, "GET", f"{C}?limit=2{cursor}")
        names += [item["name"] for item in page["items"]]
        if not page["next"]:
            break
        cursor = f"&cursor={page['next']}"
    assert names == ["plan 4", "plan 2", "plan 0"]
    assert len((await call(world, "GET", f"{C}?tries=true"))[1]["items"]) == 6


@pytest.mark.parametrize("path", ["", "/runs", "/versions", "?version=1"])
async def test_a_mistyped_recipe_is_answered_with_the_nearest(planned: World, path: str) -> None:
    status, answer = await call(planned, "GET", f"{R}/fleet-helth{path}")
    assert (status, answer["hint"]) == (404, "Did you mean `fleet-health`?")
