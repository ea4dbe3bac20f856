"""Findings: a task publishes a part of its result under a topic, and others take it as an input by that topic.

Owns the forms of `finds` and of an input by `finding`, and their limits. Which tasks publish a topic is a relation of
the whole plan: `checks.findings` judges it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import Doc, InputDoc, Pointer, TaskDoc, Topic
from starloom_protocol.plan.lowering.parts import ARGUMENT_BYTES_MAX, Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Finds, Input
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code

TOPICS_MOST: Final = 10
"""Topics of one goal: each may bring a card into the turns of every other goal."""
_OF_A_SOURCE: Final = ("all", "flatten", "off", "optional", "output", "who")


class FindsDoc(Doc):
    topic: Topic
    value: Pointer = ""


class GoalFindsDoc(Doc):
    topics: Annotated[list[Topic], Field(min_length=1, max_length=TOPICS_MOST)]


def finds_of(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> Finds | None:
    """Return the topic of a task; faults are noted."""
    faults = parts.faults
    doc = faults.validate(FindsDoc, raw, place)
    if doc is None:
        return None
    if parts.in_rule:
        reason = "a rule adds no task that publishes, since others rely on who writes about a topic"
        faults.add(Code.FORBIDDEN, place, reason, "Write `finds` into the plan.")
    if task.tool is None:
        faults.add(Code.PLAN_INVALID, place, "only a call of a tool or a goal publishes", "Remove it.")
    elif task.for_each is not None:
        reason = "each item would take the place of the finding before it"
        faults.add(Code.PLAN_INVALID, place, reason, "Let a task that takes the results together publish.")
    return record(Finds, output=doc.value, topic=doc.topic)


def topics_of(parts: Parts, raw: dict[str, Any], place: str) -> list[str]:
    """Return the topics that a goal may publish; faults are noted."""
    doc = parts.faults.validate(GoalFindsDoc, raw, place)
    return [] if doc is None else sorted(set(doc.topics))


def input_of(parts: Parts, task: TaskDoc, name: str, doc: InputDoc, place: str) -> Input | None:
    """Return one input of a task: the output of a task, or a finding; faults are noted."""
    faults = parts.faults
    fields_set = doc.model_fields_set
    if doc.finding is None:
        for field, word in (("fresh_s", "fresh_s"), ("otherwise", "else")):
            if field in fields_set:
                faults.add(Code.PLAN_INVALID, joined(place, word), f"`{word}` belongs to `finding`", "Remove it.")
        if doc.source is None:
            faults.add(Code.PLAN_INVALID, joined(place, "from"), "this field is missing", "Add it, or `finding`.")
            return None
        return record(
            Input,
            all=doc.all,
            flatten=doc.flatten,
            name=name,
            off=doc.off,
            optional=doc.optional,
            output=doc.output,
            source=doc.source,
            who=doc.who,
        )
    _by_topic(parts, task, doc, place)
    otherwise = canonical(doc.otherwise) if "otherwise" in fields_set else None
    if otherwise is not None and len(otherwise.encode()) > ARGUMENT_BYTES_MAX:
        reason = f"a value has at most {ARGUMENT_BYTES_MAX} bytes"
        faults.add(Code.PLAN_TOO_BIG, joined(place, "else"), reason)
    return record(Input, fresh_s=doc.fresh_s or 0, name=name, otherwise=otherwise, source="", topic=doc.finding)


def _by_topic(parts: Parts, task: TaskDoc, doc: InputDoc, place: str) -> None:
    faults = parts.faults
    for field in ("source", *_OF_A_SOURCE):
        if field in doc.model_fields_set:
            word = "from" if field == "source" else field
            reason = f"`{word}` does not go with `finding`: its task says which part of its result it publishes"
            faults.add(Code.PLAN_INVALID, joined(place, word), reason, "Remove one of them.")
    if task.goal is not None and (doc.fresh_s is not None or "otherwise" in doc.model_fields_set):
        word_set = "fresh_s" if doc.fresh_s is not None else "else"
        reason = "a goal sees the findings that there are, with their age, and looks for itself"
        faults.add(Code.PLAN_INVALID, joined(place, word_set), reason, "Remove it.")
    if task.reuse is not None:
        reason = "a finding is another one in each run"
        faults.add(Code.PLAN_INVALID, joined(place, "finding"), reason, "Remove `reuse`, or the input.")
