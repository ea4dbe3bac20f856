"""The proposals of a worker for a goal: a step, its answer, a hand-over, or giving up; each is taken, or refused.

A refusal is a turn of the conversation, so that the model and a later worker know of it. A step within the
envelope is an edit by the model; one with a call beyond reading is put to a person. An answer has the types of `gives`,
cites results, and meets `until`, before its judge is asked. Nothing in a proposal has a person's authority.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.plan.edits import apply_edit
from starloom.core.plan.goals import asking, monitors, publishing, spreading, tiers
from starloom.core.plan.goals.conversation import (
    ANSWERED,
    KIND,
    GoalCase,
    end,
    read_of_a_stranger,
    run_of,
    steps_most,
)
from starloom.core.rights import envelope
from starloom.core.run import judgement
from starloom.core.state.inputs import GoalProposed, LookCall
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.task_needs import approved_for
from starloom.core.state.tasks.findings import is_valid
from starloom.core.state.work import Refusal, Work, change_task, check_claim, fault, moved, named_job
from starloom_protocol.plan.types.gives import misfit_of
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import Fault, Goal, TaskRecord, TaskSpec
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import MISSING, canonical, holds, parse, point, pointer_fault
from starloom_protocol.vocabulary import Code, ConstellationState, TaskState

NOTE_CHARS_MOST: Final = 500
SAID_CHARS_MOST: Final = 2000
VALUE_BYTES_MOST: Final = 16 * 1024
CITES_MOST: Final = 40
_ENDS: Final = frozenset({Code.MODEL_NOT_SET, Code.MODEL_BUDGET, Code.FORBIDDEN})
"""Faults of a model that no further question of it mends."""


def on_proposed(work: Work, item: GoalProposed) -> None:
    """Take what a model answered for a goal.

    Raises:
        Refusal: there is no such goal, another worker has it, or the proposal has not the form of one.
    """
    constellation, job = named_job(work, item.constellation, item.job, KIND, called="goal")
    head = constellation.head
    live = constellation.name in work.shard.live and head.state is not ConstellationState.CANCELLING
    if job.state not in ("open", "claimed") or not live:
        work.ignore("the goal does not wait for a model")
        work.answer({"accepted": False})
        return
    # A worker that was stopped for longer than its claim holds has not seen the turns since.
    check_claim(job, item.worker)
    if len(item.note) > SAID_CHARS_MOST or len(item.calls) > 50 or len(item.cites) > CITES_MOST:
        raise Refusal(fault(Code.TOO_LARGE, f"a note has at most {SAID_CHARS_MOST} characters", "note"))
    if item.turns not in (-1, monitors.seen_turns(run_of(job))):
        # A message may come twice, the second time to a hub that has taken over and does not know its id.
        work.ignore("the goal has another turn since")
        work.answer({"accepted": False})
        return
    case = GoalCase(work, constellation, tiers.counted(job))
    why = publishing.against(case, item.finds)
    if why:
        _refuse(case, item, why)
    else:
        publishing.publish(case, item.finds)
        take = _TAKES.get(item.kind, _nothing)
        take(case, item)
    work.answer({"accepted": True})


def _refuse(case: GoalCase, item: GoalProposed, why: str) -> None:
    """Note a refusal as a turn, and let the model answer again; refusals in a row are a stall."""
    refused = _refused(case, item, why).unclaimed("open")
    refused.emit(EventKind.GOAL_REFUSED, note=why[:1000], by=ENGINE)
    if not asking.judged(refused):
        refused.wake()


def _refused(case: GoalCase, item: GoalProposed, why: str) -> GoalCase:
    return case.with_turn(monitors.REFUSED, why[:1000], by=ENGINE, said=_as_written(item)[:SAID_CHARS_MOST])


def _as_written(item: GoalProposed) -> str:
    """Return a proposal as the model wrote it, for its next turn."""
    fields: dict[str, Any] = {"kind": item.kind, "note": item.note, "to": item.to}
    if item.calls:
        fields["calls"] = [{"args": _value(call.args), "device": call.device, "tool": call.tool} for call in item.calls]
    if item.value is not None:
        fields["value"] = _value(item.value)
    if item.each_of is not None:
        fields["for_each"] = {"pointer": item.each_of.pointer[:200], "task": item.each_of.task[:200]}
    if item.finds:
        fields["finds"] = [
            {"pointer": one.pointer[:200], "task": one.task[:200], "topic": one.topic[:80]} for one in item.finds[:10]
        ]
    return canonical({name: value for name, value in fields.items() if value not in ("", None)})


def _value(text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return text[:200]


def _reasons(faults: Sequence[Fault]) -> str:
    """Return faults as one line for the model, each with its way out."""
    return "; ".join(f"{one.reason}{f' ({one.hint})' if one.hint else ''}" for one in faults[:10])


def _step(case: GoalCase, item: GoalProposed) -> None:
    constellation, group, run = case.constellation, case.group, case.run
    most, used = steps_most(case.goal, run), monitors.used(run)
    if used >= most:
        asking.exhausted(case, f"its {most} steps are used up")
        return
    if not 1 <= len(item.calls) <= envelope.CALLS_MOST:
        _refuse(case, item, f"a step has 1 to {envelope.CALLS_MOST} calls")
        return
    try:
        calls = _calls(constellation, group, item, most - used)
    except spreading.NoSpread as error:
        _refuse(case, item, str(error))
        return
    names = _names(constellation, group, len(calls))
    fleet, spec, stranger = case.work.shard.fleet, constellation.specs[group], read_of_a_stranger(case)
    judged = [envelope.judge_call(fleet, spec, call, name, stranger) for call, name in zip(calls, names, strict=True)]
    faults = [one for each in judged for one in each.faults]
    faults += _not_approved(fleet, spec, judged, approved_for(constellation, spec))
    beside = len(judged) > 1 or item.each_of is not None
    if not faults and beside and not all(each.reads for each in judged):
        faults = [fault(Code.FORBIDDEN, "calls that are made side by side only read", "calls", "Make this call alone.")]
    if faults:
        _refuse(case, item, _reasons(faults))
        return
    specs = [each.spec for each in judged]
    same = monitors.same_call(constellation, run, specs)
    if same:
        asking.stalled(case, same)
        return
    _make(case, item, specs, [why for each in judged for why in each.asks])


def _not_approved(
    fleet: Fleet, goal: TaskSpec, judged: Sequence[envelope.CallJudgement], approved: Container[str] | None
) -> list[Fault]:
    """Return a fault for each device of the calls that fits the goal now, and did not when it was approved."""
    devices = dict.fromkeys(each.spec.device.id or "" for each in judged if each.spec.device is not None)
    return [
        fault(
            Code.FORBIDDEN,
            f"{fleet.name_of(device)} is none of the devices that were approved for {goal.id}",
            "device",
            envelope.OUTSIDE,
        )
        for device in devices
        if approved is not None and device not in approved
    ]


def _calls(constellation: Constellation, group: str, item: GoalProposed, steps_left: int) -> list[LookCall]:
    if item.each_of is None:
        return item.calls
    return spreading.spread(constellation, _evidence(constellation, group), item.calls, item.each_of, steps_left)


def _names(constellation: Constellation, group: str, count: int) -> list[str]:
    """Return the names of the next calls of a goal; one that was used is not used again."""
    number = 1
    names: list[str] = []
    while len(names) < count:
        name = f"{group}.{number}"
        if name not in constellation.specs and f"{name}/1" not in constellation.attempts:
            names.append(name)
        number += 1
    return names


def _make(case: GoalCase, item: GoalProposed, specs: list[TaskSpec], asks: list[str]) -> None:
    """Make a step, or put it to a person; a call that the plan cannot take is refused like one outside."""
    operations: list[Any] = [AddTask(spec=spec) for spec in specs]
    note = item.note[:NOTE_CHARS_MOST]
    cites = [cite.task for cite in item.cites if cite.task in case.constellation.tasks]
    part = case.work.part()
    try:
        uses = len(specs) if item.each_of is not None else 1
        asking.make_step(case, operations, note, cites=cites, uses=uses)
    except Refusal as refusal:
        case.work.undo_part(part)
        _refuse(case, item, _reasons(refusal.faults))
        return
    if asks:
        case.work.undo_part(part)
        asking.ask_call(case, operations, note, asks)


def _answer(case: GoalCase, item: GoalProposed) -> None:
    work, constellation, goal = case.work, case.constellation, case.goal
    why = _against_answer(constellation, case.group, goal, item)
    if why:
        _refuse_answer(case, item, why)
        return
    name = goal_answer(case.group)
    record = _answer_task(case, name, item.note[:NOTE_CHARS_MOST])
    marked = replace(record, checked=bool(goal.until), marked=canonical(parse(item.value or "null")))
    cites = dict.fromkeys(cite.task for cite in item.cites)
    note = f"it rests on {', '.join(cites)}" if cites else ""
    if constellation.specs[case.group].judge is not None:
        judgement.ask_about(work, constellation, constellation.specs[name], marked, note=note)
        return
    done = moved(work, marked, TaskState.SUCCEEDED)
    change_task(work, constellation, name, EventKind.GOAL_ANSWERED, done, note=note, by=MODEL)


def _answer_task(case: GoalCase, name: str, note: str) -> TaskRecord:
    """Return the record of the task that has the answer of a goal: added with the first answer, waiting once more."""
    work, constellation, group = case.work, case.constellation, case.group
    answered = case.unclaimed(ANSWERED)
    if name not in constellation.specs:
        child = TaskSpec(changed_in=0, group=group, id=name, judge=constellation.specs[group].judge)
        apply_edit(
            work,
            constellation,
            [AddTask(spec=child)],
            author=MODEL,
            reason=note or f"the answer of {group}",
            trigger=group,
            also=(answered.put,),
        )
        return constellation.tasks[name]
    before = constellation.tasks[name]
    record = moved(work, before, TaskState.WAITING, round=before.round + 1, code=None, cause=None)
    answered.emit(EventKind.GOAL_ANSWERED, by=MODEL)
    return record


def _refuse_answer(case: GoalCase, item: GoalProposed, why: str) -> None:
    """Send an answer of a tier back once with the reason; a second one that is not taken is a stall."""
    turns = tiers.turns_of(case.run)
    refused = [turn for turn in turns if turn.kind == monitors.REFUSED and '"kind":"answer"' in turn.said]
    if not refused:
        _refuse(case, item, why)
        return
    asking.stalled(_refused(case, item, why), f"its answer was refused again: {why}")


def _against_answer(constellation: Constellation, group: str, goal: Goal, item: GoalProposed) -> str:
    """Return why an answer is none; empty if it may go to its judge."""
    if item.value is None or len(item.value.encode()) > VALUE_BYTES_MOST:
        return f"an answer has a value of at most {VALUE_BYTES_MOST} bytes"
    try:
        value = parse(item.value)
    except ValueError as error:
        return str(error)
    misfit = misfit_of(goal.gives, value)
    if misfit:
        return f"the value has not the types of the goal: {misfit}"
    for check in goal.until:
        expected = parse(check.value) if check.value is not None else None
        if not holds(check.op, point(value, check.output), expected):
            value_words = f" {check.value}" if check.value is not None else ""
            return f"the answer does not meet its condition `{check.output} {check.op}{value_words}`"
    sources = _evidence(constellation, group)
    if sources and not item.cites:
        return f"it cites no result; there are {', '.join(sources[:20])}"
    for cite in item.cites:
        if cite.task not in sources:
            return f"{cite.task[:80]} is no result that it can cite; there are {', '.join(sources[:20]) or 'none'}"
        misfit = pointer_fault(cite.pointer) or ""
        attempt = constellation.last_attempt(cite.task)
        inline = attempt.value if attempt is not None else None
        if misfit or (inline is not None and point(parse(inline), cite.pointer) is MISSING):
            return misfit or f"{cite.task} has nothing at {cite.pointer[:100]}"
    return ""


def _evidence(constellation: Constellation, group: str) -> list[str]:
    """Return the results on which an answer may rest: those of its calls and inputs, and of findings that it sees."""
    calls = [name for name in constellation.children.get(group, {}) if name != goal_answer(group)]
    inputs = [
        task
        for item in constellation.specs[group].inputs
        for task in (constellation.leaves(item.source) if item.source in constellation.groups else [item.source])
    ]
    findings = (one for one in constellation.findings.values() if one.by != group and is_valid(constellation, one))
    names, tasks = dict.fromkeys([*calls, *inputs, *(one.task for one in findings)]), constellation.tasks
    return [name for name in names if name in tasks and tasks[name].state is TaskState.SUCCEEDED]


def _hand_over(case: GoalCase, item: GoalProposed) -> None:
    """Have the next tier continue, or ask a person: where no tier is left, or once a tier where the model wants it."""
    why = item.note[:NOTE_CHARS_MOST].strip()
    if item.to not in tiers.TO or not why:
        _refuse(case, item, f"a model hands over to {' or '.join(tiers.TO)}, and says why")
    elif item.to == tiers.NEXT_TIER and tiers.next_of(case.run):
        tiers.escalate(case, why, by=MODEL)
    elif tiers.handed_over(case.run):
        _refuse(case, item, "a person was asked before and let it go on; go on, answer or give up")
    else:
        asking.ask_for_model(case, why)


def _give_up(case: GoalCase, item: GoalProposed) -> None:
    why = item.note[:NOTE_CHARS_MOST].strip() or "it gave no reason"
    end(case, Code.GOAL_UNMET, f"the model gave up: {why}", by=MODEL)


def _nothing(case: GoalCase, item: GoalProposed) -> None:
    """Note that a model gave nothing usable; without a model, or without money for one, the goal ends."""
    if item.fault is not None and item.fault.code in _ENDS:
        end(case, item.fault.code, item.fault.reason, by=ENGINE)
        return
    why = item.fault.reason if item.fault is not None else "the model gave no usable answer"
    _refuse(case, replace(item, kind="nothing", value=None, calls=[]), why)


_TAKES: Final = {"answer": _answer, "give_up": _give_up, "hand_over": _hand_over, "step": _step}
