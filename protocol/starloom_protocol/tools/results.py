"""The JSON schemas of the built-in tools' results, and the short names for them in an offer.

Both ends of a version have the same file: an agent sends a name of 23 characters in place of a schema. A name that this
side does not know is a schema that it does not know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

import msgspec

from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.values import VALUE_DEPTH_MAX, parse, point

SCHEMAS: Final = "results.json"
"""The file beside this module, made from the types of the tools by `make gen`."""
SCHEMA_CHARS_MAX: Final = 16 * 1024
"""A larger schema of a result is not offered."""
_NAMED: Final = "sha256:"
_DIGITS: Final = 16
_PARTS_SHOWN: Final = 1024
"""The parts of a schema that are read for a person."""
_KEPT: Final = 1024


def name_of(schema: str) -> str:
    """Return the short name of a schema's canonical text."""
    return _NAMED + hashlib.sha256(schema.encode()).hexdigest()[:_DIGITS]


def returned_by(offer: ToolOffer) -> str:
    """Return the text of the schema of a tool's result; empty where it is not known here."""
    return _by_name().get(offer.returns, "") if offer.returns.startswith(_NAMED) else _sound(offer.returns)


@cache
def built_in() -> Mapping[str, str]:
    """Return the schemas of the results of the built-in tools of this version, by tool, as canonical text."""
    text = resources.files("starloom_protocol.tools").joinpath(SCHEMAS).read_bytes()
    schemas = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return MappingProxyType({tool: bytes(schema).decode() for tool, schema in schemas.items()})


@lru_cache(_KEPT)
def _sound(text: str) -> str:
    """Return the text of a schema that a device wrote, empty where it is none."""
    try:
        return text if len(text) <= SCHEMA_CHARS_MAX and isinstance(parse(text), dict) else ""
    except ValueError:
        return ""


@cache
def _by_name() -> Mapping[str, str]:
    return {name_of(schema): schema for schema in built_in().values()}


def fields_of(schema: str) -> list[str]:
    """Return the fields of a result for people: `rows[name size?]`, with `?` those that a result may lack.

    A device may write a schema that is none, or that never ends: then what it names so far is shown, with `...`.
    """
    whole = parse(schema) if schema else {}
    return _Naming(whole).fields(whole, ())


class _Naming:
    """One reading of a schema for its names."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts = 0

    def fields(self, node: Any, seen: tuple[str, ...]) -> list[str]:
        self._parts += 1
        if not isinstance(node, dict):
            return []
        if self._parts > _PARTS_SHOWN or len(seen) > VALUE_DEPTH_MAX:
            return ["..."]
        name = node.get("$ref")
        if isinstance(name, str):
            inside = point(self._root, name[1:])
            return [] if name in seen else self.fields(inside, (*seen, name))
        forms = node.get("anyOf")
        if isinstance(forms, list):
            return list(dict.fromkeys(field for form in forms for field in self.fields(form, seen)))
        if "enum" in node or "const" in node:
            return []
        if node.get("type") == "array":
            return self.fields(node.get("items"), seen)
        words = []
        properties, needed = node.get("properties"), node.get("required")
        for field, part in properties.items() if isinstance(properties, dict) else ():
            inner = self.fields(part, seen)
            mark = "" if isinstance(needed, list) and field in needed else "?"
            words.append(f"{field}{mark}[{' '.join(inner)}]" if inner else f"{field}{mark}")
        if node.get("type", "object") == "object" and node.get("additionalProperties") is not False:
            words.append("{}")
        return words
