"""Two hubs on one shard in one process: who owns, who follows, what each publishes, what a woken owner may not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.engine.inputs.remote import RemoteInbox, take_remote
from starloom.engine.loop import Engine
from starloom.engine.ports import Overloaded
from starloom.engine.settings import EngineSettings
from starloom.engine.succession import Succession, TakeoverTimings
from starloom.store.port import Damaged, Unavailable
from starloom_protocol.wire.frames import LeaseRef
from tests.builders import plan, task
from tests.engine.test_loop import Hub, TurningClock, Wires, build, kill, settle
from tests.store.memory import CommitFailure, MemoryHistory, MemoryRedis, MemoryStore


@dataclass
class Site:
    """One hub of a pair."""

    name: str
    store: MemoryStore
    wires: Wires
    succession: Succession
    running: asyncio.Task[None] | None = None
    changes: list[str] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)

    @property
    def role(self) -> str:
        return "standby" if self.succession.engine is None else "owner"

    def seqs(self, stream: str) -> list[int]:
        return [event.seq for event in self.wires.published if event.stream == stream]

    async def begin(self) -> None:
        await self.succession.start()
        self.running = asyncio.create_task(self.succession.run())
        await settle()

    async def die(self) -> None:
        """End as SIGKILL does."""
        assert self.running is not None
        tasks = [self.running]
        if self.succession.engine is not None:
            tasks += self.succession.engine._tasks
        if self.succession._following is not None:
            tasks.append(self.succession._following)
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.store.close()


def site(name: str, clock: TurningClock, redis: MemoryRedis, history: MemoryHistory) -> Site:
    wires = Wires()
    store = MemoryStore(redis, history, sleep=lambda seconds: clock.wait(int(seconds * 1000)))

    def make() -> Engine:
        return Engine(
            store=store,
            remote=store.inbox,
            clock=clock,
            sender=wires,
            live=wires,
            jobs=wires,
            values=wires,
            settings=EngineSettings(owner=name, polite=True, check_every=1),
            chance=random.Random(1),
        )

    async def changed() -> None:
        made.changes.append(made.role)

    async def cut() -> None:
        made.cuts.append(made.succession.follower.pos)

    succession = Succession(
        hub=name,
        source=store.log,
        remote=RemoteInbox(store.inbox),
        live=wires,
        clock=clock,
        make=make,
        cut=cut,
        changed=changed,
        timings=TakeoverTimings(look_ms=100, unseen_ms=1_000),
    )
    made = Site(name, store, wires, succession)
    return made


@dataclass
class Pair:
    clock: TurningClock
    redis: MemoryRedis
    history: MemoryHistory
    one: Site
    other: Site

    def hub(self, of: Site) -> Hub:
        engine = of.succession.engine
        assert engine is not None
        return Hub(self.clock, self.redis, self.history, of.wires, engine, of.store)

    def go_back_to(self, pos: int) -> None:
        """Redis and history are put back to what they were at a commit, as from a backup."""
        meta = self.history.meta
        self.history.commits = self.history.commits[:pos]
        self.history.meta = type(meta)(incarnation=meta.incarnation, run_id=meta.run_id, term=meta.term, watermark=pos)
        self.redis.restart(lose_commits=self.redis.pos - pos)

    def silence(self) -> None:
        """The owner's lease runs out in Redis."""
        self.redis.owner = ""


@asynccontextmanager
async def pair() -> AsyncIterator[Pair]:
    clock, redis, history = TurningClock(), MemoryRedis(), MemoryHistory()
    made = Pair(clock, redis, history, site("one", clock, redis, history), site("other", clock, redis, history))
    await made.one.begin()
    await made.other.begin()
    try:
        yield made
    finally:
        for each in (made.one, made.other):
            if each.running is not None and not each.running.done():
                await each.die()


async def asked(pair: Pair, work: Any) -> Any:
    """Wait for an answer while the clock turns."""
    asking = asyncio.ensure_future(work)
    for _ in range(40):
        await pair.clock.turn(100)
        if asking.done():
            break
    return await asking


