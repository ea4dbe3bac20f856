"""The hub of a schedule: the real engine on the memory twin, with slow stores, that can be killed and started again.

`Site` is what outlives a hub: Redis, history, the net and the agents.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from starloom.core import inputs as i
from starloom.engine.finished import Keeping
from starloom.engine.loop import Engine
from starloom.engine.ports import Overloaded
from starloom.engine.settings import EngineSettings
from starloom.store.history import PastCommit
from starloom.store.memory import MemoryHistory, MemoryRedis, MemoryStore
from starloom.store.port import Commit, Ownership, Unavailable
from starloom_protocol.entities import Enrollment, Offer, ToolOffer
from starloom_protocol.frames import Alive, LedgerReport, PlanEntry, Receipt, ResultFrame, ResumePlan, Started
from starloom_protocol.vocabulary import Effect, Profile, Repeatability
from tests.sim.agent import ALIVE_EVERY_S, SimAgent, World
from tests.sim.network import Network, Sockets, Wire
from tests.sim.virtual import SimClock

TOOLS = [
    ToolOffer(name="t.pure", repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="t.never", repeatability=Repeatability.NEVER, effects=[Effect.WRITE]),
    ToolOffer(name="t.idem", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
]


@dataclass
class Doubts:
    """Calls to come that are carried out and whose reply is then lost, and how slow SQL is now."""

    redis: int = 0
    history: int = 0
    slow_s: float = 0.0


class SlowStore(MemoryStore):
    """The memory twin with time in it: a commit and a write to SQL take a while, so others come between.

    A call in doubt is carried out and then told to have failed.
    """

    def __init__(self, redis: MemoryRedis, history: MemoryHistory, chance: random.Random, doubts: Doubts) -> None:
        super().__init__(redis, history, sleep=asyncio.sleep)
        self._chance = chance
        self._doubts = doubts

    def _lose_reply(self) -> None:
        if self._doubts.redis > 0:
            self._doubts.redis -= 1
            raise Unavailable("Redis in memory did what was asked and its reply was lost")

    async def commit(self, commit: Commit) -> None:
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))
        await super().commit(commit)
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))

    async def take(
        self, owner: str, at_ms: int, keep: Collection[str] = (), *, over: int | None = None, polite: bool = False
    ) -> Ownership:
        await asyncio.sleep(0.01)
        own = await super().take(owner, at_ms, keep, over=over, polite=polite)
        try:
            self._lose_reply()
        except Unavailable:
            # As in `RedisStore`: a taking that failed leaves no ownership behind.
            await self._projector.stop()
            self._own = None
            raise
        return own

    async def renew(self, owner: str, term: int, at_ms: int) -> bool:
        renewed = await super().renew(owner, term, at_ms)
        self._lose_reply()
        return renewed

    async def owns(self, term: int) -> bool:
        owned = await super().owns(term)
        self._lose_reply()
        return owned

    async def position(self) -> tuple[int, int, str]:
        found = await super().position()
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        return found

    async def recall(self, streams: Sequence[str]) -> dict[str, tuple[int, dict[str, bytes]]]:
        await asyncio.sleep(self._chance.choice([0.0, 0.001, 0.02]))
        found = await super().recall(streams)
        self._lose_reply()
        return found

    async def retire(self, streams: Sequence[tuple[str, int]]) -> None:
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        await super().retire(streams)
        await asyncio.sleep(self._chance.choice([0.0, 0.001]))
        self._lose_reply()

    async def _project(self, batch: Sequence[PastCommit]) -> None:
        await asyncio.sleep(self._doubts.slow_s or self._chance.choice([0.001, 0.05, 0.2]))
        await super()._project(batch)
        if self._doubts.history > 0:
            self._doubts.history -= 1
            raise Unavailable("the history in memory was written and its reply was lost")


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


class Site:
    """The installation: starts and kills hubs, carries frames between them and the agents."""

    def __init__(self, chance: random.Random, devices: Sequence[str]) -> None:
        self.chance = chance
        self.keeping = Keeping(
            quiet_ms=chance.choice([0, 2_000, 15_000]),
            constellations_most=chance.choice([0, 1, 9]),
            tasks_most=chance.choice([5, 1_000]),
        )
        self.clock = SimClock()
        self.redis = MemoryRedis()
        self.history = MemoryHistory()
        self.doubts = Doubts()
        self.net = Network(random.Random(chance.getrandbits(32)))
        self.world = World()
        self.agents = {
            f"d-{name}": SimAgent(
                f"d-{name}", chance.choice([1, 2, 3]), random.Random(chance.getrandbits(32)), self.world
            )
            for name in devices
        }
        for device, agent in self.agents.items():
            agent.died = partial(self._killed_by_tool, device)
        self.engine: Engine | None = None
        self.sockets = Sockets(self.net)
        self.store: SlowStore | None = None
        self.lives = 0
        self.violations: list[str] = []
        self.told: list[tuple[float, str]] = []
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._ids = 0
        self.closing = False

    def ident(self) -> str:
        self._ids += 1
        return f"i{self._ids}"

    def note(self, words: str) -> None:
        """Write down what happens, for the story of a schedule."""
        self.told.append((asyncio.get_running_loop().time(), words))

    # -- hubs

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
            live=Nothing(),
            jobs=Nothing(),
            values=Nothing(),
            settings=EngineSettings(owner=name, check_every=1, keeping=self.keeping),
            chance=random.Random(self.chance.getrandbits(32)),
        )
        while True:
            try:
                await engine.start()
                break
            except Unavailable:
                await asyncio.sleep(0.5)
        self.note(f"{name} owns the shard at commit {engine.pos}")
        return engine, store, sockets

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
        """Ask the hub that runs now; None if it dies before it answers, is away or refuses new work."""
        engine = self.engine
        if engine is None:
            return None
        asking = asyncio.ensure_future(engine.inbox.ask(item))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=0.5)
                if (self.engine is not engine or engine.lost.is_set()) and not asking.done():
                    return None
            return asking.result()
        except Overloaded:
            return None
        finally:
            # Whoever asks may end too.
            asking.cancel()

    async def join(self, device: str) -> None:
        """Pair a device, before any fault."""
        enrollment = Enrollment(
            id=f"e-{device}", code_hash="x", created_ms=0, expires_ms=2**50, owner="ann", preapproved=True
        )
        await self.ask(i.EnrollmentOpened(id=self.ident(), by="person:ann", enrollment=enrollment))
        asked = i.EnrollmentAsked(
            id=self.ident(),
            by="device",
            device=device,
            enrollment=f"e-{device}",
            key="k",
            name=device[2:],
            os="linux",
            profile=Profile.WORK,
            words="",
        )
        await self.ask(asked)

    # -- agents

    def boot_agent(self, device: str) -> None:
        agent = self.agents[device]
        agent.boot()
        self._dial(device)

    def crash_agent(self, device: str) -> None:
        agent = self.agents[device]
        if not agent.alive:
            return
        agent.crash()
        dialling = self._dialling.pop(device, None)
        if dialling is not None:
            dialling.cancel()
        self.net.cut_device(device)

    def _killed_by_tool(self, device: str) -> None:
        """A tool took its agent with it; whatever looks after the agent starts it again."""
        self.note(f"a tool ended the agent of {device}")
        self.crash_agent(device)
        asyncio.get_running_loop().call_later(2.0, self._again, device)

    def _again(self, device: str) -> None:
        if not self.closing and not self.agents[device].alive:
            self.boot_agent(device)

    def _dial(self, device: str) -> None:
        old = self._dialling.pop(device, None)
        if old is not None:
            old.cancel()
        self._dialling[device] = asyncio.get_running_loop().create_task(self._keep_connected(device))

    async def _keep_connected(self, device: str) -> None:
        agent, loop = self.agents[device], asyncio.get_running_loop()
        while not self.closing:
            await asyncio.sleep(self.chance.uniform(0.05, 1.0))
            engine = self.engine
            if engine is None or device in self.net.cut_off:
                continue
            gone = asyncio.Event()
            wire = await self._welcome(engine, agent, gone)
            if wire is None:
                continue
            quiet = loop.time()
            while not gone.is_set():
                if loop.time() - quiet >= ALIVE_EVERY_S:
                    quiet = loop.time()
                    agent.say_alive()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(gone.wait(), 0.5)

    async def _welcome(self, engine: Engine, agent: SimAgent, gone: asyncio.Event) -> Wire | None:
        """What the AIP socket does from the proof on."""
        device, life = agent.device, agent._life

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
                self._take(engine, wire, frame)

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
        offer = i.OfferReceived(
            id=self.ident(),
            by=by,
            device=device,
            offer=Offer(digest="x", slots=agent.slots, tools=TOOLS),
            os="linux",
            profile=Profile.WORK,
            session=reply.value["session"],
        )
        engine.inbox.post(offer)
        return wire

    def _take(self, engine: Engine, wire: Wire, frame: Any) -> None:
        """A frame of a proved connection, as the AIP socket hands it on."""
        post, device, by = engine.inbox.post, wire.device, f"device:{wire.device}"
        match frame:
            case Alive():
                renew = engine.inbox.alive(device, frame.running, frame.sent_ms)
                engine.inbox.when_proved(device, lambda: self.net.carry(wire, "agent", renew))
            case Started():
                post(i.StartedReported(id=self.ident(), by=by, device=device, frame=frame))
            case ResultFrame():
                post(i.ResultReported(id=self.ident(), by=by, device=device, frame=frame))
            case Receipt():
                post(i.ReceiptReported(id=self.ident(), by=by, device=device, frame=frame))
            case LedgerReport():
                for entry in frame.entries:
                    post(i.LedgerReported(id=self.ident(), by=by, device=device, at=entry.at, state=entry.state))

    def heal(self) -> None:
        """From now on nothing is broken; what is under way goes on as it is."""
        self.net.slow_s = 0.02
        self.doubts.redis = self.doubts.history = 0
        self.redis.failures.clear()

    def busy(self) -> bool:
        """Whether an agent has something to do or to say, or a constellation that has ended is still in memory."""
        held = self.engine is not None and len(self.engine.shard.constellations) > 0
        return held or any(agent.busy for agent in self.agents.values())

    def left(self) -> list[str]:
        """Return what agents still hold that the hub has not acknowledged (L4)."""
        return [
            f"report {number} of {device} is in its outbox at the end: {report}"
            for device, agent in self.agents.items()
            if agent.alive
            for number, report in agent.outbox.pending.items()
        ]

    async def close(self) -> None:
        self.closing = True
        if self.engine is not None:
            self._look_at(self.engine)
        for task in self._dialling.values():
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)
        for agent in self.agents.values():
            if agent.alive:
                agent.crash()
        await self.kill_hub()
