"""The report of a run as text: sentences a person understands first, figures behind them."""

from __future__ import annotations

from typing import Any

from starloom.cli.text.report_text import lines
from starloom_protocol.records.run_report import ModelUse, PathStep, Phase, Recoveries, RunReport, Wait
from starloom_protocol.vocabulary import ConstellationState

FULL: dict[str, Any] = {
    "attempts": 14,
    "busy_ms": 40_000,
    "checks_passed": 4,
    "constellation": "c-1",
    "created_at": "2026-11-25T10:00:00.000Z",
    "device_names": {"d-1": "nas"},
    "devices": 3,
    "ended": True,
    "for_person_ms": 9_000,
    "gain": 0.627,
    "hedge_ms": 0,
    "makespan_ms": 41_000,
    "model": ModelUse(calls=3, micros=31_000, time_ms=8_000, tokens=12_400),
    "name": "Scale",
    "one_at_a_time_ms": 110_000,
    "parallelism": 2.9,
    "path": [
        PathStep(device="", ended_ms=9_000, released_ms=0, task="ask", time_ms=0, waits={"person": 9_000}),
        PathStep(
            device="d-1", ended_ms=41_000, released_ms=9_000, task="look.d-1", time_ms=30_000, waits={"queue": 2_000}
        ),
    ],
    "path_ms": 38_000,
    "planning_ms": 0,
    "recoveries": Recoveries(retried=2, moved=1),
    "repeated_ms": 5_000,
    "result_bytes": 3_400_000,
    "seq": 90,
    "starting_ms": 3_000,
    "state": ConstellationState.SUCCEEDED,
    "tasks": 12,
    "ticks": [],
    "versions": 2,
    "waits": [
        Wait(cause=Phase.QUEUE, tasks=8, total_ms=41_000, wall_ms=12_000),
        Wait(cause=Phase.PERSON, tasks=1, total_ms=9_000, wall_ms=9_000),
        Wait(cause=Phase.APPROVAL, tasks=0, total_ms=0, wall_ms=1_000),
    ],
    "width_mean": 2.7,
    "width_most": 5,
    "work_ms": 109_000,
}


def text(**changes: Any) -> str:
    return "\n".join(lines(RunReport(**{**FULL, **changes})))


def test_the_first_lines_say_how_long_it_took_and_why() -> None:
    said = text().splitlines()
    assert said[:3] == [
        "Scale is done: 12 tasks on 3 devices took 41.0 s from the request to the end.",
        "One at a time they would have taken 1 min 50 s: this is 63 % less.",
        "9.0 s were spent waiting for you.",
    ]


def test_each_figure_is_said_with_its_words() -> None:
    said = text()
    for line in (
        "Critical path (2 tasks, 38.0 s on devices):",
        "  ask          9.0 s waiting for an answer of a person",
        "  look on nas  30.0 s on nas, and 2.0 s waiting for a free device",
        "  for a free device: 12.0 s, 8 tasks, 41.0 s added up",
        "  for an approval: 1.0 s, all of it",
        "Recoveries: 2 tried again on the same device, 1 moved to another device.",
        "Model: 3 calls, 12,400 tokens, $0.03, 8.0 s.",
        "14 attempts, 2 versions of the plan, 4 results checked, 3.4 MB of results.",
    ):
        assert line in said.splitlines()


def test_turns_of_goals_are_told_by_tier_where_there_are_several() -> None:
    assert "Turns of goals" not in text()
    used = ModelUse(calls=7, escalations=1, turns={"small": 4, "worker": 2})
    assert "Turns of goals: 4 by small, 2 by worker; 1 escalation." in text(model=used)


def test_a_run_that_goes_on_is_told_so_far_and_a_chain_has_no_gain() -> None:
    said = text(ended=False, state=ConstellationState.ACTIVE, gain=0.0, recoveries=Recoveries(), model=ModelUse())
    assert said.startswith("Scale is active: 12 tasks on 3 devices took 41.0 s so far.\nNo two tasks worked")
    assert "Recoveries: none were needed." in said
    assert "Model" not in said


def test_a_plan_that_asked_no_model_names_none() -> None:
    said = text(model=ModelUse(time_ms=1_800))
    assert "Planned without a model in 1.8 s." in said
    assert "Model:" not in said


def test_calls_of_the_planner_that_other_calls_saved_are_counted() -> None:
    assert "Calls of the planner saved: 2." in text(model=ModelUse(spared=2))
    assert "planner" not in text()
