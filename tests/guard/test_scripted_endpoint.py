"""The scripted model's endpoint is a door: it is on this machine alone, and says nothing without its key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from starloom.lab.nebula.planners.script import Line, Script
from starloom.lab.nebula.planners.script_server import BODY_BYTES_MOST, PATH, ScriptServer

pytestmark = pytest.mark.quick

NOTHING_SAID = ["1 calls did not come: planning"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptServer]:
    with ScriptServer(tmp_path) as serving:
        serving.begin(Script((Line(stage="planning", say={"kind": "cannot", "text": "no"}),)))
        yield serving


def status_of(server: ScriptServer, path: str, headers: Mapping[str, str], body: bytes = b"{}") -> int:
    place = urlsplit(server.variables()["STARLOOM_LLM_URL"])
    line = HTTPConnection(str(place.hostname), place.port, timeout=10)
    try:
        line.request("POST", path, body, dict(headers))
        return line.getresponse().status
    finally:
        line.close()


def bearer(server: ScriptServer) -> dict[str, str]:
    return {"authorization": f"Bearer {Path(server.variables()['STARLOOM_LLM_KEY_FILE']).read_text()}"}


def test_it_listens_on_this_machine_alone_and_its_key_file_is_the_owners(server: ScriptServer) -> None:
    told = server.variables()
    assert urlsplit(told["STARLOOM_LLM_URL"]).hostname == "127.0.0.1"
    assert Path(told["STARLOOM_LLM_KEY_FILE"]).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer guessed", "Basic Z3Vlc3NlZA==", "Bearer \xe9"])
def test_without_its_key_it_says_nothing(server: ScriptServer, given: str) -> None:
    assert status_of(server, PATH, {"authorization": given}) == HTTPStatus.UNAUTHORIZED
    assert server.end() == NOTHING_SAID


@pytest.mark.parametrize("path", ["/v1/models", "/", f"{PATH}/../models"])
def test_it_has_no_other_path(server: ScriptServer, path: str) -> None:
    assert status_of(server, path, bearer(server)) == HTTPStatus.NOT_FOUND
    assert server.end() == NOTHING_SAID


@pytest.mark.parametrize("size", ["0", "-1", "many", str(BODY_BYTES_MOST + 1)])
def test_a_body_without_a_size_that_it_takes_is_not_read(server: ScriptServer, size: str) -> None:
    assert status_of(server, PATH, {**bearer(server), "content-length": size}) == HTTPStatus.BAD_REQUEST
    assert server.end() == NOTHING_SAID


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"messages": 1}', b'{"tools": [1]}'])
def test_a_body_that_is_no_call_is_refused_and_takes_no_line(server: ScriptServer, body: bytes) -> None:
    assert status_of(server, PATH, bearer(server), body) == HTTPStatus.BAD_REQUEST
    assert server.end() == NOTHING_SAID


def test_a_call_of_no_known_stage_has_no_reply(server: ScriptServer) -> None:
    assert status_of(server, PATH, bearer(server), json.dumps({"messages": []}).encode()) == HTTPStatus.CONFLICT
