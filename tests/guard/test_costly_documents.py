"""Documents and headers of a permitted size whose reading would keep the hub from everybody else.

Each case took the hub seconds to an hour in the loop, or in a parser that lets no other thread run.
"""

from __future__ import annotations

import ast
import json

import pytest

from starloom.edge.access.guard import ROUTES, V1
from starloom_protocol.plan import DocumentRefused, read_document
from tests.edge.world import World
from tests.guard import sources

PLAN_BYTES = 1024 * 1024


def one_key_twice(size: int) -> str:
    """Return a map of many keys in about so many bytes, of which the last key stands twice."""
    keys = [f'"{number:06x}":0' for number in range(size // 11 - 2)]
    return "{" + ",".join([*keys, keys[-1]]) + "}"


@pytest.mark.parametrize("path", ["/agent/join", "/agent/leave", "/agent/upgrade", V1 + "/sign-in"])
async def test_t156_a_stranger_sends_a_map_with_a_key_twice(world: World, path: str) -> None:
    body = one_key_twice(ROUTES["POST", path].body_max)
    async with world.client("") as http:
        refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    assert "stands twice" in refused.json()["reason"]


async def test_t156_a_body_of_full_size_with_a_key_twice_is_read_in_one_pass(world: World) -> None:
    path = V1 + "/constellations/preview"
    body = one_key_twice(ROUTES["POST", path].body_max)
    async with world.client() as http:
        refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    assert "stands twice" in refused.json()["reason"]


def test_t156_a_plan_with_a_key_twice_is_read_in_one_pass() -> None:
    with pytest.raises(DocumentRefused, match="stands twice"):
        read_document(one_key_twice(PLAN_BYTES))


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028"])
def test_t156_a_document_has_no_directives_for_tags(end: str) -> None:
    """The C parser compared each with all before it: half a minute, in which no other thread ran."""
    lines = [f"%TAG !a{number}! b" for number in range(PLAN_BYTES // 18)]
    with pytest.raises(DocumentRefused, match="directives") as refused:
        read_document("# a plan" + end + end.join([*lines, "--- a"]))
    assert refused.value.fault.place == f"line {2 if end == chr(10) else 1}, column 1"


def test_t156_a_percent_sign_within_a_text_is_no_directive() -> None:
    document = {"name": "%TAG", "words": "%TAG !a! b\n%TAG !c! d"}
    assert read_document(json.dumps(document)) == document
    assert read_document("name: '%TAG'\nwords: |-\n  %TAG !a! b\n  %TAG !c! d\n") == document


@pytest.mark.parametrize("inner", ["\\\\", '\\"', "\\1"])
async def test_t156_the_quotes_of_a_cookie_are_not_taken_away(world: World, inner: str) -> None:
    """One request of a stranger kept the hub for twenty seconds: 64 KiB of headers are taken."""
    text = f'a="{inner * (60_000 // len(inner))}"'
    async with world.client("") as http:
        refused = await http.get(V1 + "/session", headers={"Cookie": text})
        assert refused.json()["code"] == "not_signed_in"
        refused = await http.get(V1 + "/session", headers=[("Cookie", "b=c"), ("Cookie", text)])
        assert refused.json()["code"] == "not_signed_in"


def test_t156_no_code_reads_cookies_in_another_way() -> None:
    readers = [
        f"{path}:{node.lineno}"
        for path, tree in sources.modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "cookies"
    ]
    assert readers == []
    assert not [path for path, tree in sources.modules() if "http.cookies" in sources.imported(tree)]
