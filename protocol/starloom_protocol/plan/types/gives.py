"""The type of the result of a goal (`gives`): its forms and limits, its JSON schema, and the values that fit it.

Judges values and types alone; which task has a result of its own type is decided by `lowering.goals`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.plan.language.models import NAME
from starloom_protocol.plan.types.schemas import Shape, misfit, of_value, shape_of
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code

_TYPES: Final = {"any": True, "boolean": "boolean", "integer": "integer", "number": "number", "text": "string"}
FIELDS_MAX: Final = 20
"""They stand in every prompt of the goal."""
DEPTH_MAX: Final = 4
"""A model keeps to a shape that it can write in one go."""


def type_text(raw: Any, faults: FaultList, place: str) -> str:
    """Return the canonical text of `gives`; faults are noted."""
    if not isinstance(raw, dict) or not raw:
        hint = "For example {cause: text, evidence: [text], confidence: number}."
        faults.add(Code.PLAN_INVALID, place, "`gives` is a map from fields to their types", hint)
        return '{"answer":"text"}'
    _typed(raw, faults, place, DEPTH_MAX)
    try:
        return canonical(raw)
    except ValueError as error:
        faults.add(Code.PLAN_INVALID, place, str(error))
        return '{"answer":"text"}'


def _typed(raw: Any, faults: FaultList, place: str, depth: int) -> None:
    if isinstance(raw, str) and raw in _TYPES:
        return
    if isinstance(raw, list) and len(raw) == 1 and depth:
        _typed(raw[0], faults, joined(place, 0), depth - 1)
        return
    if isinstance(raw, dict) and 0 < len(raw) <= FIELDS_MAX and depth:
        for name, inner in raw.items():
            if not isinstance(name, str) or not NAME.fullmatch(name):
                faults.add(Code.PLAN_INVALID, place, f"`{str(name)[:40]}` is no name of a field")
            _typed(inner, faults, joined(place, name), depth - 1)
        return
    hint = f"Use {', '.join(_TYPES)}, a list of one such as [text], or a map of at most {FIELDS_MAX} fields."
    faults.add(Code.PLAN_INVALID, place, "this is no type of a result", hint)


def schema_of(gives: Any) -> Any:
    """Return the JSON schema of a type of `gives`."""
    if isinstance(gives, list):
        return {"items": schema_of(gives[0]), "type": "array"}
    if isinstance(gives, dict):
        fields = {name: schema_of(inner) for name, inner in gives.items()}
        return {"additionalProperties": False, "properties": fields, "required": sorted(fields), "type": "object"}
    kind = _TYPES[gives]
    return {"type": kind} if isinstance(kind, str) else {}


@lru_cache(256)
def gives_shape(gives: str) -> Shape:
    """Return the shape of the result of a goal from the canonical text of its `gives`."""
    try:
        return shape_of(canonical(schema_of(parse(gives))))
    except (KeyError, IndexError, TypeError):
        # Only of a document with faults, which are noted already.
        return shape_of("")


def misfit_of(gives: str, value: Any) -> str:
    """Return in words why a value is no result of a goal; empty if it is one."""
    due, actual = gives_shape(gives), of_value(value)
    if actual.may_be(due):
        return ""
    types = parse(gives)
    if isinstance(value, dict) and (more := sorted(set(value) - set(types))):
        return f"it has {', '.join(more)[:200]}, and the result of this goal has {', '.join(types)} alone"
    steps, one, other = misfit(actual, due)
    where = "".join(f"/{step}" for step in steps)
    lacks = one.lacking(other)
    return f"`{where}` must be {other.words()}, not {one.words()}{': ' + lacks if lacks else ''}"
