"""A pruned constellation answers that it was pruned, on every route over one; the record says so and is whole."""

from __future__ import annotations

import json
from pathlib import Path

from starloom.cli.constellations import audit_copy
from starloom.store.chain import anchor_of
from tests.edge.routes.people.test_activity import A, durable
from tests.edge.routes.work.test_forks import C, done, get
from tests.edge.world import World, settle

WHY = "history_keep_days"


async def prune(world: World, *names: str) -> None:
    """Retire and prune constellations, as the engine does with what ended long ago."""
    store = await durable(world)
    shard = world.engine.shard
    await store.retire([(name, shard.constellations[name].seq) for name in names])
    for name in names:
        del shard.constellations[name]
    ended = [item for item in await store.ended((0, ""), 100) if item.id in names]
    assert (await store.prune(ended, world.clock.now_ms(), WHY)).constellations == sorted(names)
    world.hub.headlines.forget(names)
    await settle()


async def test_every_route_over_a_pruned_one_says_that_it_is_gone(world: World) -> None:
    gone, _ = await done(world, "t.one")
    await prune(world, gone)
    paths = ["", "/result", "/versions", "/diff?from=0&to=1", "/events", "/replay", "/why", "/report", "/blame"]
    paths.append("/tasks/t0/attempts/1/log")
    async with world.client() as http:
        answers = [await http.get(f"{C}/{gone}{path}") for path in paths]
        answers += [await http.post(f"{C}/{gone}/undo", json={}), await http.post(f"{C}/{gone}/pause", json={})]
        answers.append(await http.post(f"{C}/{gone}/fork", json={"from_version": 1}))
        never = await http.get(f"{C}/c-never")
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (410, "pruned"), (answer.request.url, answer.text)
        assert f"{gone} was pruned from the history on " in answer.json()["reason"]
        assert WHY in answer.json()["reason"]
    assert (never.status_code, never.json()["code"]) == (404, "not_found")
    assert gone not in {item["id"] for item in (await get(world, C))["items"]}


async def test_the_record_tells_what_was_pruned_and_is_whole(world: World, tmp_path: Path) -> None:
    gone, _ = await done(world, "t.one")
    await durable(world)
    before = await get(world, A + "/verify")
    assert (before["pruned"]["commits"], before["pruned"]["why"]) == (0, [])
    await prune(world, gone)
    found = await get(world, A + "/verify", anchor=before["anchor"])
    assert (found["ok"], found["breaks"], found["unseen_anchors"]) == (True, [], [])
    assert (found["pruned"]["constellations"], found["pruned"]["why"]) == (1, [WHY])
    assert found["commits"] < before["commits"]
    copy = tmp_path / "record.jsonl"
    async with world.client() as http:
        copy.write_bytes((await http.get(A + "/export")).content)
    walked = audit_copy.verify(copy, [anchor_of(found["anchor"])])
    assert walked["ok"], walked
    assert (walked["anchor"], walked["pruned"]["constellations"]) == (found["anchor"], 1)
    lines = copy.read_text().splitlines()
    first = json.loads(lines[0])
    first["pruning"]["why"] = "no reason"
    copy.write_text("\n".join([json.dumps(first), *lines[1:]]))
    assert not audit_copy.verify(copy, [])["ok"]


async def test_what_stays_is_decided_again_after_a_pruning(world: World) -> None:
    gone, agent = await done(world, "t.one")
    kept = await world.submit({"starloom": 1, "name": "n", "tasks": [{"id": "t0", "tool": "t.one"}]})
    from starloom_protocol.wire import frames as f

    await agent.done(await agent.next(f.Dispatch), "1")
    await prune(world, gone)
    found = await get(world, f"{C}/{kept['id']}/replay")
    assert (found["same"], found["exact"]) == (True, False)
    assert "were pruned" in found["note"]
