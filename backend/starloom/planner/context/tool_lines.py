"""A tool in one line of a model's context: arguments with their types, effects, and the fields of its result.

Pure. Names, titles and schemas come from devices: every text is quoted or cut to what cannot end a fenced block, and
each line is bounded whatever the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from starloom.planner.quoting import plain, quoted
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.tools.results import returned_by
from starloom_protocol.values import parse

ABOUT_CHARS: Final = 240
SIGNATURE_CHARS: Final = 700
GIVES_CHARS: Final = 190
_ARGS_MOST: Final = 24
_ENUM_MOST: Final = 8
_DEPTH_MAX: Final = 3
_GIVES_DEPTH: Final = 2
_FIELDS_MOST: Final = 16
_TEXTS_KEPT: Final = 4096


def signature(offer: ToolOffer) -> str:
    """Return `name(needed: type, other?: type)`; a text has no type written."""
    return f"{plain(offer.name, 64)}({_arguments(offer.args)})"


def gives(offer: ToolOffer) -> str:
    """Return the fields of the result, `rows[name, size: int]` for a list of maps; empty where it is not known."""
    return _result_fields(returned_by(offer))


def description(offer: ToolOffer, most: int = ABOUT_CHARS) -> str:
    """Return the tool's own description of its arguments, cut."""
    return plain(_described(offer.args), most)


def searched(offer: ToolOffer) -> str:
    """Return the text by which a tool is found: its name, title, description, and the examples of its schema."""
    name = offer.name.replace(".", " ").replace("_", " ")
    return " ".join((name, offer.title, name, offer.title, _described(offer.args), _examples(offer.args)))[:2000]


@lru_cache(_TEXTS_KEPT)
def _arguments(args: str) -> str:
    schema = _read(args)
    resolved = _resolved(schema, schema)
    properties = resolved.get("properties")
    needed = resolved.get("required")
    needed = {name for name in needed if isinstance(name, str)} if isinstance(needed, list) else set()
    fields = list(properties.items()) if isinstance(properties, dict) else []
    parts: list[str] = []
    spent = 0
    # Needed arguments come first, so that a long list loses only what may be left out.
    for name, about in sorted(fields, key=lambda pair: pair[0] not in needed):
        optional = "" if name in needed else "?"
        part = f"{plain(str(name), 64)}{optional}{_typed(about, schema)}"
        spent += len(part) + 2
        if len(parts) == _ARGS_MOST or spent > SIGNATURE_CHARS:
            parts.append("...")
            break
        parts.append(part)
    return ", ".join(parts)


@lru_cache(_TEXTS_KEPT)
def _result_fields(returns: str) -> str:
    schema = _read(returns)
    if not schema:
        return ""
    if _unwrapped(schema, schema).get("type") == "array":
        inner = ", ".join(_fields(schema, schema, 1))
        return f"[{inner}]" if len(inner) <= GIVES_CHARS else "[...]"
    parts: list[str] = []
    spent = 0
    for part in _fields(schema, schema, 0):
        spent += len(part) + 2
        if spent > GIVES_CHARS:
            parts.append("...")
            break
        parts.append(part)
    return ", ".join(parts)


def _fields(node: Any, whole: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the fields of a map, or of the maps that a list holds."""
    node_schema = _unwrapped(node, whole)
    if node_schema.get("type") == "array":
        node_schema = _unwrapped(node_schema.get("items"), whole)
    properties = node_schema.get("properties")
    for name, about in list(properties.items())[:_FIELDS_MOST] if isinstance(properties, dict) else ():
        inner = list(_fields(about, whole, depth + 1)) if depth + 1 < _GIVES_DEPTH else []
        kind = _kind(about, whole, 0)
        if inner:
            mark = "[{}]" if kind.startswith("[") else "{{{}}}"
            yield plain(str(name), 64) + mark.format(", ".join(inner))
        else:
            yield plain(str(name), 64) + ("" if kind == "text" else f": {kind}")


def _unwrapped(node: Any, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema behind its references and beside `null`."""
    for _ in range(_DEPTH_MAX):
        if not isinstance(node, dict):
            return {}
        resolved = _resolved(node, whole)
        forms = resolved.get("anyOf")
        if not isinstance(forms, list):
            return resolved
        node = next((form for form in forms if isinstance(form, dict) and form.get("type") != "null"), {})
    return {}


def _described(args: str) -> str:
    schema = _read(args)
    about = _resolved(schema, schema).get("description")
    return about if isinstance(about, str) else ""


def _examples(args: str) -> str:
    schema = _read(args)
    examples = _resolved(schema, schema).get("examples")
    return json.dumps(examples, ensure_ascii=False) if isinstance(examples, list) else ""


@lru_cache(_TEXTS_KEPT)
def _read(text: str) -> Mapping[str, Any]:
    try:
        schema = parse(text) if text else {}
    except ValueError:
        return {}
    return schema if isinstance(schema, dict) else {}


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    definitions = whole.get("$defs")
    definition = definitions.get(reference.rpartition("/")[2]) if isinstance(definitions, dict) else None
    return definition if isinstance(definition, dict) else {}


def _typed(about: Any, whole: Mapping[str, Any]) -> str:
    kind = _kind(about, whole, 0)
    return "" if kind == "text" else f": {kind}"


def _kind(schema: Any, whole: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return "any"
    schema = _resolved(schema, whole)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        names = [quoted(str(choice), 40) for choice in choices[:_ENUM_MOST]]
        return "|".join(names + (["..."] if len(choices) > _ENUM_MOST else []))
    either = schema.get("anyOf")
    if isinstance(either, list) and either:
        kinds = dict.fromkeys(_kind(part, whole, depth + 1) for part in either[:_ENUM_MOST])
        return "|".join(kind for kind in kinds if kind != "null") or "null"
    word = schema.get("type")
    if word == "array":
        return f"[{_kind(schema.get('items'), whole, depth + 1)}]"
    return {"string": "text", "integer": "int", "object": "map", "boolean": "bool"}.get(
        str(word), plain(str(word), 16) if isinstance(word, str) else "any"
    )
