"""The owner prunes what has ended long ago, and nothing that is needed, while everything else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from starloom.core.clock.retention import HistoryLimits
from starloom.core.state import inputs as i
from starloom.engine.retention.pruning import Retention
from starloom.engine.settings import FinishedRetention
from starloom.store.chain import Walk
from starloom.store.port import Refused
from starloom_protocol.vocabulary import Code, DeviceLink
from tests.builders import plan, task
from tests.engine.retention.test_retiring import control, finish, hub
from tests.engine.test_loop import Hub, Wires, build, kill, settle

HOUR_MS = 3_600_000
QUICK = FinishedRetention(quiet_ms=1_000, constellations_most=0, tasks_most=0)


class Files:
    def __init__(self, *with_files: str) -> None:
        self._offering = set(with_files)

    async def with_files(self, constellations: Sequence[str]) -> set[str]:
        return self._offering & set(constellations)


def retention(found: Hub, limits: HistoryLimits, *with_files: str) -> Retention:
    engine = found.engine
    return Retention(
        found.store,
        found.clock,
        limits,
        engine._turn,
        lambda: engine.shard,
        engine.retiring.in_redis,
        Files(*with_files),
    )


async def pruned(found: Hub, limits: HistoryLimits, *with_files: str) -> Retention:
    """Prune once, to the end, while time passes."""
    made = retention(found, limits, *with_files)
    running = asyncio.ensure_future(made.prune())
    while not running.done():
        await found.clock.turn(100)
    await running
    return made


def whole(found: Hub) -> list[str]:
    walk = Walk(prunings=found.history.prunings)
    walk.take(found.history.commits_after(0, 10_000))
    walk.ended(found.history.meta.watermark)
    return [item.what for item in walk.breaks]


async def test_what_ended_before_the_days_goes_and_the_rest_runs_on() -> None:
    async with hub(QUICK) as found:
        await finish(found, "c1")
        await found.clock.turn(2 * HOUR_MS, by=60_000)
        await finish(found, "c2")
        await found.submit(plan(task("a", tool="t.never", device="nobody")), name="c3")
        await found.clock.turn(10_000)
        done = await pruned(found, HistoryLimits(age_ms=HOUR_MS, files_ms=0))
        assert (done.constellations, done.commits > 0) == (1, True)
        assert await found.store.tombstone("c1") is not None
        assert await found.store.entities("c1") is None
        assert await found.store.entities("c2") is not None
        assert "c3" in found.engine.shard.live
        assert whole(found) == []
        reply = await found.engine.inbox.ask(control("retry", "c1", "a"))
        assert [fault.code for fault in reply.faults] == [Code.NOT_FOUND]
        await finish(found, "c4")
        await found.clock.turn(10_000)
        assert whole(found) == []


async def test_what_is_in_memory_stays_whatever_its_age() -> None:
    async with hub(QUICK) as found:
        await finish(found, "c1")
        await found.clock.turn(10_000)
        await found.engine._bring("c1")
        assert (await pruned(found, HistoryLimits(age_ms=0, files_ms=0))).constellations == 0
        assert await found.store.entities("c1") is not None
        await found.clock.turn(10_000)
        assert (await pruned(found, HistoryLimits(age_ms=0, files_ms=0))).constellations == 1


async def test_what_offers_artifacts_or_waits_for_a_device_stays() -> None:
    async with hub(QUICK) as found:
        await finish(found, "c1")
        await finish(found, "c2")
        await found.clock.turn(10_000)
        limits = HistoryLimits(age_ms=0, files_ms=HOUR_MS)
        assert (await pruned(found, limits, "c1")).constellations == 1
        assert await found.store.tombstone("c1") is None
        await found.clock.turn(2 * HOUR_MS, by=60_000)
        device = found.engine.shard.fleet.devices["d-one"]
        away = msgspec.structs.replace(device, link=DeviceLink.OFFLINE, link_since_ms=0)
        found.engine.shard.fleet.devices["d-one"] = away
        assert (await pruned(found, limits)).constellations == 0
        found.engine.shard.fleet.devices["d-one"] = device
        assert (await pruned(found, limits)).constellations == 1


async def test_an_owner_that_lost_the_shard_prunes_nothing() -> None:
    async with hub(QUICK) as found:
        await finish(found, "c1")
        await found.clock.turn(10_000)
        other = await build(found.clock, found.redis, found.history, Wires(), QUICK)
        try:
            with pytest.raises(Refused):
                await retention(found, HistoryLimits(age_ms=0, files_ms=0)).prune()
            assert await other.store.tombstone("c1") is None
            await settle()
            assert (await pruned(other, HistoryLimits(age_ms=0, files_ms=0))).constellations == 1
        finally:
            await kill(other)


def refusal(number: int) -> i.RefusalNoted:
    return i.RefusalNoted(by="hub", code="bad_token", door="api", id=f"r-{number}", reason=f"no token {number}" * 20)


async def test_the_rule_of_size_counts_no_record_that_stays() -> None:
    async with hub(QUICK) as found:
        for name in ("c1", "c2", "c3"):
            await finish(found, name)
        await found.clock.turn(10_000)
        ended = await found.store.ended((0, ""), 10)
        most = sum(item.bytes for item in ended)
        for number in range(200):
            await found.engine.inbox.ask(refusal(number))
        await found.clock.turn(10_000)
        assert await found.store.lasting_bytes() > most
        limits = HistoryLimits(bytes_most=2 * most, least_ms=0, files_ms=0)
        assert (await found.store.history_size()).bytes > 2 * most
        assert (await pruned(found, limits)).constellations == 0
        kept = (await found.store.history_size()).bytes - await found.store.lasting_bytes()
        limits = HistoryLimits(bytes_most=kept - 1, least_ms=0, files_ms=0)
        assert (await pruned(found, limits)).constellations == 1
        assert await found.store.tombstone("c1") is not None
