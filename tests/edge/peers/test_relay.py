"""What hubs say to each other about a request: sealed, bound to it, and worth no right; and who answers what."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from starloom.edge.listeners.serving import Listener, server_config
from starloom.edge.peers.relay import Relay, belongs_here
from starloom.edge.web.hub_seals import RELAY_HEADER, HubSeals, essence, secret_of
from starloom.edge.web.shield import Shield, reach_of
from starloom_protocol.vocabulary import Code

NOW_MS = 1_000_000
SECRET = b"s" * 32
TARGET = b"/api/v1/constellations"


class Place:
    """`Ownership` as a test wants it."""

    def __init__(self, owner_url: str | None = None, *, owns: bool = False) -> None:
        self.owns = owns
        self.owner_url = owner_url
        self.stale = False
        self.pos = 7
        self.waited_for: list[int] = []

    async def caught_up(self, pos: int) -> None:
        self.waited_for.append(pos)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what it sees of a request, and how much body came with it."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        text = (await receive())["text"]
        await send({"type": "websocket.send", "text": f"{scope['client'][0]} {text}"})
        await send({"type": "websocket.close", "code": 4409, "reason": "a newer session"})
        return
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    told = {
        "client": scope["client"][0],
        "scheme": scope["scheme"],
        "relayed": getattr(scope["state"].get("relayed"), "hub", None),
        "authorization": headers.get("authorization"),
        "host": headers["host"],
        "size": size,
        "path": scope["path"],
        "query": scope["query_string"].decode(),
    }
    await send({"type": "http.response.start", "status": 202, "headers": [(b"x-made", b"here")]})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


def seals(hub: str, secret: bytes = SECRET) -> HubSeals:
    return HubSeals(secret, hub, lambda: NOW_MS)


@asynccontextmanager
async def listening(hub: str, place: Place, secret: bytes = SECRET) -> AsyncIterator[str]:
    """Serve the application as a hub does, on a port of its own."""
    known = seals(hub, secret)
    relay = Relay(application, place, known, 1234)
    reach = reach_of(["http://127.0.0.1:1"])
    config = server_config(Shield(relay, reach, known), host="127.0.0.1", port=0, drain_s=1, certificate=None, key=None)
    server = Listener(config)
    server.config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    reach.admit(f"http://127.0.0.1:{port}")
    serving = asyncio.create_task(server.main_loop())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await relay.close()
        server.should_exit = True
        await serving
        await server.shutdown()


def test_a_seal_is_bound_to_its_request_and_ends() -> None:
    now = [NOW_MS]
    one, other = HubSeals(SECRET, "one", lambda: now[0]), HubSeals(SECRET, "other", lambda: now[0])
    headers = [(b"authorization", b"Bearer t"), (b"host", b"h")]
    what = essence("POST", TARGET, headers)
    seal = one.seal(what, client="10.0.0.9", host="h", port=1, scheme="https")
    passed = other.unseal(seal, what)
    assert passed is not None
    assert (passed.client, passed.scheme, passed.hub) == ("10.0.0.9", "https", "one")
    for changed in (
        essence("DELETE", TARGET, headers),
        essence("POST", TARGET + b"?a=b", headers),
        essence("POST", TARGET, [(b"authorization", b"Bearer u"), (b"host", b"h")]),
        essence("POST", TARGET, [*headers, (b"cookie", b"a=b")]),
    ):
        assert other.unseal(seal, changed) is None
    assert other.unseal(seal.replace("10.0.0.9", "10.0.0.8"), what) is None
    assert seals("other", b"t" * 32).unseal(seal, what) is None
    assert one.unseal(seal, what) is None, "a hub's own seal came back: it goes in a circle"
    assert other.unseal("", what) is None
    now[0] += 31_000
    assert other.unseal(seal, what) is None


def test_a_card_counts_only_if_that_hub_wrote_it() -> None:
    card = seals("one").card("http://127.0.0.1:1")
    assert seals("other").read_card(card, "one") == "http://127.0.0.1:1"
    assert seals("other").read_card(card, "third") is None
    assert seals("other").read_card(card.replace(b":1", b":2"), "one") is None
    assert seals("other", b"t" * 32).read_card(card, "one") is None
    assert seals("other").read_card(b"", "one") is None


def test_the_secret_comes_from_the_hub_key(tmp_path: Path) -> None:
    for name, raw in (("a", b"k" * 32), ("b", b"k" * 32), ("c", b"l" * 32)):
        (tmp_path / name).write_bytes(raw)
    assert secret_of(tmp_path / "a") == secret_of(tmp_path / "b") != secret_of(tmp_path / "c")
    assert b"k" * 32 not in secret_of(tmp_path / "a")


@pytest.mark.parametrize(
    ("method", "path", "here"),
    [
        ("GET", "/api/v1/constellations", True),
        ("GET", "/", True),
        ("GET", "/readyz", True),
        ("POST", "/api/v1/live/tickets", True),
        ("POST", "/api/v1/constellations", False),
        ("DELETE", "/api/v1/tokens/x", False),
        ("GET", "/aip/v1/artifacts/x", False),
        ("GET", "/api/v1/devices", False),
        ("POST", "/agent/join", False),
    ],
)
def test_who_answers(method: str, path: str, here: bool) -> None:
    assert belongs_here(method, path) is here


async def test_a_command_at_the_standby_is_carried_out_by_the_owner_as_from_its_sender() -> None:
    async with listening("one", Place(owns=True)) as owner:
        place = Place(owner)
        async with listening("other", place) as standby, httpx.AsyncClient(trust_env=False) as client:
            body = b"x" * 200_000
            headers = {"authorization": "Bearer t", "x-forwarded-for": "10.9.9.9"}
            reply = await client.post(standby + "/api/v1/constellations?wait_s=1", content=body, headers=headers)
            told = reply.json()
            assert (reply.status_code, reply.headers["x-made"]) == (202, "here")
            assert told["relayed"] == "other"
            assert told["size"] == len(body)
            assert (told["client"], told["authorization"]) == ("127.0.0.1", "Bearer t")
            assert (told["path"], told["query"]) == ("/api/v1/constellations", "wait_s=1")
            assert told["host"] == standby.removeprefix("http://")
            assert place.waited_for == [7], "who asked may read what was done"
            assert "x-starloom-position" not in reply.headers
            assert reply.headers.get_list("x-request-id") == [reply.headers["x-request-id"]]
            read = await client.get(standby + "/api/v1/constellations")
            assert read.json()["relayed"] is None


async def test_a_header_that_ends_in_a_space_is_passed_on_without_it() -> None:
    async with listening("owner", Place(owns=True)) as owner, listening("standby", Place(owner)) as standby:
        url = httpx.URL(standby)
        reading, writing = await asyncio.open_connection(url.host, url.port)
        ask = f"POST {TARGET.decode()} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nAuthorization: Bearer \r\n"
        writing.write(f"{ask}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        answer = await reading.read()
        writing.close()
    assert answer.startswith(b"HTTP/1.1 202")
    assert b'"authorization": "Bearer"' in answer


async def test_nobody_else_can_say_whose_request_it_is() -> None:
    async with listening("one", Place(owns=True)) as owner, httpx.AsyncClient(trust_env=False) as client:
        forged = seals("other", b"t" * 32).seal(
            essence("GET", b"/", []), client="10.0.0.1", host="127.0.0.1", port=1, scheme="https"
        )
        for value in ("", "nonsense", forged):
            reply = await client.get(owner + "/", headers={RELAY_HEADER: value})
            assert (reply.status_code, reply.json()["code"]) == (403, Code.FORBIDDEN)
        assert (await client.get(owner + "/", headers={"host": "evil.example"})).status_code == 421


async def test_without_an_owner_commands_wait_and_reads_go_on() -> None:
    place = Place(None)
    async with listening("other", place) as standby, httpx.AsyncClient(trust_env=False) as client:
        refused = await client.post(standby + "/api/v1/constellations")
        assert (refused.status_code, refused.json()["code"]) == (503, Code.OVERLOADED)
        assert refused.headers["retry-after"]
        assert (await client.get(standby + "/api/v1/devices")).status_code == 202
        place.owner_url = "http://127.0.0.1:1"
        gone = await client.post(standby + "/api/v1/constellations")
        assert (gone.status_code, gone.json()["code"]) == (503, Code.HUB_UNREACHABLE)
        place.stale = True
        assert (await client.get(standby + "/api/v1/constellations")).status_code == 503
        assert (await client.get(standby + "/healthz")).status_code == 202


async def test_what_was_passed_on_is_not_passed_on_again() -> None:
    async with (
        listening("one", Place("http://127.0.0.1:1")) as first,
        listening("other", Place(first)) as second,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        reply = await client.post(second + "/api/v1/constellations")
        assert (reply.status_code, reply.json()["reason"]) == (503, "no hub owns the shard at this moment")


@pytest.mark.parametrize("sockets", [False, True])
@pytest.mark.parametrize("target", ["*@{host}/x", "@{host}/x", "*", "x@{host}/", ".{host}/x", ":1@{host}/x"])
async def test_t305_no_address_leads_a_standby_to_another_host(target: str, sockets: bool) -> None:
    asked: list[bytes] = []

    async def inside(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        asked.append(await reading.readline())
        writing.close()

    elsewhere = await asyncio.start_server(inside, "127.0.0.1", 0)
    host = f"127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}"
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
    more = f"{upgrade}MDEyMzQ1Njc4OWFiY2RlZg==\r\n" if sockets else "Content-Length: 2\r\nConnection: close\r\n"
    async with listening("one", Place(owns=True)) as owner, listening("other", Place(owner)) as standby, elsewhere:
        reading, writing = await asyncio.open_connection("127.0.0.1", int(standby.rpartition(":")[2]))
        method = "GET" if sockets else "POST"
        head = f"{method} {target.format(host=host)} HTTP/1.1\r\nHost: {standby.removeprefix('http://')}\r\n{more}\r\n"
        writing.write(head.encode() + (b"" if sockets else b"{}"))
        assert (await reading.readline()).startswith(b"HTTP/1.1 400")
        writing.close()
    assert asked == []


@pytest.mark.parametrize("target", ["//127.0.0.1:1/x", "/api/v1/a%2Fb?c=d%20e"])
async def test_the_owner_is_asked_for_the_address_as_it_came(target: str) -> None:
    async with (
        listening("one", Place(owns=True)) as owner,
        listening("other", Place(owner)) as standby,
    ):
        reading, writing = await asyncio.open_connection("127.0.0.1", int(standby.rpartition(":")[2]))
        head = f"POST {target} HTTP/1.1\r\nHost: {standby.removeprefix('http://')}\r\nConnection: close\r\n"
        writing.write(f"{head}Content-Length: 0\r\n\r\n".encode())
        answer = await reading.read()
        writing.close()
    told = json.loads(answer[answer.index(b"{") : answer.rindex(b"}") + 1])
    path, _, query = target.partition("?")
    assert (told["path"], told["query"]) == (unquote(path), query)


async def test_an_agents_socket_ends_at_the_owner() -> None:
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    async with listening("one", Place(owns=True)) as owner, listening("other", Place(owner)) as standby:
        async with connect(standby.replace("http", "ws") + "/aip/v1", proxy=None) as socket:
            await socket.send("hello")
            assert await socket.recv() == "127.0.0.1 hello"
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4409, "a newer session")


READS = (
    "/api/v1/devices",
    "/api/v1/devices/d-1",
    "/api/v1/enrollments",
    "/api/v1/enrollments/e-1",
    "/api/v1/vitals",
)


async def test_reads_that_the_owner_knows_better_are_its_own() -> None:
    async with (
        listening("one", Place(owns=True)) as owner,
        listening("other", Place(owner)) as standby,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        for path in READS:
            assert (await client.get(standby + path)).json()["relayed"] == "other"


async def test_reads_come_from_the_log_while_the_owner_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom.edge.peers.relay.READ_WITHIN_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        frozen = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with httpx.AsyncClient(trust_env=False) as client:
            for url in (frozen, "http://127.0.0.1:1"):
                place = Place(url)
                async with listening("other", place) as standby:
                    for path in READS:
                        reply = await client.get(standby + path)
                        assert (reply.status_code, reply.json()["relayed"]) == (202, None)
                    place.stale = True
                    assert (await client.get(standby + READS[0])).json()["code"] == Code.STORE_UNAVAILABLE


async def test_the_words_for_a_read_speak_of_no_key() -> None:
    async with listening("other", Place("http://127.0.0.1:1")) as standby, httpx.AsyncClient(trust_env=False) as client:
        read = (await client.get(standby + "/aip/v1/artifacts/x")).json()
        command = (await client.post(standby + "/api/v1/constellations")).json()
    assert read["code"] == command["code"] == Code.HUB_UNREACHABLE
    assert "Idempotency-Key" in command["hint"]
    assert "may or may not" in command["reason"]
    assert "Idempotency-Key" not in read["hint"]
    assert "may or may not" not in read["reason"]


async def test_passed_sockets_and_requests_are_cut_when_another_hub_owns_the_shard() -> None:
    reached = asyncio.Event()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        reached.set()
        await asyncio.Event().wait()

    config = uvicorn.Config(never, host="127.0.0.1", port=0, log_config=None, lifespan="off")
    hanging = Listener(config)
    config.load()
    hanging.lifespan = config.lifespan_class(config)
    await hanging.startup()
    url = f"http://127.0.0.1:{hanging.servers[0].sockets[0].getsockname()[1]}"
    place = Place(url)
    known = seals("other")
    relay = Relay(application, place, known, 1)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/constellations",
        "raw_path": b"/api/v1/constellations",
        "query_string": b"",
        "headers": [(b"host", b"h")],
        "client": ("10.0.0.9", 1),
        "scheme": "http",
        "state": {"request_id": "request-1"},
    }
    asking = asyncio.create_task(relay(scope, receive, send))
    await reached.wait()
    relay.cut()
    await asking
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["code"] == Code.HUB_UNREACHABLE
    await relay.close()
    hanging.force_exit = True
    await hanging.shutdown()
