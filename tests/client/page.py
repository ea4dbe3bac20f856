"""The routes that the page calls, with their types: `frontend/src/generated/api.ts`, made from the contract.

`python -m tests.client.generated` writes it (`make gen`). A call is found in the sources of the page: a method of its
client or a type of `rest.ts` with a path in quotes. Types of the protocol stay in `protocol.ts` and are imported here.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from starloom_protocol import export
from tests.arch.checkout import ROOT, files, named

API = "/api/v1"
FILE = ROOT / "frontend/src/generated/api.ts"
LINK = "frontend/src/link"
VERBS = {"create": "post", "text": "get", "start": "get"}
"""The verb of a method of the page's client that is not named as its verb."""
LINE_CHARS_MOST = 120
REFERENCE = "#/components/schemas/"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
CALL = re.compile(r"\brest\s*\.(get|post|create|put|patch|delete|text|start)\(\s*(\"|`)(/.*?)\2")
NAMED = re.compile(r"\b(?:BodyOf|Given)<\s*\"(\w+)\",\s*\"(/[^\"]*)\"")
ADDRESS = re.compile(r"\baddressOf\(\s*\"(/[^\"]*)\"")
HEAD = """/**
 * The routes of the REST API that the page calls, by verb and path, and the shapes of their bodies and answers.
 * Generated from protocol/schema/openapi.json by `make gen`; to have one more, call it in `src/link` first.
 */
"""


class Unknown(Exception):
    """The page calls what the hub does not have."""


