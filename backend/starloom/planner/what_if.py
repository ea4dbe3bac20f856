"""What if: the forecast of a plan on the fleet of now beside that on a changed one. Starts and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starloom.planner.fleet import FleetView
from starloom.planner.forecast import STEPS_MOST, Change, Forecast, forecast, plays_for, unknown_tools
from starloom_protocol.api.previews import Course, Estimate, WhatIf
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.fleet import Pace

TOOLS_NAMED_MOST = 4
NOT_PLAYED = (
    "The course of this plan depends on a result or on a person, or a device cannot take all of its tasks, "
    "so there is no estimate."
)


def what_if(plan: LoweredPlan, fleet: FleetView, change: Change, *, words: str, within_ms: int | None = None) -> WhatIf:
    """Return both forecasts; `words` name the change."""
    plays = plays_for(len(plan.specs), STEPS_MOST)
    now = forecast(plan, fleet, plays=plays)
    then = forecast(plan, fleet, plays=plays, change=change) if now is not None else None
    return {
        "name": plan.name,
        "plan_hash": plan.hash,
        "change": words,
        "within_ms": within_ms,
        "now": _course(now, within_ms),
        "then": _course(then, within_ms),
        "said": _said(plan, fleet.paces, now, then, words, long=plays == 0),
    }


def estimate_of(found: Forecast) -> Estimate:
    """Return a forecast as an answer shows it."""
    return {"expected_ms": found.expected_ms, "low_ms": found.low_ms, "high_ms": found.high_ms}


def _course(found: Forecast | None, within_ms: int | None) -> Course | None:
    if found is None:
        return None
    chance = round(found.chance(within_ms), 3) if within_ms is not None else None
    return {**estimate_of(found), "chance": chance, "plays": len(found.plays_ms)}


def _said(
    plan: LoweredPlan,
    paces: Mapping[str, Pace],
    now: Forecast | None,
    then: Forecast | None,
    words: str,
    *,
    long: bool,
) -> str:
    if long:
        return f"The plan has {len(plan.specs):,} tasks, more than can be played, so there is no estimate."
    if now is None:
        lacking = unknown_tools(plan, paces)
        return f"{_listed(lacking)} ran too seldom for an estimate: three calls are enough." if lacking else NOT_PLAYED
    if then is None:
        return f"{words}, the plan cannot end: no other device can take all of its tasks."
    part = then.expected_ms / now.expected_ms
    if 0.95 < part < 1.05:
        return f"{words}, the plan takes about as long."
    return f"{words}, the plan takes about {abs(1 - part):.0%} {'longer' if part > 1 else 'less time'}."


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:TOOLS_NAMED_MOST])
    if len(names) > TOOLS_NAMED_MOST:
        return f"{', '.join(shown)} and {len(names) - TOOLS_NAMED_MOST} more tools"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
