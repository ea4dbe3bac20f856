"""A failing schedule becomes small and still breaks the same promise; its story says what happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from starloom_agent.work import core as agent_core
from tests.sim.client import without
from tests.sim.schedule import Outcome, play
from tests.sim.script import FAULTS, Script, draw
from tests.sim.shrink import Shrinking, fewer, kind_of, plan_of
from tests.sim.story import story

pytestmark = pytest.mark.sim


def test_what_does_not_matter_is_left_out() -> None:
    assert fewer(range(100), lambda parts: 7 in parts and 61 in parts) == [7, 61]
    assert fewer(range(9), lambda _parts: True) == []
    assert fewer(range(5), lambda parts: len(parts) == 5) == [0, 1, 2, 3, 4]


def test_only_the_parts_of_a_failure_are_left() -> None:
    script = draw(5)
    fault, act = script.faults[3], script.acts[-1]
    task = plan_of(script.acts[0], script).specs[0].id

    def pretend(tried: Script) -> Outcome:
        first = next((one for one in tried.acts if one.at_s == 0.0 and one.person == script.acts[0].person), None)
        broken = fault in tried.faults and act in tried.acts and first is not None and task not in first.without
        words = [f"lost: edit {len(tried.faults)} of c-1"] if broken else ["late: something else"]
        return Outcome(tried.seed, len(tried.faults), words, 1, 1.0)

    shrinking = Shrinking(60.0, pretend)
    small, outcome = shrinking.shrink(script, pretend(script))
    assert small.faults == (fault,)
    assert [(one.person, one.number) for one in small.acts] == [
        (script.acts[0].person, script.acts[0].number),
        (act.person, act.number),
    ]
    assert kind_of(outcome.violations[0]) == "lost: edit of"
    assert shrinking.tries > 5


def test_a_real_failure_is_made_small_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_core, "_note_fence", lambda _state, _task, _fence: None)
    script, outcome = next((script, outcome) for script in map(draw, range(60)) if (outcome := play(script)).violations)
    small, last = Shrinking(8.0).shrink(script, outcome)
    assert last.violations
    assert len(small.faults) < len(script.faults)
    assert play(small).violations == last.violations
    lines = list(story(small, last))
    assert any("What it broke" in line for line in lines)
    assert any(" submit " in line for line in lines)


def test_a_plan_without_some_of_its_tasks_is_still_a_plan() -> None:
    for seed in range(15):
        script = draw(seed)
        act = script.acts[0]
        names = [spec.id for spec in plan_of(act, script).specs]
        small = replace(script, acts=(replace(act, without=tuple(names[1:])),), faults=())
        assert [spec.id for spec in without(plan_of(act, small), small.acts[0].without).specs] == names[:1]
        assert play(small).violations == []


def test_every_kind_of_fault_comes() -> None:
    scripts = [draw(seed) for seed in range(60)]
    assert {fault.kind for script in scripts for fault in script.faults} == set(FAULTS)
    assert sum(len(script.faults) for script in scripts) / len(scripts) >= 30
