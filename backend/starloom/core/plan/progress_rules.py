"""Rules on progress: a running task whose program reports that nothing good will come of it is stopped.

Owns what a report leaves in the log, and when it ends its task. A report counts only for the open attempt of the
device that it came from. The reports are thinned before they come here, and what is kept of them is bounded, so the
log of an attempt grows with the logarithm of its time. Work that may not be repeated is never cut.
"""

from __future__ import annotations

from typing import Final

from starloom.core.run.attempts import ask_to_stop, open_attempt
from starloom.core.state.inputs import ProgressReported
from starloom.core.state.model import Constellation
from starloom.core.state.work import Work
from starloom_protocol.records.entities import Attempt, ProgressPoint, TaskProgress, TaskSpec
from starloom_protocol.records.specs import StopWhen
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical, holds, parse
from starloom_protocol.vocabulary import REPEATABLE, Reason, TaskState

POINTS_MOST: Final = 32
"""The points of the past that are kept to compare by; when there are so many, every second one goes."""
APART_MS: Final = 500
"""The least time between two reports of one attempt that count."""
VALUE_CHARS_MOST: Final = 256


def on_progress(work: Work, item: ProgressReported) -> None:
    """Keep what a program reports, and stop its task if the plan calls that hopeless."""
    case = open_attempt(work, item.device, item.at)
    if case is None:
        return
    constellation, spec, record = case.constellation, case.spec, case.record
    rule, before = spec.stop_when, case.attempt.progress
    if rule is None or record.state is not TaskState.RUNNING:
        work.ignore("progress that no rule waits for")
        return
    if before is not None and work.at_ms - before.at_ms < APART_MS:
        work.ignore("progress that comes too often")
        return
    if item.lines < 1 or len(item.value) > VALUE_CHARS_MOST or not _sound(item.value):
        work.ignore("progress that is no value")
        return
    lines = item.lines + (before.lines if before is not None else 0)
    points = [*(before.points if before is not None else []), ProgressPoint(lines=lines, value=item.value)]
    if len(points) > POINTS_MOST:
        points = [*points[:-1:2], points[-1]]
    after = case.with_attempt(progress=TaskProgress(at_ms=work.at_ms, lines=lines, points=points))
    because = _why_hopeless(work, constellation, spec, rule, after.attempt)
    note = f"{rule.name} is {item.value} after {lines}"
    work.emit(constellation, EventKind.TASK_PROGRESS, spec.id, [after.put], note=note)
    if because and after.attempt.repeatability in REPEATABLE and record.reason is None:
        ask_to_stop(work, constellation, spec.id, f"stopped as hopeless: {because}", as_=Reason.HOPELESS)


def _sound(text: str) -> bool:
    try:
        value = parse(text)
    except ValueError:
        return False
    return isinstance(value, str) or _is_number(value)


def _why_hopeless(work: Work, constellation: Constellation, spec: TaskSpec, rule: StopWhen, attempt: Attempt) -> str:
    """Return why a task is hopeless, in words; empty while it is not, or not yet judged."""
    progress = attempt.progress
    if progress is None or progress.lines < rule.after_n:
        return ""
    if work.at_ms - attempt.started_ms < rule.after_s * 1000:
        return ""
    value = parse(progress.points[-1].value)
    condition = rule.condition
    if condition is not None:
        bound = parse(condition.value) if condition.value is not None else None
        if holds(condition.op, value, bound):
            bound_words = f" {condition.value}" if condition.value is not None else ""
            return f"{rule.name} is {canonical(value)}, which is {condition.op}{bound_words}"
    if rule.worse_by is None or not _is_number(value):
        return ""
    best = _best(constellation, spec, rule, progress.lines)
    if best is None:
        return ""
    best_value, task = best
    behind = value - best_value if rule.best == "low" else best_value - value
    if behind > parse(rule.worse_by):
        return f"{rule.name} is {canonical(value)}, and {task} had {canonical(best_value)} after as many reports"
    return ""


def _best(constellation: Constellation, spec: TaskSpec, rule: StopWhen, lines: int) -> tuple[float, str] | None:
    """Return the best value that another task of the group had after so many reports at most, and that task."""
    best: tuple[float, str] | None = None
    for task in constellation.children.get(spec.group or "", {}):
        attempt = constellation.last_attempt(task) if task != spec.id else None
        if attempt is None or attempt.progress is None:
            continue
        for point in attempt.progress.points:
            value = parse(point.value)
            if point.lines > lines or not _is_number(value):
                continue
            if best is None or (value < best[0] if rule.best == "low" else value > best[0]):
                best = (value, task)
    return best


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
