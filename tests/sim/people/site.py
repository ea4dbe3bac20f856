"""An installation of one hub with people of several roles, tokens, a vault, and a history that can be put back.

The doors are those of the edge: its view of access decides who a caller is, and its guard table what the caller may.
"""

from __future__ import annotations

import asyncio
import copy
import random
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec.structs import replace

from starloom.core.rights.restored_rights import among, ended_since, with_those_of
from starloom.core.state import inputs as i
from starloom.core.state.apply import full_key, load
from starloom.core.state.model import Shard
from starloom.edge.access import credentials
from starloom.edge.access.callers import BEARER, SESSION, AccessView, Caller
from starloom.edge.access.vault import Sealer, Vault
from starloom.engine.loop import Engine
from starloom.engine.ports import Reply
from starloom.store.port import Unavailable
from starloom.store.sql.history import LIVES_APART
from starloom_protocol.records.entities import Offer, Principal, Token, decode_entity, encode_entity
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.feed import ACCESS, FLEET, Event
from starloom_protocol.vocabulary import PrincipalKind, Profile, Role
from tests.sim.agent import SimAgent
from tests.sim.client import Told
from tests.sim.hub import Nothing, Site
from tests.sim.people import plans, recipes
from tests.sim.people.owners import ASKED, ASKS, DeviceOwner
from tests.sim.people.recipes import Planner
from tests.sim.restored import put_back
from tests.sim.slow_store import SlowStore
from tests.sim.surroundings import TOOLS, Surroundings
from tests.store.memory import MemoryCiphertexts, MemoryHistory

KEY = b"k" * 32
"""The key of the vault."""
STEWARD = "ann"
"""The first owner, whose first token nobody ends: who makes an end after the faults."""
ROLES = {
    "ann": (PrincipalKind.PERSON, Role.OWNER),
    "p0": (PrincipalKind.PERSON, Role.OPERATOR),
    "p1": (PrincipalKind.PERSON, Role.OPERATOR),
    "hal": (PrincipalKind.ASSISTANT, Role.OPERATOR),
    "eve": (PrincipalKind.PERSON, Role.APPROVER),
}


@dataclass(frozen=True)
class Heard:
    """An input that was accepted: who sent it and when, and what was answered when."""

    item: Any
    caller: Caller
    sent_s: float
    answered_s: float
    value: Any


@dataclass(frozen=True)
class PutBack:
    """A restore: the last commit of the backup, its moment, that of the restore, and the history until then."""

    pos: int
    made_s: float
    at_s: float
    until: Shard
    incarnation: int


@dataclass
class Heeded:
    """What people were told in such a schedule, and what the vault was given, by ciphertext."""

    heard: list[Heard] = field(default_factory=list)
    refused: int = 0
    parents: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    restores: list[PutBack] = field(default_factory=list)


class SeenVault(Vault):
    """The vault, which notes each value that it was given."""

    def __init__(self, sealer: Sealer, store: MemoryCiphertexts, now_ms: Any, values: dict[str, str]) -> None:
        super().__init__(sealer, store, now_ms)
        self._values = values

    async def keep(self, name: str, version: int, value: str) -> str:
        identity = await super().keep(name, version, value)
        self._values[identity] = value
        return identity


class Follower:
    """What a hub's edge reads of its commits."""

    def __init__(self, view: AccessView) -> None:
        self.view = view

    def publish(self, pos: int, events: Sequence[tuple[Event, bytes]]) -> None:
        for event, _raw in events:
            self.view.apply(event)

    def close_token(self, token: str) -> None:
        """No socket is open here."""


class NobodyPlans(Nothing):
    """Requests in words stay without a plan."""

    def wake(self, kind: str, constellation: str, job: str) -> None:
        """No worker is here."""


class Admits(Protocol):
    """A request with a token: a hub admits it by what it knows of access, and then decides it."""

    def admitted(self, view: AccessView | None) -> Any: ...

    @property
    def refusal(self) -> Reply: ...


Run = Callable[[AccessView, Engine, Callable[[Any], Awaitable[Any]]], Coroutine[Any, Any, str]]
"""A route of the edge, at a hub with its view of access, its engine and its inbox."""


