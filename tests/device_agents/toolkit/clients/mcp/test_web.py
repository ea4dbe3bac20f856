"""Streams of MCP servers of the web that end before the answer: taken up where they ended, or said at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from starloom_agent.toolkit.clients.mcp import web
from starloom_agent.toolkit.clients.mcp.conversation import Conversation, ServerFault
from starloom_agent.toolkit.clients.mcp.web import WebCarrier
from tests.served import Quiet, Served

ANSWER = b'id: e%d\ndata: {"jsonrpc": "2.0", "id": 2, "result": {"n": 3}}\n\n'
LONG_S = 60.0
"""No test waits so long: a call that holds its line to its end fails the bound of all tests."""

Streams = Callable[[str], bytes | None]
"""The stream behind an event, `POST` for the first one; None: the server has no such stream."""


@contextmanager
def ending(streams: Streams, *, chunked: bool = False) -> Iterator[tuple[Conversation, list[str]]]:
    """Serve streams that end as they stand here, chunked ones in the middle of a chunk; yield what was asked for."""
    asked: list[str] = []

    class Handler(Quiet, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.given())
            if message.get("method") == "initialize":
                found = {"protocolVersion": "2025-06-18", "capabilities": {}}
                self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}).encode())
            elif "id" not in message or "method" not in message:
                self.reply(202)
            else:
                self._stream("POST")

        def do_GET(self) -> None:
            event = self.headers.get("Last-Event-ID")
            if event is None:
                self.reply(405)
            else:
                self._stream(event)

        def do_DELETE(self) -> None:
            self.reply(200)

        def _stream(self, event: str) -> None:
            asked.append(event)
            body = streams(event)
            if body is None:
                self.reply(405)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")))
            self.end_headers()
            self.wfile.write(b"%x\r\n%b" % (len(body) + 1, body) if chunked else body)
            self.close_connection = True

    with Served(Handler) as served:
        talk = Conversation()
        talk.use(WebCarrier(talk, f"{served.url}/mcp", {}))
        talk.begin(LONG_S)
        try:
            yield talk, asked
        finally:
            talk.close()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_RESUME_AFTER_S", 0.0)


@pytest.mark.parametrize("chunked", [False, True], ids=["end", "cut"])
def test_a_stream_without_events_that_ends_before_its_answer_fails_at_once(chunked: bool) -> None:
    with ending(lambda _: b": working\n\n", chunked=chunked) as (talk, asked):
        with pytest.raises(ServerFault, match="it hung up before its answer"):
            talk.request("tools/call", {}, LONG_S)
        assert asked == ["POST"]


def test_a_stream_that_ended_is_taken_up_behind_its_last_event() -> None:
    streams = {"POST": b"id: e1\ndata:\n\n", "e1": b"id: e2\ndata:\n\n", "e2": ANSWER % 3}
    with ending(streams.get) as (talk, asked):
        assert talk.request("tools/call", {}, LONG_S) == {"n": 3}
    assert asked == ["POST", "e1", "e2"]


@pytest.mark.parametrize(
    ("behind", "words"),
    [(None, "does not go on with it"), (b"", "hung up"), (b"id: e1\ndata:\n\n", "hung up")],
    ids=["no such stream", "no event", "no new event"],
)
def test_a_stream_behind_which_nothing_new_comes_fails(behind: bytes | None, words: str) -> None:
    streams: dict[str, bytes | None] = {"POST": b"id: e1\ndata:\n\n", "e1": behind}
    with ending(lambda event: streams[event]) as (talk, asked):
        with pytest.raises(ServerFault, match=words):
            talk.request("tools/call", {}, LONG_S)
        assert asked == ["POST", "e1"]


@pytest.mark.parametrize("event", [b"x" * 600, b"a\tb", b"\xff"], ids=["long", "control", "no ASCII"])
def test_an_event_whose_name_cannot_be_a_header_is_not_sent_back(event: bytes) -> None:
    with ending(lambda _: b"id: " + event + b"\ndata:\n\n") as (talk, asked):
        with pytest.raises(ServerFault, match="hung up"):
            talk.request("tools/call", {}, LONG_S)
        assert asked == ["POST"]


def test_a_server_that_asks_in_the_stream_of_a_call_is_answered_beside_it() -> None:
    ping = b'data: {"jsonrpc": "2.0", "id": "s1", "method": "ping"}\n\n'
    with ending(lambda _: ping + ANSWER % 1) as (talk, asked):
        assert talk.request("tools/call", {}, LONG_S) == {"n": 3}
    assert asked == ["POST"]
