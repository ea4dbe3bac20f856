"""Schedules over the real loop and store: one request each, with a timer fired again, a killed hub, a lost Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starloom.core.clock.cron import following
from starloom.core.clock.schedules import DUE
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Principal
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import CatchUp, Role
from tests.builders import plan, task
from tests.engine.test_loop import Hub, TurningClock, Wires, build, kill, settle
from tests.store.memory import MemoryHistory, MemoryRedis

MINUTE = 60_000


async def put_on_clock(hub: Hub) -> int:
    """Let ann own the hub, join a device, and put a look at it on every minute; return the first moment."""
    ann = Principal(created_ms=0, id="p-ann", name="ann", role=Role.OWNER)
    await hub.engine.inbox.ask(i.PrincipalAdded(by="engine", id="a", principal=ann))
    await hub.join("one")
    schedule = Schedule(
        author="person:ann",
        catch_up=CatchUp.LAST,
        created_ms=0,
        cron="* * * * *",
        id="s-look",
        name="Look",
        owner="p-ann",
        zone="UTC",
    )
    saved = i.ScheduleSaved(by="person:ann", id="s", keep_plan=True, plan=plan(task("a")), schedule=schedule)
    reply = await hub.engine.inbox.ask(saved)
    assert not reply.faults, reply.faults
    return following("* * * * *", "UTC", hub.clock.ms)[0]


def fired(hub: Hub) -> list[str]:
    return [name for name, found in hub.engine.shard.constellations.items() if found.head.schedule == "s-look"]


@asynccontextmanager
async def a_hub() -> AsyncIterator[list[Hub]]:
    """Give a list whose last hub is the running one; the test may put others after it."""
    hubs = [await build(TurningClock(), MemoryRedis(), MemoryHistory(), Wires())]
    try:
        yield hubs
    finally:
        await kill(hubs[-1])


async def again(hub: Hub, *idents: str) -> None:
    """Fire the schedule's timer beside the hub's own, as two owners of one log would."""
    for ident in idents:
        timer = i.TimerFired(by="engine", constellation=FLEET, entity="s-look", id=ident, kind=DUE)
        await hub.engine.inbox.ask(timer)


async def test_a_timer_fired_again_makes_one_request() -> None:
    async with a_hub() as (hub,):
        first = await put_on_clock(hub)
        await again(hub, "t1", "t2")
        assert fired(hub) == []
        hub.clock.ms = first
        due = asyncio.create_task(again(hub, "t3", "t4", "t5"))
        await hub.clock.turn(200)
        await due
        await again(hub, "t6", "t7")
        await hub.clock.turn(1_000)
        assert fired(hub) == [f"c-look-{first // 1000}"]
        assert [event.kind for event in hub.wires.published].count("schedule_fired") == 1


async def test_a_timer_over_a_restart_of_the_hub_makes_one_request() -> None:
    async with a_hub() as hubs:
        first = await put_on_clock(hubs[0])
        hubs[0].clock.ms = first
        await again(hubs[0], "t1", "t2")
        await kill(hubs[0])
        hubs.append(await build(hubs[0].clock, hubs[0].redis, hubs[0].history, Wires()))
        second = hubs[-1]
        asking = asyncio.create_task(again(second, "t3", "t4"))
        await second.clock.turn(1_000)
        await asking
        assert fired(second) == [f"c-look-{first // 1000}"]
        assert second.engine.shard.fleet.schedules["s-look"].fired == 1


async def test_a_hub_that_was_off_makes_up_for_the_last_and_goes_on() -> None:
    async with a_hub() as hubs:
        first = await put_on_clock(hubs[0])
        await kill(hubs[0])
        hubs[0].clock.ms = first + 10 * MINUTE + 30_000
        hubs.append(await build(hubs[0].clock, hubs[0].redis, hubs[0].history, Wires()))
        await hubs[-1].clock.turn(500)
        assert fired(hubs[-1]) == [f"c-look-{first // 1000 + 600}"]
        notice = hubs[-1].engine.shard.fleet.schedules["s-look"].notice
        assert notice is not None
        assert notice.text == "10 firings were missed while the hub was off; the one that is due now takes their place"


async def test_a_redis_that_is_down_at_the_moment_delays_the_firing_and_doubles_none() -> None:
    async with a_hub() as (hub,):
        first = await put_on_clock(hub)
        hub.redis.down = True
        hub.clock.ms = first
        await hub.clock.turn(2_000)
        hub.redis.down = False
        await hub.clock.turn(2_000)
        await settle()
        assert fired(hub) == [f"c-look-{first // 1000}"]


async def test_an_emptied_redis_loses_no_clock_and_doubles_no_firing() -> None:
    async with a_hub() as (hub,):
        first = await put_on_clock(hub)
        hub.clock.ms = first
        await hub.clock.turn(500)
        hub.redis.wipe()
        hub.clock.ms = first + MINUTE
        await hub.clock.turn(2_000)
        assert (
            hub.engine.shard.fleet.schedules["s-look"].fired + hub.engine.shard.fleet.schedules["s-look"].skipped == 2
        )
        assert fired(hub) == [f"c-look-{first // 1000}"]


async def test_a_timer_far_away_is_looked_at_again_because_a_sleeping_machine_stops_waiting() -> None:
    """The clock by which a process waits stands still during sleep; hub time goes on."""
    async with a_hub() as (hub,):
        first = await put_on_clock(hub)
        hub.clock.ms = first - 45_000
        await settle()
        hub.clock.ms = first
        hub.clock._turned.set()
        await settle()
        await hub.clock.turn(500)
        assert len(fired(hub)) == 1
