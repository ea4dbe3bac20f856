"""The arguments of the tools of `starloom mcp`: their schemas, and the check of a call against one. Pure.

A call that does not fit is refused whole, in sentences that name each argument, the fault and what the tool takes. Some
models write a list, a map or a number as a text: such a text counts as its value where a text is not expected.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from starloom_protocol.text.wording import quoted
from starloom_protocol.wire.codec import NUMBER_MAX

SHOWN_CHARS_MOST: Final = 60
FAULTS_MOST: Final = 20
Schema = dict[str, Any]


class ArgumentsRefused(Exception):
    """The arguments do not fit; the message says each fault and the way out."""


def text(about: str) -> Schema:
    return {"type": "string", "description": about}


def texts(about: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": about}


def number(about: str, **more: Any) -> Schema:
    return {"type": "number", "description": about, **more}


def whole_number(about: str, **more: Any) -> Schema:
    return {"type": "integer", "description": about, **more}


def yes_or_no(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def fields(about: str) -> Schema:
    return {"type": "object", "description": about}


def form(properties: Mapping[str, Schema], *, needed: tuple[str, ...] = ()) -> Schema:
    """Return the schema of a tool with these arguments and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(needed)} if needed else schema


def checked(tool: str, schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call; one that is null counts as left out.

    Raises:
        ArgumentsRefused: with every fault.
    """
    properties: dict[str, Schema] = schema.get("properties", {})
    faults: list[str] = []
    converted: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in properties:
            near = difflib.get_close_matches(name, properties, n=1)
            faults.append(f"there is no argument {_quoted(name)}" + (f"; did you mean `{near[0]}`?" if near else ""))
        elif value is not None:
            value_taken = _converted(properties[name], value)
            if value_taken is None:
                faults.append(f"`{name}` is {_kind_words(properties[name])}, not {_quoted(value)}")
            elif bound := _beyond(properties[name], value_taken):
                faults.append(f"`{name}` is {bound}, not {_quoted(value)}")
            else:
                converted[name] = value_taken
    faults += [f"`{name}` is missing" for name in schema.get("required", ()) if name not in arguments]
    faults += [
        f"`{name}` is empty" for name in schema.get("required", ()) if name in arguments and arguments[name] is None
    ]
    if not faults:
        return converted
    words = "; ".join(faults[:FAULTS_MOST])
    raise ArgumentsRefused(f"{tool} was not called: {words}.\n{tool} takes {_takes(schema)}.")


def _takes(schema: Schema) -> str:
    needed = schema.get("required", ())
    names = [
        f"`{name}` ({_kind_words(part)}{'' if name in needed else ', may be left out'})"
        for name, part in schema.get("properties", {}).items()
    ]
    return ", ".join(names) or "no arguments"


def _converted(schema: Schema, value: Any) -> Any:
    """Return a value as its argument takes it, or None if it does not."""
    kinds = _kinds(schema)
    if isinstance(value, str) and "string" not in kinds:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    for kind in kinds:
        if _KINDS[kind](value) and (kind != "array" or _all_fit(schema, value)):
            return int(value) if kind == "integer" else value
    return None


def _beyond(schema: Schema, value: Any) -> str:
    """Return in words the bound that a value passes; empty where it keeps them."""
    if "minimum" in schema and value < schema["minimum"]:
        return f"at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"at most {schema['maximum']}"
    return ""


def _all_fit(schema: Schema, value: list[Any]) -> bool:
    items = schema.get("items")
    return not items or all(_converted(items, item) is not None for item in value)


def _kinds(schema: Schema) -> list[str]:
    if "anyOf" in schema:
        return [part["type"] for part in schema["anyOf"]]
    return [schema["type"]]


def _kind_words(schema: Schema) -> str:
    if schema.get("items", {}).get("type") == "string":
        return "a list of texts"
    return " or ".join(_WORDS[kind] for kind in _kinds(schema))


def _quoted(value: Any) -> str:
    return quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:SHOWN_CHARS_MOST]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX


_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
_WORDS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a map of fields",
    "string": "a text",
}