def submit(name: str) -> i.RequestReceived:
    return i.RequestReceived(id=f"s-{name}", by="person:ann", constellation=name, plan=plan(task("a")), request=name)


async def test_the_second_hub_stands_by_and_publishes_what_the_owner_commits() -> None:
    async with pair() as two:
        assert (two.one.role, two.other.role) == ("owner", "standby")
        await two.hub(two.one).join("one")
        await two.clock.turn(1_000)
        assert two.other.seqs("fleet") == two.one.seqs("fleet") != []
        assert two.one.changes == ["owner"]


async def test_what_is_asked_at_the_standby_reaches_the_owner() -> None:
    async with pair() as two:
        reply = await asked(two, two.other.succession.inbox.ask(submit("c1")))
        assert reply.faults == []
        assert reply.value["id"] == "c1"
        engine = two.one.succession.engine
        assert engine is not None
        assert "c1" in engine.shard.constellations


async def test_a_killed_owner_is_followed_without_a_gap() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        await two.one.die()
        await two.clock.turn(5_000)
        assert two.other.role == "standby", "its lease has not run out"
        two.silence()
        await two.clock.turn(900)
        assert two.other.role == "standby", "an owner whose lease went with its Redis may still come"
        await two.clock.turn(1_000)
        assert two.other.role == "owner"
        fleet = two.other.seqs("fleet")
        assert fleet == list(range(1, len(fleet) + 1))
        assert two.redis.term == 2


async def test_devices_of_a_hub_that_is_gone_are_offline_until_they_come_again() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        engine = two.one.succession.engine
        assert engine is not None
        assert engine.shard.fleet.devices["d-one"].link == "online"
        await two.one.die()
        two.silence()
        await two.clock.turn(3_000)
        found = two.hub(two.other)
        device = found.engine.shard.fleet.devices["d-one"]
        assert (device.link, device.session) == ("offline", 1)
        assert (await found.connect("one"))["session"] == 2
        assert found.engine.shard.fleet.devices["d-one"].link == "online"


async def test_an_owner_that_was_stopped_loses_the_shard_and_follows() -> None:
    async with pair() as two:
        frozen = two.one.succession.engine
        assert frozen is not None
        two.silence()
        taken = await build(two.clock, two.redis, two.history, Wires())
        asking = asyncio.ensure_future(frozen.inbox.ask(submit("c1")))
        await two.clock.turn(1_000)
        (fault,) = (await asking).faults
        assert fault.code == "unsettled"
        assert frozen.lost.is_set()
        assert two.one.role == "standby"
        assert two.one.changes == ["owner", "standby"]
        await taken.join("one")
        await two.clock.turn(1_000)
        fleet = two.one.seqs("fleet")
        assert fleet == list(range(1, len(fleet) + 1))
        assert len(fleet) > 1
        await kill(taken)


async def test_a_renewal_waits_for_proof_of_ownership() -> None:
    async with pair() as two:
        frozen = two.one.succession.engine
        assert frozen is not None
        sent: list[str] = []
        at = LeaseRef(attempt=1, constellation="c1", incarnation=1, task="a")
        assert frozen.inbox.alive("d-one", [at], 1).gone == [at]
        frozen.inbox.when_proved("d-one", lambda: sent.append("while it owned"))
        await settle()
        assert sent == ["while it owned"]
        two.redis.down = True
        frozen.inbox.when_proved("d-one", lambda: sent.append("said twice, the last counts"))
        frozen.inbox.when_proved("d-one", lambda: sent.append("after the outage"))
        await two.clock.turn(1_000)
        assert sent == ["while it owned"]
        two.redis.down = False
        await two.clock.turn(500)
        assert sent == ["while it owned", "after the outage"]
        two.redis.term += 1
        frozen.inbox.when_proved("d-one", lambda: sent.append("after another took it"))
        await settle()
        assert sent == ["while it owned", "after the outage"]


