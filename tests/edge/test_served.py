"""The hub as it is served: real sockets on loopback, the blocks of docs/curl.md as written, and stopping."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from starloom import app as hub_app
from starloom.core.state import inputs
from starloom.edge import first_run
from starloom.edge.access.callers import BEARER
from starloom.edge.listeners.connections import Places
from starloom.edge.listeners.own_sockets import OwnSockets
from starloom.edge.listeners.serving import Listener, server_config
from starloom.edge.web.problems import accepted
from starloom.engine.succession import Succession
from starloom.host.ports import free_port
from starloom.host.servers.tunnels import HubLook
from starloom.process.settings import Settings
from starloom_protocol.wire import frames as f
from tests.edge.world import World, a_world, an_offer

DOCS = Path(__file__).parents[2] / "docs"


@asynccontextmanager
async def served(tmp_path: Path, places: Places | None = None, *, lab: bool = False) -> AsyncIterator[World]:
    async with a_world(tmp_path, port=free_port(), lab=lab) as world:
        config = server_config(
            world.app,
            host="127.0.0.1",
            port=world.hub.settings.port,
            drain_s=5,
            certificate=None,
            key=None,
            places=places,
        )
        server = Listener(config)
        own = OwnSockets(tmp_path, world.hub.now_ms, 1)
        first_run.write_local(tmp_path, world.hub.settings.url, world.token, await own.open(world.app))
        task = asyncio.create_task(server._serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        try:
            yield world
        finally:
            await own.close()
            server.should_exit = True
            await task


def running_hub(world: World) -> hub_app.Running:
    own = cast(first_run.LocalToken, world.token)
    owning = cast("asyncio.Task[None]", asyncio.current_task())
    return hub_app.Running(world.edge, cast(Succession, world.engine), world.hub, own, owning)


async def test_an_upload_that_is_cut_is_no_error_of_the_hub(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with served(tmp_path) as world:
        port = world.hub.settings.port
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /api/v1/artifacts HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {world.token}\r\n"
            "Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\n"
        )
        writer.write(head.encode() + b"the first bytes")
        await writer.drain()
        writer.transport.abort()
        async with world.client() as http:  # a request after it: by then the hub has heard of the end
            assert (await http.get("/api/v1/devices")).status_code == 200
    assert [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []


async def test_the_blocks_of_curl_md_run_as_written(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", (DOCS / "curl.md").read_text(), re.DOTALL)
    async with served(tmp_path) as world:
        agent = await world.online("one", offer=an_offer("system.info"))
        environment = {**os.environ, "STARLOOM_HOME": str(tmp_path), "no_proxy": "127.0.0.1"}
        process = await asyncio.create_subprocess_exec(
            "bash", "-euo", "pipefail", "-c", block, stdout=-1, stderr=-1, env=environment
        )
        await agent.done(await agent.next(f.Dispatch), '{"os":"linux"}')
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    answer = json.loads(out.decode().splitlines()[-1])
    assert answer["constellation_state"] == "succeeded"
    assert answer["items"][0]["value"] == {"os": "linux"}
    assert b"event: request_accepted" in out


async def test_a_real_browser_like_socket_and_a_foreign_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with served(tmp_path) as world:
        port = world.hub.settings.port
        async with world.client() as http:
            ticket = (await http.post("/api/v1/live/tickets")).json()["ticket"]
        url = f"ws://127.0.0.1:{port}/api/v1/live"
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, origin=Origin("http://evil.example"), proxy=None)
        assert refused.value.response.status_code == 403
        assert json.loads(refused.value.response.body)["code"] == "bad_origin"
        async with connect(url, origin=Origin(f"http://127.0.0.1:{port}"), proxy=None) as live:
            await live.send(json.dumps({"t": "ticket", "ticket": ticket}))
            assert json.loads(await live.recv())["t"] == "ready"
            await live.send(json.dumps({"t": "subscribe", "stream": "fleet"}))
            assert json.loads(await live.recv())["t"] == "snapshot"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_hub_on_a_real_store_starts_stops_and_remembers(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", port=free_port())
    async with hub_app.opened(settings) as first:
        token = first.local_token.text
        assert first.hub.ready() == []
        recipes = [item["name"] for item in first.hub.planner.recipes()]
    async with hub_app.opened(settings) as second:
        assert second.local_token.text == token
        assert len(second.hub.access.principals) == 1
    assert "photo-backup" in recipes


async def test_a_hub_whose_succession_dies_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def dies(_: Succession) -> None:
        raise FileNotFoundError("a fault of ours")

    monkeypatch.setattr(Succession, "run", dies)
    with pytest.raises(hub_app.SuccessionDied, match="a fault of ours"):
        async with asyncio.timeout(60):
            await hub_app.serve(Settings(home=tmp_path / "home", port=free_port()))
    assert [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"] == [
        "event=task_died task=succession next=hub_ends"
    ]


async def test_a_task_beside_the_succession_that_dies_is_begun_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub_app, "BEGUN_AGAIN_S", 0)
    left, done = [ValueError("one"), OSError("two")], asyncio.Event()

    async def work() -> None:
        if left:
            raise left.pop()
        done.set()

    async with AsyncExitStack() as stack:
        hub_app._keep_running(stack, "frail", work)
        await done.wait()
    assert [record.getMessage() for record in caplog.records] == ["event=task_died task=frail next=begun_again"] * 2


async def test_the_hub_replaces_its_own_token_when_it_ends(tmp_path: Path) -> None:
    """The commands and processes of this machine have no other way in, and no restart is to be needed."""
    settings = Settings(home=tmp_path / "home", port=free_port())
    local = settings.home / first_run.LOCAL_FILE
    async with hub_app.opened(settings) as running:
        old, access = running.local_token.text, running.hub.access
        first_run.write_private(local, {"token": old, "url": settings.url})
        caller = access.caller(old, BEARER)
        assert caller is not None
        revoked = inputs.TokenRevoked(by=caller.by, id="r1", scope=caller.role, token=caller.token)
        accepted(await running.hub.inbox.ask(revoked))
        async with asyncio.timeout(10):
            while json.loads(local.read_text())["token"] == old:  # noqa: ASYNC110 - another program's file
                await asyncio.sleep(0)
        told = json.loads(local.read_text())
        assert told == {"token": running.local_token.text, "url": settings.url}
        assert local.stat().st_mode & 0o777 == 0o600
        assert access.caller(old, BEARER) is None
        fresh = access.caller(told["token"], BEARER)
        assert fresh is not None
        assert (fresh.role, fresh.principal) == (caller.role, caller.principal)
    async with hub_app.opened(settings) as second:
        assert second.local_token.text == told["token"]


async def test_a_refused_token_is_not_sent_again(tmp_path: Path) -> None:
    said: list[str] = []
    async with served(tmp_path) as world:
        look = HubLook(tmp_path, said.append)
        caller = world.hub.access.caller(world.token, BEARER)
        assert caller is not None
        revoked = inputs.TokenRevoked(by=caller.by, id="r1", scope=caller.role, token=caller.token)
        accepted(await world.hub.inbox.ask(revoked))
        try:
            assert [await look("one") for _ in range(5)] == [None] * 5
            assert [text for text in said if "refuses the token" in text] == said
            assert len(said) == 1
            levels = world.hub.limits._levels
            assert [level for (door, _), (level, _) in levels.items() if door == "bad_token"] == [29]
            local = tmp_path / first_run.LOCAL_FILE
            fresh = await first_run.ensure_local_token(tmp_path, world.hub.access, world.hub.inbox, world.hub.now_ms())
            first_run.write_private(local, {**json.loads(local.read_text()), "token": fresh})
            world.token = fresh
            await world.join("one")
            seen = await look("one")
            assert seen is not None
            assert seen.name == "one"
        finally:
            look.close()


async def test_a_goodbye_answers_requests_that_wait(tmp_path: Path) -> None:
    """A server that ends waits for open requests, and their askers may be gone without a word."""
    async with served(tmp_path, lab=True) as world:
        made = (await world.submit({"starloom": 1, "name": "x", "tasks": [{"id": "a", "person": "Go on?"}]}))["id"]
        async with world.client() as http:
            after = (await http.get(f"/api/v1/constellations/{made}/events")).json()["next"]
            asked = [
                http.get(f"/api/v1/constellations/{made}/events", params={"after": after, "wait_s": 30}),
                http.post("/api/v1/lab/orders", params={"wait_s": 30}, json={"devices": {}, "seen": []}),
            ]
            waiting = [asyncio.create_task(one) for one in asked]
            while sum(world.hub.fanout._watches.values()) < len(asked):  # noqa: ASYNC110 - a count has no event
                await asyncio.sleep(0)
            await hub_app.say_goodbye(running_hub(world))
            answers = await asyncio.gather(*waiting)
        assert [answer.json()["items"] for answer in answers] == [[], []]


async def test_goodbye_reaches_agents_and_pages(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        agent = await world.online("one")
        port = world.hub.settings.port
        async with world.client() as http:
            ticket = (await http.post("/api/v1/live/tickets")).json()["ticket"]
        async with connect(f"ws://127.0.0.1:{port}/api/v1/live", proxy=None) as live:
            await live.send(json.dumps({"t": "ticket", "ticket": ticket}))
            await live.recv()
            await hub_app.say_goodbye(running_hub(world))
            assert json.loads(await live.recv())["reason"] == "the hub is stopping"
            with pytest.raises(ConnectionClosed):
                await live.recv()
        assert (await agent.next(f.Goaway)).reason == "the hub is stopping"
        assert len(world.hub.links) == 0
