"""Notices are for people: a program or an assistant that marks them as seen would hide from a person what went wrong.

A schedule, a recipe and a device have a notice each. Every credential of a machine tries to clear it over REST.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state.apply import put
from starloom_protocol.records.entities import RecipeRuns
from starloom_protocol.records.schedules import Notice
from starloom_protocol.vocabulary import Role
from tests.edge.world import World, settle
from tests.guard.test_rights import ACTING, V1, plan
from tests.guard.test_schedule_notices import other_person

MACHINES = ("a program", "an assistant by its token", "an assistant by its header")


async def _machine(world: World, kind: str) -> dict[str, str]:
    """Return the headers of a credential that a machine has."""
    if kind == "an assistant by its header":
        return ACTING
    made = {"role": "owner", "for": "bot", "kind": "program" if kind == "a program" else "assistant"}
    async with world.client() as http:
        answer = await http.post(f"{V1}/tokens", json=made)
    assert answer.status_code == 201, answer.text
    return {"authorization": f"Bearer {answer.json()['token']}"}


async def _noticed(world: World) -> dict[str, dict[str, list[str]]]:
    """Make the three things that have a notice; return the path that clears each, with its body."""
    device = (await world.join("srv")).id
    asked = {"cron": "0 * * * *", "zone": "UTC", "plan": plan({"id": "look", "tool": "t.one"})}
    async with world.client() as http:
        made = await http.post(f"{V1}/schedules", json=asked)
    assert made.status_code == 201, made.text
    schedule, fleet = made.json()["id"], world.engine.shard.fleet
    notice = Notice(at_ms=1, text="it failed")
    put(world.engine.shard, fleet, "schedule", schedule, replace(fleet.schedules[schedule], notice=notice))
    put(world.engine.shard, fleet, "device", device, replace(fleet.devices[device], remembers="an attempt"))
    put(world.engine.shard, fleet, "recipe_runs", "noting", RecipeRuns(name="noting", told=2))
    return {
        f"{V1}/schedule-notices/seen": {"schedules": [schedule]},
        f"{V1}/devices/{device}/seen": {},
        f"{V1}/recipes/noting/seen": {},
    }


def _notices(world: World) -> list[Any]:
    fleet = world.engine.shard.fleet
    (schedule,), (device,) = fleet.schedules.values(), fleet.devices.values()
    unread = schedule.notice is not None and not schedule.notice.seen
    return [unread, device.remembers != "", not fleet.recipe_runs["noting"].seen]


@pytest.mark.parametrize("kind", MACHINES)
async def test_t128_no_machine_marks_the_notices_of_a_person_as_seen(world: World, kind: str) -> None:
    paths = await _noticed(world)
    async with world.client() as http:
        http.headers.update(await _machine(world, kind))
        for path, body in paths.items():
            refused = await http.post(path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text
    await settle()
    assert _notices(world) == [True, True, True]


async def test_t128_a_person_marks_each_as_seen(world: World) -> None:
    paths = await _noticed(world)
    async with world.client() as http:
        for path, body in paths.items():
            assert (await http.post(path, json=body)).status_code == 200
    assert _notices(world) == [False, False, False]


async def test_t231_each_person_reads_the_notice_of_a_recipe_alone(world: World) -> None:
    await _noticed(world)
    path = f"{V1}/recipes/noting/seen"
    async with world.client() as owner, world.client(await other_person(owner, Role.VIEWER, "read")) as viewer:
        assert (await viewer.post(path, json={})).status_code == 200
        runs = world.engine.shard.fleet.recipe_runs["noting"]
        assert (runs.told, runs.seen) == (2, ["person:eva"])
        assert (await viewer.post(path, json={})).json()["code"] == "not_found"
        assert (await owner.post(path, json={})).status_code == 200, "one press takes it from nobody else"
