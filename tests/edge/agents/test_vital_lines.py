"""The lines of a device: what was heard, when nothing was, and how much of it is kept."""

from __future__ import annotations

import tracemalloc

import pytest

from starloom.edge.agents.vital_lines import ASK_EVERY_S, ASKED_MAX, DEVICES_MAX, MOST, SLOTS, STEP_S, VitalLines
from starloom_protocol.vocabulary import Vital
from starloom_protocol.wire import frames as f
from tests.edge.world import World, chain, settle

V = "/api/v1/vitals"
STEP_MS = STEP_S * 1000
KEPT_BYTES_MAX = 2_000


class Hours:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.ms = STEP_MS * 1000

    def __call__(self) -> int:
        return self.ms


def line(lines: VitalLines, vital: Vital, device: str = "d") -> list[int | None]:
    return lines.of([device]).items[0].lines.get(vital, [])


async def test_what_a_device_says_is_a_point_of_its_lines_and_no_event(world: World) -> None:
    agent = await world.online("laptop")
    before = world.hub.fanout.published
    await agent.send(f.VitalsFrame(load_percent=140, memory_percent=61, disk_percent=40, battery_percent=84))
    await settle()
    async with world.client() as http:
        told = (await http.get(V)).json()
        assert (await http.get(V, params={"device": "laptop"})).json() == told
    assert told["items"] == [
        {
            "device": agent.id,
            "heard_ms": world.clock.ms,
            "lines": {"load_percent": [140], "memory_percent": [61], "disk_percent": [40], "battery_percent": [84]},
        }
    ]
    assert (told["since_ms"], told["step_s"], told["slots"]) == (world.clock.ms, STEP_S, SLOTS)
    assert world.hub.fanout.published == before


async def test_the_hub_measures_how_long_a_device_takes_to_answer(world: World) -> None:
    agent = await world.online("laptop")
    await agent.send(f.Alive(running=[], sent_ms=1))
    ping = await agent.next(f.Ping)
    await world.clock.advance(42)
    await agent.send(f.Pong(at_ms=ping.at_ms), f.Pong(at_ms=ping.at_ms))
    await settle()
    assert line(world.hub.vitals, Vital.LATENCY_MS, agent.id) == [42]
    await agent.send(f.Alive(running=[], sent_ms=2))
    await settle()
    assert not [frame for frame in agent.inbox if isinstance(frame, f.Ping)], "it is not asked again at once"
    await world.clock.advance(int(ASK_EVERY_S * 1000))
    await agent.send(f.Alive(running=[], sent_ms=3))
    await agent.next(f.Ping)
    await agent.send(f.Pong(at_ms=1))
    await settle()
    assert line(world.hub.vitals, Vital.LATENCY_MS, agent.id) == [42, None], "an answer to nothing that was asked"


async def test_a_device_that_left_the_fleet_has_no_lines(world: World) -> None:
    agent = await world.online("laptop")
    world.hub.fleet.on_revoked.append(lambda device: world.hub.vitals.forget(device.id))
    await agent.send(f.VitalsFrame(load_percent=1))
    await settle()
    assert len(world.hub.vitals) == 1
    async with world.client() as http:
        await http.post(f"/api/v1/devices/{agent.id}/revoke", json={"reason": "lost"})
        assert (await http.get(V)).json()["items"] == []
        assert (await http.get(V, params={"device": "nobody"})).status_code == 404
    assert len(world.hub.vitals) == 0


async def test_what_devices_worked_at_is_counted_by_state(world: World) -> None:
    agent = await world.online("laptop")
    for outcome in ("ok", "error"):
        await world.submit(chain("t.one"))
        dispatch = await agent.next(f.Dispatch)
        await agent.done(dispatch, outcome=outcome)
    await settle()
    async with world.client() as http:
        told = (await http.get("/api/v1/device-work", params={"since_ms": world.clock.ms})).json()
        assert told["items"] == [
            {"constellations": {"succeeded": 1, "failed": 1}, "device": agent.id, "failed_here": 1}
        ]
        later = (await http.get("/api/v1/device-work", params={"since_ms": world.clock.ms + 1})).json()
    assert later["items"] == [{"constellations": {}, "device": agent.id, "failed_here": 0}]


