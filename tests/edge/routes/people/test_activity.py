"""The record over REST: who did what, the chain and its breaks, a copy that verifies alone, and deciding again."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from starloom.core.state import inputs as i
from starloom.edge.routes.people.activity import FILES_TOLD_MOST
from starloom.store.sql.history import PastCommit
from starloom_protocol.records.entities import Fault
from starloom_protocol.stream.events import HOUSEKEEPING, Category, category_of
from starloom_protocol.stream.feed import decode_event, encode_event
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import Dispatch
from tests.builders import plan, task
from tests.edge.routes.requests.test_schedules import PLAN, make, turn_to
from tests.edge.routes.work.test_forks import done, get
from tests.edge.world import World, an_offer, chain, settle
from tests.store.memory import MemoryStore

A = "/api/v1/audit"


async def durable(world: World) -> MemoryStore:
    """The store with all that was done so far in its history."""
    store = cast("MemoryStore", world.hub.reads)
    for _ in range(50):
        await settle()
        await world.clock.advance(100)
        if store.history.meta.watermark >= store.redis.pos:
            break
    return store


async def kinds(world: World, **params: Any) -> list[str]:
    return [item["kind"] for item in (await get(world, A, **params))["items"]]


async def test_deeds_are_listed_newest_first_and_filtered(world: World) -> None:
    origin, agent = await done(world, "t.one")
    await durable(world)
    found = (await get(world, A, limit=200))["items"]
    assert [item["pos"] for item in found] == sorted((item["pos"] for item in found), reverse=True)
    assert not {item["kind"] for item in found} & set(HOUSEKEEPING)
    assert "task_leased" in await kinds(world, kind="work")
    assert set(await kinds(world, kind="devices")) >= {"enrollment_opened", "device_joined"}
    assert {item["stream"] for item in (await get(world, A, constellation=origin))["items"]} == {origin}
    assert "device_joined" in await kinds(world, device="one")
    who = next(item["by"] for item in found if item["kind"] == "request_accepted")
    of_person = (await get(world, A, person=who.removeprefix("person:")))["items"]
    assert {item["by"] for item in of_person} == {who}
    assert await kinds(world, q="no such words anywhere") == []
    assert agent.id in {item["about"] for item in (await get(world, A, kind="devices"))["items"]}


async def test_the_deeds_of_a_program_are_found_by_its_name(world: World) -> None:
    async with world.client() as owner:
        told = (await owner.post("/api/v1/tokens", json={"role": "operator", "for": "ci", "kind": "program"})).json()
    async with world.client(told["token"]) as ci:
        assert (await ci.post("/api/v1/constellations", json={"plan": chain("t.one")})).status_code == 202
    await durable(world)
    assert {item["by_name"] for item in (await get(world, A, person="ci"))["items"]} == {"ci"}
    assert await kinds(world, person="nobody") == []


async def test_a_renamed_device_is_told_with_both_names(world: World) -> None:
    agent = await world.join("one")
    async with world.client() as owner:
        assert (await owner.patch(f"/api/v1/devices/{agent.id}", json={"name": "kontor"})).status_code == 200
    await durable(world)
    (told,) = [item for item in (await get(world, A, kind="devices"))["items"] if item["kind"] == "device_renamed"]
    assert told["note"] == "one is called kontor from here on"


async def test_a_deed_names_its_author_and_the_files_that_it_changed(world: World) -> None:
    added = [{"path": f"Pictures/{number}.jpg", "wrote": "0" * 64} for number in range(7)]
    value = json.dumps({"added": [*added, {"folder": True, "path": "Pictures"}]})
    agent = await world.online("one", offer=an_offer("t.one"))
    made = await world.submit(chain("t.one"))
    await agent.done(await agent.next(Dispatch), value)
    await settle()
    await durable(world)
    found = (await get(world, A, constellation=made["id"], limit=200))["items"]
    (finished,) = (item for item in found if item["kind"] == "task_succeeded")
    assert (finished["by_name"], finished["files_count"]) == ("one", 7)
    assert finished["files"] == [f"Pictures/{number}.jpg" for number in range(FILES_TOLD_MOST)]
    others = [item for item in found if item is not finished]
    assert {item["files_count"] for item in others} == {0}
    assert {item["by_name"] for item in others if ":" not in item["by"]} == {"the hub"}


async def test_the_silence_of_a_device_is_told_of_the_device(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    made = await world.submit(chain("t.one"))
    await agent.next(Dispatch)
    for _ in range(25):
        await world.clock.advance(1_000)
    await durable(world)
    work = (await get(world, A, constellation=made["id"], limit=200))["items"]
    assert {item["by_name"] for item in work if item["kind"] == "task_absent"} == {"one"}
    assert {item["by_name"] for item in work if item["kind"] == "task_leased"} == {"the hub"}
    fleet = (await get(world, A, device="one", limit=200))["items"]
    away = [item for item in fleet if item["kind"] == "device_offline"]
    assert [(item["by"], item["by_name"], item["about_name"]) for item in away] == [("engine", "one", "one")]


async def test_a_deed_with_a_large_result_names_the_files_that_it_saved(world: World) -> None:
    offer = msgspec.structs.replace(an_offer("t.one"), grants=["files:write"])
    agent = await world.online("one", offer=offer)
    document = chain("t.one")
    document["tasks"][0]["files_out"] = [{"output": "/report", "to": "Reports/x"}]
    made = await world.submit(document)
    dispatch = await agent.next(Dispatch)
    assert dispatch.wants == ["/added"]
    added = [{"path": "Reports/x", "replaced": "1-a", "wrote": "0" * 64}]
    large = {"artifact": "a" * 64, "bytes": 99_999, "facts": {"/added": json.dumps(added)}}
    await agent.done(dispatch, None, **large)
    await settle()
    await durable(world)
    found = (await get(world, A, constellation=made["id"], limit=200))["items"]
    assert [item["files"] for item in found if item["kind"] == "task_succeeded"] == [["Reports/x"]]


async def test_a_join_code_is_listed_by_its_name(world: World) -> None:
    async with world.client() as http:
        made = await http.post("/api/v1/enrollments", json={"label": "kitchen"})
    assert made.status_code == 201, made.text
    await durable(world)
    found = (await get(world, A, kind="devices"))["items"]
    assert [item["about_name"] for item in found if item["kind"] == "enrollment_opened"] == ["kitchen"]


async def test_pages_follow_each_other_without_gap_or_double(world: World) -> None:
    await done(world, "t.one")
    await durable(world)
    whole = [(item["pos"], item["stream"], item["seq"]) for item in (await get(world, A, limit=200))["items"]]
    seen: list[tuple[Any, ...]] = []
    cursor = None
    while True:
        page = await get(world, A, limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [(item["pos"], item["stream"], item["seq"]) for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == whole


async def test_who_was_refused_is_in_the_record_once_a_minute(world: World) -> None:
    _, viewer = await world.new_token("viewer")
    async with world.client(viewer) as http:
        for _ in range(5):
            assert (await http.post("/api/v1/stop-all")).status_code == 403
    async with world.client("slt_wrong.wrong") as http:
        assert (await http.get("/api/v1/devices")).status_code == 401
        assert (await http.post("/api/v1/sign-in", json={"id": "x", "secret": "y"})).status_code == 401
    await durable(world)
    found = (await get(world, A, kind="refused"))["items"]
    assert {item["by_name"] for item in found} == {"root", "somebody"}
    assert sorted((item["about"], item["note"].split(":")[0]) for item in found) == [
        ("api", "bad_token"),
        ("api", "forbidden"),
        ("sign_in", "not_signed_in"),
    ]
    assert "wrong" not in json.dumps(found)


async def test_only_an_owner_reads_the_record(world: World) -> None:
    for role in ("operator", "viewer"):
        _, token = await world.new_token(role)
        async with world.client(token) as http:
            for path in (A, A + "/verify", A + "/export"):
                assert (await http.get(path)).status_code == 403


def changed(commit: PastCommit, note: str) -> PastCommit:
    event = msgspec.structs.replace(decode_event(commit.events[0]), note=note)
    return msgspec.structs.replace(commit, events=[encode_event(event), *commit.events[1:]])


async def test_the_chain_verifies_and_names_what_was_changed(world: World) -> None:
    await done(world, "t.one")
    store = await durable(world)
    sound = await get(world, A + "/verify")
    assert (sound["ok"], sound["breaks"], sound["unchained"]) == (True, [], 0)
    assert sound["commits"] == store.history.meta.watermark
    anchor = sound["anchor"]
    whole, links = list(store.history.commits), list(store.history.links)

    store.history.commits[3] = changed(whole[3], "nothing happened")
    found = await get(world, A + "/verify")
    assert (found["ok"], [item["pos"] for item in found["breaks"]]) == (False, [4])
    assert "it is not what was chained here" in found["breaks"][0]["what"]

    store.history.commits[:] = [*whole[:2], *whole[3:]]
    store.history.links[:] = [*links[:2], *links[3:]]
    found = await get(world, A + "/verify")
    assert found["breaks"][0] == {"pos": 4, "what": "commit 3 is missing before this one"}

    store.history.commits[:] = [*whole[:2], whole[3], whole[2], *whole[4:]]
    store.history.links[:] = links
    found = await get(world, A + "/verify")
    assert {item["pos"] for item in found["breaks"]} >= {3, 4}

    store.history.commits[:] = whole[:-2]
    store.history.links[:] = links[:-2]
    found = await get(world, A + "/verify")
    assert "the history ends here, but it reached" in found["breaks"][0]["what"]

    store.history.commits[:], store.history.links[:] = whole, links
    again = await get(world, A + "/verify", anchor=anchor)
    assert again["ok"]
    forged = await get(world, A + "/verify", anchor=f"{anchor.split(':')[0]}:{'00' * 32}")
    assert "its link is not that of the anchor" in forged["breaks"][0]["what"]


async def test_t311_no_wrong_anchor_is_overlooked_beside_a_right_one(world: World) -> None:
    await done(world, "t.one")
    await durable(world)
    anchor = (await get(world, A + "/verify"))["anchor"]
    false = f"{anchor.partition(':')[0]}:{'00' * 32}"
    for given in ([false, anchor], [anchor, false]):
        found = await get(world, A + "/verify", anchor=given)
        assert [item["what"] for item in found["breaks"]] == ["its link is not that of the anchor"]
    async with world.client() as http:
        for none in (f"0:{'00' * 32}", f"-7:{'ab' * 32}", f"{10**30}:{'ab' * 32}x", "5"):
            refused = await http.get(A + "/verify", params={"anchor": none})
            assert (refused.status_code, "POS:LINK" in refused.text) == (422, True), none
        beyond = await http.get(A + "/verify", params={"anchor": f"{10**30}:{'ab' * 32}"})
        assert not beyond.json()["ok"]


async def test_a_copy_has_every_commit_with_its_link(world: World) -> None:
    await done(world, "t.one")
    store = await durable(world)
    async with world.client() as http:
        lines = [json.loads(line) for line in (await http.get(A + "/export")).text.splitlines()]
    assert [line["pos"] for line in lines] == list(range(1, store.history.meta.watermark + 1))
    assert [bytes.fromhex(line["chain"]) for line in lines] == store.history.links
    assert [text.encode() for line in lines for text in line["events"]] == [
        raw for commit in store.history.commits for raw in commit.events
    ]


async def test_a_constellation_is_decided_again_and_a_changed_log_is_shown(world: World) -> None:
    origin, _ = await done(world, "t.one", "t.two")
    store = await durable(world)
    found = await get(world, f"/api/v1/constellations/{origin}/replay")
    assert (found["same"], found["exact"], found["differences"]) == (True, True, [])
    assert found["inputs"] > 3
    at, event = next(
        (at, event)
        for at, commit in enumerate(store.history.commits)
        for event in map(decode_event, commit.events)
        if event.stream == origin and event.kind == "task_succeeded"
    )
    commit = store.history.commits[at]
    forged = msgspec.structs.replace(event, note="forged")
    events = [encode_event(forged) if decode_event(raw).seq == event.seq else raw for raw in commit.events]
    store.history.commits[at] = msgspec.structs.replace(commit, events=events)
    shown = await get(world, f"/api/v1/constellations/{origin}/replay")
    assert (shown["same"], [item["pos"] for item in shown["differences"]]) == (False, [at + 1])
    assert shown["differences"][0]["logged"].startswith("task_succeeded t0")
    async with world.client() as http:
        assert (await http.get("/api/v1/constellations/c-nobody/replay")).status_code == 404


async def test_every_kind_of_this_log_has_its_subject(world: World) -> None:
    await done(world, "t.one")
    await world.submit(chain("t.one"))
    store = await durable(world)
    found = {decode_event(raw).kind for commit in store.history.commits for raw in commit.events}
    assert {kind for kind in found - set(HOUSEKEEPING) if category_of(kind) is Category.OTHER} == set()


async def test_work_of_a_schedule_and_of_a_rule_names_them(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    rule = {
        "name": "again",
        "when": {"task": "look", "event": "succeeded"},
        "edit": [{"add_task": {"id": "more", "tool": "t.one"}}],
        "reason": "once more",
    }
    made = await make(world, name="Hourly", plan={**PLAN, "rules": [rule]})
    await turn_to(world, made["next"][0])
    await agent.done(await agent.next(Dispatch), "1")
    await agent.done(await agent.next(Dispatch), "1")
    await settle()
    await durable(world)
    found = (await get(world, A, limit=200))["items"]
    names = {item["kind"]: item["by_name"] for item in found if item["stream"].startswith("c-")}
    assert names["request_accepted"] == names["started"] == "the schedule Hourly"
    assert names["plan_edited"] == "the rule again"
    assert names["task_leased"] == "the hub"


async def test_a_plan_that_a_worker_made_begins_for_who_had_asked(world: World) -> None:
    await world.online("one", offer=an_offer("t.one"))
    about: dict[str, Any] = {"by": "program:w", "constellation": "c-words", "job": "plan-1", "worker": "w"}
    for item in (
        i.RequestReceived(id="asked", by="person:mira", constellation="c-words", recipe="look"),
        i.JobClaimed(id="claimed", ttl_ms=60_000, **about),
        i.PlanProposed(id="planned", plan=plan(task("a", tool="t.one")), **about),
    ):
        assert not (await world.hub.inbox.ask(item)).faults
    await durable(world)
    found = (await get(world, A, constellation="c-words"))["items"]
    assert [item["by_name"] for item in found if item["kind"] == "started"] == ["the hub, for mira"]


async def test_the_process_that_found_no_plan_is_the_hub(world: World) -> None:
    about: dict[str, Any] = {"by": "worker:vm-8701-7f", "constellation": "c-words", "job": "plan-1", "worker": "w"}
    why = Fault(code=Code.REQUEST_NOT_UNDERSTOOD, reason="no recipe fits")
    for item in (
        i.RequestReceived(id="asked", by="person:mira", constellation="c-words", request="sing"),
        i.JobClaimed(id="claimed", ttl_ms=60_000, **about),
        i.PlanProposed(id="planned", fault=why, **about),
    ):
        assert not (await world.hub.inbox.ask(item)).faults
    await durable(world)
    found = (await get(world, A, constellation="c-words"))["items"]
    assert [item["by_name"] for item in found if item["kind"] == "planning_failed"] == ["the hub"]


async def test_the_end_of_a_deadline_names_who_had_asked(world: World) -> None:
    await world.submit(chain("t.one"), deadline_s=60)
    await world.clock.advance(61_000)
    await settle()
    await durable(world)
    found = (await get(world, A, limit=200))["items"]
    assert {item["by_name"] for item in found if item["kind"] == "cancelling"} == {"the hub, for root"}
