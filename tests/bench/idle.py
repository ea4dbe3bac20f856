"""What an idle agent costs the hub in memory: many proved connections that say nothing but `alive`.

Each is a device of its own that has joined, over the real agent's connection; only the process around it is missing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

from starloom.client.rest import Client
from starloom_agent.home.identity import Identity, load_or_make
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.wire import joining
from starloom_agent.wire.connection import Address, Connection, ConnectionEnded
from starloom_agent.wire.dialling import Route
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire.frames import Alive, Frame, Welcome
from tests.bench.hub_client import BenchFailed
from tests.bench.stack import Stack

AGENTS = 128
ONLINE_S = 60.0


class _Idle:
    """The peer of one connection: offers nothing, does nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.online = asyncio.Event()

    def next_report(self) -> int:
        return 1

    def welcomed(self, welcome: Welcome, proved_at: float) -> list[Frame]:
        self.online.set()
        return [make_offer((), Policy(), slots=4, folder=self._folder)]

    def received(self, frames: list[Frame]) -> None:
        """Orders cannot come: nothing is offered."""

    def reports(self) -> list[Frame]:
        return []

    def beside_alive(self) -> list[Frame]:
        return []

    def alive(self) -> Alive:
        return Alive(running=[], sent_ms=int(time.monotonic() * 1000))


async def kib_per_agent(stack: Stack, folder: Path, agents: int = AGENTS) -> float:
    """Connect many idle agents to an idle hub and return the growth of its memory for each, in KiB."""
    client = Client(stack.address)
    try:
        joined = [await asyncio.to_thread(_join, client, stack.url, folder, number) for number in range(agents)]
    finally:
        client.close()
    # The first few fill caches and pools that are there once.
    warm, rest = joined[:8], joined[8:]
    tasks = await _connect(stack.url, warm, folder)
    await asyncio.sleep(1.0)
    gc.collect()
    before = stack.hub_rss_bytes()
    tasks += await _connect(stack.url, rest, folder)
    await asyncio.sleep(1.0)
    after = stack.hub_rss_bytes()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return (after - before) / 1024 / len(rest)


def _join(client: Client, url: str, folder: Path, number: int) -> tuple[Identity, str]:
    identity = load_or_make(folder / f"idle-{number}.key")
    name = f"idle-{number}"
    asked = {"label": name, "name": name, "profile_most": Profile.OBSERVE.value, "preapproved": True}
    code = str(client.create("/enrollments", asked)["code"])
    asked_by = joining.Asked(code, name, "linux", Profile.OBSERVE)
    record = joining.join(Route(url), asked_by, identity, say=lambda _text: None)
    return identity, record.hub_key


async def _connect(url: str, joined: list[tuple[Identity, str]], folder: Path) -> list[asyncio.Task[None]]:
    tasks = []
    peers = []
    for identity, hub_key in joined:
        peer = _Idle(folder)
        connection = Connection(Address(url, hub_key), identity, f"ledger-{identity.device}", peer, time.monotonic)
        tasks.append(asyncio.create_task(connection.serve()))
        peers.append(peer)
    waiting = asyncio.gather(*(peer.online.wait() for peer in peers))
    try:
        async with asyncio.timeout(ONLINE_S):
            await waiting
    except TimeoutError as error:
        ended = [str(task.exception()) for task in tasks if task.done() and not task.cancelled()]
        raise BenchFailed(f"not every idle agent came online: {ended[:1]}") from error
    early = next((task.exception() for task in tasks if task.done()), None)
    if isinstance(early, ConnectionEnded):
        raise BenchFailed(f"an idle agent was cut: {early.reason}")
    return tasks
