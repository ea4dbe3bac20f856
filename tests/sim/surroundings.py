"""What outlives a hub in a schedule: Redis, history, the net, the agents with their ways to a hub.

Which hubs there are, who owns the shard and how a device is let in is that of `hub.Site` or `pair.PairSite`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from starloom.core.state import inputs as i
from starloom.engine.loop import Engine
from starloom.engine.ports import Inbox
from starloom.engine.settings import FinishedRetention
from starloom_protocol.records.entities import Enrollment, Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Profile, Repeatability
from starloom_protocol.wire.frames import Alive, AsksFrame, LedgerReport, Receipt, ResultFrame, Started
from tests.sim.agent import ALIVE_EVERY_S, SimAgent, World
from tests.sim.network import Network, Wire
from tests.sim.slow_store import Doubts
from tests.sim.virtual import SimClock
from tests.store.memory import MemoryHistory, MemoryRedis, MemoryStore

TOOLS = [
    ToolOffer(name="t.pure", repeatability=Repeatability.PURE, effects=[Effect.READ]),
    ToolOffer(name="t.never", repeatability=Repeatability.NEVER, effects=[Effect.WRITE]),
    ToolOffer(name="t.idem", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.WRITE]),
]


class Surroundings(ABC):
    """The installation without its hubs."""

    def __init__(self, chance: random.Random, devices: Sequence[str], redis: MemoryRedis) -> None:
        self.chance = chance
        self.tools = TOOLS
        self.keeping = FinishedRetention(
            quiet_ms=chance.choice([0, 2_000, 15_000]),
            constellations_most=chance.choice([0, 1, 9]),
            tasks_most=chance.choice([5, 1_000]),
        )
        self.clock = SimClock()
        self.redis = redis
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
        self.violations: list[str] = []
        self.told: list[tuple[float, str]] = []
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._ids = 0
        self.closing = False

    @property
    @abstractmethod
    def engine(self) -> Engine | None:
        """The engine that owns the shard."""

    @property
    @abstractmethod
    def store(self) -> MemoryStore | None:
        """A hub's store, for reading; None while there is no hub."""

    @abstractmethod
    async def start_hubs(self) -> None:
        """Start what there is of hubs, before any fault."""

    @abstractmethod
    async def ask(self, item: Any) -> Any:
        """Ask a hub; None if it dies before it answers, is away or refuses new work."""

    @abstractmethod
    async def _welcome(self, agent: SimAgent, gone: asyncio.Event) -> Wire | None:
        """Connect an agent; None if no hub lets it in now."""

    @abstractmethod
    def ended(self) -> list[str]:
        """Return what is wrong with the hubs once everything is over."""

    async def furnish(self) -> None:  # noqa: B027 - most schedules need nothing more
        """Make what there is beside hubs and devices, before any fault."""

    def is_over(self) -> bool:
        """Whether nothing goes on any more, and nothing is to begin by itself."""
        return self.engine is not None and not self.engine.shard.live

    def ident(self) -> str:
        self._ids += 1
        return f"i{self._ids}"

    def note(self, words: str) -> None:
        """Write down what happens, for the story of a schedule."""
        self.told.append((asyncio.get_running_loop().time(), words))

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
            if not self._may_dial(device):
                continue
            gone = asyncio.Event()
            wire = await self._welcome(agent, gone)
            if wire is None:
                continue
            quiet = loop.time()
            while not gone.is_set():
                self._listen(wire)
                if loop.time() - quiet >= ALIVE_EVERY_S:
                    quiet = loop.time()
                    agent.say_alive()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(gone.wait(), 0.5)

    def _may_dial(self, device: str) -> bool:
        return device not in self.net.cut_off

    def _listen(self, wire: Wire) -> None:  # noqa: B027 - of one hub there is nothing more to hear
        """A connection is looked at twice a second by its agent."""

    def offer_of(self, device: str, session: int) -> i.OfferReceived:
        return i.OfferReceived(
            id=self.ident(),
            by=f"device:{device}",
            device=device,
            offer=self._offer(device),
            os="linux",
            profile=Profile.WORK,
            session=session,
        )

    def _offer(self, device: str) -> Offer:
        return Offer(digest="x", slots=self.agents[device].slots, tools=self.tools)

    def take(self, inbox: Inbox, wire: Wire, frame: Any) -> None:
        """A frame of a proved connection, as the AIP socket hands it on."""
        post, device, by = inbox.post, wire.device, f"device:{wire.device}"
        match frame:
            case Alive():
                renew = inbox.alive(device, frame.running, frame.sent_ms)
                inbox.when_proved(device, lambda: self.net.carry(wire, "agent", renew))
            case Started():
                post(i.StartedReported(id=self.ident(), by=by, device=device, frame=frame))
            case ResultFrame():
                post(i.ResultReported(id=self.ident(), by=by, device=device, frame=frame))
            case Receipt():
                post(i.ReceiptReported(id=self.ident(), by=by, device=device, frame=frame))
            case AsksFrame():
                post(
                    i.AsksReceived(
                        id=self.ident(),
                        by=by,
                        answers=frame.answers,
                        device=device,
                        open=frame.open,
                        session=wire.session,
                    )
                )
            case "offer":
                post(self.offer_of(device, wire.session))
            case LedgerReport():
                for entry, call in zip(frame.entries, frame.calls or [""] * len(frame.entries), strict=True):
                    post(
                        i.LedgerReported(
                            id=self.ident(), by=by, device=device, at=entry.at, call=call, state=entry.state
                        )
                    )

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
        """End agents, then hubs."""
        self.closing = True
        for task in self._dialling.values():
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)
        for agent in self.agents.values():
            if agent.alive:
                agent.crash()
