"""The part of the contract that the page calls, of which `npm run gen` makes its types.

`python -m tests.client.page` prints it for that (`make gen`). A call is found in the sources of the page: a method of
its client or a type of `rest.ts` with a path in quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.arch.checkout import files, named
from tests.edge.contract import contract

API = "/api/v1"
LINK = "frontend/src/link"
VERBS = {"create": "post", "text": "get", "start": "get"}
"""The verb of a method of the page's client that is not named as its verb."""
REFERENCE = "#/components/schemas/"
CALL = re.compile(r"\brest\s*\.(get|post|create|put|patch|delete|text|start)\(\s*(\"|`)(/.*?)\2")
NAMED = re.compile(r"\b(?:BodyOf|Given)<\s*\"(\w+)\",\s*\"(/[^\"]*)\"")
ADDRESS = re.compile(r"\baddressOf\(\s*\"(/[^\"]*)\"")


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


def part(whole: dict[str, Any], texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the contract with the routes that the page calls, their good answers, and the shapes that these reach."""
    paths: dict[str, Any] = {}
    for verb, path in called(whole["paths"], texts):
        operation = whole["paths"][path][verb]
        good = {code: said for code, said in operation["responses"].items() if code.startswith("2")}
        paths.setdefault(path, {})[verb] = {**operation, "responses": good}
    schemas, reached = whole["components"]["schemas"], dict[str, Any]()
    waiting = _references(paths)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = schemas[name]
            waiting |= _references(schemas[name])
    return {**whole, "components": {"schemas": reached}, "paths": paths}


def _references(node: Any) -> set[str]:
    return set(re.findall(rf'"{REFERENCE}(\w+)"', json.dumps(node)))


def text() -> str:
    """Return the part that the sources of the page call now, as JSON."""
    return json.dumps(part(contract(), sources()), sort_keys=True)


def sources() -> list[tuple[str, str]]:
    """Return name and text of each source of the page that may call the hub."""
    return [(named(path), path.read_text(encoding="utf-8")) for path in files(".ts", under=LINK)]


if __name__ == "__main__":
    print(text())
