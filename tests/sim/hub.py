"""The hub of a schedule: the real engine on the memory twin, with slow stores, that can be killed and started again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from starloom.core.state import inputs as i
from starloom.engine.loop import Engine
from starloom.engine.ports import JobSender, Overloaded
from starloom.engine.settings import EngineSettings
from starloom.store.port import Unavailable
from starloom_protocol.wire.frames import PlanEntry, ResumePlan
from tests.sim.agent import SimAgent
from tests.sim.network import Sockets, Wire
from tests.sim.slow_store import SlowStore
from tests.sim.surroundings import Surroundings
from tests.store.memory import MemoryRedis


class Nothing:
    """Viewers, workers and artifacts have no part in a schedule."""

    def publish(self, pos: int, events: Any) -> None:
        """Viewers are another room's matter."""

    def close_token(self, token: str) -> None:
        raise AssertionError(f"no token was made, {token} cannot be revoked")

    def wake(self, kind: str, constellation: str, job: str) -> None:
        raise AssertionError(f"plans come whole; nobody asked for {kind} of {constellation}/{job}")

    def put_bytes(self, data: bytes) -> str:
        raise AssertionError(f"no value of a schedule is big; {len(data)} bytes are")


class Site(Surroundings):
    """An installation of one hub: starts and kills it, carries frames between it and the agents."""

    engine: Engine | None = None
    store: SlowStore | None = None

    def __init__(self, chance: random.Random, devices: Sequence[str]) -> None:
        super().__init__(chance, devices, MemoryRedis())
        self.sockets = Sockets(self.net)
        self.jobs: JobSender = Nothing()
        self.lives = 0

    async def start_hubs(self) -> None:
        await self.start_hub()

    async def start_hub(self) -> None:
        """Start an owner; waits for its stores as the wiring does."""
        self.engine, self.store, self.sockets = await self._started()

    async def _started(self) -> tuple[Engine, SlowStore, Sockets]:
        self.lives += 1
        name, sockets = f"hub{self.lives}", Sockets(self.net)
        store = SlowStore(self.redis, self.history, random.Random(self.chance.getrandbits(32)), self.doubts)
        engine = Engine(
            store=store,
            remote=None,
            clock=self.clock,
            sender=sockets,
            jobs=self.jobs,
            values=Nothing(),
            settings=EngineSettings(owner=name, check_every=1, keeping=self.keeping),
            chance=random.Random(self.chance.getrandbits(32)),
            **self._edge(),
        )
        while True:
            try:
                await engine.start(partial(self._loaded, engine))
                break
            except Unavailable:
                await asyncio.sleep(0.5)
        self.note(f"{name} owns the shard at commit {engine.pos}")
        return engine, store, sockets

    def _edge(self) -> dict[str, Any]:
        """Return what a hub's edge gives its engine."""
        return {"live": Nothing()}

    async def _loaded(self, engine: Engine, pos: int) -> None:
        """A hub has loaded the shard and takes no input yet."""

    async def take_over(self, alive_s: float) -> None:
        """Let another hub take the shard from one that still runs, and goes on for a while.

        The old one's sockets stand until it finds out or is gone; the new one has those that are made from then on.
        """
        old, store = self.engine, self.store
        if old is None or store is None:
            return
        new = asyncio.ensure_future(self._started())
        lost = asyncio.ensure_future(old.lost.wait())
        await asyncio.wait({new, lost}, timeout=alive_s + 1.0, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({lost}, timeout=alive_s)
        lost.cancel()
        if old.lost.is_set():
            self.note("the old hub found out")
        self._cut_all()
        self.engine = self.store = None
        await self._end(old, store)
        self.engine, self.store, self.sockets = await new

    def _cut_all(self) -> None:
        for device in list(self.net.wires):
            self.net.cut_device(device)
            for wire in list(self.net.wires.get(device, [])):
                self.net.forget(wire)

    async def kill_hub(self) -> None:
        """End the hub as SIGKILL does: nothing it holds in memory is left, every connection is gone."""
        engine, store = self.engine, self.store
        if engine is None or store is None:
            return
        self.engine = self.store = None
        self._cut_all()
        await self._end(engine, store)

    async def _end(self, engine: Engine, store: SlowStore) -> None:
        self._look_at(engine)
        for task in engine._tasks:
            task.cancel()
        await asyncio.gather(*engine._tasks, return_exceptions=True)
        await store.close()

    def _look_at(self, engine: Engine) -> None:
        for task in engine._tasks:
            if task.done() and not task.cancelled() and task.exception() is not None:
                self.violations.append(f"{task.get_name()} died: {task.exception()!r}")
        if engine.counts.failed_steps:
            self.violations.append(f"{engine.counts.failed_steps} steps failed")

    async def ask(self, item: Any) -> Any:
        engine = self.engine
        if engine is None:
            return None
        asking = asyncio.ensure_future(engine.inbox.ask(item))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=0.5)
                if self._is_gone(engine) and not asking.done():
                    return None
            return asking.result()
        except Overloaded:
            return None
        finally:
            # Whoever asks may end too.
            asking.cancel()

    def _is_gone(self, engine: Engine) -> bool:
        """Whether nobody is to wait for an answer of a hub any more."""
        return self.engine is not engine or engine.lost.is_set()

    def _may_dial(self, device: str) -> bool:
        return self.engine is not None and super()._may_dial(device)

    async def _welcome(self, agent: SimAgent, gone: asyncio.Event) -> Wire | None:
        """What the AIP socket does from the proof on."""
        device, life, engine = agent.device, agent._life, self.engine
        assert engine is not None

        def closed_at_agent() -> None:
            gone.set()
            if agent._life == life and agent.push is push:
                agent.disconnected()

        def closed_at_hub() -> None:
            if self.engine is engine and wire.session:
                gone_input = i.DeviceDisconnected(
                    id=self.ident(), by=f"device:{device}", device=device, reason="cut", session=wire.session
                )
                engine.inbox.post(gone_input)

        def to_agent(frame: Any) -> None:
            if agent.alive and agent._life == life:
                agent.receive(frame)

        def to_hub(frame: Any) -> None:
            if self.engine is engine:
                self.take(engine.inbox, wire, frame)

        def push(frame: Any) -> None:
            self.net.carry(wire, "hub", frame)

        wire = Wire(device, to_agent, to_hub, closed_at_agent, closed_at_hub, self.sockets)
        self.net.connected(wire)
        by = f"device:{device}"
        reply = await self.ask(
            i.DeviceConnected(
                id=self.ident(), by=by, device=device, instance=str(life), ledger=agent.ledger.id, version="1"
            )
        )
        if reply is None or reply.faults or self.engine is not engine:
            self.net.forget(wire)
            return None
        if not agent.alive or agent._life != life or not wire.up:
            wire.session = reply.value["session"]
            self.net.forget(wire)
            closed_at_hub()
            return None
        # The resume plan goes before whatever was queued meanwhile: nothing arrives before the welcome.
        entries = msgspec.convert(reply.value["entries"], list[PlanEntry])
        received = engine.received(device)
        if received >= agent.ledger.next_report:
            self.violations.append(f"the hub has report {received} of {device}, which was never made")
        agent.connected(push, received)
        agent.receive(ResumePlan(entries=entries))
        self.net.welcomed(wire, reply.value["session"])
        engine.inbox.post(self.offer_of(device, reply.value["session"]))
        return wire

    def ended(self) -> list[str]:
        engine = self.engine
        if engine is None:
            return ["no hub runs at the end"]
        self._look_at(engine)
        # Whoever took the shard in a schedule runs at its end: this one took its own try for another's.
        return ["the hub gave up its shard, and no other hub has it"] if engine.lost.is_set() else []

    async def close(self) -> None:
        if self.engine is not None:
            self._look_at(self.engine)
        await super().close()
        await self.kill_hub()
