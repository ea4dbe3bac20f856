"""What names artifacts: everything that runs, what ended lately, and the fleet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from starloom.edge.live.artifact_references import Retained
from starloom.jobs.artifacts import HubArtifacts
from starloom.jobs.modelling import ModelJobs
from starloom.store.blobs.artifacts import FileBlobs
from starloom.store.blobs.collection import ArtifactRetention, Collector
from starloom.store.blobs.logs import AttemptLogs
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.records.models import ModelCall
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.wire import frames as f
from tests.edge.planning_job import planned_by
from tests.edge.world import NOW_MS, World, a_world, an_offer, settle
from tests.models.server import Say, fake_model

SHA, VALUE = "ab" * 32, "cd" * 32
DAY_S = 86_400


def retained(world: World, keep_s: float) -> Retained:
    return Retained(world.hub.reads, lambda: (), world.hub.now_ms, keep_s, 30 * DAY_S)


async def test_what_runs_is_kept_and_tells_what_it_names_and_since_when_it_runs(world: World) -> None:
    agent = await world.online("one", offer=an_offer("lab.echo"))
    task = {"id": "t", "tool": "lab.echo", "args": {"value": SHA}}
    made = await world.submit({"starloom": 1, "name": "n", "tasks": [task], "policy": {"approval": "never"}})
    dispatch = await agent.next(f.Dispatch)
    kept = retained(world, 0)
    assert await kept.streams() == {ACCESS, FLEET, made["id"]}
    assert await kept.running() == {made["id"]}
    told = await kept.read(made["id"])
    assert any(SHA.encode() in raw for raw in told.entities)
    assert told.running_since_s == world.hub.now_ms() / 1000
    await agent.done(dispatch, artifact=VALUE, bytes=20_000)
    await settle()
    assert list((await kept.read(made["id"])).values) == [VALUE]


async def test_what_has_ended_is_kept_for_a_while(world: World) -> None:
    agent = await world.online("one", offer=an_offer("lab.echo"))
    task = {"id": "t", "tool": "lab.echo", "args": {"value": 1}}
    made = await world.submit({"starloom": 1, "name": "n", "tasks": [task], "policy": {"approval": "never"}})
    await agent.done(await agent.next(f.Dispatch), "1")
    await settle()
    assert await retained(world, 60).running() == set()
    assert made["id"] in await retained(world, 60).streams()
    await world.clock.advance(61_000)
    assert made["id"] not in await retained(world, 60).streams()
    held = Retained(world.hub.reads, lambda: (made["id"],), world.hub.now_ms, 60, 30 * DAY_S)
    assert made["id"] in await held.streams()
    assert (await held.read("c-unknown")).running_since_s is None


async def asked_of_a_model(world: World, url: str, folder: Path, say: str) -> list[str]:
    """Have words planned by a model, which says so and no more; return the artifacts with both texts of the call."""
    async with world.client() as http:
        made = (await http.post("/api/v1/constellations", json={"request": say})).json()["id"]
    variables = {"STARLOOM_LLM_URL": url, "STARLOOM_LLM_MODEL": "fake-1"}
    models = ModelJobs(variables, now_s=lambda: world.clock.now_ms() / 1000, artifacts=HubArtifacts(folder))
    await planned_by(world, made, models)
    found = await world.hub.reads.entities(made)
    assert found is not None
    records = [decode_entity(key, raw) for key, raw in found[1].items()]
    [call] = [one for one in records if isinstance(one, ModelCall)]
    assert call.prompt is not None
    assert call.reply is not None
    return [call.prompt, call.reply]


async def test_the_texts_of_a_model_go_as_logs_do_and_nothing_else_goes(tmp_path: Path) -> None:
    question = Say(tool={"kind": "question", "text": "Which one?", "choices": ["a", "b"], "default": "a"})
    declined = Say(tool={"kind": "cannot", "text": "no"})
    folder = tmp_path / "texts"
    async with fake_model(declined, question) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world:
            agent = await world.online("one", offer=an_offer("lab.echo"))
            blobs = FileBlobs(folder)
            result = blobs.put_bytes(b"a result")
            task = {"id": "t", "tool": "lab.echo", "args": {"value": result}}
            await world.submit({"starloom": 1, "name": "n", "tasks": [task], "policy": {"approval": "never"}})
            await agent.done(await agent.next(f.Dispatch), "1")
            ended = await asked_of_a_model(world, fake.url, folder, "sing of the sea")
            waits = await asked_of_a_model(world, fake.url, folder, "sing of the moon")
            blobs.recount()
            unnamed = ArtifactRetention(unnamed_s=1, logs_s=30 * DAY_S, logs_bytes=10**9)
            collector = Collector(blobs, AttemptLogs(tmp_path), retained(world, 90 * DAY_S), unnamed)
            for days, left in ((29, {*ended, *waits, result}), (31, {*waits, result})):
                await world.clock.advance(days * DAY_S * 1000 - (world.clock.now_ms() - NOW_MS))
                # Files have the time of this machine's clock, and the hub of a test has its own.
                await collector.collect(max(world.clock.now_ms() / 1000, time.time() + 10))
                assert {one for one in (*ended, *waits, result) if blobs.size(one) is not None} == left, days
