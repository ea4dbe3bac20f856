"""`not_before` on a task: a time, written or read from the result of another task, before which it does not begin.

Owns the form of `not_before` and its limits. The core judges how far ahead the time is, when the task could begin.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Annotated, Any, Final
from zoneinfo import available_timezones

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import SECONDS_MAX, Doc, NodeId, Pointer, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Moment
from starloom_protocol.text.times import CHARS_MOST, time_ms
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

WITHIN_S: Final = 7 * 24 * 3600
"""A moment further away is more often a wrong year than a plan."""
PASTS: Final = ("go", "fail")
_AT_HINT: Final = "For example {at: 2026-11-26 12:30, zone: Europe/Vienna}."


class MomentDoc(Doc):
    at: Annotated[str, Field(min_length=1, max_length=CHARS_MOST)] | None = None
    source: NodeId | None = Field(default=None, alias="from")
    output: Pointer = ""
    zone: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    within_s: Annotated[int, Field(ge=1, le=SECONDS_MAX)] | None = None
    past: Annotated[str, Field(max_length=16)] = "go"


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_hint(name: str) -> str:
    """Return the way out of a zone that does not exist: the place that was meant, else the form of a name.

    An abbreviation such as CEST is near to another one and means other hours, so that only places are suggested.
    """
    places = sorted(zone for zone in _zones() if "/" in zone and not zone.startswith("Etc/"))
    city = name.casefold().replace(" ", "_")
    close = [zone for zone in places if zone.casefold().rpartition("/")[2] == city]
    close = close or difflib.get_close_matches(name, places, n=1)
    return f"Did you mean {close[0]}?" if close else "Use a name such as Europe/Vienna, America/New_York or UTC."


def moment_of(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> Moment | None:
    """Return the moment of a task with `not_before`; faults are noted."""
    faults = parts.faults
    doc = faults.validate(MomentDoc, raw, place)
    if doc is None:
        return None
    if doc.past not in PASTS:
        faults.add(Code.PLAN_INVALID, joined(place, "past"), f"{quoted(doc.past)} is none of {', '.join(PASTS)}")
    if doc.past == "fail" and task.repeat is not None:
        reason = "the time has passed at every turn but the first"
        faults.add(Code.PLAN_INVALID, joined(place, "past"), reason, "Remove `past`, or `repeat`.")
    if doc.zone is not None and doc.zone not in _zones():
        reason = f"there is no time zone {quoted(doc.zone)}"
        faults.add(
            Code.PLAN_INVALID, joined(place, "zone"), reason, zone_hint(doc.zone) if faults.may_suggest() else ""
        )
    elif doc.at is not None:
        try:
            time_ms(doc.at, doc.zone or "")
        except ValueError as error:
            faults.add(Code.PLAN_INVALID, joined(place, "at"), f"`at` is {error}", _AT_HINT)
    if (doc.at is None) == (doc.source is None) or (doc.at is not None and doc.output):
        reason = "a time is written as `at`, or read `from` the `output` of a task"
        faults.add(Code.PLAN_INVALID, place, reason, f"Write one of them. {_AT_HINT}")
    # A person who writes a date means it; one that is read may be a wrong year.
    usual_s = WITHIN_S if doc.at is None else SECONDS_MAX
    return record(
        Moment,
        at=doc.at or "",
        output=doc.output,
        past=doc.past,
        source=doc.source or "",
        within_s=doc.within_s or usual_s,
        zone=doc.zone or "",
    )
