"""Paces: what is learned from ends of attempts, and which device a task takes or waits for because of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from starloom.core.placement import finish
from starloom.core.placement.pace import (
    COUNT_MOST,
    LONGEST_MS,
    OCTAVE,
    PaceIndex,
    index_of,
    key_of,
    log_of,
    oldest,
    power_of,
    size_of,
    spread_of,
    with_sample,
)
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.orders import SendDispatch
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.entities import Attempt
from starloom_protocol.records.fleet import Pace
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver


def taught(driver: Driver, calls: int, **takes_ms: int) -> None:
    """Let each device carry out some calls of `t.pure`, each in its time."""
    for device, time_ms in takes_ms.items():
        for number in range(calls):
            name = f"{device}-{number}"
            driver.submit(plan(task("a", device=device)), name=name)
            (dispatch,) = driver.take()
            driver.now_ms += time_ms
            driver.result(dispatch, 1)


def by_task(driver: Driver) -> dict[str, SendDispatch]:
    return {item.at.task: item for item in driver.take()}


def row(count: int, time_ms: int, device: str = "d-one", tool: str = "t.pure") -> Pace:
    found = Pace(device=device, last_ms=0, tool=tool)
    for _ in range(count):
        found = with_sample(found, time_ms, 10, 0)
    return found


@pytest.mark.parametrize("value", [1, 2, 3, 7, 100, 1_000, 12_345, 86_400_000])
def test_the_mean_of_equal_times_is_that_time(value: int) -> None:
    assert abs(power_of(log_of(value)) - value) <= 1 + value // OCTAVE
    logs = [log_of(value)] * 5
    assert spread_of(5, sum(logs), sum(log * log for log in logs)) == 0


def test_a_row_fades_and_one_time_is_bounded() -> None:
    slow = row(COUNT_MOST, 8_000)
    assert slow.count == COUNT_MOST
    quick = slow
    for _ in range(2 * COUNT_MOST):
        quick = with_sample(quick, 1_000, 10, 0)
        assert quick.count <= COUNT_MOST
    assert power_of(quick.logs // quick.count) < 2_000
    assert with_sample(row(0, 0), 10**12, 0, 0).logs == log_of(LONGEST_MS)


def test_size_classes_grow_eightfold_from_64_kib() -> None:
    kib = 1024
    sizes = [0, 64 * kib - 1, 64 * kib, 512 * kib - 1, 512 * kib, 4 << 20, 32 << 20, 256 << 20, 1 << 40]
    assert [size_of(size) for size in sizes] == [0, 0, 1, 1, 2, 3, 4, 5, 5]


def test_the_rows_are_bounded_and_the_oldest_give_way() -> None:
    driver = WatchedDriver("one", "two")
    driver.shard.settings.pace_rows_most = 4
    for number in range(12):
        known = Pace(device=f"d-{number}", last_ms=number, tool="t.other", count=3, logs=3)
        put(driver.shard, driver.shard.fleet, "pace", key_of("t.other", f"d-{number}", 0), known)
    taught(driver, 1, one=100, two=100)
    assert len(driver.shard.fleet.paces) <= 4
    assert {found.device for found in driver.shard.fleet.paces.values()} >= {"d-one", "d-two", "d-11"}
    assert oldest(driver.shard.fleet.paces, 100) == []


def test_an_end_becomes_a_pace_of_the_fleet() -> None:
    driver = WatchedDriver("one", "two")
    taught(driver, 3, one=1_000, two=4_000)
    index = index_of(driver.shard.fleet)
    assert index.sure["t.pure", 0] == {"d-one": 3, "d-two": 3}
    assert abs(index.expected("t.pure", 0, "d-one") - 1_000) < 10
    assert [event.kind for event in driver.events].count("pace_learned") == 6
    # The index that a new owner makes from the records is the same.
    before = {device: index.expected("t.pure", 0, device) for device in ("d-one", "d-two")}
    driver.restart()
    again = index_of(driver.shard.fleet)
    assert again is not index
    assert {device: again.expected("t.pure", 0, device) for device in before} == before


@pytest.mark.parametrize(
    ("known_ms", "took_ms", "roll", "more"),
    [(100, 0, 1, 0), (100, 0, 8, 1), (10, 10, 8, 0), (10, 10, 64, 1), (10, 100, 8, 1)],
)
def test_of_a_known_pace_only_some_ends_are_kept_and_few_short_ones(
    known_ms: int, took_ms: int, roll: int, more: int
) -> None:
    driver = Driver("one")
    taught(driver, 8, one=known_ms)
    kept = [event.kind for event in driver.events].count("pace_learned")
    driver.submit(plan(task("a")), name="next")
    (dispatch,) = driver.take()
    driver.now_ms += took_ms
    item = i.ResultReported(id="x", by="device:d-one", device="d-one", frame=result_of(dispatch), roll=roll)
    driver.do(item)
    assert [event.kind for event in driver.events].count("pace_learned") == kept + more


def result_of(dispatch: SendDispatch) -> ResultFrame:
    return ResultFrame(at=dispatch.at, report=1, outcome=Outcome.OK, value="1")


def test_the_device_that_should_finish_first_is_taken() -> None:
    driver = WatchedDriver("one", "two")
    taught(driver, 3, one=8_000, two=1_000)
    run = driver.submit(plan(task("a")))
    assert driver.take()[0].device == "d-two"
    attempt = run.attempts["a/1"]
    assert (attempt.why, attempt.others) == ("it should finish it first", ["d-one"])
    assert abs(attempt.expects_ms - 1_000) < 10


def test_equal_devices_are_chosen_as_without_paces() -> None:
    driver = WatchedDriver("one", "two")
    taught(driver, 3, one=1_000, two=960)
    driver.submit(plan(task("a"), task("b")))
    assert {item.at.task: item.device for item in driver.take()} == {"a": "d-one", "b": "d-two"}


@pytest.mark.parametrize("seed", range(8))
def test_devices_that_are_alike_are_chosen_as_by_their_finish(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    names = ["a", "b", "c", "d", "e"]
    # Two of the eight fleets differ by more than chance, so that the short way must not be taken.
    times = {name: 100 + draw.randrange(45 if seed < 6 else 400) for name in names}
    slots, asks = draw.randint(1, 3), draw.randint(3, 12)

    def attempts() -> dict[str, Attempt]:
        driver = Driver(*names, slots=slots)
        taught(driver, 3, **times)
        for number in range(asks):
            driver.submit(plan(task("a"), task("b")), name=f"r{number}")
        constellations = driver.shard.constellations.items()
        return {f"{name}/{key}": one for name, held in constellations for key, one in held.attempts.items()}

    told: list[bool] = []
    update = finish.Paced.update

    def noted(paced: finish.Paced, *changed: Any) -> None:
        update(paced, *changed)
        told.append(paced.alike == len(names))

    def never(paced: finish.Paced, *changed: Any) -> None:
        update(paced, *changed)
        paced.alike = 0

    monkeypatch.setattr(finish.Paced, "update", noted)
    short = attempts()
    assert any(told) is (seed < 6)
    monkeypatch.setattr(finish.Paced, "update", never)
    assert attempts() == short


def test_a_task_waits_for_a_better_device_within_the_gain() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    taught(driver, 3, one=20_000, two=1_000)
    driver.submit(plan(task("a"), task("b")))
    first = by_task(driver)
    assert {name: item.device for name, item in first.items()} == {"a": "d-two"}
    driver.now_ms += 1_000
    driver.result(first["a"], 1)
    assert {name: item.device for name, item in by_task(driver).items()} == {"b": "d-two"}


def test_as_many_tasks_wait_as_the_better_device_can_do_in_the_gain() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    taught(driver, 3, one=5_000, two=1_000)
    driver.submit(plan(*(task(f"t{number}") for number in range(10))))
    assert sorted(item.device for item in driver.take()) == ["d-one", "d-two"]


def test_a_wait_for_a_device_that_is_late_ends() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    taught(driver, 3, one=20_000, two=1_000)
    driver.submit(plan(task("a"), task("b")))
    assert list(by_task(driver)) == ["a"]
    begin_ms = driver.now_ms
    taken: list[SendDispatch] = []
    while not taken:
        driver.now_ms += 1_000
        for timer in finish.due_waits(driver.shard, driver.now_ms):
            driver.fire(timer)
        taken = driver.take()
        assert driver.now_ms - begin_ms < 40_000
    assert (taken[0].at.task, taken[0].device) == ("b", "d-one")
    # It waited for about as long as it could have gained.
    assert 12_000 < driver.now_ms - begin_ms < 25_000


def test_a_device_of_unknown_pace_is_taken_while_the_better_one_is_busy() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    taught(driver, 3, two=1_000)
    driver.submit(plan(task("a"), task("b")))
    assert sorted(item.device for item in driver.take()) == ["d-one", "d-two"]


def test_a_device_that_is_slow_for_other_tools_is_not_taken_while_a_better_one_comes_free() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    taught(driver, 3, two=1_000)
    for tool in ("u.a", "u.b", "u.c", "u.d"):
        for device, time_ms in (("d-one", 64_000), ("d-two", 1_000), ("d-three", 1_000)):
            put(driver.shard, driver.shard.fleet, "pace", key_of(tool, device, 0), row(4, time_ms, device, tool))
    driver.shard.journal.clear()
    driver.submit(plan(task("a"), task("b")))
    assert [item.device for item in driver.take()] == ["d-two"]


def test_the_longest_expected_way_goes_first() -> None:
    driver = WatchedDriver("one", slots=1)
    for tool, time_ms in (("t.pure", 100), ("t.idem", 60_000)):
        put(driver.shard, driver.shard.fleet, "pace", key_of(tool, "d-one", 0), row(3, time_ms, tool=tool))
    driver.shard.journal.clear()
    long, hops = task("long", tool="t.idem"), [task("a"), task("b", "x=a"), task("c", "x=b")]
    run = driver.submit(plan(*hops, long))
    assert driver.take()[0].at.task == "long"
    assert run.rank["long"] > run.rank["a"] > run.rank["b"] > run.rank["c"]
    ranks = dict(run.rank)
    driver.restart()
    assert driver.shard.constellations["c1"].rank == ranks


def test_faults_of_a_device_lengthen_its_expected_time() -> None:
    driver = WatchedDriver("one", "two")
    taught(driver, 3, one=1_000, two=1_000)
    before = index_of(driver.shard.fleet).expected("t.pure", 0, "d-one")
    driver.submit(plan(task("a", device="one")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NO_SPACE, effect=EffectSeen.NONE)
    assert driver.shard.fleet.paces[key_of("t.pure", "d-one", 0)].failures == 1
    assert index_of(driver.shard.fleet).expected("t.pure", 0, "d-one") > before
    # An error of the tool itself says nothing about the device.
    driver.submit(plan(task("a", device="two")), name="c2")
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.shard.fleet.paces[key_of("t.pure", "d-two", 0)].failures == 0


def test_the_paces_of_a_device_that_leaves_are_removed() -> None:
    driver = WatchedDriver("one", "two")
    taught(driver, 3, one=1_000, two=4_000)
    driver.do(i.DeviceControlled(id="x", by="person:ann", device="d-two", action="revoke"))
    assert {found.device for found in driver.shard.fleet.paces.values()} == {"d-one"}
    assert index_of(driver.shard.fleet).expected("t.pure", 0, "d-two") > 0


def test_one_device_moves_little_of_what_is_expected_of_others() -> None:
    index = PaceIndex()
    for number, (device, time_ms) in enumerate([("a", 1_000), ("b", 1_100), ("liar", LONGEST_MS)]):
        index.take(key_of("t", device, 0), row(5, time_ms, device, "t"), number + 1)
    assert index.expected("t", 0, "new") < 1_200


def test_a_log_of_a_hub_without_paces_is_decided_without() -> None:
    old = settings_of(Driver().shard.settings)
    del old["pace_rows_most"]
    assert with_settings(old).pace_rows_most == 0
    driver = WatchedDriver("one")
    driver.shard.settings.pace_rows_most = 0
    taught(driver, 3, one=1_000)
    assert not driver.shard.fleet.paces
