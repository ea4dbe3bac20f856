from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from starloom.client.discovery import HubAddress
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.client.routes import get_constellations

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
        return httpx.Response(
            200, json={"items": [{"id": str(n)} for n in range(start, start + size)], "next": following}
        )

    found = client(handle).pages(get_constellations(), most=150)
    assert [item["id"] for item in found] == [str(n) for n in range(150)]


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


def test_two_downloads_of_a_file_at_once_write_into_no_file_of_the_other(tmp_path: Path) -> None:
    """Another command begins the same download, whole, in the middle of the first one's try that goes on."""
    data = bytes(range(256)) * 4096
    sha, target = hashlib.sha256(data).hexdigest(), tmp_path / "file.bin"
    (tmp_path / f"file.bin.{sha[:12]}.part").write_bytes(data[:1000])
    other = client(lambda _: httpx.Response(200, content=data))
    asked: list[str | None] = []

    class Between(httpx.SyncByteStream):
        def __init__(self, start: int) -> None:
            self._start = start

        def __iter__(self) -> Iterator[bytes]:
            yield data[self._start : 5000]
            assert other.download(sha, target) == len(data)
            yield data[5000:]

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Range"))
        start = int((asked[-1] or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        return httpx.Response(206 if asked[-1] else 200, stream=Between(start))

    assert client(handle).download(sha, target) == len(data)
    assert asked == ["bytes=1000-"]
    assert target.read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]


def test_events_are_records() -> None:
    row = {"at_ms": 1, "by": "engine", "kind": "x", "puts": {"head": None}, "seq": 7, "stream": "c"}

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url.params["after"] == "6"
        return httpx.Response(200, content=json.dumps({"items": [row], "next": 7}))

    assert [event.seq for event in client(handle).events("c", 6)] == [7]


class Patience:
    """A clock that moves by what is slept, a hub that answers after so many refusals, and what was said meanwhile."""

    def __init__(self, *refusals: httpx.Response | Exception) -> None:
        self.s = 0.0
        self.said: list[str] = []
        self.asked = 0
        self.refusals = list(refusals)

    def handle(self, _request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if not self.refusals:
            return httpx.Response(200, json={"items": [{"id": "d-1", "name": "nas"}]})
        refusal = self.refusals.pop(0)
        if isinstance(refusal, Exception):
            raise refusal
        return refusal

    def sleep(self, seconds: float) -> None:
        self.s += seconds

    def client(self, patience_s: float = 60.0) -> Client:
        return Client(
            HubAddress("http://127.0.0.1:8470", "slt_a_b", "test"),
            transport=httpx.MockTransport(self.handle),
            sleep=self.sleep,
            now=lambda: self.s,
            say=self.said.append,
            patience_s=patience_s,
        )


def away() -> httpx.Response:
    return httpx.Response(503, json={"code": "hub_unreachable", "title": "Away"})


def test_a_read_has_a_minute_of_patience() -> None:
    hub = Patience(*[away()] * 20)
    assert hub.client().get("/devices")["items"]
    assert (hub.asked, hub.said) == (21, ["the hub does not answer; trying again ...", "the hub is back"])
    hub = Patience(*[away()] * 1000)
    with pytest.raises(Problem) as caught:
        hub.client().get("/devices")
    assert (caught.value.code, 50 < hub.s <= 60) == ("hub_unreachable", True)


def test_an_address_with_tls_for_a_hub_without_is_answered_with_the_right_one() -> None:
    address = HubAddress("https://127.0.0.1:8470", "slt_a_b", "test")
    refused = httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1016)")

    def handle(_: httpx.Request) -> httpx.Response:
        raise refused

    with pytest.raises(Problem) as caught:
        Client(address, transport=httpx.MockTransport(handle)).get("/devices")
    assert "answers without TLS" in caught.value.reason
    assert "http://127.0.0.1:8470" in caught.value.hint


def test_only_a_hub_that_was_heard_is_waited_for() -> None:
    hub = Patience(httpx.ConnectError("refused"), httpx.ConnectError("refused"))
    asking = hub.client()
    with pytest.raises(Problem):
        asking.get("/devices")
    assert hub.s == 0
    with pytest.raises(Problem):
        asking.get("/devices")
    assert asking.get("/devices")
    hub.refusals = [httpx.ConnectError("refused")] * 3
    assert asking.get("/devices")
    assert hub.s > 0


def test_what_is_no_read_or_no_outage_is_asked_once() -> None:
    hub = Patience(away())
    with pytest.raises(Problem):
        hub.client().post("/stop-all")
    assert hub.asked == 1
    hub = Patience(httpx.Response(404, json={"code": "not_found", "title": "No"}))
    with pytest.raises(Problem):
        hub.client().get("/devices/x")
    assert hub.asked == 1


def test_names_are_left_out_where_they_cannot_be_read() -> None:
    hub = Patience(away())
    asking = hub.client()
    assert (asking.names(), hub.s) == ({}, 0)
    assert asking.names() == {"d-1": "nas"}
