"""The direct way to an endpoint answers as FastAPI's own does, whatever is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from starloom.edge.web import admission, direct_calls
from tests.edge.world import World, a_world, an_offer, chain

JSON = {"content-type": "application/json"}
EDITS = "/api/v1/constellations/{id}/edits"
ADD = b'{"base_version": 1, "operations": [{"add_task": {"id": "x", "tool": "t.other"}}]}'


async def _cut() -> AsyncIterator[bytes]:
    yield b'{"base_version": '
    yield b" " * (3 * 1024 * 1024)
    yield b"1}"


ASKED: list[tuple[str, str, dict[str, str], bytes | None]] = [
    ("GET", "/readyz", {}, None),
    ("GET", "/api/v1/devices", {}, None),
    ("GET", "/api/v1/devices?unknown=1", {}, None),
    ("GET", "/api/v1/devices/one", {}, None),
    ("GET", "/api/v1/devices/d%00%F0%9F", {}, None),
    ("GET", "/api/v1/devices/d%F0%9F", {}, None),
    ("GET", "/", {}, None),
    ("HEAD", "/", {}, None),
    ("GET", "/api/v1/devices/one", JSON, b"{not read"),
    ("POST", EDITS, JSON, b""),
    ("POST", EDITS, {}, ADD),
    ("POST", EDITS, {"content-type": "text/plain"}, ADD),
    ("POST", EDITS, {"content-type": "application/json; charset=utf-8"}, ADD),
    ("POST", EDITS, {"content-type": "application/problem+json"}, ADD),
    ("POST", EDITS, JSON, ADD),
    ("POST", EDITS, JSON, b"{broken"),
    ("POST", EDITS, JSON, b"\xff\xfe"),
    ("POST", EDITS, JSON, b"[" * 100_000),
    ("POST", EDITS, JSON, b"null"),
    ("POST", EDITS, JSON, b"[]"),
    ("POST", EDITS, JSON, b'"text"'),
    ("POST", EDITS, JSON, b"{}"),
    ("POST", EDITS, JSON, b'{"base_version": "1", "operations": [], "more": 1}'),
    ("POST", EDITS, JSON, b'{"base_version": -1, "operations": 1, "reason": 2}'),
    ("POST", EDITS, JSON, b'{"base_version": 1, "operations": [NaN, 1e999, {"nope": {}}]}'),
    ("POST", EDITS, JSON, b'{"base_version": 1, "base_version": true, "operations": ["\\ud800"]}'),
    ("POST", "/api/v1/constellations/{id}/pause", {}, None),
    ("POST", "/api/v1/constellations/{id}/pause", JSON, b"null"),
    ("POST", "/api/v1/constellations/{id}/resume", JSON, b'{"reason": "on"}'),
    ("POST", "/api/v1/constellations/{id}/tasks/t0/nothing", JSON, b"{}"),
    ("PATCH", "/api/v1/devices/one", JSON, b'{"name": "a\\nb", "labels": ["a,b"]}'),
    ("GET", "/api/v1/constellations?limit=1000", {}, None),
]


async def _answers(folder: Path) -> list[Any]:
    """Ask everything of a fresh hub; ids and times are its own, so they are left out."""
    found: list[Any] = []
    async with a_world(folder) as world:
        await world.online("one", offer=an_offer("t.other"))
        made = await world.submit(chain("t.other", "t.other"), hold=True)
        async with world.client() as http:
            for method, path, headers, body in ASKED:
                response = await http.request(method, path.replace("{id}", made["id"]), headers=headers, content=body)
                found.append((method, path, headers, body and body[:80], response.status_code, _said(response, made)))
            cut = await http.post(EDITS.replace("{id}", made["id"]), headers=JSON, content=_cut())
            found.append(("cut", cut.status_code, _said(cut, made)))
    return found


def _said(response: Any, made: dict[str, Any]) -> Any:
    if response.status_code < 300:
        return sorted(name for name in response.headers)
    said = response.json()
    del said["request_id"]
    return {**said, "reason": said["reason"].replace(made["id"], "ID")}


async def test_the_direct_way_answers_as_the_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direct = await _answers(tmp_path / "direct")
    assert {answer[-2] for answer in direct} >= {200, 404, 409, 413, 422}
    monkeypatch.setattr(admission, "directly", lambda _route, handle: handle)
    assert await _answers(tmp_path / "long") == direct


async def test_an_edit_a_control_and_what_takes_nothing_are_called_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: dict[str, bool] = {}

    def seen(route: APIRoute, handle: direct_calls.Handler) -> direct_calls.Handler:
        found = direct_calls.directly(route, handle)
        ways[route.path] = found is not handle
        return found

    monkeypatch.setattr(admission, "directly", seen)
    async with a_world(tmp_path):
        pass
    assert ways["/readyz"]
    assert ways["/api/v1/constellations/{constellation}/edits"]
    assert ways["/api/v1/constellations/{constellation}/pause"]
    assert not ways["/api/v1/constellations"], "it takes a query"
    assert not ways["/api/v1/secrets/{name}"], "the length of its name is bounded"
    assert not ways["/api/v1/devices/{device}/{action}"], "only some actions exist"


async def test_a_body_that_is_too_long_is_refused_as_often_as_it_is_read(world: World) -> None:
    async with world.client() as http:
        response = await http.post(EDITS.replace("{id}", "none"), headers=JSON, content=_cut())
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "bytes" in response.json()["reason"]
