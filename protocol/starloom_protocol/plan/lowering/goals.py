"""Goals: a task with `goal` becomes a group that grows by its steps; its envelope is checked here and approved whole.

Owns the shapes of the fields that belong to a goal, and their limits; the type of its result is in `types.gives`.
Judges no step: the core does, against the lowered envelope.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import CheckDoc, Doc, Name, Pointer, TaskDoc
from starloom_protocol.plan.lowering.hub_calls import check_in_goal
from starloom_protocol.plan.lowering.patterns.findings import topics_of
from starloom_protocol.plan.lowering.records import FIRST_VERSION, record
from starloom_protocol.plan.lowering.tasks import Lowering
from starloom_protocol.plan.types.gives import gives_shape, type_text
from starloom_protocol.records.entities import Goal, TaskSpec
from starloom_protocol.records.goals import Milestone
from starloom_protocol.vocabulary import Code, Op

AIM_CHARS_MAX: Final = 2000
"""It stands in every prompt of the goal, and in its approval."""
STEPS_MAX: Final = 50
"""Each turn of a goal is kept with its job, so a longer one would make every event of it large."""
_TAKEN: Final = frozenset(
    {"budget", "device", "finds", "gives", "goal", "id", "inputs", "judge", "may", "milestones", "optional", "until"}
)

Host = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9_.:\[\]-]+$")]
Path = Annotated[str, Field(min_length=1, max_length=1024)]


class MayDoc(Doc):
    """The bounds of the steps of a goal."""

    tools: Annotated[list[Name], Field(max_length=50)] = Field(default_factory=list)
    paths: Annotated[list[Path], Field(max_length=50)] = Field(default_factory=list)
    hosts: Annotated[list[Host], Field(max_length=50)] = Field(default_factory=list)


class BudgetDoc(Doc):
    """The most that a goal may use before a person is asked."""

    steps: Annotated[int, Field(ge=1, le=STEPS_MAX)] = 20
    tokens: Annotated[int, Field(ge=1000, le=2_000_000)] = 60_000
    dollars: Annotated[float | None, Field(gt=0, le=100, allow_inf_nan=False)] = None
    within_s: Annotated[int, Field(ge=10, le=86_400)] = 600


class MilestoneDoc(Doc):
    """A result that the steps are to give by `steps` or `within_s`."""

    says: Annotated[str, Field(min_length=1, max_length=200)]
    tool: Name | None = None
    output: Pointer | None = None
    op: Annotated[Op | None, Field(strict=False)] = None
    value: Any = None
    steps: Annotated[int | None, Field(ge=1)] = None
    within_s: Annotated[int | None, Field(ge=1)] = None


def aimed(lowering: Lowering, doc: TaskDoc, place: str) -> TaskSpec:
    """Return the group of a goal; faults are noted."""
    faults = lowering.faults
    for name in sorted(doc.model_fields_set - _TAKEN):
        if getattr(doc, name) is not None:
            reason, hint = f"`{name}` does not go with `goal`", "Remove one of them."
            if name == "checks":
                hint = "Write the conditions on its answer as `until`."
            elif name in ("timeouts", "retry"):
                hint = "Write `budget: {steps, tokens, dollars, within_s}`."
            faults.add(Code.PLAN_INVALID, joined(place, name), reason, hint)
    aim = (doc.goal or "").strip()
    if not 1 <= len(aim) <= AIM_CHARS_MAX:
        reason = f"a goal has 1 to {AIM_CHARS_MAX} characters, not {len(aim)}"
        faults.add(Code.PLAN_INVALID, joined(place, "goal"), reason, "Say in one or two sentences what is to be found.")
    if doc.device is not None and doc.device.source is not None:
        reason = "the devices of a goal are approved with it, so no result names them"
        faults.add(Code.PLAN_INVALID, joined(place, "device", "from"), reason, "Name the devices: `{any: [...]}`.")
    doc_fields = {name: getattr(doc, name) for name in ("device", "inputs", "judge", "optional")}
    doc_fields = {name: value for name, value in doc_fields.items() if name in doc.model_fields_set}
    plain = TaskDoc.model_construct(_fields_set=set(doc_fields), id=doc.id, goal=doc.goal, **doc_fields)
    fields = lowering.fields(plain, place)
    return record(TaskSpec, changed_in=FIRST_VERSION, goal=_goal(lowering, doc, aim, place), id=doc.id, **fields)


def _goal(lowering: Lowering, doc: TaskDoc, aim: str, place: str) -> Goal:
    faults = lowering.faults
    may = faults.validate(MayDoc, doc.may if doc.may is not None else {}, joined(place, "may")) or MayDoc()
    budget = faults.validate(BudgetDoc, doc.budget if doc.budget is not None else {}, joined(place, "budget"))
    budget = budget or BudgetDoc()
    for at, tool in enumerate(may.tools):
        lowering.tool(tool, joined(place, "may", "tools", at))
        check_in_goal(lowering, tool, joined(place, "may", "tools", at))
    until = [lowering.check(item, joined(place, "until", at)) for at, item in enumerate(doc.until)]
    gives = type_text(doc.gives if doc.gives is not None else {"answer": "text"}, faults, joined(place, "gives"))
    shape = gives_shape(gives)
    for at, check in enumerate(until):
        if shape.missing(check.output) is not None:
            where = joined(place, "until", at, "output")
            names = ", ".join(shape.names())
            faults.add(Code.UNKNOWN_OUTPUT, where, f"the goal gives no `{check.output}`", f"There is: {names}.")
    milestones = [
        milestone
        for at, raw in enumerate(doc.milestones)
        if (milestone := _milestone(lowering, raw, budget, joined(place, "milestones", at))) is not None
    ]
    return record(
        Goal,
        aim=aim,
        finds=topics_of(lowering, doc.finds, joined(place, "finds")) if doc.finds is not None else [],
        gives=gives,
        hosts=sorted({host.lower() for host in may.hosts}),
        micros=round((budget.dollars or 0) * 1_000_000),
        milestones=milestones,
        paths=sorted(set(may.paths)),
        steps=budget.steps,
        tokens=budget.tokens,
        tools=sorted(set(may.tools)),
        until=until,
        within_s=budget.within_s,
    )


def _milestone(lowering: Lowering, raw: dict[str, Any], budget: BudgetDoc, place: str) -> Milestone | None:
    """Return a milestone; faults are noted."""
    faults = lowering.faults
    doc = faults.validate(MilestoneDoc, raw, place)
    if doc is None:
        return None
    if doc.tool is not None:
        lowering.tool(doc.tool, joined(place, "tool"))
    names = doc.model_fields_set & {"output", "op", "value"}
    if not names and doc.tool is None:
        hint = "Write `tool`, or a condition {output, op, value}."
        faults.add(Code.PLAN_INVALID, place, "a milestone says which result reaches it", hint)
    if doc.steps is None and doc.within_s is None:
        hint = "Write `steps`, `within_s` or both."
        faults.add(Code.PLAN_INVALID, place, "a milestone says by when it is reached", hint)
    for name, value, most in (("steps", doc.steps, budget.steps), ("within_s", doc.within_s, budget.within_s)):
        if value is not None and value > most:
            reason = f"the goal ends after {most} {'steps' if name == 'steps' else 's'}, before this milestone is due"
            faults.add(Code.PLAN_INVALID, joined(place, name), reason, f"Write at most {most}, or a larger budget.")
    condition = None
    if names:
        condition = lowering.check(CheckDoc.model_validate({name: getattr(doc, name) for name in names}), place)
    return record(
        Milestone,
        condition=condition,
        says=" ".join(doc.says.split()),
        steps=doc.steps or 0,
        tool=doc.tool or "",
        within_s=doc.within_s or 0,
    )
