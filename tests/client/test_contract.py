"""The calls of the command line, the host and the lab are calls of the contract: each path, its verb and its query.

Read from the sources: a call is a method of the client with the function of a route, or with a path in quotes. A part
of a path that is filled in stands for one parameter, or for each of the words that the contract has there. The fields
of answers are the type checker's: see `tests/arch/shape.py`, untyped answers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.arch.checkout import ROOT, files, named
from tests.client.generated import PROGRAMS, Contract, name_of, texts
from tests.client.page import called
from tests.edge.contract import contract as contract_of_file

VERBS = {"get": "get", "pages": "get", "stream": "get", "post": "post", "create": "post", "put": "put"}
VERBS |= {"patch": "patch", "delete": "delete"}
OF_THE_CLIENT = {"wait_s", "within_s", "most", "params", "key", "body"}
"""Arguments of the client's methods that name no parameter of the route; `wait_s` is one where the route has it."""
FEWEST = 90
ROUTES = {name_of(verb, path): (verb, path) for verb, path, _ in Contract(contract_of_file()).operations()}


@dataclass(frozen=True)
class Call:
    where: str
    verb: str
    path: str
    query: tuple[str, ...]


def text_of(node: ast.expr) -> str:
    """Return a path with `{}` where a value is filled in; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def route_of(made: ast.Call) -> tuple[str, str, tuple[str, ...]]:
    """Return verb, path and query of the call that a function of a route makes; no path for any other function."""
    verb, path = ROUTES.get(ast.unparse(made.func), ("", ""))
    query = tuple(one.arg.removesuffix("_") for one in made.keywords if one.arg)
    return verb, re.sub(r"{\w+}", "{}", path), query


def calls_in(source: str, where: str) -> Iterator[Call]:
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in VERBS
            and node.args
        ):
            path = text_of(node.args[0]).partition("?")[0]
            if isinstance(node.args[0], ast.Call):
                verb, path, query = route_of(node.args[0])
                if path:
                    yield Call(f"{where}:{node.lineno}", verb, path, query)
                continue
            if path.startswith("/"):
                query = tuple(one.arg for one in node.keywords if one.arg and one.arg not in OF_THE_CLIENT)
                yield Call(f"{where}:{node.lineno}", VERBS[node.func.attr], path, query)


def found() -> list[Call]:
    paths: list[Path] = [path for folder in PROGRAMS for path in files(".py", under=folder)]
    return [call for path in paths for call in calls_in(path.read_text(encoding="utf-8"), named(path))]


def operations(contract: dict[str, Any], call: Call) -> list[dict[str, Any]]:
    """Return the operations that a call may reach."""
    wanted = re.compile("/api/v1" + re.escape(call.path).replace(r"\{\}", r"[^/]+"))
    taken = [ops for path, ops in contract["paths"].items() if wanted.fullmatch(path)]
    if not taken:  # a word in the place of a parameter, such as `/asks/{ask}/approve` of `/{where}/{id}/deny`
        taken = [
            ops
            for path, ops in contract["paths"].items()
            if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)), "/api/v1" + call.path)
        ]
    return [ops[call.verb] for ops in taken if call.verb in ops]


def faults(contract: dict[str, Any], calls: list[Call]) -> list[str]:
    said = []
    for call in calls:
        reached = operations(contract, call)
        if not reached:
            said.append(f"{call.where}: there is no {call.verb.upper()} {call.path}")
        known = {one["name"] for ops in reached for one in ops.get("parameters", ()) if one["in"] == "query"}
        said += [f"{call.where}: {call.path} takes no {name}" for name in call.query if reached and name not in known]
    return said


@pytest.fixture(scope="module")
def contract() -> dict[str, Any]:
    return contract_of_file()


def test_every_call_is_one_of_the_contract(contract: dict[str, Any]) -> None:
    calls = found()
    assert len(calls) >= FEWEST, "the search finds fewer calls than there were: teach it the new form"
    assert faults(contract, calls) == []


def test_a_call_of_no_route_is_found(contract: dict[str, Any]) -> None:
    source = """
client.get("/devices", nothing=1)
client.delete(f"/devices/{name}")
client.post(f"/constellations/{name}/why")
client.get(f"/constellations/{name}/why", task_id=task)
client.get(get_constellation_why(name, task_id=task))
client.get(get_constellation_why(name, task=task))
"""
    said = faults(contract, list(calls_in(source, "here")))
    assert said == [
        "here:2: /devices takes no nothing",
        "here:3: there is no DELETE /devices/{}",
        "here:4: there is no POST /constellations/{}/why",
        "here:7: /constellations/{}/why takes no task",
    ]


def uncalled(contract: dict[str, Any], calls: list[Call]) -> list[str]:
    """Return the routes below /api/v1 that no call reaches; a HEAD goes with its GET."""
    reached = [id(operation) for call in calls for operation in operations(contract, call)]
    return [
        f"{verb.upper()} {path}"
        for path, ops in contract["paths"].items()
        for verb, operation in ops.items()
        if path.startswith("/api/v1") and verb != "head" and id(operation) not in reached
    ]


def in_documents() -> Iterator[Call]:
    """Yield the calls that the documents show as VERB /api/v1/PATH."""
    for path in (*files(".md", under="docs"), ROOT / "README.md"):
        for verb, said in re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) /api/v1(/[\w/{}.-]+)", path.read_text("utf-8")):
            yield Call(named(path), verb.lower(), re.sub(r"(?<=/)([A-Z]+|{\w+})(?=/|$)", "{}", said.rstrip(".")), ())


def test_every_route_has_a_caller_or_a_document(contract: dict[str, Any]) -> None:
    pages = ((named(path), path.read_text("utf-8")) for path in files(".ts", ".tsx", under="frontend/src"))
    of_page = [Call("page", verb, path.removeprefix("/api/v1"), ()) for verb, path in called(contract["paths"], pages)]
    of_page = [replace(call, path=re.sub(r"{\w+}", "{}", call.path)) for call in of_page]
    assert uncalled(contract, [*found(), *in_documents(), *of_page]) == [], "remove it, or write it into docs/curl.md"


def test_a_route_without_a_caller_is_named(contract: dict[str, Any]) -> None:
    more = {"paths": {**contract["paths"], "/api/v1/forgotten/{one}": {"post": {}}}}
    assert "POST /api/v1/forgotten/{one}" in uncalled(more, found())
    assert "POST /api/v1/forgotten/{one}" not in uncalled(more, [Call("here", "post", "/forgotten/{}", ())])


def test_the_routes_of_the_client_are_those_of_the_contract() -> None:
    for path, text in texts().items():
        assert path.read_text(encoding="utf-8") == text, f"{named(path)} is stale; run `make gen`"


def test_each_route_has_a_name_of_its_own() -> None:
    names = [name_of(verb, path) for verb, path, _ in Contract(contract_of_file()).operations()]
    assert len(names) == len(set(names))


def test_the_search_reads_this_checkout() -> None:
    assert all((ROOT / call.where.partition(":")[0]).is_file() for call in found())
