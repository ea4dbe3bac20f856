"""A tool in one line, as a brief lists it: arguments with their types, effects, devices, fields of the result.

Pure. Names and titles come from devices, so every text is quoted or cut to what cannot end a fenced block.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from starloom_protocol.entities import ToolOffer
from starloom_protocol.plan import Recipe
from starloom_protocol.values import parse

ABOUT_CHARS = 240
_ARGS_MOST = 24
_ENUM_MOST = 8


def quoted(text: str, most: int = 120) -> str:
    """Return a text from outside as one JSON string without backticks."""
    cut = text if len(text) <= most else text[: most - 3] + "..."
    return json.dumps(cut, ensure_ascii=False).replace("`", "\\u0060").replace("\u2028", " ").replace("\u2029", " ")


def plain(text: str, most: int = 120) -> str:
    """Return a text from outside as one line of words, without quotes or backticks."""
    return quoted(" ".join(text.replace("`", "'").split()), most)[1:-1].replace('\\"', "'")


def signature(offer: ToolOffer) -> str:
    """Return `name(needed: type, other?: type)`."""
    schema = parse(offer.args)
    found = _resolved(schema, schema) if isinstance(schema, dict) else {}
    properties = found.get("properties")
    needed = found.get("required")
    needed = set(needed) if isinstance(needed, list) else set()
    parts = []
    for name, about in list(properties.items())[:_ARGS_MOST] if isinstance(properties, dict) else ():
        optional = "" if name in needed else "?"
        parts.append(f"{plain(str(name), 64)}{optional}: {_kind(about, schema, 0)}")
    return f"{plain(offer.name, 64)}({', '.join(parts)})"


def description(offer: ToolOffer, most: int = ABOUT_CHARS) -> str:
    """Return the tool's own description of its arguments, cut."""
    schema = parse(offer.args)
    found = _resolved(schema, schema) if isinstance(schema, dict) else {}
    about = found.get("description")
    return plain(about, most) if isinstance(about, str) else ""


def pointers(recipes: Iterable[Recipe]) -> dict[str, list[str]]:
    """Return for each tool the pointers into its output that recipes use: they exist, but are not all pointers."""
    found: dict[str, dict[str, None]] = {}
    for recipe in recipes:
        tasks = [task for task in recipe.plan.get("tasks", []) if isinstance(task, dict)]
        tools = {task.get("id"): task.get("tool") for task in tasks}
        for source, pointer in _used(recipe.plan, tasks):
            tool = tools.get(source)
            if isinstance(tool, str) and isinstance(pointer, str) and pointer.startswith("/"):
                found.setdefault(tool, {})[pointer] = None
    return {tool: sorted(used) for tool, used in found.items()}


def _used(plan: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Any, Any]]:
    for task in tasks:
        inputs = task.get("inputs")
        for item in inputs.values() if isinstance(inputs, dict) else ():
            if isinstance(item, dict):
                yield item.get("from"), item.get("output")
        each = task.get("for_each")
        if isinstance(each, dict):
            yield each.get("from"), each.get("output")
        for check in task.get("checks") or []:
            if isinstance(check, dict):
                yield task.get("id"), check.get("output")
    for gate in plan.get("dependencies") or []:
        if isinstance(gate, dict) and isinstance(gate.get("when"), dict):
            yield gate.get("from"), gate["when"].get("output")
    for item in plan.get("result") or []:
        if isinstance(item, dict):
            yield item.get("from"), item.get("output")


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    definitions = whole.get("$defs")
    found = definitions.get(reference.rpartition("/")[2]) if isinstance(definitions, dict) else None
    return found if isinstance(found, dict) else {}


def _kind(schema: Any, whole: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, dict) or depth > 3:
        return "any"
    schema = _resolved(schema, whole)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        shown = [quoted(str(choice), 40) for choice in choices[:_ENUM_MOST]]
        return "|".join(shown + (["..."] if len(choices) > _ENUM_MOST else []))
    either = schema.get("anyOf")
    if isinstance(either, list) and either:
        kinds = dict.fromkeys(_kind(part, whole, depth + 1) for part in either)
        return "|".join(kind for kind in kinds if kind != "null") or "null"
    word = schema.get("type")
    if word == "array":
        return f"[{_kind(schema.get('items'), whole, depth + 1)}]"
    return {"string": "text", "integer": "int", "object": "map", "boolean": "bool"}.get(
        str(word), plain(str(word), 16) if isinstance(word, str) else "any"
    )
