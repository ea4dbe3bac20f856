"""The bounds of connections: too much and too slow are refused, and one that waits gives way to a newcomer."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from starloom.edge.listeners.connections import HEAD_BYTES_MAX, BoundedHttp, Bounds, Connections, Places, bounds_for
from starloom.edge.listeners.serving import Listener, server_config
from tests.edge.world import settle

HOST = b"Host: 127.0.0.1\r\n"
BOUNDS = Bounds(head_s=30.0, body_s=31.0, unread_s=60.0, linger_s=7.0)
POST = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 200000\r\n\r\n"
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

    def running(self, after_s: float = BOUNDS.head_s) -> list[Timer]:
        """Return the clocks of the hub's own that run; uvicorn has one of five seconds for idle connections."""
        return [timer for timer in self.timers if timer.after_s == after_s and not timer.cancelled]

    def fire(self, after_s: float) -> None:
        (timer,) = self.running(after_s)
        timer.cancelled = True
        timer.due()


class Line:
    """The transport of a connection, as far as a server sees it."""

    def __init__(self) -> None:
        self.said = b""
        self.closed = False
        self.aborted = False
        self.socket: socket.socket | None = None

    def write(self, data: bytes) -> None:
        self.said += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self.socket if name == "socket" else None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Talk:
    """A connection to a server, and the application behind it, which notes what it was asked."""

    def __init__(self, places: Places | None = None, *, early: bool = True) -> None:
        self.asked: list[str] = []
        self.bodies: list[int] = []
        self.early = early
        self.loop, self.line = Loop(), Line()
        server = Listener(server_config(self, host="127.0.0.1", port=0, drain_s=1, certificate=None, key=None))
        server.config.load()
        self.protocol = BoundedHttp(
            server.config,
            server.server_state,
            {},
            self.loop,  # type: ignore[arg-type]
            places=places or Places(BOUNDS),
        )
        self.protocol.connection_made(self.line)  # type: ignore[arg-type]
        self._tasks = server.server_state.tasks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        more = not self.early
        while more:
            message = await receive()
            more = message.get("more_body", False)
            self.bodies.append(len(message.get("body", b"")))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def say(self, data: bytes) -> None:
        self.protocol.data_received(data)
        if self.early:
            await asyncio.gather(*self._tasks)
        else:
            await settle()

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
    assert talk.loop.running() == []


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
    (timer,) = talk.loop.running()
    timer.due()
    assert talk.line.closed
    assert talk.line.said == b""


@pytest.mark.parametrize("before", [b"", ASK], ids=["the first request", "the one after it"])
async def test_who_is_too_slow_with_a_head_is_told_so(before: bytes) -> None:
    talk = Talk()
    await talk.say(before)
    talk.line.said = b""
    await talk.say(b"GET /a HT")
    (timer,) = talk.loop.running()
    timer.due()
    assert talk.line.closed
    status, said = talk.refusal()
    assert (status, said["code"]) == (408, "bad_request")
    assert "within 30 s" in said["reason"]


async def test_a_byte_now_and_then_gives_no_more_time() -> None:
    talk = Talk()
    (first,) = talk.loop.running()
    for byte in b"GET /a HTTP/1.1\r\nHost: ":
        await talk.say(bytes([byte]))
    assert talk.loop.running() == [first]


async def test_no_clock_runs_while_the_hub_has_to_answer() -> None:
    talk = Talk()
    talk.protocol.data_received(ASK)
    assert talk.loop.running() == []
    await talk.say(b"")
    assert talk.asked == ["/a"]
    assert len(talk.loop.running()) == 1
    talk.protocol.data_received(ASK + ASK)
    assert talk.loop.running() == []
    await talk.say(b"")
    assert talk.asked == ["/a"] * 3
    assert len(talk.loop.running()) == 1


async def test_a_line_that_goes_takes_its_clock_along() -> None:
    talk = Talk()
    await talk.say(b"GET /a HT")
    talk.lose()
    assert talk.loop.running() == []


async def test_a_body_that_stalls_is_refused_and_its_connection_ends() -> None:
    talk = Talk(early=False)
    await talk.say(POST + b"a" * 40_000)
    talk.loop.fire(BOUNDS.body_s)  # what came is enough for this while
    await talk.say(b"a" * 1000)
    assert talk.line.said == b""
    talk.loop.fire(BOUNDS.body_s)
    status, said = talk.refusal()
    assert (status, said["code"]) == (408, "bad_request")
    assert "1024 bytes a second" in said["reason"]
    assert (talk.line.closed, talk.line.aborted) == (True, False)
    talk.loop.fire(BOUNDS.linger_s)
    assert (talk.line.closed, talk.line.aborted) == (True, True)
    talk.lose()
    await settle()
    assert talk.bodies[-1] == 0


