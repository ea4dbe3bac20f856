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
        return f"about {_seconds_text(expected)} s ({_seconds_text(low)}-{_seconds_text(high)})"
    return f"about {seconds(expected)} ({seconds(low)} to {seconds(high)})"


def what_if_lines(forecast: WhatIf) -> Iterator[str]:
    """Yield the lines of a plan on the fleet of now and on a changed one."""
    within_ms = forecast["within_ms"]
    for title, course in (("Now", forecast["now"]), (forecast["change"], forecast["then"])):
        if course is not None:
            chance = course["chance"]
            in_time = f"; within {seconds(within_ms)} with {chance:.0%}" if within_ms and chance is not None else ""
            yield f"{title}: {about(course)}{in_time}"
    yield forecast["said"]


def run_lines(forecast: RunWhatIf, devices: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the rest of a run, now and after a change, and the tasks that another device would take."""
    present, changed = forecast["now"], forecast["then"]
    for title, course in (("Now", present), (forecast["change"], changed)):
        if course is not None:
            yield f"{title}: {_course_words(forecast, course)}"
    yield forecast["said"]
    if chance := forecast.get("budget"):
        yield chance["said"]
    if present is None or changed is None:
        return
    devices_now = {task["task"]: task["device"] for task in present["tasks"]}
    movers = [task for task in changed["tasks"] if devices_now.get(task["task"], task["device"]) != task["device"]]
    for task in movers[:MOVED_MOST]:
        device_before, device_then = (
            devices.get(devices_now[task["task"]], "?"),
            devices.get(task["device"], "the copy"),
        )
        yield f"  {task['task']}: on {device_then} instead of {device_before}"
    if len(movers) > MOVED_MOST:
        yield f"  and {len(movers) - MOVED_MOST} more tasks on other devices"


def bound_lines(forecast: RunWhatIf, *, deadline: bool) -> Iterator[str]:
    """Yield the lines on the deadline, if it has one, and on the budget of the model of a running constellation."""
    course = forecast["now"]
    if deadline:
        yield f"deadline: {_course_words(forecast, course)}" if course is not None else f"deadline: {forecast['said']}"
    if chance := forecast.get("budget"):
        yield f"budget: {chance['said']}"


def _course_words(forecast: RunWhatIf, course: RunCourse) -> str:
    at_ms = forecast["at_ms"]
    lacking = ", not counting some tasks" if course.get("left_out") else ""
    text = f"ends in about {seconds(max(0, course['end_ms'] - at_ms))}{lacking}"
    if course["low_ms"] is not None and course["high_ms"] is not None:
        text += f" ({seconds(max(0, course['low_ms'] - at_ms))} to {seconds(max(0, course['high_ms'] - at_ms))})"
    if forecast["by_ms"] is not None and course["chance"] is not None:
        left_ms = forecast["by_ms"] - at_ms
        text += f"; {f'within {seconds(left_ms)}' if left_ms > 0 else 'in time'} with {course['chance']:.0%}"
    return text


def _seconds_text(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.0f}" if milliseconds >= 1_000 else f"{milliseconds / 1000:.1f}"
