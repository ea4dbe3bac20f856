"""Schedules over REST, in a whole hub whose clock is turned: what fires, what is shown, what is refused."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from starloom.planner.fleet import FleetSnapshot as PlannersFleet
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire.frames import Dispatch
from tests.edge.world import World, a_world, an_offer, settle

PLAN = {"starloom": 1, "name": "Look", "tasks": [{"id": "look", "tool": "t.one"}]}
RISKY = {"starloom": 1, "name": "Change", "tasks": [{"id": "change", "tool": "t.change"}]}


async def post(world: World, path: str, body: dict[str, Any], **headers: str) -> tuple[int, Any]:
    async with world.client() as http:
        answer = await http.post(f"/api/v1{path}", json=body, headers=headers)
    return answer.status_code, answer.json()


async def make(world: World, **body: Any) -> dict[str, Any]:
    status, made = await post(world, "/schedules", {"plan": PLAN, "cron": "0 * * * *", "zone": "UTC", **body})
    assert status == 201, made
    assert isinstance(made, dict)
    return made


async def read(world: World, path: str) -> Any:
    async with world.client() as http:
        answer = await http.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def turn_to(world: World, text: str) -> None:
    await world.clock.advance(round(datetime.fromisoformat(text).timestamp() * 1000) - world.clock.ms)
    await settle()


async def test_it_fires_when_it_is_due_and_shows_the_next_five(world: World) -> None:
    made = await make(world, name="Hourly", zone="Europe/Vienna")
    assert len(made["next"]) == 5
    assert {item[-6:] for item in made["next"]} == {"+02:00"}
    assert made["in_words"] == "At the start of every hour"
    await turn_to(world, made["next"][0])
    shown = await read(world, f"/schedules/{made['id']}")
    (fired,) = shown["running"]
    assert shown["next"][0] == made["next"][1]
    head = await read(world, f"/constellations/{fired}")
    assert (head["name"], head["schedule"]) == ("Hourly", made["id"])


async def test_words_that_say_how_often_are_the_clock(tmp_path: Path) -> None:
    words = "every night at 02:30 how are my machines"
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world:
        status, seen = await post(world, "/schedule-preview", {"request": words, "zone": "UTC"})
        assert (status, seen["in_words"], seen["next"][0][11:16]) == (200, "At 02:30 every day", "02:30")
        status, made = await post(world, "/schedules", {"request": words, "zone": "UTC"})
        assert (status, made["cron"], made["request"]) == (201, "30 2 * * *", "how are my machines")
        status, refused = await post(world, "/schedules", {"request": "how are my machines", "zone": "UTC"})
        assert (status, refused["code"]) == (422, "bad_schedule")
        assert "every night at 2" in refused["hint"]


async def test_a_clock_beside_the_work_may_be_said_in_words(world: World) -> None:
    made = await make(world, name="Look", cron="every weekday at 7")
    assert (made["cron"], made["next"][0][11:16]) == ("0 7 * * 1-5", "07:00")
    status, seen = await post(world, "/schedule-preview", {"cron": "on the first of the month at 9", "zone": "UTC"})
    assert (status, {moment[8:16] for moment in seen["next"]}) == (200, {"01T09:00"})
    async with world.client() as http:
        changed = await http.patch("/api/v1/schedules/Look", json={"cron": "every 2 hours"})
        assert (changed.status_code, changed.json()["cron"]) == (200, "0 */2 * * *")
        refused = (await http.patch("/api/v1/schedules/Look", json={"cron": "every 7 minutes"})).json()
        german = (await http.patch("/api/v1/schedules/Look", json={"cron": "alle 7 minuten"})).json()
        none = (await http.patch("/api/v1/schedules/Look", json={"cron": "alle 45 minuten"})).json()
    assert refused["code"] == "bad_schedule"
    for fault in (refused, german):
        assert "7 does not divide an hour; this one goes off at minute 0, 7, 14" in fault["reason"]
        assert "*/7 * * * *" in fault["reason"]
    assert "45 does not divide an hour" in none["reason"]


async def test_days_without_a_firing_are_named_with_the_next_five(world: World) -> None:
    made = await make(world, name="Look", cron="every day at 7 except on 25 December", except_days="1 May to 3 May")
    assert (made["cron"], made["except_days"]) == ("0 7 * * *", "1 May to 3 May, 25 December")
    assert made["in_words"] == "At 07:00 every day, except 1 May to 3 May, 25 December"
    assert made["left_out"] == []
    soon = datetime.fromisoformat(made["next"][1])
    days = f"{soon:%Y-%m-%d}"
    async with world.client() as http:
        changed = (await http.patch("/api/v1/schedules/Look", json={"except_days": days})).json()
        renamed = (await http.patch("/api/v1/schedules/Look", json={"name": "Looking"})).json()
        cleared = (await http.patch("/api/v1/schedules/Looking", json={"except_days": ""})).json()
    assert made["next"][1] not in changed["next"]
    assert changed["left_out"] == [{"at": made["next"][1], "why": f"{soon.day} {soon:%B %Y}"}]
    assert renamed["left_out"] == changed["left_out"]
    assert (cleared["next"], cleared["except_days"]) == (made["next"], "")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cron": "every Friday at 17:00 except public holidays"}, "does not know which days are holidays"),
        ({"cron": "@daily", "except_days": "someday"}, "'someday' is not a day"),
        ({"cron": "0 8 25 12 *", "except_days": "25 December"}, "all are left out"),
    ],
)
async def test_days_that_cannot_be_meant_are_refused(world: World, asked: dict[str, str], says: str) -> None:
    for path in ("/schedules", "/schedule-preview"):
        status, refused = await post(world, path, {"plan": PLAN, "zone": "UTC", **asked})
        assert (status, refused["code"], refused["errors"][0]["place"]) == (422, "bad_schedule", "except_days")
        assert says in refused["errors"][0]["reason"]


async def test_words_of_a_request_may_name_days_off(tmp_path: Path) -> None:
    words = "how are my machines every friday at 17:00 except on 25 December"
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world:
        status, made = await post(world, "/schedules", {"request": words, "zone": "UTC"})
    assert (status, made["cron"], made["request"]) == (201, "0 17 * * 5", "how are my machines")
    assert made["except_days"] == "25 December"


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ({"cron": "every day at 8 except weekends"}, ""),
        ({"cron": "every day at 8 except weekends, except on 25 December"}, "25 December"),
        ({"request": "every day at 8 except weekends how are my machines"}, ""),
        ({"request": "every weekday at 8 except on 25 December how are my machines"}, "25 December"),
    ],
)
async def test_days_of_the_week_that_words_except_are_in_the_clock(
    tmp_path: Path, asked: dict[str, str], days: str
) -> None:
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world:
        status, made = await post(world, "/schedules", {"request": "how are my machines", "zone": "UTC", **asked})
    assert (status, made["cron"], made["except_days"]) == (201, "0 8 * * 1-5", days)
    assert made["request"] == "how are my machines"


@pytest.mark.parametrize(
    "asked", [{"cron": "every other day at 6"}, {"request": "how are my machines every other day at 6"}]
)
async def test_words_that_no_clock_has_make_no_schedule(world: World, asked: dict[str, str]) -> None:
    status, refused = await post(world, "/schedules", {"request": "how are my machines", "zone": "UTC", **asked})
    assert (status, refused["code"]) == (422, "bad_schedule")
    assert "'every other day at 6'; this one goes off on day 1, 3, 5" in refused["reason"]
    assert "'0 6 */2 * *'" in refused["reason"]


async def test_a_change_of_words_may_say_the_clock(tmp_path: Path) -> None:
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world:
        body = {"request": "how are my machines", "cron": "@daily", "zone": "UTC", "name": "Look"}
        assert (await post(world, "/schedules", body))[0] == 201
        async with world.client() as http:
            words = {"request": "how are my machines on Mondays at 6"}
            changed = (await http.patch("/api/v1/schedules/Look", json=words)).json()
    assert (changed["cron"], changed["request"]) == ("0 6 * * 1", "how are my machines")


async def test_a_value_that_words_do_not_take_is_refused(tmp_path: Path) -> None:
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world:
        body = {"request": "how are my machines", "params": {"colour": "red"}}
        for path, clock in (("/schedules", {"cron": "@daily"}), ("/constellations", {})):
            status, refused = await post(world, path, body | clock)
            assert (status, refused["code"]) == (422, "request_ambiguous"), path
            assert "no place for 'colour=red'" in refused["reason"], path
        status, shown = await post(world, "/constellations/preview", body)
        assert (status, shown["understood"]["candidates"][0]["unused"]) == (200, ["colour=red"])


async def test_a_firing_that_ends_is_shown_with_its_moment(world: World) -> None:
    agent = await world.online("one")
    made = await make(world, name="Hourly", notify="always")
    await turn_to(world, made["next"][0])
    await agent.done(await agent.next(Dispatch), "1")
    await settle()
    (shown,) = (await read(world, "/schedules"))["items"]
    assert (shown["last"]["state"], shown["last"]["due_at"]) == ("succeeded", made["next"][0])
    assert shown["notice"]["constellation"] == shown["last"]["constellation"]
    _, seen = await post(world, "/schedule-notices/seen", {"schedules": ["Hourly"]})
    assert seen["items"][0]["notice"] is None
    assert agent.ws is not None
    await agent.ws.leave()


async def test_many_notices_are_seen_by_one_request(world: World) -> None:
    agent = await world.online("one")
    made = [await make(world, name=name, notify="always") for name in ("Hourly", "Daily")]
    await turn_to(world, made[0]["next"][0])
    for _ in made:
        await agent.done(await agent.next(Dispatch), "1")
    await settle()
    assert all(item["notice"] for item in (await read(world, "/schedules"))["items"])
    status, refused = await post(world, "/schedule-notices/seen", {"schedules": ["Hourly", "Never"]})
    assert (status, refused["code"]) == (404, "not_found")
    assert all(item["notice"] for item in (await read(world, "/schedules"))["items"])
    status, seen = await post(world, "/schedule-notices/seen", {"schedules": ["Hourly", made[1]["id"]]})
    assert (status, [item["notice"] for item in seen["items"]]) == (200, [None, None])
    assert not any(item["notice"] for item in (await read(world, "/schedules"))["items"])
    assert agent.ws is not None
    await agent.ws.leave()


async def test_a_preview_shows_times_and_plan_and_saves_nothing(world: World) -> None:
    body = {"plan": PLAN, "cron": "30 2 * * *", "zone": "America/New_York"}
    status, shown = await post(world, "/schedule-preview", body)
    assert status == 200
    assert len(shown["next"]) == 5
    assert [task["id"] for task in shown["plan"]["tasks"]] == ["look"]
    assert shown["runs"]["kind"] == "plan"
    status, clock = await post(world, "/schedule-preview", {"cron": "@daily", "zone": "UTC"})
    assert (status, clock["plan"], clock["in_words"]) == (200, None, "At 00:00 every day")
    assert (await read(world, "/schedules"))["items"] == []


@pytest.mark.parametrize(
    ("body", "status", "code", "place"),
    [
        ({"cron": "0 25 * * *"}, 422, "bad_schedule", "cron"),
        ({"zone": "Europe/Wien"}, 422, "bad_schedule", "zone"),
        ({"cron": ""}, 422, "bad_schedule", "cron"),
        ({"overlap": "dance"}, 422, "bad_request", "overlap"),
        ({"crom": "x"}, 422, "unknown_field", "crom"),
        ({"recipe": "x"}, 422, "bad_request", None),
        ({"plan": {"starloom": 1, "name": "x", "tasks": []}}, 422, None, None),
        ({"notify_device": "nobody"}, 422, "unknown_device", None),
        ({"plan": None, "request": "sing me a song"}, 422, "request_not_understood", None),
        ({"plan": None, "from_constellation": "c-none"}, 404, "not_found", None),
        ({"from_constellation": "c-none"}, 422, "bad_request", None),
        ({"plan": None}, 422, "bad_request", None),
    ],
)
async def test_what_cannot_be_kept_says_where_and_why(
    world: World, body: dict[str, Any], status: int, code: str | None, place: str | None
) -> None:
    given = {"plan": PLAN, "cron": "0 * * * *", "zone": "UTC", **body}
    found, problem = await post(world, "/schedules", given)
    assert found == status, problem
    assert code is None or problem["code"] == code
    assert problem["hint"]
    if place is not None:
        assert [fault["place"] for fault in problem["errors"]] == [place]


async def test_the_same_key_makes_one_schedule(world: World) -> None:
    body = {"plan": PLAN, "cron": "0 * * * *", "zone": "UTC"}
    first, second = [await post(world, "/schedules", body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert first == second
    assert len((await read(world, "/schedules"))["items"]) == 1


async def test_a_key_is_known_when_its_answer_is_not_kept_any_more(world: World) -> None:
    body = {"plan": PLAN, "cron": "0 * * * *", "zone": "UTC"}
    key = {"Idempotency-Key": "nightly"}
    _, made = await post(world, "/schedules", body, **key)
    await world.clock.advance(601_000)
    status, again = await post(world, "/schedules", body, **key)
    assert (status, again["id"], again["name"]) == (201, made["id"], made["name"])
    assert (await post(world, "/schedules", {**body, "zone": "Asia/Tokyo"}, **key))[1]["code"] == "idempotency_mismatch"
    async with world.client() as http:
        assert (await http.delete(f"/api/v1/schedules/{made['id']}")).status_code == 200
    await world.clock.advance(601_000)
    status, refused = await post(world, "/schedules", body, **key)
    assert (status, refused["code"]) == (409, "conflict")
    assert made["id"] in refused["reason"]
    assert (await read(world, "/schedules"))["items"] == []


async def test_without_names_they_get_names_of_their_own(world: World) -> None:
    assert [(await make(world))["name"] for _ in range(2)] == ["Look", "Look (2)"]
    status, problem = await post(world, "/schedules", {"plan": PLAN, "cron": "@daily", "zone": "UTC", "name": "Look"})
    assert (status, problem["errors"][0]["place"]) == (422, "name")


async def test_it_is_changed_in_part_paused_resumed_and_removed(world: World) -> None:
    made = await make(world, name="Hourly")
    async with world.client() as http:
        path = f"/api/v1/schedules/{made['id']}"
        changed = (await http.patch(path, json={"cron": "30 4 * * *", "notify": "change"})).json()
        assert (changed["cron"], changed["notify"], changed["name"]) == ("30 4 * * *", "change", "Hourly")
        other = {**PLAN, "name": "Other"}
        assert (await http.patch(path, json={"plan": other, "name": "Other"})).json()["name"] == "Other"
        assert (await http.patch(path, json={"params": {"x": 1}})).status_code == 422
        paused = (await http.post(path + "/pause", json={"reason": "holiday"})).json()
        assert (paused["next"], paused["paused"]["reason"]) == ([], "holiday")
        assert paused["paused"]["by"].partition("#")[0] == made["author"].partition("#")[0]
        assert (await http.post(path + "/pause", json={})).json()["code"] == "illegal_control"
        assert len((await http.post(path + "/resume")).json()["next"]) == 5
        assert (await http.post(path + "/dance")).status_code == 422
        assert (await http.delete(path)).json()["removed"] is True
        assert (await http.get(path)).status_code == 404


async def test_what_has_ended_is_repeated_as_it_was_first_planned(world: World) -> None:
    agent = await world.online("one")
    plan = {
        "starloom": 1,
        "name": "List",
        "tasks": [
            {"id": "list", "tool": "t.one"},
            {
                "id": "each",
                "tool": "t.one",
                "for_each": {"from": "list", "output": ""},
                "inputs": {"x": {"from": "list"}},
            },
        ],
    }
    made = (await world.submit(plan))["id"]
    status, problem = await post(world, "/schedules", {"from_constellation": made, "cron": "@daily", "zone": "UTC"})
    assert (status, problem["code"]) == (409, "illegal_control")
    await agent.done(await agent.next(Dispatch), "[1,2]")
    for _ in range(2):
        await agent.done(await agent.next(Dispatch), "1")
    await settle()
    assert (await read(world, f"/constellations/{made}"))["state"] == "succeeded"
    status, repeated = await post(world, "/schedules", {"from_constellation": made, "cron": "0 * * * *", "zone": "UTC"})
    assert (status, repeated["name"]) == (201, "List")
    await turn_to(world, repeated["next"][0])
    (fired,) = (await read(world, f"/schedules/{repeated['id']}"))["running"]
    tasks = (await read(world, f"/constellations/{fired}"))["tasks"]
    assert sorted(task["id"] for task in tasks) == ["each", "list"]
    assert agent.ws is not None
    await agent.ws.leave()


async def test_a_risky_plan_is_approved_once_with_what_is_shown(world: World) -> None:
    agent = await world.join("one")
    tool = ToolOffer(name="t.change", effects=[Effect.CHANGE], repeatability=Repeatability.IDEMPOTENT)
    await agent.connect(world, offer=Offer(digest="d", slots=1, tools=[tool]))
    body = {"plan": RISKY, "cron": "0 * * * *", "zone": "UTC"}
    status, problem = await post(world, "/schedules", body)
    assert (status, problem["code"]) == (409, "needs_approval")
    assert problem["preview"]["plan_hash"] == problem["plan_hash"]
    assert (problem["clock"]["in_words"], problem["clock"]["zone"]) == ("At the start of every hour", "UTC")
    assert len(problem["clock"]["next"]) == 5
    status, made = await post(world, "/schedules", {**body, "plan_hash": problem["plan_hash"]})
    assert status == 201
    assert (made["approved"]["devices"], made["approved"]["effects"]) == (["one"], ["change"])
    await turn_to(world, made["next"][0])
    (fired,) = (await read(world, f"/schedules/{made['id']}"))["running"]
    assert (await read(world, f"/constellations/{fired}"))["state"] == "active"
    assert agent.ws is not None
    await agent.ws.leave()


async def test_a_firing_that_waits_for_an_approval_says_so_and_its_denial_who_and_why(world: World) -> None:
    agent = await world.join("one")
    tool = ToolOffer(name="t.change", effects=[Effect.CHANGE], repeatability=Repeatability.IDEMPOTENT)
    await agent.connect(world, offer=Offer(digest="d", slots=1, tools=[tool]))
    body = {"plan": RISKY, "cron": "0 * * * *", "zone": "UTC"}
    _, problem = await post(world, "/schedules", body)
    _, made = await post(world, "/schedules", {**body, "plan_hash": problem["plan_hash"]})
    assert agent.ws is not None
    await agent.ws.leave()
    wider = ToolOffer(name="t.change", effects=[Effect.CHANGE, Effect.DESTROY], repeatability=Repeatability.IDEMPOTENT)
    await agent.connect(world, offer=Offer(digest="e", slots=1, tools=[wider]))
    await turn_to(world, made["next"][0])
    shown = await read(world, f"/schedules/{made['id']}")
    (fired,) = shown["running"]
    assert (await read(world, f"/constellations/{fired}"))["state"] == "awaiting_approval"
    assert shown["asking"] == [fired]
    (asked,) = [item for item in (await read(world, "/approvals"))["items"] if item["constellation"] == fired]
    status, _ = await post(world, f"/approvals/{asked['id']}/deny", {"reason": "too dear"})
    assert status == 200
    await settle()
    (row,) = [item for item in (await read(world, "/constellations"))["items"] if item["id"] == fired]
    assert row["sentence"].endswith(" denied the plan: too dear.")
    assert (await read(world, f"/schedules/{made['id']}"))["asking"] == []
    await agent.ws.leave()


async def test_a_revoked_token_stops_what_was_made_with_it_and_a_viewer_makes_none(world: World) -> None:
    body = {"plan": PLAN, "cron": "0 * * * *", "zone": "UTC"}
    token, text = await world.new_token("operator")
    async with world.client(text) as http:
        made = (await http.post("/api/v1/schedules", json=body)).json()
    async with world.client() as http:
        await http.delete(f"/api/v1/tokens/{token}")
    shown = await read(world, f"/schedules/{made['id']}")
    assert (shown["state"], shown["stopped"]["code"]) == ("stopped", "rights_lost")
    assert len((await post(world, f"/schedules/{made['id']}/resume", {}))[1]["next"]) == 5
    _, viewer = await world.new_token("viewer")
    async with world.client(viewer) as http:
        assert (await http.post("/api/v1/schedules", json=body)).status_code == 403
        assert (await http.get("/api/v1/schedules")).status_code == 200


async def test_a_device_is_named_and_told_by_name(world: World) -> None:
    agent = await world.online("desk", offer=an_offer("notify", "t.one"))
    made = await make(world, notify_device="desk")
    assert made["notify_device"] == "desk"
    async with world.client() as http:
        cleared = (await http.patch(f"/api/v1/schedules/{made['id']}", json={"notify_device": None})).json()
    assert cleared["notify_device"] is None
    assert agent.ws is not None
    await agent.ws.leave()


async def test_the_last_runs_of_a_schedule_stand_beside_each_other(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    made = await make(world, name="Hourly")
    other = await make(world, name="Daily", cron="30 0 * * *")
    assert (await read(world, "/schedule-runs/Hourly"))["sentence"] == "It has not run yet."
    fired = []
    for _ in range(3):
        due = (await read(world, f"/schedules/{made['id']}"))["next"][0]
        await turn_to(world, due)
        dispatch = await agent.next(Dispatch)
        fired.append(dispatch.at.constellation)
        await world.clock.advance(1_000)
        await agent.done(dispatch)
        await settle()
    await world.submit(PLAN)
    await agent.done(await agent.next(Dispatch))
    await settle()
    found = await read(world, f"/schedule-runs/{made['id']}")
    assert (found["schedule"], found["more"]) == ("Hourly", False)
    assert [run["constellation"] for run in found["runs"]] == fired[::-1]
    assert found["sentence"].startswith("3 runs so far, which is too few to compare.")
    assert (await read(world, f"/schedule-runs/{other['id']}"))["runs"] == []
    few = await read(world, "/schedule-runs/Hourly?limit=2")
    assert ([run["constellation"] for run in few["runs"]], few["more"]) == (fired[:0:-1], True)
    async with world.client() as http:
        missing = await http.get("/api/v1/schedule-runs/nowhere")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_two_people_change_different_fields_at_once_and_both_stay(tmp_path: Path) -> None:
    async with a_world(tmp_path, planner=Planning(load_catalogue(), PlannersFleet)) as world, world.client() as http:
        status, made = await post(world, "/schedules", {"request": "how are my machines", "cron": "0 3 * * *"})
        assert status == 201
        path = f"/api/v1/schedules/{made['id']}"
        changes: list[dict[str, Any]] = [{"cron": "7 4 * * *"}, {"notify": "never"}, {"deadline_s": 60}]
        answers = await asyncio.gather(*(http.patch(path, json=change) for change in changes))
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        shown = await read(world, f"/schedules/{made['id']}")
    assert (shown["cron"], shown["notify"], shown["deadline_s"]) == ("7 4 * * *", "never", 60)


async def test_a_schedule_is_found_by_its_name_in_any_case(world: World) -> None:
    made = await make(world, name="Rechnungs-ZIP")
    assert (await read(world, "/schedules/rechnungs-zip"))["id"] == made["id"]
    other = await make(world, name="rechnungs-ZIP")
    assert (await read(world, "/schedules/rechnungs-ZIP"))["id"] == other["id"]
    async with world.client() as http:
        assert (await http.get("/api/v1/schedules/RECHNUNGS-ZIP")).status_code == 404


async def test_a_schedule_does_not_lose_its_name(world: World) -> None:
    made = await make(world, name="Look")
    async with world.client() as http:
        for name in ("", "  "):
            refused = await http.patch(f"/api/v1/schedules/{made['id']}", json={"name": name})
            assert (refused.status_code, "a name may not be empty" in refused.text) == (422, True)
    assert (await read(world, f"/schedules/{made['id']}"))["name"] == "Look"
