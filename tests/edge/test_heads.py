"""What a connection may say before it is heard: too much and too slow are refused, and nothing is kept of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from starloom.edge.heads import HEAD_BYTES_MAX, HEAD_WITHIN_S, BoundedHttp
from starloom.edge.serving import Listener, server_config

HOST = b"Host: 127.0.0.1\r\n"
ASK = b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n"


class Timer:
    def __init__(self, due: Callable[[], None], after_s: float) -> None:
        self.due, self.after_s, self.cancelled = due, after_s, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Keeps timers instead of waiting for them; what is started runs on the loop of the test."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, after_s: float, due: Callable[[], None]) -> Timer:
        self.timers.append(Timer(due, after_s))
        return self.timers[-1]

    def create_task(self, work: Any) -> asyncio.Task[Any]:
        return asyncio.create_task(work)

    def of_heads(self) -> list[Timer]:
        return [timer for timer in self.timers if timer.after_s == HEAD_WITHIN_S and not timer.cancelled]


class Line:
    """The transport of a connection, as far as a server sees it."""

    def __init__(self) -> None:
        self.said = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        self.said += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, _name: str) -> None:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Talk:
    """A connection to a server, and the application behind it, which notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.loop, self.line = Loop(), Line()
        server = Listener(server_config(self, host="127.0.0.1", port=0, drain_s=1, certificate=None, key=None))
        server.config.load()
        self.protocol = BoundedHttp(server.config, server.server_state, {}, self.loop)  # type: ignore[arg-type]
        self.protocol.connection_made(self.line)  # type: ignore[arg-type]
        self._tasks = server.server_state.tasks

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def say(self, data: bytes) -> None:
        self.protocol.data_received(data)
        await asyncio.gather(*self._tasks)

    def refusal(self) -> tuple[int, dict[str, str]]:
        """Return the status and the document of the one answer that was said."""
        head, _, body = self.line.said.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines)
        assert headers[b"content-length"] == b"%d" % len(body)
        assert (headers[b"content-type"], headers[b"connection"]) == (b"application/problem+json", b"close")
        said: dict[str, str] = json.loads(body)
        return int(first.split()[1]), said

    def lose(self) -> None:
        self.protocol.connection_lost(None)


async def test_a_head_that_never_ends_is_refused_at_its_limit() -> None:
    talk = Talk()
    await talk.say(b"GET /a HTTP/1.1\r\n" + HOST + b"X-Long: ")
    pieces = 0
    while not talk.line.closed:
        await talk.say(b"a" * 1024)
        pieces += 1
    assert HEAD_BYTES_MAX // 1024 - 1 <= pieces <= HEAD_BYTES_MAX // 1024
    status, said = talk.refusal()
    assert (status, said["code"], said["hint"]) == (431, "too_large", "Send fewer or shorter headers.")
    assert "65536 bytes" in said["reason"]
    assert talk.asked == []
    assert talk.loop.of_heads() == []


async def test_many_small_headers_count_like_one_long_one() -> None:
    talk = Talk()
    await talk.say(b"GET /a HTTP/1.1\r\n" + HOST)
    for number in range(10_000):
        if talk.line.closed:
            break
        await talk.say(b"X-%d: y\r\n" % number)
    assert talk.line.said.startswith(b"HTTP/1.1 431 ")


async def test_a_long_body_is_no_long_head() -> None:
    talk = Talk()
    await talk.say(b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 200000\r\n\r\n")
    for _ in range(200):
        await talk.say(b"a" * 1000)
    assert talk.asked == ["/a"]
    assert not talk.line.closed
    await talk.say(ASK)
    assert talk.asked == ["/a", "/a"]


async def test_who_says_nothing_is_left_without_a_word() -> None:
    talk = Talk()
    (timer,) = talk.loop.of_heads()
    timer.due()
    assert talk.line.closed
    assert talk.line.said == b""


@pytest.mark.parametrize("before", [b"", ASK], ids=["the first request", "the one after it"])
async def test_who_is_too_slow_with_a_head_is_told_so(before: bytes) -> None:
    talk = Talk()
    await talk.say(before)
    talk.line.said = b""
    await talk.say(b"GET /a HT")
    (timer,) = talk.loop.of_heads()
    timer.due()
    assert talk.line.closed
    status, said = talk.refusal()
    assert (status, said["code"]) == (408, "bad_request")
    assert "within 30 s" in said["reason"]


async def test_a_byte_now_and_then_gives_no_more_time() -> None:
    talk = Talk()
    (first,) = talk.loop.of_heads()
    for byte in b"GET /a HTTP/1.1\r\nHost: ":
        await talk.say(bytes([byte]))
    assert talk.loop.of_heads() == [first]


async def test_who_was_heard_has_no_clock_running() -> None:
    talk = Talk()
    await talk.say(ASK)
    assert talk.asked == ["/a"]
    assert talk.loop.of_heads() == []
    await talk.say(ASK + ASK)
    assert talk.asked == ["/a"] * 3
    assert talk.loop.of_heads() == []


async def test_a_line_that_goes_takes_its_clock_along() -> None:
    talk = Talk()
    await talk.say(b"GET /a HT")
    talk.lose()
    assert talk.loop.of_heads() == []


@pytest.mark.parametrize(
    "head",
    [
        b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, x\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
        b"GET /a HTTP/1.1\r\n" + HOST + b" folded: yes\r\n\r\n",
        b"GET /a HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
        b"GET /a HTTP/1.1\n" + HOST + b"\n",
        b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["two lengths", "a length twice", "unknown coding", "space", "fold", "nul", "bare newline", "url", "TLS"],
)
async def test_a_head_that_two_servers_could_read_in_two_ways_reaches_nobody(head: bytes) -> None:
    talk = Talk()
    await talk.say(head)
    assert talk.asked == []
    assert talk.line.said.startswith(b"HTTP/1.1 400 ")
    assert talk.line.closed
