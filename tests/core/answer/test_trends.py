"""The trend of a recipe: slower or faster than its own spread, failing, or as before."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.trends import sentence
from starloom_protocol.records.run_report import Phase, TrendRun
from starloom_protocol.vocabulary import ConstellationState as State


def run(makespan_ms: int = 5_000, **more: Any) -> TrendRun:
    usual: dict[str, Any] = {
        "attempts": 2, "checks_passed": 0, "constellation": "c", "created_at": "", "makespan_ms": makespan_ms,
        "mended": 0, "micros": 0, "state": State.SUCCEEDED, "tasks": 2, "wait": None, "wait_ms": 0,
        "width_mean": 1.0, "work_ms": 4_000,
    }  # fmt: skip
    return TrendRun(**{**usual, **more})


BEFORE = [run(4_900), run(5_100), run(5_000), run(5_300)]
SPREAD = "5.0 s is usual, 4.9 s to 5.3 s were seen"


FAILED, CANCELLED, PARTIAL = (run(state=state) for state in (State.FAILED, State.CANCELLED, State.PARTIAL))


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "It has not run yet."),
        ([run()], "1 run so far, which is too few to compare. The last took 5.0 s."),
        ([FAILED], "Its only run did not succeed."),
        ([FAILED, CANCELLED], "None of its 2 runs succeeded."),
        ([PARTIAL, run()], "The last run did not succeed; the one before did."),
        ([FAILED, FAILED, *BEFORE], "The last 2 runs did not succeed; the last before did."),
        ([run(5_400), *BEFORE], f"The last run took about as long as those before: 5.4 s, where {SPREAD}."),
        ([run(3_000), *BEFORE], f"The last run took less time than those before: 3.0 s, where {SPREAD}."),
        ([run(9_000), *BEFORE], f"The last run took longer than those before: 9.0 s, where {SPREAD}."),
    ],
)
def test_the_sentence_says_what_has_changed(runs: list[TrendRun], said: str) -> None:
    assert sentence(runs) == said


def test_a_longer_run_names_the_wait_or_the_work_that_grew() -> None:
    waited = run(9_000, wait=Phase.QUEUE, wait_ms=4_000)
    assert sentence([waited, *BEFORE]).endswith(" It waited 4.0 s for a free device, 4.0 s more than usual.")
    worked = run(9_000, work_ms=8_000)
    assert sentence([worked, *BEFORE]).endswith(" Its tasks worked 8.0 s on devices, 4.0 s more than usual.")


def test_runs_that_failed_before_are_no_measure() -> None:
    assert "took longer" in sentence([run(9_000), run(60_000, state=State.FAILED), *BEFORE])


def test_a_small_difference_of_short_runs_is_none() -> None:
    assert "about as long" in sentence([run(250), run(100), run(100), run(100)])


def test_long_times_are_in_minutes() -> None:
    assert "10 min 1 s" in sentence([run(601_000), *BEFORE])
    assert "1 min 40 s" in sentence([run(99_600), *BEFORE])
