"""Answers of a hub that tests write in part: the fields that the contract promises are filled in with nothing.

So a test names what it is about, and a command still reads a whole answer. Changes no field that a test has written.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from tests.edge.contract import contract

REFERENCE = "#/components/schemas/"
EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


_contract = lru_cache(maxsize=1)(contract)


def whole(verb: str, path: str, document: Any) -> Any:
    """Return the answer of a route, `/devices` or `/constellations/c-1/why`, with every field that it promises."""
    for pattern, operations in sorted(_contract()["paths"].items(), key=lambda one: one[0].count("{")):
        wanted = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern))
        if verb.lower() in operations and re.fullmatch(wanted, f"/api/v1{path}"):
            answers = [said for code, said in operations[verb.lower()]["responses"].items() if code.startswith("2")]
            content = answers[0].get("content", {}).get("application/json")
            return filled(content["schema"], document) if content else document
    return document


def filled(schema: dict[str, Any], given: Any) -> Any:
    """Return a value with the promised fields of its schema."""
    if "$ref" in schema:
        return filled(_contract()["components"]["schemas"][schema["$ref"].removeprefix(REFERENCE)], given)
    if "anyOf" in schema:
        return given if given is None else filled(_nearest(schema["anyOf"], given), given)
    if isinstance(given, list) and isinstance(schema.get("items"), dict):
        return [filled(schema["items"], one) for one in given]
    if not isinstance(given, dict):
        return given
    fields = schema.get("properties", {})
    missing = {name: _nothing(fields[name]) for name in schema.get("required", ()) if name not in given}
    written = {name: filled(fields[name], one) if name in fields else one for name, one in given.items()}
    return written | missing


def _nearest(schemas: list[dict[str, Any]], given: Any) -> dict[str, Any]:
    """Return the schema that has most of the given fields."""

    def known(schema: dict[str, Any]) -> int:
        named = _contract()["components"]["schemas"].get(schema.get("$ref", "").removeprefix(REFERENCE), {})
        return len(set(named.get("properties", ())) & set(given)) if isinstance(given, dict) else 0

    return max(schemas, key=known)


def _nothing(schema: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _nothing(_contract()["components"]["schemas"][schema["$ref"].removeprefix(REFERENCE)])
    if "anyOf" in schema:
        return None if {"type": "null"} in schema["anyOf"] else _nothing(schema["anyOf"][0])
    if "enum" in schema:
        return ""
    return filled(schema, json.loads(json.dumps(EMPTY.get(schema.get("type", "")))))