def calls(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield where it stands, the verb and the path of each call in the sources of the page, named and given as text."""
    for name, text in texts:
        found = [(one.start(), VERBS.get(one[1], one[1]), one[3]) for one in CALL.finditer(text)]
        found += [(one.start(), one[1], one[2]) for one in NAMED.finditer(text)]
        found += [(one.start(), "get", one[1]) for one in ADDRESS.finditer(text)]
        for start, verb, path in found:
            yield f"{name}:{text.count(chr(10), 0, start) + 1}", verb, path


def called(paths: dict[str, Any], texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return verb and path of the routes that the page calls; part of a path that is filled in stands for any word."""
    reached: set[tuple[str, str]] = set()
    for where, verb, path in calls(texts):
        wanted = re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\${.*?}", API + path)))
        routes = {(verb, one) for one, operations in paths.items() if wanted.fullmatch(one) and verb in operations}
        if not routes:
            raise Unknown(f"{where}: the hub has no {verb.upper()} {path}; is it in protocol/schema/openapi.json?")
        reached |= routes
    return sorted(reached)


class Shapes:
    """The schemas of the contract as TypeScript; notes which of them are named."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self._protocol: dict[str, Any] = export.json_schema()["$defs"]
        self._named: list[str] = []

    def type_of(self, schema: dict[str, Any]) -> str:
        """Return the type of a schema."""
        if "$ref" in schema:
            return self._reference(schema["$ref"].removeprefix(REFERENCE))
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.type_of(one) for one in schema["anyOf"]))
        if "enum" in schema or "const" in schema:
            return " | ".join(json.dumps(word) for word in schema.get("enum", [schema.get("const")]))
        kind = schema.get("type")
        if kind == "array" and "prefixItems" in schema:
            return f"[{', '.join(self.type_of(one) for one in schema['prefixItems'])}]"
        if kind == "array":
            inner = self.type_of(schema["items"])
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        if kind == "object" and "properties" in schema:
            return f"{{ {' '.join(self._fields(schema))} }}"
        if kind == "object":
            more = schema.get("additionalProperties")
            return f"Record<string, {self.type_of(more) if isinstance(more, dict) else 'unknown'}>"
        return PLAIN.get(str(kind), "unknown")

    def written(self) -> str:
        """Return the shapes that were named and all that they are made of; those of the protocol as an import."""
        ours: dict[str, str] = {}
        theirs: set[str] = set()
        while self._named:
            name = self._named.pop()
            if self._is_of_the_protocol(name):
                theirs.add(name)
            elif name not in ours:
                ours[name] = self._shape(name)
        names = textwrap.fill(", ".join(sorted(theirs)), 118, initial_indent="  ", subsequent_indent="  ")
        return f'import type {{\n{names},\n}} from "./protocol.ts";\n\n' + "\n".join(ours[one] for one in sorted(ours))

    def _reference(self, name: str) -> str:
        if name.startswith("Items_"):  # a page of a list has no name of its own
            return self.type_of(self._schemas[name])
        self._named.append(name)
        return name

    def _is_of_the_protocol(self, name: str) -> bool:
        ours, theirs = self._schemas[name], self._protocol.get(name, {})
        alike = all(set(ours.get(part, ())) == set(theirs.get(part, ())) for part in ("properties", "required", "enum"))
        return name in self._protocol and alike

    def _fields(self, schema: dict[str, Any]) -> Iterator[str]:
        needed = schema.get("required", ())
        for name, kind in schema["properties"].items():
            key = name if re.fullmatch(r"\w+", name) else json.dumps(name)
            yield f"{key}{'' if name in needed else '?'}: {self.type_of(kind)};"

    def _shape(self, name: str) -> str:
        schema = self._schemas[name]
        said = _comment(schema)
        if "properties" not in schema:
            return f"{said}export type {name} = {self.type_of(schema)};\n"
        told = [_comment(kind, "  ") for kind in schema["properties"].values()]
        rows = (f"{words}  {field}\n" for words, field in zip(told, self._fields(schema), strict=True))
        return f"{said}export interface {name} {{\n{''.join(rows)}}}\n"


def _comment(schema: dict[str, Any], indent: str = "") -> str:
    words = " ".join(schema.get("description", "").split("\n\n")[0].replace("*/", "* /").split())
    return f"{indent}/** {words} */\n" if words else ""


def _route(shapes: Shapes, path: str, operation: dict[str, Any]) -> str:
    parts: list[str] = []
    for place in ("path", "query"):
        given = [one for one in operation.get("parameters", ()) if one["in"] == place]
        needed = [one["name"] for one in given if one["required"]]
        properties = {one["name"]: one["schema"] for one in given}
        if given:
            fields = shapes.type_of({"type": "object", "properties": properties, "required": needed})
            parts.append(f"{place}{'' if needed else '?'}: {fields}")
    body = operation.get("requestBody", {})
    if "application/json" in body.get("content", {}):
        mark = "" if body.get("required") else "?"
        parts.append(f"body{mark}: {shapes.type_of(body['content']['application/json']['schema'])}")
    good = next(said for code, said in operation["responses"].items() if code.startswith("2"))
    content = good.get("content", {}).get("application/json")
    parts.append(f"answer: {shapes.type_of(content['schema']) if content else 'null'}")
    line = f'    "{path}": {{ {"; ".join(parts)} }};\n'
    if len(line) <= LINE_CHARS_MOST:
        return line
    return f'    "{path}": {{\n' + "".join(f"      {part};\n" for part in parts) + "    };\n"


def text(contract: dict[str, Any], sources: Iterable[tuple[str, str]]) -> str:
    """Return the whole text of the page's `api.ts`."""
    shapes = Shapes(contract["components"]["schemas"])
    rows: dict[str, list[str]] = {}
    for verb, path in called(contract["paths"], sources):
        operation = contract["paths"][path][verb]
        rows.setdefault(verb, []).append(_route(shapes, path.removeprefix(API), operation))
    routes = "".join(f"  {verb}: {{\n{''.join(lines)}  }};\n" for verb, lines in rows.items())
    return f"{HEAD}{shapes.written()}\nexport interface Routes {{\n{routes}}}\n"


def sources() -> list[tuple[str, str]]:
    """Return name and text of each source of the page that may call the hub."""
    return [(named(path), path.read_text(encoding="utf-8")) for path in files(".ts", under=LINK)]
