"""How a hub learns where the owner is, and what travels beside the log from the owner to those that follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from starloom.edge.live.fanout import Fanout
from starloom.edge.peers.neighbours import Neighbours
from starloom.edge.web.hub_seals import HubSeals
from starloom.engine.succession import Succession
from starloom_protocol.stream.feed import Beside
from tests.edge.world import ManualClock, settle

SECRET = b"s" * 32
LINE = Beside(about="t1", attempt=1, kind="log", stream="c1", value=msgspec.Raw(b'{"text":"x"}'))


@dataclass
class Hubs:
    """`HubsPort` in memory, for both hubs of a test."""

    cards: dict[str, bytes] = field(default_factory=dict)
    listening: list[asyncio.Queue[bytes]] = field(default_factory=list)

    async def announce(self, hub: str, card: bytes, ttl_ms: int) -> None:
        assert ttl_ms > 0
        self.cards[hub] = card

    async def card(self, hub: str) -> bytes | None:
        return self.cards.get(hub)

    async def say_beside(self, raw: bytes) -> int:
        for queue in self.listening:
            queue.put_nowait(raw)
        return len(self.listening)

    async def hear_beside(self) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.listening.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listening.remove(queue)


@dataclass
class Follower:
    pos: int = 3
    heard_ms: int = 0


@dataclass
class Place:
    """What `Neighbours` reads of a succession."""

    engine: object | None
    holder: str | None
    follower: Follower = field(default_factory=Follower)


class Viewer:
    token = "t"

    def __init__(self) -> None:
        self.beside: list[Beside] = []

    def take_event(self, stream: str, seq: int, raw: bytes) -> None:
        raise AssertionError(f"no event was published: {stream} {seq} {raw!r}")

    def take_beside(self, item: Beside, raw: bytes) -> None:
        self.beside.append(item)

    def cut(self, code: str, reason: str) -> None:
        raise AssertionError(f"{code}: {reason}")


@dataclass
class Made:
    place: Place
    fanout: Fanout
    neighbours: Neighbours
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)

    def begin(self) -> None:
        for work in (self.neighbours.run(), self.neighbours.carry()):
            self.tasks.append(asyncio.create_task(work))

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.neighbours.close()


def made(hub: str, hubs: Hubs, clock: ManualClock, place: Place, secret: bytes = SECRET) -> Made:
    fanout = Fanout()
    seals = HubSeals(secret, hub, clock.now_ms)
    place.follower.heard_ms = clock.now_ms()
    succession = cast("Succession", place)
    return Made(place, fanout, Neighbours(hubs, succession, seals, fanout, clock, f"http://{hub}:1"))


async def test_the_owner_is_found_by_its_card_and_its_lines_are_seen_at_the_other() -> None:
    hubs, clock = Hubs(), ManualClock()
    owner = made("one", hubs, clock, Place(object(), "one"))
    other = made("other", hubs, clock, Place(None, "one"))
    owner.begin()
    await settle()
    await other.neighbours.changed()
    other.begin()
    await settle()
    assert (owner.neighbours.owns, other.neighbours.owns) == (True, False)
    assert other.neighbours.owner_url == "http://one:1"
    viewer = Viewer()
    other.fanout.subscribe(viewer, "c1")
    await clock.advance(2_000)
    owner.fanout.beside(LINE)
    await clock.advance(2_000)
    assert [item.about for item in viewer.beside] == ["t1"]
    await owner.end()
    await other.end()


NOBODY = {
    "a card of a hub without the key": (b"t" * 32, "http://evil:1"),
    "an owner that ended at this very address": (SECRET, "http://other:1"),
}


@pytest.mark.parametrize("case", NOBODY)
async def test_to_some_nothing_is_passed_on(case: str) -> None:
    hubs, clock = Hubs(), ManualClock()
    key, url = NOBODY[case]
    hubs.cards["one"] = HubSeals(key, "one", clock.now_ms).card(url)
    other = made("other", hubs, clock, Place(None, "one"))
    other.begin()
    await settle()
    assert other.neighbours.owner_url is None
    await other.end()


async def test_whoever_passes_things_on_is_told_when_the_owner_is_another() -> None:
    hubs, clock = Hubs(), ManualClock()
    for hub in ("one", "two"):
        hubs.cards[hub] = HubSeals(SECRET, hub, clock.now_ms).card(f"http://{hub}:1")
    other = made("other", hubs, clock, Place(None, "one"))
    other.begin()
    await settle()
    told: list[str | None] = []
    other.neighbours.on_moved.append(lambda: told.append(other.neighbours.owner_url))
    other.place.holder = None
    assert other.neighbours.owner_url is None
    await clock.advance(1_000)
    assert told == [], "nobody has it yet: what is under way may still come through"
    other.place.holder = "two"
    await clock.advance(250)
    await clock.advance(250)
    assert told == ["http://two:1"]
    await other.end()


async def test_a_hub_that_has_not_heard_the_log_for_long_is_stale() -> None:
    hubs, clock = Hubs(), ManualClock()
    other = made("other", hubs, clock, Place(None, "one"))
    seen = [other.neighbours.stale]
    clock.ms += 6_000
    seen.append(other.neighbours.stale)
    other.place.engine = object()
    seen.append(other.neighbours.stale)
    assert seen == [False, True, False], "an owner is never behind itself"
