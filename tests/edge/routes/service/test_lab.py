"""The lab over REST: what can be broken, who may not be, orders and reports of the lab's program, runs of scenarios."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from starloom.edge.live.entity_json import iso
from starloom.lab.desk.desk import Desk
from starloom.lab.desk.scenario_runs import ScenarioRuns
from tests.arch.checkout import ROOT
from tests.edge.world import Agent, World, a_world, chain
from tests.waiting import PATIENCE_S

F = "/api/v1/lab/faults"
ORDERS = "/api/v1/lab/orders"
S = "/api/v1/lab/scenarios"
CAN = {"device": ["kill", "freeze"], "link": ["cut", "delay"]}
WISH = {"target": "device", "device": "toy", "kind": "kill", "for_s": 2}

# Stands in for `chaos run --live`: as quick as the test wants, and with its words. Seeds choose how it ends.
_RUN = """
import json, signal, sys
seed = int(sys.argv[-1])
print("starting", file=sys.stderr, flush=True)
print(json.dumps({"line": {"at_s": 0.0, "kind": "fault", "text": "the hub is killed"}}), flush=True)
if seed == 5:
    signal.pause()
if seed == 6:
    sys.exit("no room")
told = {"met": seed != 4, "misses": ["too late"] if seed == 4 else [], "state": "succeeded", "took_s": 1.5}
told |= {"story": [{"at_s": 0.0, "kind": "fault", "text": "the hub is killed"}], "effects": {"work": {"north": 1}}}
print(json.dumps({"told": told}), flush=True)
"""


@pytest_asyncio.fixture
async def lab(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, lab=True) as world:
        runs = ScenarioRuns(
            ROOT / "recipes" / "scenarios", lambda: iso(world.clock.now_ms()), (sys.executable, "-c", _RUN)
        )
        object.__setattr__(world.hub, "lab", Desk(world.hub.reads, runs))
        yield world
        await runs.close()


async def toy(world: World, *, held: bool = True) -> Agent:
    agent = await world.join("toy", demo=True)
    if held:
        async with world.client() as http:
            assert (await hold(http, agent)).json() == {"items": []}
    return agent


async def hold(http: httpx.AsyncClient, agent: Agent, *seen: str, wait_s: float = 0) -> httpx.Response:
    body = {"devices": {agent.id: CAN}, "seen": list(seen)}
    return await http.post(ORDERS, json=body, params={"wait_s": wait_s})


async def test_what_can_be_broken_is_what_the_labs_program_says_while_it_asks(lab: World) -> None:
    await lab.join("real")
    agent = await toy(lab, held=False)
    async with lab.client() as http:
        before = (await http.get(F)).json()["devices"]
        await hold(http, agent)
        now = (await http.get(F)).json()["devices"]
        await lab.clock.advance(6_000)
        later = (await http.get(F)).json()["devices"]
    assert [one["name"] for one in before] == ["toy"]
    assert (before[0]["can"], before[0]["why_not"]) == ({}, "no program of the lab runs it now")
    assert (now[0]["can"], now[0]["why_not"]) == (CAN, None)
    assert later == before


async def test_a_fault_goes_from_the_wish_over_the_order_to_its_report(lab: World) -> None:
    agent = await toy(lab)
    await agent.connect(lab)
    made = await lab.submit(chain("t.one"))
    await lab.clock.advance(1_000)
    async with lab.client() as http:
        waiting = asyncio.create_task(hold(http, agent, wait_s=30))
        await asyncio.sleep(0)
        asked = await http.post(F, json=WISH)
        assert (asked.status_code, asked.json()["state"]) == (201, "asked")
        fault = asked.json()["id"]
        (order,) = (await asyncio.wait_for(waiting, PATIENCE_S)).json()["items"]
        assert (order["order"], order["kind"], order["for_s"]) == (fault, "kill", 2)
        assert (await hold(http, agent, fault)).json()["items"] == []
        began = await http.post(f"{F}/{fault}/began", json={"note": "the agent of toy is killed"})
        assert began.json() == {"state": "active"}
        await lab.clock.advance(2_000)
        assert (await http.post(f"{F}/{fault}/ended", json={"note": "it runs again"})).json() == {"state": "over"}
        told = (await http.get(f"{F}/{fault}")).json()
        listed = (await http.get(F)).json()["items"]
    assert (told["state"], told["constellations"]) == ("over", [made["id"]])
    (met,) = told["report"]
    assert (met["constellation"], met["name"], met["begun"]) == (made["id"], "chain", {})
    assert [(line["at_s"], line["kind"], line["text"]) for line in met["story"]] == [
        (0.0, "fault", "the agent of toy is killed"),
        (2.0, "healed", "it runs again"),
    ]
    assert [item["id"] for item in listed] == [fault]


async def test_healing_is_an_order_of_its_own(lab: World) -> None:
    agent = await toy(lab)
    async with lab.client() as http:
        fault = (await http.post(F, json=WISH)).json()["id"]
        await http.post(f"{F}/{fault}/began", json={"note": "killed"})
        healing = (await http.delete(f"{F}/{fault}")).json()
        assert (healing["state"], healing["healing"]) == ("active", True)
        (order,) = (await hold(http, agent, fault)).json()["items"]
        assert order["order"] == f"{fault}:heal"
        assert (await hold(http, agent, fault, f"{fault}:heal")).json()["items"] == []
        await http.post(f"{F}/{fault}/ended", json={"note": "healed"})
        assert (await http.delete(f"{F}/{fault}")).json()["state"] == "over"
        assert (await hold(http, agent)).json()["items"] == []


async def test_an_order_is_waited_for_only_so_long(lab: World) -> None:
    agent = await toy(lab)
    async with lab.client() as http:
        assert (await hold(http, agent, wait_s=0.01)).json() == {"items": []}
        assert (await hold(http, agent, wait_s=31)).status_code == 422


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"device": "real"}, 409, "not_simulated"),
        ({"device": "nobody"}, 422, "unknown_device"),
        ({"kind": "disk_full"}, 409, "fault_impossible"),
        ({"target": "link"}, 409, "fault_impossible"),
        ({"target": "hub"}, 422, "bad_request"),
        ({"kind": "explode"}, 422, "bad_request"),
        ({"for_s": 0}, 422, "bad_request"),
        ({"for_s": 61}, 422, "bad_request"),
        ({"by_s": 1}, 422, "bad_request"),
        ({"target": "link", "kind": "delay", "by_s": 61}, 422, "bad_request"),
        ({"colour": "red"}, 422, "unknown_field"),
    ],
)
async def test_a_wish_that_cannot_be_is_refused_with_its_reason(
    lab: World, change: dict[str, Any], status: int, code: str
) -> None:
    await lab.join("real")
    await toy(lab)
    async with lab.client() as http:
        refused = await http.post(F, json={**WISH, **change})
        assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
        assert refused.json()["hint"]
        assert (await http.get(F)).json()["items"] == []


async def test_a_simulated_device_that_nobody_runs_is_not_broken(lab: World) -> None:
    await toy(lab, held=False)
    async with lab.client() as http:
        refused = (await http.post(F, json=WISH)).json()
    assert (refused["code"], refused["reason"]) == ("fault_impossible", "no program of the lab runs toy now")


async def test_a_wish_counts_once_by_its_key(lab: World) -> None:
    await toy(lab)
    key = {"Idempotency-Key": "one"}
    async with lab.client() as http:
        first = await http.post(F, json=WISH, headers=key)
        again = await http.post(F, json=WISH, headers=key)
        other = await http.post(F, json={**WISH, "kind": "freeze"}, headers=key)
        assert len((await http.get(F)).json()["items"]) == 1
    assert first.json() == again.json()
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_mismatch")


async def test_a_size_is_kept_where_a_fault_has_one(lab: World) -> None:
    await toy(lab)
    async with lab.client() as http:
        usual = (await http.post(F, json={**WISH, "target": "link", "kind": "delay"})).json()
        none = (await http.post(F, json={**WISH, "target": "link", "kind": "cut"})).json()
    assert (usual["by_s"], none["by_s"]) == (0.2, None)


async def test_reports_of_nothing_and_of_nonsense_are_refused(lab: World) -> None:
    await toy(lab)
    async with lab.client() as http:
        fault = (await http.post(F, json=WISH)).json()["id"]
        assert (await http.get(f"{F}/none")).status_code == 404
        assert (await http.post(f"{F}/none/began", json={})).status_code == 404
        assert (await http.delete(f"{F}/none")).status_code == 404
        assert (await http.post(f"{F}/{fault}/began", json={"failed": True})).status_code == 422
        assert (await http.post(f"{F}/{fault}/exploded", json={})).status_code == 422
        failed = await http.post(f"{F}/{fault}/ended", json={"failed": True, "note": "it is dead already"})
        assert failed.json() == {"state": "failed"}
        assert (await http.get(f"{F}/{fault}")).json()["note"] == "it is dead already"


async def test_without_the_lab_there_is_none(tmp_path: Path) -> None:
    async with a_world(tmp_path) as plain, plain.client() as http:
        read = [await http.get(path) for path in (F, S, "/api/v1/nothing")]
        sent = [await http.post(path, json=WISH) for path in (F, ORDERS, f"{S}/killed-hub/runs", "/api/v1/nothing")]
    for answers in (read, sent):
        assert len({(one.status_code, one.json()["code"], one.json()["title"]) for one in answers}) == 1
    assert {one.json()["code"] for one in read + sent} == {"not_found"}


@pytest.mark.parametrize("role", ["operator", "approver", "viewer"])
async def test_only_owners_break_things(lab: World, role: str) -> None:
    _, token = await lab.new_token(role)
    async with lab.client(token) as http:
        for refused in (await http.get(F), await http.post(F, json=WISH), await http.post(f"{S}/killed-hub/runs")):
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


async def until_over(http: httpx.AsyncClient, path: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while (run := (await http.get(path)).json())["state"] in ("starting", "running"):  # noqa: ASYNC110
            await asyncio.sleep(0)
    found: dict[str, Any] = run
    return found


async def test_every_scenario_that_came_with_it_is_listed(lab: World) -> None:
    async with lab.client() as http:
        items = (await http.get(S)).json()["items"]
    assert len(items) >= 10
    killed = next(item for item in items if item["name"] == "killed-hub")
    assert {fault["target"] for fault in killed["faults"]} == {"hub"}
    assert (killed["latest"], bool(killed["title"])) == (None, True)


@pytest.mark.parametrize(
    ("seed", "state", "misses", "why"),
    [
        (1, "met", [], ""),
        (4, "not_met", ["too late"], ""),
        (6, "failed", [], "it ended with exit code 1 and no verdict"),
    ],
)
async def test_a_run_tells_its_story_and_its_verdict(
    lab: World, seed: int, state: str, misses: list[str], why: str
) -> None:
    async with lab.client() as http:
        made = await http.post(f"{S}/killed-hub/runs", json={"seed": seed})
        assert (made.status_code, made.json()["state"]) == (201, "starting")
        run = await until_over(http, f"{S}/killed-hub/runs/{made.json()['id']}")
        latest = next(item for item in (await http.get(S)).json()["items"] if item["name"] == "killed-hub")["latest"]
    assert (run["state"], run["misses"], run["why"], run["seed"]) == (state, misses, why, seed)
    assert [line["text"] for line in run["story"]] == ["the hub is killed"]
    assert run["said"][0] == "starting"
    assert run["ended_at"].endswith("Z")
    assert (latest["id"], latest["state"]) == (run["id"], state)


async def test_one_runs_at_a_time_and_a_person_may_stop_it(lab: World) -> None:
    async with lab.client() as http:
        path = f"{S}/killed-hub/runs/{(await http.post(f'{S}/killed-hub/runs', json={'seed': 5})).json()['id']}"
        busy = await http.post(f"{S}/cut-link/runs")
        assert (busy.status_code, busy.json()["code"]) == (409, "scenario_busy")
        assert busy.json()["reason"] == "killed-hub is running already"
        async with asyncio.timeout(PATIENCE_S):
            while not (await http.get(path)).json()["story"]:  # noqa: ASYNC110
                await asyncio.sleep(0)
        stopped = (await http.delete(path)).json()
        assert (stopped["state"], [line["kind"] for line in stopped["story"]]) == ("stopped", ["fault"])
        assert (await http.delete(path)).json() == stopped
        again = await http.post(f"{S}/cut-link/runs", json={"seed": 1})
        assert (await until_over(http, f"{S}/cut-link/runs/{again.json()['id']}"))["state"] == "met"


async def test_a_run_counts_once_by_its_key(lab: World) -> None:
    async with lab.client() as http:
        first, again = [
            await http.post(f"{S}/cut-link/runs", json={"seed": 1}, headers={"Idempotency-Key": "k"}) for _ in range(2)
        ]
    assert first.json()["id"] == again.json()["id"]


async def test_unknown_scenarios_and_runs_are_not_found(lab: World) -> None:
    async with lab.client() as http:
        made = (await http.post(f"{S}/cut-link/runs", json={"seed": 1})).json()["id"]
        await until_over(http, f"{S}/cut-link/runs/{made}")
        for answer in (
            await http.post(f"{S}/none/runs"),
            await http.post(f"{S}/..%2Fkilled-hub/runs"),
            await http.get(f"{S}/cut-link/runs/none"),
            await http.get(f"{S}/killed-hub/runs/{made}"),
            await http.delete(f"{S}/killed-hub/runs/{made}"),
        ):
            assert (answer.is_error, answer.json()["code"]) == (True, "not_found")


async def test_a_hub_that_ends_takes_its_run_with_it(tmp_path: Path) -> None:
    runs = ScenarioRuns(ROOT / "recipes" / "scenarios", lambda: "2026-11-26T07:00:00Z", (sys.executable, "-c", _RUN))
    made = await runs.start("cut-link", 5)
    await runs.close()
    assert runs.run("cut-link", made["id"])["state"] == "stopped"


async def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    runs = ScenarioRuns(ROOT / "recipes" / "scenarios", lambda: "2026-11-26T07:00:00Z", (str(tmp_path / "none"),))
    made = await runs.start("cut-link", None)
    stopped = await runs.stop("cut-link", made["id"])
    assert stopped["state"] == "failed"
    assert "could not be carried out" in stopped["why"]