async def test_a_commit_in_doubt_under_anothers_term_counts_as_lost() -> None:
    async with pair() as two:
        frozen = two.one.succession.engine
        assert frozen is not None
        two.redis.failures.append(CommitFailure.REQUEST_LOST)
        asking = asyncio.ensure_future(frozen.inbox.ask(submit("c1")))
        await settle()
        taken = await build(two.clock, two.redis, two.history, Wires())
        await taken.join("one")
        assert two.redis.pos >= 1, "the log has come at least as far as the commit in doubt"
        await two.clock.turn(1_000)
        assert [fault.code for fault in (await asking).faults] == ["unsettled"]
        assert "c1" not in taken.engine.shard.constellations
        await kill(taken)


async def test_a_replaced_redis_stays_with_its_owner() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        await two.clock.turn(500)
        two.redis.restart(lose_commits=2)
        two.silence()
        await two.clock.turn(5_000)
        assert (two.one.role, two.other.role) == ("owner", "standby")
        assert two.redis.incarnation == 2
        await two.hub(two.one).connect("one")
        await two.clock.turn(1_000)
        assert two.other.seqs("fleet") == two.one.seqs("fleet")
        assert two.other.cuts == []


async def test_a_log_that_went_back_with_its_only_owner_is_told() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        await two.clock.turn(500)
        seen = two.other.succession.follower.pos
        await two.one.die()
        two.go_back_to(1)
        assert seen > 1
        await two.clock.turn(1_000)
        assert two.other.cuts == [], "its owner may still bring the tail back"
        two.silence()
        await two.clock.turn(2_000)
        assert two.other.role == "owner"
        assert two.other.cuts == [1]


async def test_an_owner_under_whom_the_log_was_put_back_gives_it_up_and_begins_with_what_there_is() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        await two.clock.turn(500)
        assert two.redis.pos > 1
        two.go_back_to(1)
        await two.clock.turn(3_000)
        assert two.one.cuts == two.other.cuts == [1]
        assert (two.one.role, two.other.role) == ("standby", "standby")
        two.silence()
        await two.clock.turn(2_000)
        owner = two.one if two.one.role == "owner" else two.other
        assert {two.one.role, two.other.role} == {"owner", "standby"}
        assert not two.hub(owner).engine.shard.fleet.devices, "what was put back knows of no device"
        await two.hub(owner).join("two")
        await two.clock.turn(500)
        assert two.one.seqs("fleet")[-1] == two.other.seqs("fleet")[-1] == two.hub(owner).engine.shard.fleet.seq


async def test_a_hub_that_stops_gives_the_shard_up_at_once() -> None:
    async with pair() as two:
        assert two.one.running is not None
        two.one.running.cancel()
        stopping = asyncio.ensure_future(two.one.succession.stop())
        await two.clock.turn(300)
        await stopping
        assert two.other.role == "owner"


async def test_a_restarted_hub_has_its_own_shard_at_once_and_another_waits() -> None:
    async with pair() as two:
        await two.one.die()
        again = site("one", two.clock, two.redis, two.history)
        await again.begin()
        assert (again.role, two.other.role) == ("owner", "standby")
        third = site("third", two.clock, two.redis, two.history)
        await third.begin()
        assert third.role == "standby"
        await again.die()
        await third.die()


async def test_a_device_is_not_let_in_where_its_orders_do_not_come() -> None:
    async with pair() as two:
        connected = i.DeviceConnected(id="x", by="device:d-one", device="d-one", instance="i", ledger="l", version="1")
        with pytest.raises(Overloaded):
            await two.other.succession.inbox.ask(connected)


async def test_an_engine_that_died_leaves_the_shard_and_steps_down() -> None:
    async with pair() as two:
        dead = two.one.succession.engine
        assert dead is not None
        dead.ready = False  # as when one of its tasks has ended
        before = two.redis.owner
        await two.clock.turn(5_000)
        assert two.redis.owner == before, "it renews no more"
        two.silence()
        await two.clock.turn(3_000)
        assert (two.one.role, two.other.role) == ("standby", "owner")


