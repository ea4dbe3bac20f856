"""The report of a run as lines for a terminal. Renders; makes no figure.

The first lines are sentences that answer how long it took and why; the figures behind them follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from starloom.cli.text.task_names import task_name
from starloom_protocol.records.run_report import (
    WAITS,
    PathStep,
    Phase,
    RecipeTrend,
    RunReport,
    ScheduleTrend,
    TrendRun,
    Wait,
)
from starloom_protocol.text.wording import counted, seconds, size_words
from starloom_protocol.vocabulary import ConstellationState

PATH_MOST = 20
_ENDED = {
    ConstellationState.SUCCEEDED: "is done",
    ConstellationState.PARTIAL: "is done in part",
    ConstellationState.FAILED: "failed",
    ConstellationState.CANCELLED: "was cancelled",
}
_RUNGS = {
    "retried": "tried again on the same device",
    "moved": "moved to another device",
    "hedged": "finished first by a second attempt",
    "rerouted": "gone round by another call",
    "verified": "settled by a look at what had happened",
    "edited": "mended by a change of the plan",
    "person": "settled by a person",
}


def lines(report: RunReport) -> Iterator[str]:
    """Yield the lines of a report."""
    yield from _sentences(report)
    if report.path:
        yield ""
        yield f"Critical path ({counted(len(report.path), 'task')}, {seconds(report.path_ms)} on devices):"
        steps = report.path[:PATH_MOST]
        widest = max(len(task_name(step.task, report.device_names)) for step in steps)
        for step in steps:
            yield f"  {task_name(step.task, report.device_names):<{widest}}  {_step(step, report)}"
        if len(report.path) > PATH_MOST:
            yield f"  and {len(report.path) - PATH_MOST} more"
    if report.waits:
        yield ""
        yield "Waiting:"
        for wait in report.waits:
            yield f"  {_wait(wait)}"
    yield ""
    yield from _figures(report)


def trend_lines(trend: RecipeTrend | ScheduleTrend) -> Iterator[str]:
    """Yield the lines of the last runs of a recipe or a schedule: the sentence, then a line each, the newest first."""
    yield trend.sentence
    if not trend.runs:
        return
    yield ""
    for run in trend.runs:
        yield f"  {_when(run.created_at)}  {seconds(run.makespan_ms):>9}  {_trend_figures(run)}  {run.constellation}"
    if trend.more:
        yield "  and earlier ones"


def _when(created_at: str) -> str:
    return datetime.fromisoformat(created_at).astimezone().strftime("%d %b %H:%M") if created_at else ""


def _trend_figures(run: TrendRun) -> str:
    parts = [run.state.value, counted(run.tasks, "task"), f"work {seconds(run.work_ms)}"]
    if run.wait is not None and run.wait in WAITS and run.wait_ms:
        parts.append(f"waited {seconds(run.wait_ms)} {WAITS[run.wait]}")
    parts += [f"mended {run.mended}"] if run.mended else []
    parts += [f"{run.micros / 1_000_000:.4f} dollars"] if run.micros else []
    return ", ".join(parts)


def _sentences(report: RunReport) -> Iterator[str]:
    so_far = " from the request to the end" if report.ended else " so far"
    how = _ENDED.get(report.state, f"is {report.state.value.replace('_', ' ')}")
    name = report.name or report.constellation
    where = f" on {counted(report.devices, 'device')}" if report.devices else ""
    yield f"{name} {how}: {counted(report.tasks, 'task')}{where} took {seconds(report.makespan_ms)}{so_far}."
    if report.gain > 0:
        saved = f"{round(report.gain * 100)} % less"
        yield f"One at a time they would have taken {seconds(report.one_at_a_time_ms)}: this is {saved}."
    elif report.tasks > 1:
        yield "No two tasks worked at the same time, so one at a time they would have taken as long."
    if report.for_person_ms:
        yield f"{seconds(report.for_person_ms)} were spent waiting for you."
    if report.planning_ms:
        yield f"{seconds(report.planning_ms)} passed before there was a plan."


def _step(step: PathStep, report: RunReport) -> str:
    waits = [f"{seconds(spent)} waiting {WAITS[Phase(cause)]}" for cause, spent in step.waits.items()]
    if not step.device:
        return ", ".join(waits) or "nothing to do"
    device = report.device_names.get(step.device, step.device)
    return f"{seconds(step.time_ms)} on {device}" + (f", and {' and '.join(waits)}" if waits else "")


def _wait(wait: Wait) -> str:
    if not wait.tasks:
        return f"{WAITS[wait.cause]}: {seconds(wait.wall_ms)}, all of it"
    total = f", {seconds(wait.total_ms)} added up" if wait.total_ms > wait.wall_ms else ""
    return f"{WAITS[wait.cause]}: {seconds(wait.wall_ms)}, {counted(wait.tasks, 'task')}{total}"


def _figures(report: RunReport) -> Iterator[str]:
    yield (
        f"Work: {seconds(report.work_ms)} on devices, {seconds(report.starting_ms)} of it to begin; "
        f"{seconds(report.repeated_ms)} in attempts without a result."
    )
    yield (
        f"Side by side: at most {report.width_most}, {report.width_mean:g} on average while any worked; "
        f"work / longest chain {report.parallelism:g}."
    )
    rungs = [f"{count} {words}" for name, words in _RUNGS.items() if (count := getattr(report.recoveries, name))]
    yield f"Recoveries: {', '.join(rungs) or 'none were needed'}."
    if report.model.spared:
        yield f"Calls of the planner saved: {report.model.spared}."
    model = report.model
    if model.calls:
        yield (
            f"Model: {counted(model.calls, 'call')}, {counted(model.tokens, 'token')}, "
            f"${model.micros / 1_000_000:.2f}, {seconds(model.time_ms)}."
        )
    elif model.time_ms:
        yield f"Planned without a model in {seconds(model.time_ms)}."
    if report.model.turns:
        turns = ", ".join(f"{count:,} by {tier}" for tier, count in report.model.turns.items())
        yield f"Turns of goals: {turns}; {counted(report.model.escalations, 'escalation')}."
    yield (
        f"{counted(report.attempts, 'attempt')}, {counted(report.versions, 'version')} of the plan, "
        f"{counted(report.checks_passed, 'result')} checked, {size_words(report.result_bytes)} of results."
    )
