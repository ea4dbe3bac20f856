"""One hub of two: the shipped `Succession`, `Neighbours` and `Fanout` as a process of its own, and an edge of frames.

The edge does what `edge/agents/aip.py` and `edge/peers/relay.py` do, on messages instead of sockets: it lets devices
in where the shard is owned and passes everything else on to the owner, once, until another hub is.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from starloom.core.state import inputs as i
from starloom.core.state.inputs import AnyInput
from starloom.edge.live.fanout import Fanout
from starloom.edge.peers.neighbours import Neighbours
from starloom.edge.web.hub_seals import HubSeals
from starloom.engine.inputs.remote import RemoteInbox
from starloom.engine.loop import Engine
from starloom.engine.ports import Overloaded, Reply
from starloom.engine.settings import EngineSettings
from starloom.engine.succession import Succession
from starloom.store.port import Unavailable
from starloom_protocol.stream.feed import Event
from starloom_protocol.wire.frames import PlanEntry
from tests.sim.hub import Nothing
from tests.sim.network import Sockets, Wire
from tests.sim.pair_redis import Cards, HubStore
from tests.sim.processes import Process

if TYPE_CHECKING:
    from tests.sim.pair import PairSite

CAUGHT_UP_WITHIN_S = 2.0
STOPPED_WITHIN_S = 10.0
# What workers and other processes send, and whoever asks again does so under the same name.
_BY_INBOX = (i.RequestReceived, i.EditProposed)


@dataclass(eq=False)
class Line(Wire):
    """A connection to one hub that perhaps passes it on to the other; `hops` are these."""

    hops: list[Hub] = field(default_factory=list)
    heard_s: float = 0.0


@dataclass(frozen=True)
class Welcome:
    """The first message of a proved connection."""

    entries: list[PlanEntry]
    received: int


@dataclass
class Shown:
    """What viewers of one hub saw, from one connection of theirs to the next."""

    commits: list[tuple[int, list[bytes]]] = field(default_factory=list)
    void: bool = False  # the log went back, so that the last of these may never have been


class Viewers(Fanout):
    """The shipped fan-out, with somebody who looks at everything."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = [Shown()]

    def publish(self, pos: int, events: Sequence[tuple[Event, bytes]]) -> None:
        super().publish(pos, events)
        self.shown[-1].commits.append((pos, [raw for _event, raw in events]))

    def begin_again(self) -> None:
        self.shown[-1].void = True
        self.shown.append(Shown())


class WatchedEngine(Engine):
    """An engine none of whose tasks may die."""

    violations: list[str]

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.violations.append(f"{task.get_name()} died: {task.exception()!r}")
        super()._note_end(task)


