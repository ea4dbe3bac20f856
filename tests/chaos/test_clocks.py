"""Hubs and agents whose date is a day off and is set while they run: leases and deadlines go by what truly passes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from starloom_protocol.records.entities import Attempt
from tests.chaos.conftest import Settled
from tests.chaos.skewed import DAY_S, SkewedPair
from tests.chaos.stack import LEASE_S, Accepted, Stack
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.installation import home_for
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

EITHER = {"any": [{"name": "north"}, {"name": "south"}]}
SET_TO = {"forward": 2 * DAY_S, "back": -3 * DAY_S}
DEADLINE_S = round(6 * SLOWER)


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[SkewedPair]:
    """The hubs are a day ahead and `north` a day behind; `south` is right."""
    with home_for(request, "sl-date-") as home:
        made = SkewedPair(home, {"hubs": DAY_S, "north": -DAY_S, "south": 0.0})
        try:
            made.start_pair({"north": "a", "south": "b"})
            yield made
        finally:
            made.end()


@pytest.fixture(autouse=True)
def _dates(stack: SkewedPair) -> Iterator[None]:
    yield
    for name, by_s in (("hubs", DAY_S), ("north", -DAY_S), ("south", 0.0)):
        stack.set_date(name, by_s)


def attempts(request: Accepted, task: str) -> list[Attempt]:
    found = request.view.each("attempt", Attempt)
    return [found[key] for key in sorted(found) if key.startswith(f"{task}/")]


def name_of(stack: Stack, device: str) -> str:
    return next(str(item["name"]) for item in stack.client.get("/devices")["items"] if item["id"] == device)


@pytest.mark.parametrize("way", first_in_test(SET_TO))
def test_a_date_that_is_set_ends_no_lease_and_times_nothing_out(stack: SkewedPair, settled: Settled, way: str) -> None:
    name = f"date-{way}"
    tasks = [stack.place.task(name, device, device=device) for device in ("north", "south")]
    request = stack.submit(plan(name, tasks))
    names = [f"{name}/{device}" for device in ("north", "south")]
    until(lambda: all(stack.place.begun(one) for one in names), "both programs have begun")
    with Submitter(stack, f"{name}-more") as submitter:
        submitter.more(2)
        for machine in ("hubs", "north", "south"):
            stack.set_date(machine, SET_TO[way])
        began = time.monotonic()
        while time.monotonic() - began < 2 * LEASE_S:
            states = {task: str(record.state) for task, record in stack.look(request).tasks.items()}
            assert states == {"north": "running", "south": "running"}
            assert not any(record.absent_since_ms for record in request.view.tasks.values())
            time.sleep(0.1)
        submitter.more(2)
    stack.place.open(*names)
    for one in (request, *submitter.accepted):
        assert stack.until_final(one) == "succeeded"
    for device in ("north", "south"):
        assert [attempt.end for attempt in attempts(request, device)] == ["ok"]
    settled()


@pytest.mark.parametrize("way", first_in_test(SET_TO))
def test_a_silent_device_is_still_absent_after_its_lease(stack: SkewedPair, settled: Settled, way: str) -> None:
    name = f"date-silent-{way}"
    moved = f"{name}/moved"
    request = stack.submit(plan(name, [stack.place.task(name, "moved", repeatability="pure") | {"device": EITHER}]))
    stack.until_task(request, "moved", "running")
    until(lambda: stack.place.begun(moved), "the program has begun")
    first = name_of(stack, attempts(request, "moved")[0].device)
    with stack.agent_frozen(first):
        stack.set_date("hubs", SET_TO[way])
        stack.set_date(first, -SET_TO[way])
        began = time.monotonic()
        until(lambda: len(attempts_seen(stack, request)) == 2, "it was placed again", 12.5 * SLOWER)
        assert time.monotonic() - began > LEASE_S / 2, "the date ended its lease"
        stack.place.open(moved)
        assert stack.until_final(request) == "succeeded"
    stack.until_online(first)
    settled()


def attempts_seen(stack: Stack, request: Accepted) -> list[Attempt]:
    stack.look(request)
    return attempts(request, "moved")


@pytest.mark.parametrize("way", first_in_test(SET_TO))
def test_a_deadline_comes_when_it_is_due(stack: SkewedPair, settled: Settled, way: str) -> None:
    name = f"date-deadline-{way}"
    made = plan(name, [stack.place.task(name, "long", device="south")])
    began = time.monotonic()
    made_id = stack.client.create("/constellations", {"plan": made, "deadline_s": DEADLINE_S})["id"]
    request = stack.remember(str(made_id), name)
    until(lambda: stack.place.begun(f"{name}/long"), "the program has begun")
    stack.set_date("hubs", SET_TO[way])
    # It stops at a safe point: what runs goes on to its end, and nothing begins after it.
    until(lambda: str(stack.look(request).state) == "cancelling", "the deadline has come", DEADLINE_S + 15 * SLOWER)
    assert time.monotonic() - began >= DEADLINE_S
    stack.place.open(f"{name}/long")
    assert stack.until_final(request) == "cancelled"
    settled()


def test_a_takeover_with_a_wrong_date_keeps_what_runs(stack: SkewedPair, settled: Settled) -> None:
    name = "date-takeover"
    request = stack.submit(plan(name, [stack.place.task(name, "strike", device="south")]))
    crowd = stack.submit(echoes(f"{name}-crowd", 100, side_by_side=2))
    until(lambda: stack.place.begun(f"{name}/strike"), "the program has begun")
    owner, standby = stack.owner(), stack.standby()
    stack.set_date("hubs", DAY_S + 60)
    stack.kill(owner)
    stack.until_owner(standby)
    stack.bring_back(owner)
    stack.place.open(f"{name}/strike")
    for one in (request, crowd):
        assert stack.until_final(one, 90 * SLOWER) == "succeeded"
    assert len(stack.place.begun(f"{name}/strike")) == 1
    settled()
