"""`repeat` on a task: the same call in turns, until a condition on its result holds.

Owns the form of `repeat`, its limits and what it goes with. The turns are a group that the core lets grow; nothing here
knows how.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import SECONDS_MAX, ConditionDoc, Doc, Name, Pointer, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Condition, ForEach, Repeat
from starloom_protocol.text.wording import value_words
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Op

TURNS_MAX: Final = 1000
"""Each turn is a task and a version of the plan, and both stay in the history."""
_NOT_BESIDE: Final = ("for_each", "vote", "judge", "plan", "person", "goal")


class RepeatDoc(Doc):
    most: Annotated[int, Field(ge=1, le=TURNS_MAX, alias="max")]
    every_s: Annotated[int, Field(ge=1, le=SECONDS_MAX)] | None = None
    until: ConditionDoc | None = None
    during: ConditionDoc | None = Field(alias="while", default=None)
    in_a_row: Annotated[int, Field(ge=1, le=TURNS_MAX)] = 1
    carry: Annotated[dict[Name, Pointer], Field(max_length=20)] = Field(default_factory=dict)


def repeated(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> ForEach | None:
    """Return the group of turns of a task with `repeat`; faults are noted."""
    faults = parts.faults
    for name in _NOT_BESIDE:
        if getattr(task, name) is not None:
            reason = f"`{name}` does not go with `repeat`"
            faults.add(
                Code.PLAN_INVALID, place, reason, f"Remove one of them, or repeat a task that reads `{task.id}`."
            )
    if task.device is not None and task.device.source is not None:
        reason = "a device by a result does not go with `repeat`"
        faults.add(Code.PLAN_INVALID, place, reason, "Name the devices that may run it.")
    doc = faults.validate(RepeatDoc, raw, place)
    if doc is None:
        return None
    _limits(parts, doc, place)
    _carried(parts, task, doc, place)
    condition = None
    condition_doc = doc.until or doc.during
    if condition_doc is not None:
        where = joined(place, "until" if doc.until is not None else "while")
        has_value = "value" in condition_doc.model_fields_set
        condition = parts.condition(
            condition_doc.output, condition_doc.op, condition_doc.value, where, has_value=has_value
        )
    turns = record(
        Repeat,
        carry=dict(sorted(doc.carry.items())),
        during=doc.until is None and doc.during is not None,
        every_s=doc.every_s or 0,
        in_a_row=doc.in_a_row,
        last_answers=True,
        most=doc.most,
        until=condition,
    )
    return record(ForEach, repeat=turns)


def _limits(parts: Parts, doc: RepeatDoc, place: str) -> None:
    faults = parts.faults
    if doc.until is not None and doc.during is not None:
        faults.add(Code.PLAN_INVALID, place, "`repeat` takes `until` or `while`", "Keep one of them.")
    if doc.until is None and doc.during is None:
        if doc.in_a_row > 1:
            reason = "`in_a_row` counts turns that meet a condition"
            faults.add(Code.PLAN_INVALID, joined(place, "in_a_row"), reason, "Add `until`, or remove it.")
        if doc.every_s is None and not doc.carry:
            reason = "without a condition, `every_s` or `carry`, each turn is the same call at once"
            faults.add(Code.PLAN_INVALID, place, reason, "Add `until`; for like calls use `for_each: {times: n}`.")
    if doc.in_a_row > doc.most:
        reason = f"{doc.in_a_row} turns in a row do not fit into {doc.most}"
        faults.add(Code.PLAN_INVALID, joined(place, "in_a_row"), reason, "Raise `max`.")
    if (doc.every_s or 0) * doc.most > SECONDS_MAX:
        reason = f"{doc.most} turns every {doc.every_s} s take longer than {SECONDS_MAX // 86_400} days"
        faults.add(Code.PLAN_TOO_BIG, place, reason, "Make a schedule of it, or lower `max`.")


def _carried(parts: Parts, task: TaskDoc, doc: RepeatDoc, place: str) -> None:
    faults = parts.faults
    takes = parts.takes(task.tool or "")
    for name in takes.unknown(doc.carry):
        hint = faults.near(name, sorted(takes.names or ()))
        faults.add(Code.UNKNOWN_FIELD, joined(place, "carry", name), f"`{task.tool}` takes no `{name}`", hint)
    for name in sorted(set(doc.carry) & set(task.inputs)):
        reason = f"`{name}` is an input of each turn, and `carry` would set it too"
        faults.add(Code.PLAN_INVALID, joined(place, "carry", name), reason, "Remove one of them.")


_OP_WORDS: Final = {
    Op.EQ: "is",
    Op.NE: "is not",
    Op.LT: "is less than",
    Op.LE: "is at most",
    Op.GT: "is more than",
    Op.GE: "is at least",
    Op.IN: "is one of",
    Op.NOT_IN: "is none of",
    Op.CONTAINS: "contains",
    Op.EMPTY: "is empty",
    Op.NOT_EMPTY: "is not empty",
}


def turn_words(repeat: Repeat) -> str:
    """Return the turns of a repeat in words that follow *for each*: `turn of at most 20, until /next is empty`."""
    words = [f"turn of at most {repeat.most}"]
    if repeat.every_s:
        words.append(f"every {repeat.every_s} s")
    if repeat.until is not None:
        times = f" {repeat.in_a_row} times in a row" if repeat.in_a_row > 1 else ""
        words.append(f"{'while' if repeat.during else 'until'} {_condition_words(repeat.until)}{times}")
    return ", ".join(words)


def _condition_words(condition: Condition) -> str:
    value = parse(condition.value) if condition.value is not None else None
    output = condition.output or "the result"
    if condition.op is Op.EXISTS:
        return f"{output} is {'not there' if value is False else 'there'}"
    words = f"{output} {_OP_WORDS[condition.op]}"
    return words if condition.value is None else f"{words} {value_words(value)}"