class Hub:
    """One life of one hub, from its start to its end."""

    def __init__(self, site: PairSite, name: str) -> None:
        self.site = site
        self.name = name
        self.process = Process(name)
        self.viewers = Viewers()
        self.sockets = Sockets(site.net)
        self.engines: list[Engine] = []
        self._chance = random.Random(site.chance.getrandbits(32))
        self._passing: set[asyncio.Future[Any]] = set()
        self._passed: list[Line] = []
        self._running: list[asyncio.Task[None]] = []
        self._wire()

    def _wire(self) -> None:
        """Make everything, as `app.opened` does."""
        site = self.site
        chance = random.Random(self._chance.getrandbits(32))
        self.store = HubStore(site.redis, site.history, chance, site.doubts, self.process)
        self.succession = Succession(
            hub=self.name,
            source=self.store.feed,
            remote=RemoteInbox(self.store.posts),
            live=self.viewers,
            clock=site.clock,
            make=self._make,
            cut=self._went_back,
            changed=self._changed,
        )
        seals = HubSeals(b"the secret of these hubs", self.name, site.clock.now_ms)
        cards = Cards(site.redis, site.cards)
        self.neighbours = Neighbours(cards, self.succession, seals, self.viewers, site.clock, f"http://{self.name}")
        self.neighbours.on_moved.append(self._cut_passed)
        self.seat = self.succession.inbox

    def _make(self) -> Engine:
        engine = WatchedEngine(
            store=self.store,
            remote=self.store.posts,
            clock=self.site.clock,
            sender=self.sockets,
            live=self.viewers,
            jobs=self.site.jobs,
            values=Nothing(),
            settings=EngineSettings(owner=self.name, polite=True, check_every=1, keeping=self.site.keeping),
            chance=random.Random(self._chance.getrandbits(32)),
            **self._edge(),
        )
        engine.violations = self.site.violations
        self.engines.append(engine)
        return engine

    def _edge(self) -> dict[str, Any]:
        """Return what the edge of this hub gives its engine."""
        return {}

    async def _filled(self) -> None:
        """The log is followed, or owned, from here on: its edge reads what it has."""

    @property
    def engine(self) -> Engine | None:
        return self.succession.engine

    def start(self) -> None:
        self.process.begin(self._start())

    async def _start(self) -> None:
        while True:
            try:
                await self.succession.start()
                break
            except Unavailable:
                await asyncio.sleep(0.5)
                self._wire()
        await self._filled()
        self.site.note(f"{self.name} {'owns the shard' if self.engine else 'stands by'}")
        loop = asyncio.get_running_loop()
        self._running = [
            loop.create_task(self.succession.run()),
            loop.create_task(self.neighbours.run()),
            loop.create_task(self.neighbours.carry()),
        ]
        await self.neighbours.changed()

    def stop(self) -> asyncio.Task[None]:
        """Begin to end in an orderly way."""
        return self.process.begin(self._stop())

    async def _stop(self) -> None:
        self._goaway()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOPPED_WITHIN_S):
                await self.succession.stop()
        await self.neighbours.close()
        await self.store.close()

    async def _changed(self) -> None:
        if self.engine is None:
            self.site.note(f"{self.name} has lost the shard")
            self._goaway()
        else:
            self.site.note(f"{self.name} owns the shard at commit {self.engine.pos}, term {self.engine.term}")
        await self.neighbours.changed()

    async def _went_back(self) -> None:
        self.site.note(f"{self.name} sees that the log went back")
        self.viewers.begin_again()

    def _goaway(self) -> None:
        for line in self.site.lines:
            if line.sockets is self.sockets:
                self.site.net.cut(line)

    def _cut_passed(self) -> None:
        """Another hub owns the shard: what is passed on to the former one ends."""
        passed, self._passed = self._passed, []
        for line in passed:
            self.site.net.cut(line)
        for future in list(self._passing):
            future.cancel()

    def asked(self, item: AnyInput, told: asyncio.Future[Reply | None], relayed: bool = False) -> None:
        """Take a request; runs in this process."""
        asyncio.get_running_loop().create_task(self._answer(item, told, relayed))

    async def _answer(self, item: AnyInput, told: asyncio.Future[Any], relayed: bool) -> None:
        answer: Any = None
        try:
            if self.neighbours.owns:
                reply = await self._decided(item)
                answer = (reply, self.neighbours.pos) if relayed else reply
            elif not relayed:
                by_inbox = isinstance(item, _BY_INBOX) and self._chance.random() < 0.4
                answer = await (self.seat.ask(item) if by_inbox else self._pass_on(item))
        except (Overloaded, Unavailable):
            answer = None
        if not told.done():
            told.set_result(answer)

    async def _decided(self, item: Any) -> Reply:
        return await self.seat.ask(item)

    async def _pass_on(self, item: AnyInput) -> Reply:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._passing.add(future)
        try:
            await asyncio.sleep(self._chance.choice([0.001, 0.01]))
            owner = self.site.reached(self, self.neighbours.owner_url)
            owner.process.call(owner.asked, item, future, True)
            while not future.done():
                await asyncio.wait({future}, timeout=0.5)
                self.site.reached(self, f"http://{owner.name}", owner)
            if future.cancelled() or future.result() is None:
                raise Unavailable("the owner of the shard went away")
            reply, pos = future.result()
        finally:
            self._passing.discard(future)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CAUGHT_UP_WITHIN_S):
                await self.neighbours.caught_up(pos)
        assert isinstance(reply, Reply)
        return reply

    def dialled(self, line: Line, hello: tuple[str, str]) -> None:
        """Take a connection; runs in this process."""
        line.hops.append(self)
        if not line.up:
            return
        if self.neighbours.owns:
            asyncio.get_running_loop().create_task(self._serve(line, hello))
            return
        try:
            owner = self.site.reached(self, self.neighbours.owner_url if len(line.hops) == 1 else None)
        except Unavailable:
            self.site.net.cut(line)
            return
        self._passed = [passed for passed in self._passed if passed.up]
        self._passed.append(line)
        owner.process.call(owner.dialled, line, hello)

    async def _serve(self, line: Line, hello: tuple[str, str]) -> None:
        """What the AIP socket does from the proof on."""
        net, device = self.site.net, line.device
        line.sockets = self.sockets
        net.connected(line)
        connected = i.DeviceConnected(
            id=self.site.ident(), by=f"device:{device}", device=device, version="1", instance=hello[0], ledger=hello[1]
        )
        try:
            reply = await self.seat.ask(connected)
        except (Overloaded, Unavailable):
            net.cut(line)
            return
        if reply.faults:
            net.cut(line)
            return
        session = reply.value["session"]
        if not line.up:
            line.session = session
            net.forget(line)
            self.ended(line)
            return
        entries = msgspec.convert(reply.value["entries"], list[PlanEntry])
        # The resume plan goes before whatever was queued meanwhile: nothing arrives before the welcome.
        line.session = session
        net.carry(line, "agent", Welcome(entries, self.seat.received(device)))
        net.welcomed(line, session)

    def heard(self, line: Line, frame: Any) -> None:
        """Take a frame of a connection that ends here, or pass it on; runs in this process."""
        if line.hops and line.hops[-1] is not self:
            line.hops[-1].process.call(line.hops[-1].heard, line, frame)
        else:
            self.site.take(self.seat, line, frame)

    def ended(self, line: Line) -> None:
        """A connection that ended here is gone; runs in this process."""
        if line.session:
            self.seat.post(
                i.DeviceDisconnected(
                    id=self.site.ident(),
                    by=f"device:{line.device}",
                    device=line.device,
                    reason="cut",
                    session=line.session,
                )
            )
