"""Failures never lock out: valid credentials pass in a flood of bad ones of the same address, over real sockets."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from starloom.edge.agents import aip
from starloom_protocol.wire import frames as f
from tests.edge.test_served import served
from tests.edge.world import Agent, World, Ws, an_offer
from tests.waiting import PATIENCE_S

FLOOD = 150
"""Failures of one kind: several times what an address has at once."""

STALLED = 64
LINES_MOST = 40
"""What a flood of one kind may write: the burst of its door and a few."""


class Line:
    """The client's half of a real socket, as an `Agent` of the tests uses one."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, text: str) -> None:
        await self.socket.send(text)

    async def receive(self) -> str | bytes:
        return await asyncio.wait_for(self.socket.recv(), PATIENCE_S)

    async def until_closed(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self.receive()


class Remote(Agent):
    """A device that dials over TCP."""

    async def reach(self, world: World) -> Ws:
        url = f"ws://127.0.0.1:{world.hub.settings.port}/aip/v1"
        return Line(await connect(url, proxy=None, compression=None))  # type: ignore[return-value]

    async def fail(self, world: World) -> None:
        """Prove nothing, with a signature of zeros."""
        await self.dial(world)
        await self.send(self.hello())
        proof = self.prove(await self.next(f.Challenge))
        await self.send(msgspec.structs.replace(proof, signature=base64.b64encode(bytes(64)).decode()))
        assert self.ws is not None
        await self.ws.until_closed()


@asynccontextmanager
async def over_tcp(world: World, token: str = "") -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(
        base_url=world.hub.settings.url, headers=headers, trust_env=False, timeout=PATIENCE_S
    ) as http:
        yield http


@contextmanager
def lines() -> Iterator[list[str]]:
    """Collect what is logged at WARNING and above."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    keep = Keep(logging.WARNING)
    logging.getLogger().addHandler(keep)
    try:
        yield written
    finally:
        logging.getLogger().removeHandler(keep)


async def test_valid_tokens_pass_in_a_flood_of_bad_ones(tmp_path: Path) -> None:
    async with served(tmp_path) as world, over_tcp(world) as guesser, over_tcp(world, world.token) as owner:
        with lines() as written:
            for number in range(FLOOD):
                bad = {"Authorization": f"Bearer slt_{number}_{'x' * 43}"}
                refused = await guesser.get("/api/v1/devices", headers=bad)
                assert refused.status_code in (401, 429)
                if number % 10 == 0:
                    assert (await owner.get("/api/v1/devices")).status_code == 200
        assert refused.status_code == 429
        assert "unknown, expired or revoked" in refused.json()["reason"]
        assert int(refused.headers["retry-after"]) >= 1
        assert len(written) <= LINES_MOST


async def test_valid_links_and_codes_pass_in_a_flood_of_bad_ones(tmp_path: Path) -> None:
    async with served(tmp_path) as world, over_tcp(world) as guesser, over_tcp(world, world.token) as owner:
        agent, statuses = Agent("honest"), []
        with lines() as written:
            for number in range(FLOOD):
                link = await guesser.post("/api/v1/sign-in", json={"id": f"s{number}", "secret": "x" * 43})
                code = await guesser.post("/agent/join", json=Agent("guess").ask(f"AAAA-AAAA-AAAA-{number:04d}"))
                poll = await guesser.get(f"/agent/join/e{number}")
                statuses.append((link.status_code, code.status_code, poll.status_code))
        assert statuses[0] == (401, 403, 404)
        assert statuses[-1] == (429, 429, 429)
        assert len(written) <= LINES_MOST
        fragment = (await owner.post("/api/v1/sign-in-links")).json()["url"].rpartition("/")[2]
        identity, _, secret = fragment.partition(".")
        assert (await guesser.post("/api/v1/sign-in", json={"id": identity, "secret": secret})).status_code == 200
        made = (await owner.post("/api/v1/enrollments", json={})).json()
        asked = await guesser.post("/agent/join", json=agent.ask(made["code"]))
        assert (asked.status_code, asked.json()["state"]) == (202, "asking")
        polls = [await guesser.get(f"/agent/join/{asked.json()['enrollment']}") for _ in range(100)]
        assert {poll.status_code for poll in polls} == {200}


async def test_a_device_gets_in_during_a_flood_of_bad_proofs(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        known = await world.join("honest")
        honest = Remote("honest")
        honest.private, honest.key, honest.id = known.private, known.key, known.id
        liars = [Remote(f"liar{number}") for number in range(10)]
        for number, liar in enumerate(liars):
            if number % 2:  # these name the honest device, whose key is no secret
                liar.key, liar.id = known.key, known.id

        async def lie(liar: Remote) -> None:
            for _ in range(FLOOD // len(liars)):
                await liar.fail(world)

        with lines() as written:
            flood = asyncio.gather(*map(lie, liars))
            for _ in range(5):
                await honest.connect(world, offer=an_offer("t.one"))
            assert world.hub.fleet.devices[known.id].name == "honest"
            await flood
            await honest.connect(world)
        assert world.edge.aip.faults["bad_signature"] >= FLOOD - 10
        assert len(written) <= LINES_MOST


async def test_a_device_gets_in_between_stalled_handshakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aip, "HANDSHAKES_MAX", STALLED // 2)
    async with served(tmp_path) as world:
        known = await world.join("honest")
        honest = Remote("honest")
        honest.private, honest.key, honest.id = known.private, known.key, known.id
        silent = [Remote(f"silent{number}") for number in range(STALLED)]
        await asyncio.gather(*(one.dial(world) for one in silent))
        welcome = await honest.connect(world)
        assert welcome.device_name == "honest"


async def test_bytes_that_are_no_text_write_no_tracebacks(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        url = f"ws://127.0.0.1:{world.hub.settings.port}/aip/v1"
        with lines() as written:
            for number in range(60):
                async with connect(url, proxy=None, compression=None) as socket:
                    parts = [b"\xff\xfe", b"\xff"] if number % 2 else b"\xff\xfe"
                    await socket.send(parts, text=True)
                    await Line(socket).until_closed()
                _, writer = await asyncio.open_connection("127.0.0.1", world.hub.settings.port)
                writer.write(b"\x00garbage\r\n\r\n")
                writer.close()
        assert len(written) <= LINES_MOST
        assert not [line for line in written if "UTF-8" in line]
