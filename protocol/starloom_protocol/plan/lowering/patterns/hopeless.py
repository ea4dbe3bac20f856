"""`stop_when` on a task: what its program reports while it runs ends it, because nothing good will come of it.

Owns the form of `stop_when` and its limits. The reports are read by the hub from the program's output; the core judges
them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import SECONDS_MAX, Doc, OpWord, Pointer, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import StopWhen
from starloom_protocol.values import canonical, step_name
from starloom_protocol.vocabulary import REPEATABLE, Code

LINES_MAX: Final = 1_000_000
NAME_CHARS_MAX: Final = 64
SIDES: Final = ("low", "high")
_NOT_BESIDE: Final = ("vote", "repeat", "plan", "person", "goal")


class AfterDoc(Doc):
    n: Annotated[int, Field(ge=1, le=LINES_MAX)] | None = None
    s: Annotated[int, Field(ge=1, le=SECONDS_MAX)] | None = None


class StopWhenDoc(Doc):
    progress: Pointer
    op: OpWord | None = None
    value: Any = None
    worse_than_best_by: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    best: Annotated[str, Field(max_length=8)] = "low"
    after: AfterDoc | None = None


def stop_when_of(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> StopWhen | None:
    """Return the rule that ends a hopeless task; faults are noted."""
    faults = parts.faults
    doc = faults.validate(StopWhenDoc, raw, place)
    if doc is None:
        return None
    _beside(parts, task, doc, place)
    name = step_name(doc.progress.removeprefix("/"))
    if not name or "/" in doc.progress[1:] or len(name) > NAME_CHARS_MAX:
        reason = f"`progress` points at one field of a line, with a name of at most {NAME_CHARS_MAX} characters"
        faults.add(Code.PLAN_INVALID, joined(place, "progress"), reason, "Write it as `/loss`.")
    if doc.best not in SIDES:
        faults.add(Code.PLAN_INVALID, joined(place, "best"), f"`best` is {' or '.join(SIDES)}")
    condition = None
    if doc.op is not None:
        has_value = "value" in doc.model_fields_set
        condition = parts.condition(doc.progress, doc.op, doc.value, place, has_value=has_value)
    elif doc.worse_than_best_by is None:
        hint = "Write `op` and `value`, or `worse_than_best_by` in a group."
        faults.add(Code.PLAN_INVALID, place, "`stop_when` does not say what is hopeless", hint)
    after = doc.after or AfterDoc()
    return record(
        StopWhen,
        after_n=after.n or 0,
        after_s=after.s or 0,
        best=doc.best,
        condition=condition,
        name=name,
        worse_by=None if doc.worse_than_best_by is None else canonical(doc.worse_than_best_by),
    )


def _beside(parts: Parts, task: TaskDoc, doc: StopWhenDoc, place: str) -> None:
    faults = parts.faults
    for name in _NOT_BESIDE:
        if getattr(task, name) is not None:
            reason = f"`stop_when` does not go with `{name}`"
            faults.add(Code.PLAN_INVALID, place, reason, "Give it to a task that calls a tool, alone or in a list.")
    if doc.worse_than_best_by is not None and task.for_each is None:
        reason = "`worse_than_best_by` compares the tasks of one list, and this task is alone"
        hint = "Add `for_each`, or write `op` and `value`."
        faults.add(Code.PLAN_INVALID, joined(place, "worse_than_best_by"), reason, hint)
    repeatability = task.repeatability or (parts.known.tools or {}).get(task.tool or "")
    if repeatability is not None and repeatability not in REPEATABLE:
        reason = f"`{task.id}` is {repeatability}, and work that may not be repeated is never cut"
        hint = "Say `repeatability: idempotent` if it may be stopped and done again."
        faults.add(Code.NOT_REPEATABLE, place, reason, hint)
