"""Votes: a task with `vote` becomes a group of like calls and one task that counts them.

`TASK-calls` is the group; `TASK` is the count (`data.vote`), so that readers of the task read the winner. With the rule
`judge` there is `TASK-choice` between them: a question to a person that a judge answers first. Owns the rules of what
may be voted on. Nothing below the plan language knows votes: the engine sees a group and its tasks.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import (
    TASK_ID,
    ForEachDoc,
    JudgeDoc,
    NeedDoc,
    SelectorDoc,
    TaskDoc,
    VoteDoc,
)
from starloom_protocol.plan.lowering.patterns.findings import finds_of
from starloom_protocol.plan.lowering.records import FIRST_VERSION, record
from starloom_protocol.plan.lowering.tasks import Lowering, judge_of
from starloom_protocol.plan.types.flow import Flow
from starloom_protocol.records.entities import Finds, Input, TaskSpec
from starloom_protocol.records.specs import Shows
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import REPEATABLE, Code, Need, Repeatability

COUNT: Final = "data.vote"
_CALLS, _CHOICE = "-calls", "-choice"
_TAKEN: Final = frozenset(
    {
        "args",
        "checks",
        "device",
        "finds",
        "id",
        "inputs",
        "on_absence",
        "optional",
        "repeatability",
        "retry",
        "timeouts",
        "tool",
    }
)


def calls_of(task: str) -> str:
    """Return the id of the group of calls of a vote."""
    return task + _CALLS


def choice_of(task: str) -> str:
    """Return the id of the choice of a vote that a judge decides."""
    return task + _CHOICE


def parts_of(raw: dict[str, Any]) -> list[str]:
    """Return the ids that a task as it is written has beside its own: those of its calls and its choice."""
    vote, task = raw.get("vote"), raw["id"]
    if vote is None:
        return []
    rule = vote.get("rule") if isinstance(vote, dict) else None
    judged = rule == "judge" or (isinstance(rule, dict) and "judge" in rule)
    return [calls_of(task), choice_of(task)] if judged else [calls_of(task)]


def is_count(spec: TaskSpec | None) -> bool:
    """Tell whether a task counts the calls of a vote."""
    return spec is not None and spec.tool == COUNT and any(item.source == calls_of(spec.id) for item in spec.inputs)


def voted(lowering: Lowering, doc: TaskDoc, vote: VoteDoc, place: str) -> list[TaskSpec]:
    """Return the group of calls, the choice if a judge makes one, and the count of a task with `vote`, in this order.

    Faults are noted.
    """
    _may_be_voted_on(lowering, doc, vote, place)
    each = ForEachDoc.model_construct(times=vote.n, need=NeedDoc(word=Need.BEST_EFFORT))
    fields: dict[str, Any] = {"finds": None, "for_each": each, "id": calls_of(doc.id), "optional": False, "vote": None}
    voters = SelectorDoc.model_validate((doc.device or SelectorDoc()).model_dump(include=set(SelectorDoc.model_fields)))
    if vote.apart:
        fields["device"] = None
    calls = lowering.task(doc.model_copy(update=fields), place)
    if vote.apart and calls.for_each is not None and doc.tool is not None:
        # A device without the tool cannot vote, so it is none of those that are chosen.
        able = voters.model_copy(update={"tools": sorted({*voters.tools, doc.tool})})
        over = msgspec.structs.replace(calls.for_each, devices=lowering.selector(able, joined(place, "device")))
        calls = msgspec.structs.replace(calls, for_each=over)
    finds = finds_of(lowering, doc, doc.finds, joined(place, "finds")) if doc.finds is not None else None
    choice = [_choice(doc, vote, vote.rule)] if isinstance(vote.rule, JudgeDoc) else []
    return [calls, *choice, _count(doc, vote, finds)]


def _choice(doc: TaskDoc, vote: VoteDoc, judge: JudgeDoc) -> TaskSpec:
    return record(
        TaskSpec,
        changed_in=FIRST_VERSION,
        id=choice_of(doc.id),
        judge=judge_of(judge),
        optional=doc.optional,
        person=judge.question,
        shows=record(Shows, output=vote.on, source=calls_of(doc.id)),
    )


def _count(doc: TaskDoc, vote: VoteDoc, finds: Finds | None) -> TaskSpec:
    args: dict[str, Any] = {"of": vote.n, "on": vote.on}
    if isinstance(vote.rule, int) and vote.rule:
        args["ahead_by"] = vote.rule
    if vote.tolerance is not None:
        args["tolerance"] = vote.tolerance
    inputs = [
        record(Input, name="ballots", source=calls_of(doc.id)),
        record(Input, name="voters", source=calls_of(doc.id), who=True),
    ]
    if isinstance(vote.rule, JudgeDoc):
        inputs.append(record(Input, name="chosen", output="/value", source=choice_of(doc.id)))
    return record(
        TaskSpec,
        args=canonical(args),
        changed_in=FIRST_VERSION,
        finds=finds,
        id=doc.id,
        inputs=inputs,
        optional=doc.optional,
        tool=COUNT,
    )


def _may_be_voted_on(lowering: Lowering, doc: TaskDoc, vote: VoteDoc, place: str) -> None:
    faults, known, where = lowering.faults, lowering.known, joined(place, "vote")
    for name in sorted(doc.model_fields_set - _TAKEN - {"vote"}):
        if getattr(doc, name) is not None:
            faults.add(
                Code.PLAN_INVALID, joined(place, name), f"`{name}` does not go with `vote`", "Remove one of them."
            )
    judged = isinstance(vote.rule, JudgeDoc)
    longest = choice_of(doc.id) if judged else calls_of(doc.id)
    if TASK_ID.fullmatch(longest) is None:
        part = "the choice between" if judged else "the group of"
        reason = f"`{longest}`, {part} its calls, would have too long an id"
        faults.add(Code.PLAN_INVALID, joined(place, "id"), reason, "Give the task a shorter id.")
    if judged and vote.tolerance is not None:
        reason = "a judge chooses one result, so no numbers are compared"
        faults.add(Code.PLAN_INVALID, joined(where, "tolerance"), reason, "Remove `tolerance`, or the rule `judge`.")
    if doc.tool is None:
        faults.add(Code.PLAN_INVALID, where, "only a call of a tool is voted on", "Remove `vote`, or give it a `tool`.")
        return
    lowering.tool(COUNT, where)
    repeatability = (known.tools or {}).get(doc.tool, Repeatability.PURE)
    if repeatability is not Repeatability.PURE:
        reason = f"a vote calls `{doc.tool}` {vote.n} times, and it does more than read: it is {repeatability}"
        faults.add(Code.NOT_REPEATABLE, where, reason, "Vote on a tool that only reads.")
    if doc.repeatability is not None and doc.repeatability not in REPEATABLE:
        reason = f"a vote repeats the call, and the plan says that it is {doc.repeatability}"
        faults.add(Code.NOT_REPEATABLE, joined(place, "repeatability"), reason, "Remove it, or the vote.")
    if doc.device is not None and doc.device.source is not None:
        reason = "calls that vote go to devices that the plan says"
        faults.add(Code.PLAN_INVALID, joined(place, "device"), reason, "Remove `from`, or the vote.")
    if vote.apart and doc.device is not None and (doc.device.name is not None or doc.device.id is not None):
        reason = f"`apart` needs {vote.n} different devices, and the task names one"
        faults.add(Code.PLAN_INVALID, joined(where, "apart"), reason, "Name several: `device: {any: [...]}`.")
    Flow({}, known.signatures, faults).of_call(doc.tool, vote.on, joined(where, "on"))
