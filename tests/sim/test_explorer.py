"""Every order of a small world with one fault of each kind, some with two; and that a bug would be found by it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from starloom.core.fleet import devices
from starloom_agent.work import core as agent_core
from tests.sim.explorer import beginning, explore

pytestmark = pytest.mark.sim
STATES = int(os.environ.get("STARLOOM_EXPLORER_STATES", "6000"))


def test_without_a_fault_every_order_ends() -> None:
    found = explore(beginning(0))
    assert found.complete
    assert found.violations == ()
    assert found.states > 100


def test_every_order_with_one_fault() -> None:
    found = explore(beginning(1))
    assert (found.violations, found.way) == ((), ())
    assert found.complete
    assert found.states > 3_000


def test_orders_with_two_faults_as_far_as_there_is_time() -> None:
    found = explore(beginning(2), states_most=STATES)
    assert (found.violations, found.way) == ((), ())
    assert found.states >= STATES


def test_an_agent_without_fences_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfenced(state: agent_core.AgentState, dispatch: Any) -> list[agent_core.Action]:
        if dispatch.at in state.held:
            return []
        state.held[dispatch.at] = agent_core.Held(dispatch)
        state.waiting.append(dispatch.at)
        return agent_core._start_waiting(state)

    monkeypatch.setattr(agent_core, "_dispatched", unfenced)
    found = explore(beginning(1), states_most=20_000)
    assert found.violations == ("b may not be repeated and was begun 2 times",)
    assert {what.partition(" ")[0] for what, _ in found.way} & {"drop", "duplicate", "crash"}


def test_a_hub_that_does_not_restate_what_is_open_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_resume_entry", lambda *_given, **_more: None)
    found = explore(beginning(1), states_most=20_000)
    assert found.violations
    assert found.way[-1] == ("rest", "")
    assert "drop" in [what for what, _ in found.way]