class Peopled(Surroundings):
    """Keeps everybody's tokens as texts, as their holders do."""

    def _inhabit(self) -> None:
        self.tools = [*TOOLS, ASKS, ASKED]
        self.heeded = Heeded()
        self.told_of = Told()
        self.wallets: dict[str, list[str]] = {}
        self.made = 0
        self.vault = SeenVault(Sealer([KEY]), MemoryCiphertexts(self.history), self.clock.now_ms, self.heeded.values)
        self.owners: dict[str, DeviceOwner] = {}
        self.named = list(self.agents)
        for device in self.named:
            self._own(device)

    @property
    @abstractmethod
    def view(self) -> AccessView | None:
        """What the edge of the hub that owns the shard knows of access."""

    @abstractmethod
    async def knock(self, knock: Admits) -> Any:
        """Ask a hub that admits the request itself."""

    @abstractmethod
    async def route(self, run: Run) -> str:
        """Carry out a route at the hub that owns the shard."""

    def caller(self, text: str) -> Caller | None:
        """Return whom a token's text belongs to, by the present hub; None if it lets nobody in by it."""
        return caller_of(self.view, text)

    # Devices.

    def _own(self, device: str) -> None:
        self.owners[device] = self.agents[device].owner = DeviceOwner(
            device, random.Random(self.chance.getrandbits(32))
        )

    def _offer(self, device: str) -> Offer:
        return replace(super()._offer(device), digest=f"x{self.owners[device].answered}")

    def new_machine(self) -> str:
        """Return a device that has joined nowhere yet, with a key of its own."""
        device = f"d-new{len(self.agents)}"
        chance = random.Random(self.chance.getrandbits(32))
        self.agents[device] = SimAgent(device, 1, chance, self.world)
        self._own(device)
        return device

    async def ask_to_join(self, device: str, code: str) -> None:
        asked = i.EnrollmentAsked(
            id=self.ident(),
            by=f"device:{device}",
            device=device,
            enrollment=code,
            key=device,
            name="new",
            os="linux",
            profile=Profile.WORK,
            scope="device",
            words="",
        )
        await self.ask(asked)

    def left(self) -> list[str]:
        """Return what agents still hold; one that the hub does not know, or has revoked, keeps what it has to say."""
        assert self.engine is not None
        devices = self.engine.shard.fleet.devices
        out = [name for name in self.agents if name not in devices or devices[name].revoked]
        return [words for words in super().left() if not any(f" of {device} " in words for device in out)]

    # People.

    def issued(
        self,
        holder: str,
        role: Role,
        parent: str = "",
        scopes: Sequence[str] = (),
        ttl_s: int = 0,
        kind: str = BEARER,
    ) -> tuple[Token, str]:
        """Return a new token and its text; drawn from nothing, so that a seed gives the same run again."""
        self.made += 1
        name, secret = f"k{self.made}", f"secret{self.made}"
        token = Token(
            created_ms=self.clock.now_ms(),
            expires_ms=self.clock.now_ms() + ttl_s * 1000 if ttl_s else 0,
            id=name,
            kind=kind,
            label=name,
            parent=parent,
            principal=f"p-{holder}",
            role=role,
            scopes=list(scopes),
            secret_hash=credentials.hash_of(secret),
        )
        self.heeded.parents[name] = parent
        prefix = credentials.TOKEN_PREFIX if kind == BEARER else credentials.SESSION_PREFIX
        return token, f"{prefix}_{name}_{secret}"

    async def furnish(self) -> None:
        """Make people, and recipes of the steward."""
        planner = Planner(self, random.Random(self.chance.getrandbits(32)))
        self._planning = asyncio.get_running_loop().create_task(planner.run())
        for name, (kind, role) in ROLES.items():
            token, text = self.issued(name, role)
            principal = Principal(created_ms=0, id=f"p-{name}", kind=kind, name=name, role=role)
            await self.ask(i.PrincipalAdded(id=self.ident(), by=ENGINE, principal=principal, token=token))
            self.wallets[name] = [text]
            if kind is PrincipalKind.PERSON:
                session, text = self.issued(name, role, token.id, ttl_s=86_400, kind=SESSION)
                await self.ask(i.TokenAdded(id=self.ident(), by=ENGINE, token=session))
                self.wallets[name].append(text)
        await self._keep_recipes()

    async def _keep_recipes(self) -> None:
        caller = self.caller(self.wallets[STEWARD][0])
        assert caller is not None
        for name in recipes.NAMES:
            made = plans.make(self.chance, [device[2:] for device in self.named])
            await self.ask(replace(recipes.saving(self.ident(), name, made, 0), by=caller.by, scope=caller.role))

    def is_over(self) -> bool:
        if not super().is_over():
            return False
        assert self.engine is not None
        return not any(one.due_ms or one.queued for one in self.engine.shard.fleet.schedules.values())

    async def close(self) -> None:
        self._planning.cancel()
        await asyncio.gather(self._planning, return_exceptions=True)
        await super().close()


