"""`shows` on a question to a person: the part of a result that stands beside its choices.

Owns its form. Its value is read by the core when the question is asked.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import Doc, NodeId, Pointer, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Shows
from starloom_protocol.vocabulary import Code


class ShowsDoc(Doc):
    source: NodeId = Field(alias="from")
    output: Pointer = ""


def shows_of(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> Shows | None:
    """Return the part of a result that a question shows; faults are noted."""
    doc = parts.faults.validate(ShowsDoc, raw, place)
    if doc is None:
        return None
    if doc.source == task.id:
        reason = f"`{task.id}` is the question itself"
        parts.faults.add(Code.PLAN_INVALID, joined(place, "from"), reason, "Name the task whose result is shown.")
    return record(Shows, output=doc.output, source=doc.source)
