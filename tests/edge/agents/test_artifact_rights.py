"""A device fetches the artifacts that its attempts name, and those whose bytes it has; knowing a hash is not enough."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import httpx

from starloom.edge.agents.artifact_rights import ArtifactRights
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, settle

BYTES = b"the accounts of one" * 5000
SHA = hashlib.sha256(BYTES).hexdigest()
PATH = f"/aip/v1/artifacts/{SHA}"
PLAN: dict[str, Any] = {
    "starloom": 1,
    "name": "passes on",
    "tasks": [
        {"id": "make", "tool": "t.make"},
        {"id": "read", "tool": "t.read", "inputs": {"files": {"from": "make", "output": "/files"}}},
    ],
}


async def connected(world: World, name: str, *tools: str) -> tuple[Agent, httpx.AsyncClient]:
    agent = await world.join(name)
    welcome = await agent.connect(world, offer=an_offer(*tools))
    return agent, agent.http(world, welcome)


async def send(http: httpx.AsyncClient, sha: str, chunk: bytes, offset: int = 0, total: int = 0) -> httpx.Response:
    headers = {"Upload-Offset": str(offset), "Upload-Length": str(total or len(chunk))}
    return await http.patch(f"/aip/v1/artifacts/{sha}", content=chunk, headers=headers)


async def begun(world: World, value: str | None = None, **more: Any) -> tuple[Agent, Agent, f.Dispatch]:
    """Return the two devices of a plan in which the second reads what the first made, and the second's dispatch."""
    maker, http = await connected(world, "maker", "t.make")
    async with http:
        assert (await send(http, SHA, BYTES)).status_code == 204
    reader = await world.online("reader", offer=an_offer("t.read"))
    await world.submit(PLAN)
    made = value if value is not None else json.dumps({"files": [{"artifact": SHA, "name": "a"}]})
    await maker.done(await maker.next(f.Dispatch), made, **more)
    dispatch: f.Dispatch = await reader.next(f.Dispatch)
    return maker, reader, dispatch


async def test_a_known_hash_alone_opens_no_artifact(world: World) -> None:
    _, one = await connected(world, "one", "t.one")
    thief, two = await connected(world, "two", "t.two")
    async with one, two:
        assert (await send(one, SHA, BYTES)).status_code == 204
        absent = await two.get(f"/aip/v1/artifacts/{'0' * 64}")
        there = await two.get(PATH)
        assert (there.status_code, there.json()["reason"]) == (404, absent.json()["reason"])
        assert (await two.head(PATH)).headers["upload-offset"] == "0"
        assert (await two.head(PATH)).status_code == 404
        assert (await one.get(PATH)).content == BYTES
    refused = [item for item in world.hub.refusals.latest() if item.door == "artifact"]
    assert [item.device for item in refused] == [thief.id]


async def test_an_upload_of_other_bytes_gives_no_right(world: World) -> None:
    _, one = await connected(world, "one", "t.one")
    _, two = await connected(world, "two", "t.two")
    async with one, two:
        await send(one, SHA, BYTES)
        wrong = await send(two, SHA, b"?" * len(BYTES))
        assert (wrong.status_code, wrong.json()["code"]) == (422, "artifact_corrupt")
        assert (await send(two, SHA, b"", total=len(BYTES))).status_code == 204
        assert (await send(two, SHA, BYTES[5:10], 5, len(BYTES))).status_code == 409
        assert (await two.get(PATH)).status_code == 404


async def test_a_device_that_has_the_bytes_may_fetch_them(world: World) -> None:
    _, one = await connected(world, "one", "t.one")
    _, two = await connected(world, "two", "t.two")
    async with one, two:
        await send(one, SHA, BYTES)
        assert (await send(two, SHA, BYTES[:1000], 0, len(BYTES))).headers["upload-offset"] == "1000"
        assert (await two.head(PATH)).headers["upload-offset"] == "1000"
        assert (await send(two, SHA, BYTES[1000:], 1000, len(BYTES))).status_code == 204
        assert (await two.head(PATH)).status_code == 200
        assert (await two.get(PATH)).content == BYTES


async def test_an_input_names_its_artifacts(world: World) -> None:
    _, reader, _ = await begun(world)
    assert reader.welcome is not None
    async with reader.http(world, reader.welcome) as http:
        assert (await http.get(PATH)).content == BYTES


async def test_a_long_input_names_artifacts_within_it(world: World) -> None:
    listed = json.dumps({"files": [{"artifact": SHA, "name": "a"}], "more": "x" * 20_000}).encode()
    artifact = world.hub.artifacts.put_bytes(listed)
    _, reader, dispatch = await begun(world, "null", artifact=artifact, bytes=len(listed))
    assert SHA not in str(dispatch)
    assert reader.welcome is not None
    async with reader.http(world, reader.welcome) as http:
        assert (await http.get(PATH)).content == BYTES


async def test_fetches_at_once_of_what_one_input_names_are_all_answered(world: World) -> None:
    listed = json.dumps({"files": [{"artifact": SHA, "name": "a"}], "more": "x" * 20_000}).encode()
    artifact = world.hub.artifacts.put_bytes(listed)
    _, reader, _ = await begun(world, "null", artifact=artifact, bytes=len(listed))
    assert reader.welcome is not None
    async with reader.http(world, reader.welcome) as http:
        answers = await asyncio.gather(*(http.get(PATH) for _ in range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4


async def test_no_device_ends_or_spoils_the_upload_of_another(world: World) -> None:
    _, one = await connected(world, "one", "t.one")
    _, two = await connected(world, "two", "t.two")
    async with one, two:
        total, last = len(BYTES), len(BYTES) - 1
        await send(one, SHA, BYTES[:last], 0, total)
        assert (await two.head(PATH)).headers["upload-offset"] == "0"
        assert (await send(two, SHA, BYTES[last:], last, total)).status_code == 409
        assert (await send(two, SHA, b"?" * total)).status_code == 422
        assert (await send(two, SHA, b"?", 0, total)).status_code == 204
        assert (await send(one, SHA, BYTES[last:], last, total)).status_code == 204
        assert (await send(one, SHA, BYTES[last:], last, total)).status_code == 204, "its answer may have been lost"
        assert (await two.head(PATH)).headers["upload-offset"] == "1"
        assert (await two.get(PATH)).status_code == 404


async def test_open_attempts_keep_their_inputs_over_a_restart(world: World) -> None:
    _, reader, dispatch = await begun(world)
    reader.report = 1
    await reader.send(f.Started(at=dispatch.at, report=1))
    await settle()
    assert reader.ws is not None
    await reader.ws.leave()
    world.hub.links.rights = ArtifactRights()
    welcome = await reader.connect(world, offer=an_offer("t.read"))
    async with reader.http(world, welcome) as http:
        assert (await http.get(PATH)).content == BYTES
