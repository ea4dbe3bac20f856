from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from starloom.cli.client import Client
from starloom.cli.discovery import HubAddress
from starloom.cli.exits import Exit
from starloom.cli.problems import Problem

PROBLEM = {
    "title": "The plan has faults",
    "code": "plan_invalid",
    "reason": "2 faults",
    "hint": "Mend them.",
    "errors": [
        {"place": "tasks[0].tool", "code": "unknown_tool", "reason": "no fs.raed", "hint": "Did you mean fs.read?"},
        {"place": "tasks[1].id", "code": "duplicate_id", "reason": "a is there twice", "hint": ""},
    ],
}


def client(handler: Callable[[httpx.Request], httpx.Response]) -> Client:
    address = HubAddress("http://127.0.0.1:8470", "slt_a_b", "test")
    return Client(address, transport=httpx.MockTransport(handler), sleep=lambda _: None)


def test_the_token_and_the_path_are_sent() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer slt_a_b"
        assert str(request.url) == "http://127.0.0.1:8470/api/v1/constellations?state=active"
        return httpx.Response(200, json={"items": []})

    assert client(handle).get("/constellations", state="active", q=None) == {"items": []}


def test_every_fault_of_a_refusal_is_kept_with_its_place() -> None:
    with pytest.raises(Problem) as caught:
        client(lambda _: httpx.Response(422, json=PROBLEM)).post("/constellations", {})
    assert [place.place for place in caught.value.places] == ["tasks[0].tool", "tasks[1].id"]
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.document["status"] == 422


def test_a_refusal_without_a_document_is_still_told() -> None:
    with pytest.raises(Problem) as caught:
        client(lambda _: httpx.Response(502, text="<html>bad gateway")).get("/devices")
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert "502" in str(caught.value)


def test_creating_is_repeated_under_one_key() -> None:
    keys: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("cut", request=request)
        if len(keys) == 2:
            return httpx.Response(503, json={"code": "overloaded", "title": "Busy"})
        return httpx.Response(202, json={"id": "c-1"})

    assert client(handle).create("/constellations", {"request": "x"}) == {"id": "c-1"}
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_creating_gives_up_after_some_tries() -> None:
    calls = 0

    def handle(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(Problem) as caught:
        client(handle).create("/constellations", {})
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert calls == 4


def test_a_control_is_not_repeated() -> None:
    calls = 0

    def handle(request: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        raise httpx.ReadError("cut", request=request)

    with pytest.raises(Problem):
        client(handle).post("/constellations/c/cancel")
    assert calls == 1


@pytest.mark.parametrize("cut", [httpx.ReadError, httpx.RemoteProtocolError])
def test_what_only_reads_is_asked_once_more_where_the_connection_was_cut(cut: type[httpx.HTTPError]) -> None:
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if len(asked) == 1:
            raise cut("connection reset by peer")
        return httpx.Response(200, json={"items": []})

    assert client(handle).get("/devices") == {"items": []}
    assert asked == ["/api/v1/devices"] * 2


def test_a_hub_that_cuts_every_connection_is_told_of() -> None:
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ReadError("connection reset by peer")

    with pytest.raises(Problem, match="connection reset by peer"):
        client(handle).get("/devices")
    assert len(asked) == 2


def test_pages_are_followed_up_to_the_limit() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        start = int(request.url.params.get("cursor", "0"))
        size = int(request.url.params["limit"])
        following = str(start + size) if start + size < 250 else None
        return httpx.Response(200, json={"items": [{"id": n} for n in range(start, start + size)], "next": following})

    assert [item["id"] for item in client(handle).pages("/constellations", most=150)] == list(range(150))


def test_a_download_is_checked_and_whole(tmp_path: Path) -> None:
    data = b"picture" * 100_000
    sha = hashlib.sha256(data).hexdigest()
    target = tmp_path / "new" / "picture.png"
    assert client(lambda _: httpx.Response(200, content=data)).download(sha, target) == len(data)
    assert target.read_bytes() == data


def test_wrong_bytes_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(Problem) as caught:
        client(lambda _: httpx.Response(200, content=b"other")).download("0" * 64, tmp_path / "picture")
    assert caught.value.code == "artifact_corrupt"
    assert list(tmp_path.iterdir()) == []


class Cut(httpx.SyncByteStream):
    """A body that is cut after these bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        if self._data:
            yield self._data
        raise httpx.ReadError("the connection was reset")


def test_a_download_goes_on_where_it_was_cut_also_in_the_next_call(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    cuts = [300_000, 600_000, 600_000]
    asked: list[str | None] = []

    def handle(request: httpx.Request) -> httpx.Response:
        wanted = request.headers.get("Range")
        asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        status = 206 if wanted else 200
        if cuts:
            return httpx.Response(status, stream=Cut(data[start : cuts.pop(0)]))
        return httpx.Response(status, content=data[start:])

    hub, target = client(handle), tmp_path / "file.bin"
    sha = hashlib.sha256(data).hexdigest()
    with pytest.raises(Problem):
        hub.download(sha, target)
    assert not target.exists()
    assert hub.download(sha, target) == len(data)
    assert asked == [None, "bytes=300000-", "bytes=600000-", "bytes=600000-"]
    assert target.read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]


def test_events_are_records() -> None:
    row = {"at_ms": 1, "by": "engine", "kind": "x", "puts": {"head": None}, "seq": 7, "stream": "c"}

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.params["after"] == "6"
        return httpx.Response(200, content=json.dumps({"items": [row], "next": 7}))

    assert [event.seq for event in client(handle).events("c", 6)] == [7]
