"""What may leave the durable history, and that nothing which is needed ever may."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from starloom.core.clock.retention import BY_AGE, BY_SIZE, HistoryLimits, away_since, leaving, needed
from starloom.core.clock.schedules import constellation_of
from starloom_protocol.records.entities import Idempotency, Origin
from starloom_protocol.vocabulary import DeviceLink
from tests.builders import Driver, plan, task
from tests.core.clockwork import DAY, MINUTE, Clockwork

NOW = 1_000 * DAY
EVER = HistoryLimits(age_ms=0, bytes_most=0, files_ms=0, least_ms=0)


@dataclass(frozen=True)
class Item:
    id: str
    ended_ms: int = NOW - 100 * DAY
    bytes: int = 10
    devices: list[str] = field(default_factory=list)


def chosen(items: list[Item], limits: HistoryLimits, **more: object) -> list[tuple[str, str]]:
    told = {"away": {}, "held": (), "now_ms": NOW, "with_files": (), "size_bytes": 0, **more}
    return [(item.id, why) for item, why in leaving(items, limits, **told)]  # type: ignore[arg-type]


def test_everything_stays_without_a_limit() -> None:
    assert chosen([Item("c1", ended_ms=1)], HistoryLimits(), size_bytes=10**12) == []


def test_age_takes_what_ended_before() -> None:
    items = [Item("c1", NOW - 31 * DAY), Item("c2", NOW - 29 * DAY)]
    assert chosen(items, HistoryLimits(age_ms=30 * DAY, files_ms=0)) == [("c1", BY_AGE)]


def test_size_takes_the_oldest_until_it_fits() -> None:
    items = [Item(f"c{number}", NOW - (20 - number) * DAY) for number in range(5)]
    limits = HistoryLimits(bytes_most=75, files_ms=0)
    assert chosen(items, limits, size_bytes=100) == [("c0", BY_SIZE), ("c1", BY_SIZE), ("c2", BY_SIZE)]


def test_size_takes_nothing_of_the_last_days() -> None:
    items = [Item("c1", NOW - 8 * DAY), Item("c2", NOW - 6 * DAY)]
    assert chosen(items, HistoryLimits(bytes_most=0, files_ms=0), size_bytes=100) == [("c1", BY_SIZE)]


def test_what_offers_artifacts_stays_for_their_time() -> None:
    items = [Item("c1", NOW - 91 * DAY), Item("c2", NOW - 89 * DAY), Item("c3", NOW - 89 * DAY)]
    assert chosen(items, HistoryLimits(age_ms=DAY), with_files={"c1", "c2"}) == [("c1", BY_AGE), ("c3", BY_AGE)]


def test_a_device_that_is_away_is_heard_first() -> None:
    items = [Item("c1", NOW - 50 * DAY, devices=["d"]), Item("c2", NOW - 40 * DAY, devices=["d", "e"])]
    assert chosen(items, EVER, away={"d": NOW - 45 * DAY}) == [("c1", BY_AGE)]
    assert chosen(items, EVER, away={"e": NOW - 39 * DAY}) == [("c1", BY_AGE), ("c2", BY_AGE)]


def test_what_something_names_is_needed() -> None:
    clockwork = Clockwork()
    schedule = clockwork.save()
    firing = constellation_of(schedule.id, schedule.due_ms)
    queued = constellation_of(schedule.id, schedule.due_ms + MINUTE)
    fleet, access = clockwork.shard.fleet, clockwork.shard.access
    fleet.schedules[schedule.id] = replace(schedule, queued=[schedule.due_ms + MINUTE], running={firing: 1})
    access.idempotency["k"] = Idempotency(at_ms=1, body_hash="", made="c-made")
    found = needed(clockwork.shard)
    assert {firing, queued, "c-made"} <= found
    assert set(clockwork.shard.constellations) <= found
    assert constellation_of(schedule.id, schedule.due_ms + DAY) not in found


def test_origins_of_what_is_live_are_needed() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")), name="c-fork")
    constellation = driver.shard.constellations["c-fork"]
    assert needed(driver.shard) == {"c-fork"}
    origin = Origin(constellation="c-old", seq=1, version=1)
    driver.shard.constellations["c-fork"].head = replace(constellation.head, origin=origin)
    assert needed(driver.shard) == {"c-fork", "c-old"}


def test_away_are_those_that_may_come_back() -> None:
    driver = Driver("one", "two", "three")
    devices = driver.shard.fleet.devices
    away, revoked, here = sorted(devices)
    devices[away] = replace(devices[away], link=DeviceLink.OFFLINE, link_since_ms=7)
    devices[revoked] = replace(devices[revoked], link=DeviceLink.OFFLINE, revoked=True)
    devices[here] = replace(devices[here], link=DeviceLink.ONLINE)
    assert away_since(driver.shard) == {away: 7}


items = st.lists(
    st.builds(
        Item,
        id=st.sampled_from([f"c{number}" for number in range(12)]),
        ended_ms=st.integers(0, NOW),
        bytes=st.integers(0, 1_000),
        devices=st.lists(st.sampled_from("def"), max_size=2),
    ),
    max_size=12,
    unique_by=lambda item: item.id,
)
limits = st.builds(
    HistoryLimits,
    age_ms=st.none() | st.integers(0, NOW),
    bytes_most=st.none() | st.integers(0, 5_000),
    files_ms=st.integers(0, NOW),
    least_ms=st.integers(0, NOW),
)


@given(
    items=items,
    limits=limits,
    held=st.sets(st.sampled_from([f"c{number}" for number in range(12)])),
    with_files=st.sets(st.sampled_from([f"c{number}" for number in range(12)])),
    away=st.dictionaries(st.sampled_from("def"), st.integers(0, NOW)),
    size=st.integers(0, 20_000),
)
def test_nothing_that_is_needed_is_ever_chosen(
    items: list[Item],
    limits: HistoryLimits,
    held: set[str],
    with_files: set[str],
    away: dict[str, int],
    size: int,
) -> None:
    found = leaving(items, limits, away=away, held=held, now_ms=NOW, with_files=with_files, size_bytes=size)
    for item, why in found:
        assert item.id not in held
        assert item.ended_ms > 0
        assert not (item.id in with_files and item.ended_ms > NOW - limits.files_ms)
        assert all(away.get(device, NOW + 1) > item.ended_ms for device in item.devices)
        if why == BY_AGE:
            assert limits.age_ms is not None
            assert item.ended_ms <= NOW - limits.age_ms
        else:
            assert limits.bytes_most is not None
            assert item.ended_ms <= NOW - limits.least_ms
        assert item.ended_ms <= limits.newest_ms(NOW)
    assert not (found and limits.unbounded)
    by_size = [item for item, why in found if why == BY_SIZE]
    if by_size and limits.bytes_most is not None:
        before = size - sum(item.bytes for item, _ in found[: [item for item, _ in found].index(by_size[-1])])
        assert before > limits.bytes_most