async def test_a_failure_counts_for_the_device_of_its_last_attempt(world: World) -> None:
    sound, broken = await world.join("sound"), await world.join("broken")
    for agent in (sound, broken):
        await agent.connect(world)
    tasks = [{"id": agent.name, "tool": "t.one", "device": {"name": agent.name}} for agent in (sound, broken)]
    tasks.append({"id": "after", "tool": "t.one", "device": {"name": "sound"}})
    order = [{"from": "broken", "to": "after"}]
    made = await world.submit({"starloom": 1, "name": "both", "tasks": tasks, "dependencies": order})
    await sound.done(await sound.next(f.Dispatch))
    await broken.done(await broken.next(f.Dispatch), outcome="error")
    await settle()
    async with world.client() as http:
        assert (await http.get(f"/api/v1/constellations/{made['id']}")).json()["state"] == "failed"
        told = (await http.get("/api/v1/device-work", params={"since_ms": 0})).json()["items"]
    found = {item["device"]: (item["constellations"], item["failed_here"]) for item in told}
    assert found == {sound.id: ({"failed": 1}, 0), broken.id: ({"failed": 1}, 1)}


def test_a_time_at_which_nothing_was_heard_stays_empty() -> None:
    clock = Hours()
    lines = VitalLines(clock)
    for load in (10, 20):
        lines.take("d", f.VitalsFrame(load_percent=load))
        clock.ms += STEP_MS
    clock.ms += 2 * STEP_MS
    lines.take("d", f.VitalsFrame(load_percent=30))
    assert line(lines, Vital.LOAD_PERCENT) == [10, 20, None, None, 30]
    clock.ms += STEP_MS
    assert line(lines, Vital.LOAD_PERCENT) == [10, 20, None, None, 30, None]


def test_lines_end_an_hour_ago_and_an_hour_of_silence_leaves_nothing() -> None:
    clock = Hours()
    lines = VitalLines(clock)
    for number in range(SLOTS + 30):
        lines.take("d", f.VitalsFrame(load_percent=number))
        clock.ms += STEP_MS
    clock.ms -= STEP_MS
    assert line(lines, Vital.LOAD_PERCENT) == list(range(30, SLOTS + 30))
    clock.ms += SLOTS * STEP_MS
    assert line(lines, Vital.LOAD_PERCENT) == []
    assert lines.of(["d"]).items[0].heard_ms > 0


def test_a_clock_that_stands_or_goes_back_a_little_breaks_no_line() -> None:
    clock = Hours()
    lines = VitalLines(clock)
    lines.take("d", f.VitalsFrame(load_percent=1))
    clock.ms -= STEP_MS
    lines.take("d", f.VitalsFrame(load_percent=2))
    assert line(lines, Vital.LOAD_PERCENT) == [2, 1]


@pytest.mark.parametrize("value", [-2, -(10**30), 10_001, 10**30])
def test_what_cannot_be_is_left_out_and_counted(value: int) -> None:
    lines = VitalLines(Hours())
    assert lines.take("d", f.VitalsFrame(load_percent=value, memory_percent=50)) == 1
    assert lines.of(["d"]).items[0].lines == {Vital.MEMORY_PERCENT: [50]}


def test_a_flood_of_figures_is_one_point() -> None:
    lines = VitalLines(Hours())
    for number in range(5_000):
        lines.take("d", f.VitalsFrame(load_percent=number))
    assert line(lines, Vital.LOAD_PERCENT) == [4_999]


def test_of_too_many_devices_those_heard_last_are_kept() -> None:
    lines = VitalLines(Hours(), devices_max=3)
    for device in ("a", "b", "c", "a", "d"):
        lines.take(device, f.VitalsFrame(load_percent=1))
    assert len(lines) == 3
    assert [item.device for item in lines.of("abcd").items if item.lines] == ["a", "c", "d"]


def test_a_device_with_every_line_full_takes_less_than_2_kb() -> None:
    clock, devices = Hours(), 500
    lines = VitalLines(clock)
    full = f.VitalsFrame(load_percent=10_000, memory_percent=100, disk_percent=100, battery_percent=100)
    tracemalloc.start()
    try:
        for _ in range(SLOTS):
            for device in range(devices):
                lines.take(f"d{device}", full)
                lines.answered(f"d{device}", 70.0)
            clock.ms += STEP_MS
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(lines) == devices
    assert taken / devices < KEPT_BYTES_MAX
    assert DEVICES_MAX * KEPT_BYTES_MAX <= 20_000_000


def test_one_answer_holds_a_hundred_devices_and_says_how_many_more_there_are() -> None:
    told = VitalLines(Hours()).of(f"d{number}" for number in range(ASKED_MAX + 7))
    assert (len(told.items), told.left_out) == (ASKED_MAX, 7)


def test_every_line_fits_its_points() -> None:
    assert set(MOST) == set(Vital)
    assert max(MOST.values()) < 0xFFFF
