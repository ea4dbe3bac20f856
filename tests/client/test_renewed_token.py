"""A client on the hub's computer goes on after the hub has replaced its own token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from starloom.client.discovery import LOCAL_FILE, Surroundings, find, read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client


def written(home: Path, token: str, socket: str = "/none") -> None:
    path = home / LOCAL_FILE
    path.parent.mkdir(exist_ok=True)
    tunnel = {"pin": "x", "socket": "/none"}
    said = {"pid": 1, "socket": socket, "started_s": 1.0, "token": token, "tunnel": tunnel}
    path.write_text(json.dumps(said | {"url": "http://127.0.0.1:8470"}))


def client(home: Path, known: set[str], heard: list[str], sleep: Callable[[float], None] = lambda _: None) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        heard.append(f"{request.method} {token} {request.headers.get('Idempotency-Key', '')}")
        if token in known:
            return httpx.Response(200, json={"token": token})
        return httpx.Response(401, json={"code": "unauthenticated", "reason": "the token has ended"})

    address = read_local(home)
    assert address is not None
    return Client(address, transport=httpx.MockTransport(answer), sleep=sleep)


def test_the_next_request_takes_the_new_token_once(tmp_path: Path) -> None:
    written(tmp_path, "old")
    heard: list[str] = []
    known = {"old"}
    made = client(tmp_path, known, heard)
    assert made.get("/devices") == {"token": "old"}
    known.clear()
    known.add("new")
    written(tmp_path, "new")
    assert made.create("/constellations", {}, key="k") == {"token": "new"}
    assert made.get("/devices") == {"token": "new"}
    assert heard[1:] == ["POST old k", "POST new k", "GET new "]


def test_a_token_that_the_hub_is_about_to_write_is_waited_for(tmp_path: Path) -> None:
    written(tmp_path, "old")
    made = client(tmp_path, {"new"}, [], sleep=lambda _: written(tmp_path, "new"))
    assert made.get("/devices") == {"token": "new"}


@pytest.mark.parametrize("case", ["none", "another hub", "given"])
def test_no_other_token_is_taken(case: str, tmp_path: Path) -> None:
    written(tmp_path, "old")
    heard: list[str] = []
    made = client(tmp_path, {"new"}, heard)
    if case == "another hub":
        written(tmp_path, "new", socket="/other")
    elif case == "given":
        around = Surroundings({"STARLOOM_TOKEN": "old", "STARLOOM_HOME": str(tmp_path)}, tmp_path, tmp_path)
        made.address = find(None, around)
        written(tmp_path, "new")
    with pytest.raises(Problem, match="has ended"):
        made.get("/devices")
    assert heard == ["GET old "]