async def test_a_hub_whose_engine_died_of_a_fault_of_ours_loads_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pair() as two:
        await two.other.die()
        seat = two.one.succession.inbox
        assert not (await asked(two, seat.ask(submit("c1")))).faults
        dead = seat.engine
        assert dead is not None

        def fails(*_: object) -> None:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(dead, "_act", fails)
        reply = await asked(two, seat.ask(submit("c2")))
        assert [fault.code for fault in reply.faults] == ["unsettled"], "whoever waits is told"
        two.silence()
        await two.clock.turn(8_000)
        again = seat.engine
        assert two.one.role == "owner"
        assert again is not None
        assert again is not dead
        assert set(again.shard.constellations) == {"c1", "c2"}, "what was committed is there"


async def test_nobody_asks_an_owner_that_is_not_there_for_ever() -> None:
    async with pair() as two:
        await two.one.die()
        with pytest.raises(Unavailable):
            await asked(two, RemoteInbox(two.other.store.inbox, answer_within_s=0.05).ask(submit("c1")))


async def test_a_follower_that_dies_ends_the_succession_and_no_takeover_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pair() as two:
        running, succession = two.other.running, two.other.succession
        assert running is not None
        catching_up = asyncio.ensure_future(succession._caught_up(two.redis.pos + 100))
        await settle()

        async def dies(_: object) -> None:
            raise Damaged("a commit cannot be read")

        monkeypatch.setattr(succession.follower, "_publish", dies)
        await two.hub(two.one).join("one")
        await two.clock.turn(1_000)
        for task in (catching_up, running):
            assert task.done()
            with pytest.raises(Damaged, match="a commit cannot be read"):
                task.result()


async def test_a_closed_engine_says_why() -> None:
    async with pair() as two:
        engine = two.one.succession.engine
        assert engine is not None
        engine.lose()
        with pytest.raises(Overloaded, match="another hub has taken over"):
            await engine.inbox.ask(submit("c1"))


async def test_a_commit_that_was_shown_and_then_lost_with_redis_is_told_when_its_owner_wakes() -> None:
    async with pair() as two:
        await two.hub(two.one).join("one")
        await two.clock.turn(500)
        frozen = two.one.succession.engine
        assert frozen is not None
        await two.one.store._projector.stop()  # as when its process is stopped: nothing more becomes durable
        asking = asyncio.ensure_future(frozen.inbox.ask(submit("c1")))
        await settle()
        assert two.one.seqs("c1") != []
        two.redis.wipe()
        taken = await build(two.clock, two.redis, two.history, Wires())
        while two.redis.pos < frozen.pos:
            await taken.submit(plan(task("b")), f"c{two.redis.pos + 2}")
        await two.clock.turn(3_000)
        assert [fault.code for fault in (await asking).faults] == ["unsettled"]
        assert two.one.role == "standby"
        assert two.one.cuts == [two.redis.pos], "its viewers begin again: what they saw last never was"
        await kill(taken)


async def test_nobody_waits_for_ever_at_an_engine_that_stops() -> None:
    async with pair() as two:
        engine = two.one.succession.engine
        assert engine is not None
        await engine._turn.acquire()  # as while what is finished leaves
        asking = [asyncio.ensure_future(engine.inbox.ask(submit("c1")))]
        await settle()
        asking.append(asyncio.ensure_future(engine.inbox.ask(submit("c2"))))
        await settle()
        stopping = asyncio.ensure_future(engine.stop())
        await two.clock.turn(6_000)
        await stopping
        for one in asking:
            assert [fault.code for fault in (await one).faults] == ["unsettled"]


class Leaving:
    """The inbox of an engine that was closed."""

    async def ask(self, item: Any) -> Any:
        raise Overloaded("another hub has taken over", 1)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody asks for {name}")


async def test_what_a_leaving_hub_refuses_is_answered_by_the_next_owner() -> None:
    async with pair() as two:
        await two.one.die()

        async def bring(_name: str) -> None:
            """Nothing is to be loaded."""

        old = asyncio.create_task(take_remote(two.one.store.inbox, Leaving(), two.clock, bring, lambda: True))
        asking = asyncio.ensure_future(two.other.succession.inbox.ask(submit("c1")))
        await settle()
        assert not asking.done(), "the hub that is going has refused it"
        two.silence()
        reply = await asked(two, asking)
        assert (reply.faults, reply.value["id"]) == ([], "c1")
        old.cancel()
        await asyncio.gather(old, return_exceptions=True)
