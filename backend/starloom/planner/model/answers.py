"""The answers of a model at each stage, as JSON Schema: the same schema that both wires declare.

Precise enough for a server that decodes by it to write a valid plan, and never narrower than the plan language: the
meaning of a value is judged by the same checks as any other plan. The plan language's own models are in
`starloom_protocol.plan`; `tests/planner/model/test_answers.py` holds both to the same plans.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from starloom.core.plan.goals.tiers import TO
from starloom_protocol.plan.language.models import TASK_ID
from starloom_protocol.vocabulary import Approval, Gate, Need, Op

Schema = dict[str, Any]


class Stage(StrEnum):
    """The stage at which a model is asked."""

    PLANNING = "planning"
    REVIEWING = "reviewing"
    ANSWERING = "answering"
    JUDGING = "judging"
    CHOOSING = "choosing"
    """The choice of one result of a vote, by the role that judges."""
    WORKING = "working"
    TIERED = "tiered"
    """A turn of a goal with several tiers, whose model may hand over."""


class AnswerKind(StrEnum):
    """The kind of an answer, where a stage takes several."""

    ACCEPT = "accept"
    ANSWER = "answer"
    CANNOT = "cannot"
    EDIT = "edit"
    GIVE_UP = "give_up"
    HAND_OVER = "hand_over"
    LOOK = "look"
    MORE_TOOLS = "more_tools"
    NO_CHANGE = "no_change"
    PLAN = "plan"
    QUESTION = "question"
    RECIPE = "recipe"
    STEP = "step"


OF_STAGE: Final = {
    Stage.PLANNING: (
        AnswerKind.PLAN,
        AnswerKind.LOOK,
        AnswerKind.ANSWER,
        AnswerKind.RECIPE,
        AnswerKind.MORE_TOOLS,
        AnswerKind.QUESTION,
        AnswerKind.CANNOT,
    ),
    Stage.REVIEWING: (
        AnswerKind.EDIT,
        AnswerKind.LOOK,
        AnswerKind.NO_CHANGE,
        AnswerKind.ACCEPT,
        AnswerKind.GIVE_UP,
        AnswerKind.QUESTION,
        AnswerKind.CANNOT,
    ),
    Stage.ANSWERING: (AnswerKind.ANSWER, AnswerKind.CANNOT),
    Stage.WORKING: (AnswerKind.STEP, AnswerKind.ANSWER, AnswerKind.GIVE_UP),
    Stage.TIERED: (AnswerKind.STEP, AnswerKind.ANSWER, AnswerKind.HAND_OVER, AnswerKind.GIVE_UP),
}
"""The kinds of answers that each stage takes."""
TEXT: Final[Schema] = {"type": "string"}
_YES: Final[Schema] = {"type": "boolean"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_ANY_VALUE: Final[Schema] = {}
_ANY_OBJECT: Final[Schema] = {"type": "object", "properties": {}, "additionalProperties": True}
_ID: Final[Schema] = {"type": "string", "pattern": f"^{TASK_ID.pattern}$"}
_OP: Final[Schema] = {"type": "string", "enum": list(Op)}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return a closed object; a name that ends in `_` is a keyword of Python."""
    fields = {name.removesuffix("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def _kind(stage: Stage) -> Schema:
    return {"type": "string", "enum": list(OF_STAGE[stage])}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _map(value: Schema) -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": value}


_DEVICE: Final = _object(name=TEXT, id=TEXT, labels=_list(TEXT), os=TEXT, tools=_list(TEXT))
_SELECTOR: Final = {**_DEVICE, "properties": {**_DEVICE["properties"], "any": _list(_DEVICE)}}
_PLACE: Final = {
    **_SELECTOR,
    "properties": {**_SELECTOR["properties"], "from": TEXT, "output": TEXT, "within": _SELECTOR},
}
_CONDITION: Final = _object(("output", "op"), output=TEXT, op=_OP, value=_ANY_VALUE)
_CHECK: Final = _object(exit_code={"type": "integer"}, output=TEXT, op=_OP, value=_ANY_VALUE)
_GATE: Final = {
    "anyOf": [
        {"type": "string", "enum": [gate for gate in Gate if gate is not Gate.OUTPUT]},
        _CONDITION,
    ]
}
_NEED: Final = {
    "anyOf": [
        {"type": "string", "enum": [need for need in Need if need is not Need.AT_LEAST]},
        _object(("at_least",), at_least={"type": "integer", "minimum": 1}),
    ]
}
_INPUT: Final = _object(
    from_=TEXT,
    output=TEXT,
    optional=_YES,
    flatten=_YES,
    all=_YES,
    off=_YES,
    who=_YES,
    finding=TEXT,
    fresh_s=_COUNT,
    else_=_ANY_VALUE,
)
_FOR_EACH: Final = _object(
    from_=TEXT,
    output=TEXT,
    devices=_SELECTOR,
    same=TEXT,
    times=_COUNT,
    in_turn=_YES,
    when_off={"type": "string", "enum": ["wait", "report"]},
    after_s=_COUNT,
    max_parallel=_COUNT,
    need=_NEED,
)
_ABSENCE: Final = {
    "anyOf": [TEXT, _object(("then",), after_s=_COUNT, then={"type": "string", "enum": ["reassign", "fail", "wait"]})]
}
_JUDGE: Final = {
    "anyOf": [TEXT, _object(("question",), question=TEXT, unclear={"type": "string", "enum": ["ask", "fail"]})]
}
_TASK_FIELDS: Final[dict[str, Schema]] = {
    "tool": TEXT,
    "person": TEXT,
    "ask": _list(TEXT),
    "plan": _ANY_OBJECT,
    "for_each": _FOR_EACH,
    "any_of": _list(_object(("tool",), tool=TEXT, args=_ANY_OBJECT, device=_SELECTOR)),
    "args": _ANY_OBJECT,
    "inputs": _map(_INPUT),
    "files_out": _list(_object(("output", "to"), output=TEXT, to=TEXT)),
    "device": _PLACE,
    "repeatability": TEXT,
    "timeouts": _map(_COUNT),
    "retry": _object(max_attempts=_COUNT, on_check=_YES, on_exit=_YES),
    "on_absence": _ABSENCE,
    "optional": _YES,
    "checks": _list(_CHECK),
    "choices": _list(_object(("value", "label"), value=TEXT, label=TEXT, fails=_YES)),
    "judge": _JUDGE,
    "undo": _object(("tool",), tool=TEXT, args=_ANY_OBJECT, outputs=_map(TEXT)),
    "vote": _object(
        ("n",),
        n=_COUNT,
        on=TEXT,
        rule={
            "anyOf": [
                {"type": "string", "enum": ["majority", "judge"]},
                _object(("ahead_by",), ahead_by=_COUNT),
                _object(("judge",), judge=_JUDGE),
            ]
        },
        tolerance={"type": "number", "minimum": 0},
        apart=_YES,
    ),
    "repeat": _object(
        ("max",),
        max=_COUNT,
        every_s=_COUNT,
        until=_CONDITION,
        while_=_CONDITION,
        in_a_row=_COUNT,
        carry=_map(TEXT),
    ),
    "not_before": _object(
        ("from",), from_=TEXT, output=TEXT, zone=TEXT, within_s=_COUNT, past={"type": "string", "enum": ["go", "fail"]}
    ),
    "reuse": _object(fresh_s=_COUNT, key=_ANY_OBJECT),
    "finds": _object(topic=TEXT, value=TEXT, topics=_list(TEXT)),
    "stop_when": _object(
        ("progress",),
        progress=TEXT,
        op=_OP,
        value=_ANY_VALUE,
        worse_than_best_by={"type": "number", "minimum": 0},
        best={"type": "string", "enum": ["low", "high"]},
        after=_object(n=_COUNT, s=_COUNT),
    ),
    "shows": _object(("from",), from_=TEXT, output=TEXT),
    "goal": TEXT,
    "may": _object(tools=_list(TEXT), paths=_list(TEXT), hosts=_list(TEXT)),
    "gives": _ANY_OBJECT,
    "until": _list(_CHECK),
    "milestones": _list(
        _object(("says",), says=TEXT, tool=TEXT, output=TEXT, op=_OP, value=_ANY_VALUE, steps=_COUNT, within_s=_COUNT)
    ),
    "budget": _object(steps=_COUNT, tokens=_COUNT, dollars={"type": "number", "minimum": 0}, within_s=_COUNT),
    "verify": _object(("tool", "expect"), tool=TEXT, args=_ANY_OBJECT, expect=_list(_CHECK)),
}
TASK: Final = _object(("id",), id=_ID, **_TASK_FIELDS)
_DEPENDENCY: Final = _object(("from", "to"), from_=TEXT, to=TEXT, when=_GATE, all=_YES)
PLAN: Final = _object(
    ("starloom", "tasks"),
    starloom={"type": "integer", "enum": [1]},
    name=TEXT,
    judge=_JUDGE,
    tasks=_list(TASK),
    dependencies=_list(_DEPENDENCY),
    rules=_list(
        _object(("name", "when", "edit", "reason"), name=TEXT, when=_ANY_OBJECT, edit=_list(_ANY_OBJECT), reason=TEXT)
    ),
    policy=_object(
        approval={"type": "string", "enum": [item for item in Approval if item is not Approval.NEVER]},
        on_failure={"type": "string", "enum": ["fail", "ask"]},
        partial=_YES,
        review={"type": "string", "enum": ["never", "on_failure", "always"]},
        review_at=_list(TEXT),
    ),
    result=_list(_object(("title", "from"), title=TEXT, from_=TEXT, output=TEXT, show=TEXT)),
)
OPERATION: Final = _object(
    add_task=TASK,
    remove_task=_object(("id",), id=TEXT),
    update_task=_object(("id",), id=TEXT, **_TASK_FIELDS),
    reassign=_object(("id", "device"), id=TEXT, device=_SELECTOR),
    add_dependency=_DEPENDENCY,
    remove_dependency=_object(id=TEXT, from_=TEXT, to=TEXT, when=_GATE, input=TEXT),
    supersede=_object(("task", "by"), task=TEXT, by=TEXT),
)
_LOOK: Final = {
    "anyOf": [
        _object(("device", "tool"), device=TEXT, tool=TEXT, args=_ANY_OBJECT),
        _object(("read",), read=_object(("task",), task=TEXT, pointer=TEXT, offset=_COUNT)),
    ]
}
_CITE: Final = _object(("task",), task=TEXT, pointer=TEXT)
_TURN: Final[dict[str, Schema]] = {
    "calls": _list(_object(("tool",), device=TEXT, tool=TEXT, args=_ANY_OBJECT)),
    "note": TEXT,
    "value": _ANY_OBJECT,
    "cites": _list(_CITE),
    "because": TEXT,
}
_ANSWERS: Final[dict[Stage, Schema]] = {
    Stage.PLANNING: _object(
        ("kind",),
        kind=_kind(Stage.PLANNING),
        calls=_list(_LOOK),
        choices=_list(TEXT),
        cites=_list(_CITE),
        default=TEXT,
        plan=PLAN,
        recipe=TEXT,
        params=_ANY_OBJECT,
        words=TEXT,
        needs=_list(_object(("grant",), grant=TEXT, device=TEXT)),
        text=TEXT,
        why=TEXT,
        withdrawn=_YES,
    ),
    Stage.REVIEWING: _object(
        ("kind",),
        kind=_kind(Stage.REVIEWING),
        calls=_list(_LOOK),
        operations=_list(OPERATION),
        because=TEXT,
        text=TEXT,
        why=TEXT,
    ),
    Stage.ANSWERING: _object(
        ("kind", "text"),
        kind=_kind(Stage.ANSWERING),
        text=TEXT,
        cites=_list(_CITE),
    ),
    Stage.JUDGING: _object(
        ("holds", "because", "cites"),
        holds={"type": "string", "enum": ["yes", "no", "unclear"]},
        because=TEXT,
        cites=_list(_CITE),
    ),
    Stage.CHOOSING: _object(("choice", "because"), choice=TEXT, because=TEXT),
    Stage.WORKING: _object(
        ("kind",),
        kind=_kind(Stage.WORKING),
        **_TURN,
    ),
    Stage.TIERED: _object(
        ("kind",),
        kind=_kind(Stage.TIERED),
        **_TURN,
        to={"type": "string", "enum": list(TO)},
    ),
}


def answer_schema(stage: Stage) -> Schema:
    """Return the schema of an answer at a stage."""
    return _ANSWERS[stage]
