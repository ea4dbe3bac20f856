"""An installation of two hubs on one shard: people and agents reach either, and each may be away alone."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from starloom.engine.loop import Engine
from starloom.engine.ports import JobSender
from starloom.store.port import Unavailable
from starloom_protocol.wire.frames import ResumePlan
from tests.sim.agent import SimAgent
from tests.sim.hub import Nothing
from tests.sim.network import Sockets, Wire
from tests.sim.pair_hub import Hub, Line, Shown, Welcome
from tests.sim.pair_redis import HubStore, PairRedis
from tests.sim.surroundings import Surroundings

NAMES = ("hub-a", "hub-b")
ASKED_WITHIN_S = 20.0
LET_IN_WITHIN_S = 10.0
SILENT_S = 20.0
"""What an agent waits for a word of its hub: four times its `alive`."""


class PairSite(Surroundings):
    """Two hubs, at most one of which owns the shard."""

    redis: PairRedis
    make_hub: Callable[..., Hub] = Hub

    def __init__(self, chance: random.Random, devices: Sequence[str]) -> None:
        super().__init__(chance, devices, PairRedis())
        self.jobs: JobSender = Nothing()
        self.cards: dict[str, tuple[float, bytes]] = {}
        self.hubs: dict[str, Hub] = {}
        self.lives: list[Hub] = []
        self.lines: list[Line] = []
        self.apart = False

    @property
    def engine(self) -> Engine | None:
        owner = self.owner
        return None if owner is None else owner.engine

    @property
    def store(self) -> HubStore | None:
        """The store of a hub that runs, whichever."""
        running = [hub for hub in self.hubs.values() if hub.process.runs]
        return running[-1].store if running else None

    @property
    def owner(self) -> Hub | None:
        """The hub that runs and owns the shard, as Redis has it."""
        for hub in self.hubs.values():
            engine = hub.engine
            if hub.process.runs and engine is not None and not engine.lost.is_set() and engine.term == self.redis.term:
                return hub
        return None

    @property
    def standby(self) -> Hub | None:
        """A hub that runs and does not own the shard."""
        owner = self.owner
        return next((hub for hub in self.hubs.values() if hub.process.runs and hub is not owner), None)

    async def start_hubs(self) -> None:
        for name in NAMES:
            self.start(name)
            # The first owns the shard by then; the second has learnt where that one is.
            await asyncio.sleep(1.5)

    def start(self, name: str) -> None:
        hub = self.hubs[name] = self.make_hub(self, name)
        self.lives.append(hub)
        hub.start()

    def kill(self, hub: Hub) -> None:
        """End a hub as SIGKILL does."""
        self._look_at(hub)
        hub.process.kill()
        for line in list(self.lines):
            if hub in line.hops:
                self.net.cut(line)
                if line.sockets is hub.sockets:
                    self.net.forget(line)
        self.lines = [line for line in self.lines if line.up]

    def _look_at(self, hub: Hub) -> None:
        failed = sum(engine.counts.failed_steps for engine in hub.engines)
        if failed:
            self.violations.append(f"{failed} steps failed")

    def reached(self, asker: Hub, url: str | None, known: Hub | None = None) -> Hub:
        """Return the hub at an address, the one that is `known` there if it is that still.

        Raises:
            Unavailable: nobody answers there.
        """
        hub = self.hubs.get((url or "").removeprefix("http://"))
        if (
            hub is None
            or hub is asker
            or self.apart
            or not hub.process.alive
            or (known is not None and hub is not known)
        ):
            raise Unavailable("the hub that owns the shard is not reached")
        return hub

    async def ask(self, item: Any) -> Any:
        hub = self.hubs[self.chance.choice(NAMES)]
        if not hub.process.alive:
            return None
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Any] = loop.create_future()
        hub.process.call(hub.asked, item, told)
        until = loop.time() + ASKED_WITHIN_S
        while not told.done() and hub.process.alive and loop.time() < until:
            await asyncio.wait({told}, timeout=0.5)
        return told.result() if told.done() else None

    async def _welcome(self, agent: SimAgent, gone: asyncio.Event) -> Wire | None:
        device, life, loop = agent.device, agent._life, asyncio.get_running_loop()
        hub = self.hubs[self.chance.choice(NAMES)]
        if not hub.process.alive:
            return None
        let_in = asyncio.Event()

        def closed_at_agent() -> None:
            gone.set()
            let_in.set()
            if agent._life == life and agent.push is push:
                agent.disconnected()

        def closed_at_hub() -> None:
            if line.hops:
                line.hops[-1].process.call(line.hops[-1].ended, line)

        def to_agent(frame: Any) -> None:
            line.heard_s = loop.time()
            if not agent.alive or agent._life != life:
                return
            if not isinstance(frame, Welcome):
                agent.receive(frame)
            elif not let_in.is_set():
                if frame.received >= agent.ledger.next_report:
                    self.violations.append(f"a hub has report {frame.received} of {device}, which was never made")
                agent.connected(push, frame.received)
                agent.receive(ResumePlan(entries=frame.entries))
                push("offer")
                let_in.set()

        def to_hub(frame: Any) -> None:
            if line.hops:
                line.hops[0].process.call(line.hops[0].heard, line, frame)

        def push(frame: Any) -> None:
            self.net.carry(line, "hub", frame)

        line = Line(device, to_agent, to_hub, closed_at_agent, closed_at_hub, Sockets(self.net), heard_s=loop.time())
        self.lines = [other for other in self.lines if other.up]
        self.lines.append(line)
        hub.process.call(hub.dialled, line, (str(life), agent.ledger.id))
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(let_in.wait(), LET_IN_WITHIN_S)
        finally:
            # Also of an agent that died meanwhile: its kernel ends what it dialled, and it could prove nothing more.
            stands = agent.push is push and not gone.is_set()
            if not stands:
                self.net.cut(line)
        return line if stands else None

    def _listen(self, wire: Wire) -> None:
        assert isinstance(wire, Line)
        if asyncio.get_running_loop().time() - wire.heard_s > SILENT_S:
            self.net.cut(wire)

    def heal(self) -> None:
        super().heal()
        self.apart = False

    def ended(self) -> list[str]:
        for hub in self.hubs.values():
            self._look_at(hub)
        return [*self._ownership(), *self.redis.violations, *self._shown()]

    def _ownership(self) -> Iterator[str]:
        owners = [hub for hub in self.hubs.values() if hub.engine is not None]
        if len(owners) != 1 or self.engine is None:
            yield f"{len(owners)} hubs own the shard at the end, {self.redis.owner!r} in Redis"
            return
        terms = [commit.term for commit in self.history.commits]
        if terms != sorted(terms):
            yield f"commits of a later term stand before those of an earlier one: {terms}"
        for hub in self.hubs.values():
            if hub is not owners[0] and hub.succession.follower.pos != self.engine.pos:
                yield f"{hub.name} follows at {hub.succession.follower.pos}, the log is at {self.engine.pos}"

    def _shown(self) -> Iterator[str]:
        """What every viewer of either hub saw is the log, commit by commit, as far as it was not lost with Redis."""
        for hub in self.lives:
            for shown in hub.viewers.shown:
                running = hub is self.hubs[hub.name] and not shown.void
                yield from (f"{hub.name}: {words}" for words in self._compared(shown, whole=running))

    def _compared(self, shown: Shown, *, whole: bool) -> Iterator[str]:
        commits, void = self.history.commits, not whole and self.redis.forgot
        seen = [pos for pos, _events in shown.commits]
        if seen != list(range(seen[0], seen[0] + len(seen))) if seen else False:
            yield f"its viewers saw commits {seen}"
            return
        for at, (pos, events) in enumerate(shown.commits):
            if pos > len(commits) or list(commits[pos - 1].events) != events:
                if not void:
                    yield f"its viewers saw another commit {pos} than the log has ({at} of {len(seen)})"
                return
        if whole and seen and seen[-1] != len(commits):
            yield f"its viewers saw commits up to {seen[-1]}, the log has {len(commits)}"

    async def close(self) -> None:
        await super().close()
        for hub in self.hubs.values():
            hub.process.kill()