class PeopleSite(Peopled, Site):
    """One hub, whose history can be put back."""

    def __init__(self, chance: random.Random, devices: Sequence[str]) -> None:
        super().__init__(chance, devices)
        self.jobs = NobodyPlans()
        self._mark: i.HistoryRestored | None = None
        self._ended: list[Engine] = []
        self._inhabit()

    # The edge of a hub.

    def _edge(self) -> dict[str, Any]:
        marks = [self._mark] if self._mark is not None else []
        view = AccessView(self.clock.now_ms)
        return {"live": Follower(view), "secrets": self.vault, "first_inputs": lambda: list(marks)}

    async def _loaded(self, engine: Engine, pos: int) -> None:
        view = _view_of(engine)
        view.reset({full_key(kind, key): encode_entity(one) for kind, key, one in engine.shard.access.records()})
        try:
            await self.vault.sweep(view.secrets.values())
        except Unavailable:
            self.note("the vault was not swept")

    def _is_gone(self, engine: Engine) -> bool:
        return engine in self._ended

    async def _end(self, engine: Engine, store: SlowStore) -> None:
        if engine.lost.is_set():
            # A hub that has found out ends in an orderly way, and tells whoever waits.
            await engine.stop()
        self._ended.append(engine)
        await super()._end(engine, store)

    @property
    def view(self) -> AccessView | None:
        """What the edge of the present hub knows of access."""
        return _view_of(self.engine) if self.engine is not None else None

    async def knock(self, knock: Admits) -> Any:
        item = knock.admitted(self.view)
        return knock.refusal if item is None else await self.ask(item)

    async def route(self, run: Run) -> str:
        view, engine = self.view, self.engine
        return await run(view, engine, self.ask) if view is not None and engine is not None else "no hub is here"

    def is_over(self) -> bool:
        return super().is_over() and self._mark is None

    # Backups.

    def backup(self) -> tuple[MemoryHistory, float]:
        """Copy the history as it is."""
        return copy.deepcopy(self.history), asyncio.get_running_loop().time()

    async def restore(self, backup: MemoryHistory, made_s: float) -> None:
        """Put the history back while its hub is stopped, as `starloom restore --replace` does."""
        await self.kill_hub()
        self.history.down = False
        until, until_pos = _rights_of(self.history), self.history.meta.watermark
        incarnation = max(self.history.meta.incarnation, backup.meta.incarnation) + LIVES_APART
        then = _rights_of(backup)
        ended = ended_since(then, until)
        if self._mark is not None and self._mark.ended is not None:
            ended = with_those_of(self._mark.ended, ended)
        self.note(f"the history goes back from commit {until_pos} to {backup.meta.watermark}: {among(ended, then)}")
        made_ms = self.clock.now_ms()
        self._mark = i.HistoryRestored(by=ENGINE, ended=ended, id=f"restored-{made_ms}", made_ms=made_ms, scope="local")
        put_back(self.history, backup)
        self.history.down = False
        self.history.meta = replace(self.history.meta, incarnation=incarnation, run_id="")
        self.redis.wipe()
        now_s = asyncio.get_running_loop().time()
        self.heeded.restores.append(PutBack(backup.meta.watermark, made_s, now_s, until, incarnation))
        self._forget_promises()
        await self.start_hub()
        asyncio.get_running_loop().create_task(self._tell_restored())

    async def _tell_restored(self) -> None:
        """Tell the hub until it has heard it, as its first run does."""
        while not self.closing and (mark := self._mark) is not None:
            reply = await self.ask(mark)
            if reply is not None and not reply.faults and self._mark is mark:
                self._mark = None
            await asyncio.sleep(0.5)

    def _forget_promises(self) -> None:
        """Drop what was promised of the part of the history that is gone."""
        told, streams = self.told_of, self.history.streams
        for promised in (told.accepted, told.forks):
            for name in [name for name in promised if name not in streams]:
                del promised[name]
        told.edits.clear()
        told.cancelled.clear()


def caller_of(view: AccessView | None, text: str) -> Caller | None:
    if view is None:
        return None
    return view.caller(text, SESSION if text.startswith(credentials.SESSION_PREFIX) else BEARER)


def _view_of(engine: Engine) -> AccessView:
    follower = engine._live
    assert isinstance(follower, Follower)
    return follower.view


def _rights_of(history: MemoryHistory) -> Shard:
    """Return fleet and access as a history has them, as `host.rights.rights_of` reads them."""
    shard = Shard()
    for stream in (FLEET, ACCESS):
        whole = history.whole(stream)
        load(shard, stream, whole.seq, {key: decode_entity(key, raw) for key, raw in whole.entities.items()})
    return shard
