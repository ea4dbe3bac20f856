"""The trend of a recipe or a schedule: one sentence on what has changed over its last runs.

Pure over the figures of their reports.

The last run is compared with the runs before it that succeeded. It is slower or faster where it lies beyond three times
their median distance from the median, and by a tenth at least: with so few runs a mean would follow one outlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from statistics import median
from typing import Final

from starloom_protocol.records.run_report import WAITS, Phase, RunReport, TrendRun
from starloom_protocol.text.wording import counted, seconds
from starloom_protocol.vocabulary import ConstellationState

COMPARED_LEAST: Final = 3
"""Runs that succeeded before the last one; fewer have no spread of their own."""
DISTANCES: Final = 3
"""The median distances from the median within which a run counts as usual."""
LEAST_PART: Final = 0.1
"""The part of the median within which it does so, too."""
LEAST_MS: Final = 200
"""A smaller difference is that of the clock and of a busy computer."""
_GOOD: Final = ConstellationState.SUCCEEDED


def trend_run(report: RunReport) -> TrendRun:
    """Return the line of a run."""
    longest = max(report.waits, key=lambda wait: wait.wall_ms, default=None)
    recoveries = report.recoveries
    return TrendRun(
        attempts=report.attempts,
        checks_passed=report.checks_passed,
        constellation=report.constellation,
        created_at=report.created_at,
        makespan_ms=report.makespan_ms,
        mended=recoveries.retried + recoveries.moved + recoveries.hedged + recoveries.rerouted,
        micros=report.model.micros,
        state=report.state,
        tasks=report.tasks,
        wait=longest.cause if longest is not None else None,
        wait_ms=longest.wall_ms if longest is not None else 0,
        width_mean=report.width_mean,
        work_ms=report.work_ms,
    )


def sentence(runs: Sequence[TrendRun]) -> str:
    """Return what has changed; `runs` are the newest first."""
    if not runs:
        return "It has not run yet."
    last, earlier = runs[0], runs[1:]
    bad = len(list(takewhile(lambda run: run.state is not _GOOD, runs)))
    if bad:
        return _failing(bad, len(runs))
    good = [run for run in earlier if run.state is _GOOD]
    if len(good) < COMPARED_LEAST:
        so_far = f"{counted(len(runs), 'run')} so far, which is too few to compare."
        return f"{so_far} The last took {seconds(last.makespan_ms)}."
    times = [run.makespan_ms for run in good]
    usual = median(times)
    distance = median(abs(time - usual) for time in times)
    spread = f"{seconds(round(usual))} is usual, {seconds(min(times))} to {seconds(max(times))} were seen"
    if abs(last.makespan_ms - usual) <= max(DISTANCES * distance, LEAST_PART * usual, LEAST_MS):
        return f"The last run took about as long as those before: {seconds(last.makespan_ms)}, where {spread}."
    how = "longer" if last.makespan_ms > usual else "less time"
    why = _why(last, good) if last.makespan_ms > usual else ""
    return f"The last run took {how} than those before: {seconds(last.makespan_ms)}, where {spread}.{why}"


def _failing(bad: int, runs: int) -> str:
    if bad == runs:
        return f"None of its {counted(runs, 'run')} succeeded." if runs > 1 else "Its only run did not succeed."
    which = "The last run" if bad == 1 else f"The last {bad} runs"
    before = "the one" if runs - bad == 1 else "the last"
    return f"{which} did not succeed; {before} before did."


def _why(last: TrendRun, good: Sequence[TrendRun]) -> str:
    """Return the part that grew most: waiting for a cause, or the work of the devices; empty if neither explains it."""
    more_ms = last.makespan_ms - median(run.makespan_ms for run in good)
    waited = median(run.wait_ms if run.wait is last.wait else 0 for run in good)
    worked = median(run.work_ms for run in good)
    grew = last.wait_ms - waited
    if last.wait in WAITS and grew * 2 > more_ms:
        return f" It waited {seconds(last.wait_ms)} {WAITS[Phase(last.wait)]}, {seconds(round(grew))} more than usual."
    if (last.work_ms - worked) * 2 > more_ms:
        more = seconds(round(last.work_ms - worked))
        return f" Its tasks worked {seconds(last.work_ms)} on devices, {more} more than usual."
    return ""
