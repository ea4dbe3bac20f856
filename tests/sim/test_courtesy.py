"""Schedules in which owners sit down and leave while all else breaks: nothing is lost, and what runs goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import decode_event
from tests.sim.schedule import play
from tests.sim.script import Fault, draw

pytestmark = pytest.mark.sim
SEEDS = range(700, 708)
TIMES = 6


@pytest.mark.test
def test_no_schedule_with_owners_who_come_and_go_violates_a_promise() -> None:
    said = 0
    for seed in SEEDS:
        script = draw(seed)
        devices = sorted(script.devices)
        last_s = max(fault.at_s for fault in script.faults)
        owners = [
            Fault(last_s * at / TIMES, "courtesy", f"d-{devices[(seed + at) % len(devices)]}", seed * 100 + at)
            for at in range(TIMES)
        ]
        faults = sorted([*script.faults, *owners], key=lambda fault: fault.at_s)
        outcome = play(replace(script, faults=type(script.faults)(faults)))
        assert not outcome.violations, (seed, outcome.violations)
        kinds = [decode_event(raw).kind for raws in outcome.streams.values() for raw in raws]
        said += kinds.count(EventKind.DEVICE_CONDITION)
    assert said >= TIMES