async def test_the_hubs_own_pause_is_not_held_against_a_body() -> None:
    talk = Talk()
    talk.protocol.data_received(POST + b"a" * 100_000)  # more than the application has asked for
    assert talk.protocol.flow.read_paused
    talk.loop.fire(BOUNDS.body_s)
    talk.loop.fire(BOUNDS.body_s)
    assert not talk.line.closed
    await talk.say(b"")


LATE = {
    "a body answered early": (POST + b"a", b"a", BOUNDS.body_s),
    "bytes between requests": (ASK, b"\r\n", BOUNDS.head_s),
}


@pytest.mark.parametrize("case", LATE)
async def test_what_comes_after_an_answer_keeps_no_connection(case: str) -> None:
    asked, more, bound_s = LATE[case]
    talk = Talk()
    await talk.say(asked)
    said = talk.line.said
    for _ in range(5):
        await talk.say(more)
    talk.loop.fire(bound_s)
    assert talk.line.closed
    assert talk.line.said == said


async def test_an_answer_that_nobody_reads_is_let_go() -> None:
    talk = Talk()
    await talk.say(ASK)
    talk.protocol.pause_writing()
    talk.protocol.resume_writing()
    assert talk.loop.running(BOUNDS.unread_s) == []
    talk.protocol.pause_writing()
    talk.loop.fire(BOUNDS.unread_s)
    assert talk.line.aborted


class Peer:
    descriptors = 2

    """A connection as `Connections` holds it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.gone = False

    def give_way(self) -> None:
        self.gone = True


async def test_the_most_silent_of_the_largest_crowd_gives_way() -> None:
    held = Connections(Bounds(connections_max=5, waiting_max=9))
    few, many = [Peer("a"), Peer("a")], [Peer("b"), Peer("b"), Peer("b")]
    for peer in (*few, *many):
        assert held.enter(peer)
        held.waits(peer)
    held.waits(many[0])  # heard again
    assert held.enter(Peer("c"))
    assert [peer.gone for peer in (*few, *many)] == [False, False, False, True, False]
    assert (len(held), held.gave_way, held.refused) == (5, 1, 0)


async def test_one_address_has_a_bounded_crowd() -> None:
    held = Connections(Bounds(connections_max=100, waiting_max=3))
    peers = [Peer("a") for _ in range(6)]
    for peer in peers:
        held.enter(peer)
        held.waits(peer)
    assert [peer.gone for peer in peers] == [True] * 3 + [False] * 3
    for peer in peers[3:]:
        held.leave(peer)
    assert len(held) == 0


async def test_what_works_gives_way_to_nobody() -> None:
    places = Places(Bounds(connections_max=2, waiting_max=2))
    first, second = Talk(places, early=False), Talk(places, early=False)
    for talk in (first, second):
        await talk.say(ASK.replace(b"GET", b"POST", 1).replace(HOST, HOST + b"Content-Length: 1\r\n", 1))
    for talk in (first, second):
        talk.protocol.data_received(b"a")  # whole, and not answered yet
    late = Talk(places)
    status, said = late.refusal()
    assert (status, said["code"]) == (503, "overloaded")
    assert not first.line.closed
    assert not second.line.closed
    await settle()
    first.lose()
    assert not Talk(places).line.closed


async def test_the_network_takes_no_place_of_the_owners_own_socket() -> None:
    places, far, near = Places(Bounds(connections_max=1)), Line(), Line()
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        near.socket = ours
        assert places.of(far) is places.network  # type: ignore[arg-type]
        assert places.of(near) is places.local  # type: ignore[arg-type]
    assert places.network.enter(Peer("a"))
    assert not places.network.enter(Peer("a"))
    assert places.local.enter(Peer(""))


def test_descriptors_are_kept_back() -> None:
    for descriptors in (256, 1_024, 20_000, 65_536):
        bounds = bounds_for(descriptors)
        assert 2 * bounds.connections_max + min(512, descriptors // 2) <= descriptors
        assert bounds.waiting_max <= max(bounds.connections_max // 2, 8)
    assert bounds_for(1).connections_max == 16


async def test_a_socket_takes_half_the_place_of_a_request() -> None:
    held = Connections(Bounds(connections_max=2, waiting_max=2))
    sockets = [Peer("a") for _ in range(4)]
    for socket_ in sockets:
        socket_.descriptors = 1
        assert held.enter(socket_)
    assert not held.enter(Peer("b"))
    held.leave(sockets[0])
    assert not held.enter(Peer("b"))
    held.leave(sockets[1])
    held.leave(sockets[1])
    assert held.enter(Peer("b"))
    assert not held.enter(Peer("b"))


def test_sockets_are_asked_less_often_where_there_are_many() -> None:
    held = Connections(Bounds(connections_max=5_000))
    assert held.ping_after_s == 20
    for _ in range(3_000):
        held.enter(Peer("a"))
    assert held.ping_after_s == 100


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
