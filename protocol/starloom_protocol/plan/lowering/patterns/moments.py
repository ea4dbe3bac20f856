"""`not_before` on a task: a time, read from the result of another task, before which it does not begin.

Owns the form of `not_before` and its limits. The time itself is judged by the core, when the result is there.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Annotated, Any, Final
from zoneinfo import available_timezones

from pydantic import Field

from starloom_protocol.plan.language.found import joined
from starloom_protocol.plan.language.models import SECONDS_MAX, Doc, NodeId, Pointer, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Moment
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

WITHIN_S: Final = 7 * 24 * 3600
"""A moment further away is more often a wrong year than a plan."""
PASTS: Final = ("go", "fail")


class MomentDoc(Doc):
    source: NodeId = Field(alias="from")
    output: Pointer = ""
    zone: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    within_s: Annotated[int, Field(ge=1, le=SECONDS_MAX)] = WITHIN_S
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
    found = parts.found
    doc = found.validate(MomentDoc, raw, place)
    if doc is None:
        return None
    if doc.past not in PASTS:
        found.add(Code.PLAN_INVALID, joined(place, "past"), f"{quoted(doc.past)} is none of {', '.join(PASTS)}")
    if doc.past == "fail" and task.repeat is not None:
        reason = "the time has passed at every turn but the first"
        found.add(Code.PLAN_INVALID, joined(place, "past"), reason, "Remove `past`, or `repeat`.")
    if doc.zone is not None and doc.zone not in _zones():
        reason = f"there is no time zone {quoted(doc.zone)}"
        found.add(Code.PLAN_INVALID, joined(place, "zone"), reason, zone_hint(doc.zone) if found.may_suggest() else "")
    return record(
        Moment, output=doc.output, past=doc.past, source=doc.source, within_s=doc.within_s, zone=doc.zone or ""
    )
