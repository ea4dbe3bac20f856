"""Expected times as text: `about 40 s (25-70)`, a plan on two fleets beside each other, the rest of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starloom_protocol.text.wording import seconds

if TYPE_CHECKING:
    from starloom_protocol.api.previews import Estimate, RunCourse, RunWhatIf, WhatIf

MOVED_MOST = 10
"""Tasks that a change moves to another device, of which each has a line."""


_SHORT_MS = 100
"""An expected time below it has no range: both ends would be *0.0*."""


def about(estimate: Estimate) -> str:
    """Return an estimate in words; the range is that of four of five runs."""
    expected, low, high = estimate["expected_ms"], estimate["low_ms"], estimate["high_ms"]
    if high < _SHORT_MS:
        return "under 0.1 s"
    if high < 60_000:
        return f"about {_whole(expected)} s ({_whole(low)}-{_whole(high)})"
    return f"about {seconds(expected)} ({seconds(low)} to {seconds(high)})"


def what_if_lines(found: WhatIf) -> Iterator[str]:
    """Yield the lines of a plan on the fleet of now and on a changed one."""
    within_ms = found["within_ms"]
    for title, course in (("Now", found["now"]), (found["change"], found["then"])):
        if course is not None:
            chance = course["chance"]
            in_time = f"; within {seconds(within_ms)} with {chance:.0%}" if within_ms and chance is not None else ""
            yield f"{title}: {about(course)}{in_time}"
    yield found["said"]


def run_lines(found: RunWhatIf, devices: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the rest of a run, now and after a change, and the tasks that another device would take."""
    now, then = found["now"], found["then"]
    for title, course in (("Now", now), (found["change"], then)):
        if course is not None:
            yield f"{title}: {_rest(found, course)}"
    yield found["said"]
    if chance := found.get("budget"):
        yield chance["said"]
    if now is None or then is None:
        return
    before = {task["task"]: task["device"] for task in now["tasks"]}
    moved = [task for task in then["tasks"] if before.get(task["task"], task["device"]) != task["device"]]
    for task in moved[:MOVED_MOST]:
        there, here = devices.get(before[task["task"]], "?"), devices.get(task["device"], "the copy")
        yield f"  {task['task']}: on {here} instead of {there}"
    if len(moved) > MOVED_MOST:
        yield f"  and {len(moved) - MOVED_MOST} more tasks on other devices"


def bound_lines(found: RunWhatIf, *, deadline: bool) -> Iterator[str]:
    """Yield the lines on the deadline, if it has one, and on the budget of the model of a running constellation."""
    course = found["now"]
    if deadline:
        yield f"deadline: {_rest(found, course)}" if course is not None else f"deadline: {found['said']}"
    if chance := found.get("budget"):
        yield f"budget: {chance['said']}"


def _rest(found: RunWhatIf, course: RunCourse) -> str:
    at_ms = found["at_ms"]
    lacking = ", not counting some tasks" if course.get("left_out") else ""
    text = f"ends in about {seconds(max(0, course['end_ms'] - at_ms))}{lacking}"
    if course["low_ms"] is not None and course["high_ms"] is not None:
        text += f" ({seconds(max(0, course['low_ms'] - at_ms))} to {seconds(max(0, course['high_ms'] - at_ms))})"
    if found["by_ms"] is not None and course["chance"] is not None:
        left_ms = found["by_ms"] - at_ms
        text += f"; {f'within {seconds(left_ms)}' if left_ms > 0 else 'in time'} with {course['chance']:.0%}"
    return text


def _whole(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.0f}" if milliseconds >= 1_000 else f"{milliseconds / 1000:.1f}"
