"""The arguments of a tool for people: type, unit, default, whether it is needed, and an example of a call.

A device may write any schema: what is not known reads as *any value*, and a schema is followed only so deep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from starloom_protocol.tools.ages import WRITTEN
from starloom_protocol.values import canonical, point

_DEPTH_MOST: Final = 3
_CHOICES_MOST: Final = 12
_FIELDS_MOST: Final = 24
_DEFAULT_CHARS_MOST: Final = 80
_ABOUT_CHARS_MOST: Final = 2_000
_UNITS: Final = {"s": "seconds", "ms": "milliseconds", "bytes": "bytes", "days": "days", "percent": "percent"}
_WORDS: Final = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_HASH: Final = "0" * 64
_SAMPLES: Final = {"integer": 1, "number": 1, "boolean": True, "null": None}


@dataclass(frozen=True)
class Argument:
    """One argument: its type in words with its unit, and its default as JSON, empty where there is none to tell."""

    name: str
    kind: str
    needed: bool
    default: str

    def words(self) -> str:
        """Return type, need and default in words."""
        suffix = ", needed" if self.needed else f", default {self.default}" if self.default else ""
        return f"{self.kind}{suffix}"


def arguments_in(schema: Any) -> list[Argument]:
    """Return the arguments that the schema of a tool lists, those that are needed first."""
    return _Reading(schema).arguments()


def about_in(schema: Any) -> str:
    """Return what the schema of a tool tells of its arguments in words, on one line and cut; empty if it tells nothing.

    The text is the device's: a reader shows it as such, and a terminal escapes it.
    """
    return _Reading(schema).about


def example_of(tool: str, schema: Any) -> str:
    """Return a call of a tool as a task of a plan: a value for each argument that is needed, or whose schema has
    `examples`, as one of several ways to call it.
    """
    args = _Reading(schema).sample()
    args_words = f", args: {canonical(args)}" if args else ""
    return f"- {{id: example, tool: {tool}{args_words}}}"


class _Reading:
    """One reading of a schema."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        whole = self._followed(schema)
        properties, needed = whole.get("properties"), whole.get("required")
        self._properties: dict[str, Any] = properties if isinstance(properties, dict) else {}
        listed = needed if isinstance(needed, list) else []
        description = whole.get("description")
        self.about = " ".join(description.split())[:_ABOUT_CHARS_MOST] if isinstance(description, str) else ""
        self._needed = [name for name in listed if isinstance(name, str) and name in self._properties]

    def arguments(self) -> list[Argument]:
        order = [*self._needed, *(name for name in self._properties if name not in self._needed)]
        return [self._argument(name) for name in order]

    def sample(self) -> dict[str, Any]:
        names = [name for name, node in self._properties.items() if name in self._needed or _examples(node)]
        return {name: self._value(name, self._properties[name], 0) for name in names}

    def _argument(self, name: str) -> Argument:
        node = self._properties[name]
        default = node.get("default") if isinstance(node, dict) else None
        words = "" if default is None or not _some(default) else canonical(default)
        unit = _UNITS.get(name.rpartition("_")[2], "")
        kind = self._kind(node, 0)
        if unit and "number" in kind:
            kind = kind.replace("number", f"number of {unit}", 1)
        return Argument(name, kind, name in self._needed, words if len(words) <= _DEFAULT_CHARS_MOST else "")

    def _followed(self, node: Any) -> dict[str, Any]:
        for _ in range(_DEPTH_MOST):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                break
            node = point(self._root, node["$ref"][1:])
        return node if isinstance(node, dict) else {}

    def _kind(self, schema: Any, depth: int) -> str:
        node = self._followed(schema)
        if depth > _DEPTH_MOST:
            return "any value"
        if isinstance(node.get("anyOf"), list):
            kinds = [
                self._kind(form, depth + 1) for form in node["anyOf"] if self._followed(form).get("type") != "null"
            ]
            return " or ".join(dict.fromkeys(kinds)) or "any value"
        if isinstance(node.get("enum"), list):
            return _one_of(node["enum"])
        if "const" in node:
            return _one_of([node["const"]])
        form = node.get("type")
        if form == "array":
            return f"list of {self._kind(node.get('items'), depth + 1)}"
        if form == "object":
            return self._map(node)
        format_row = WRITTEN.get(str(node.get("format"))) if form == "string" else None
        return format_row.words if format_row is not None else _WORDS.get(str(form), "any value") + _range(node)

    def _map(self, node: dict[str, Any]) -> str:
        properties = node.get("properties")
        if not isinstance(properties, dict) or not properties:
            return "map"
        needed = node.get("required")
        marks = [name if isinstance(needed, list) and name in needed else f"{name}?" for name in properties]
        more = ", ..." if len(marks) > _FIELDS_MOST else ""
        return f"map with {', '.join(marks[:_FIELDS_MOST])}{more}"

    def _value(self, name: str, schema: Any, depth: int) -> Any:
        if examples := _examples(schema):
            return examples[0]
        node = self._followed(schema)
        if node.get("default") is not None:
            return node["default"]
        if isinstance(node.get("enum"), list) and node["enum"]:
            return next((choice for choice in node["enum"] if choice != ""), "")
        if isinstance(node.get("anyOf"), list) and node["anyOf"] and depth <= _DEPTH_MOST:
            return self._value(name, node["anyOf"][0], depth + 1)
        form = node.get("type")
        if form == "array":
            return [self._value(name, node.get("items"), depth + 1)] if depth <= _DEPTH_MOST else []
        if form == "object":
            fields, needed = node.get("properties"), node.get("required")
            inside = needed if isinstance(needed, list) and isinstance(fields, dict) and depth <= _DEPTH_MOST else []
            names = [one for one in inside if isinstance(one, str)]
            return {one: self._value(one, fields.get(one), depth + 1) for one in names if isinstance(fields, dict)}
        if form in ("integer", "number") and isinstance(node.get("minimum"), int | float):
            return node["minimum"]
        return _HASH if name == "sha256" else _SAMPLES.get(str(form), name.upper())


def _some(default: Any) -> bool:
    """Tell whether a default says more than that there is nothing."""
    return not isinstance(default, list | tuple | dict | str) or bool(default)


def _one_of(choices: list[Any]) -> str:
    words = [str(choice) if isinstance(choice, str) else canonical(choice) for choice in choices if choice != ""]
    more = ", ..." if len(words) > _CHOICES_MOST else ""
    return f"one of {', '.join(words[:_CHOICES_MOST])}{more}" if len(words) > 1 else "".join(words) or "text"


def _range(node: dict[str, Any]) -> str:
    """Return the least and the most that a number may be."""
    least, most = node.get("minimum"), node.get("maximum")
    above = node.get("exclusiveMinimum")
    if least is not None and most is not None:
        return f", {least} to {most}"
    limits = [f"at least {least}"] if least is not None else [f"above {above}"] if above is not None else []
    limits += [f"at most {most}"] if most is not None else []
    return f", {' and '.join(limits)}" if limits else ""


def _examples(node: Any) -> list[Any]:
    """Return the values that the schema of an argument gives as examples."""
    examples = node.get("examples") if isinstance(node, dict) else None
    return examples if isinstance(examples, list) else []
