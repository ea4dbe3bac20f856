"""The live socket: ticket, snapshot, events that fold to the same state, resume, resync, and slow pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from starloom.edge.access.callers import Caller, Means
from starloom.edge.live import endpoint
from starloom.edge.live.endpoint import LiveClient, LiveParts, Snapshots
from starloom.edge.live.fanout import Fanout
from starloom.store.port import StreamState
from starloom_protocol.stream.feed import CHANGED, Beside, Event, decode_event, encode_event, fold, state_hash
from starloom_protocol.vocabulary import Role, Topic
from starloom_protocol.wire import frames as f
from tests.edge.world import World, Ws, at_once, chain, settle


async def ticket(world: World, token: str | None = None) -> str:
    async with world.client(token) as http:
        made: str = (await http.post("/api/v1/live/tickets")).json()["ticket"]
    return made


async def page(world: World) -> Ws:
    """A page that is let in."""
    socket = await world.socket("/api/v1/live").open()
    await socket.send_json({"t": "ticket", "ticket": await ticket(world)})
    ready = await socket.receive_json()
    assert (ready["t"], ready["now_ms"]) == ("ready", world.clock.ms)
    return socket


class Copy:
    """What a page holds of one stream."""

    def __init__(self) -> None:
        self.entities: dict[str, bytes] = {}
        self.seq = 0

    def take(self, frame: dict[str, Any]) -> None:
        if frame["t"] == "snapshot":
            if frame["part"] == 0:
                self.entities = {}
            self.entities |= {key: _raw(value) for key, value in frame["entities"].items()}
            self.seq = frame["seq"]
            if frame["part"] == frame["parts"] - 1:
                assert state_hash(self.entities) == frame["hash"]
        elif frame["t"] == "events":
            events = [decode_event(_raw(item)) for item in frame["events"]]
            assert [event.seq for event in events] == list(range(self.seq + 1, self.seq + 1 + len(events)))
            fold(self.entities, events)
            self.seq = events[-1].seq


def _raw(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


async def test_a_snapshot_and_its_events_fold_to_the_committed_state(world: World) -> None:
    agent = await world.online("one")
    made = await world.submit(chain("t.one", "t.one"))
    socket, copy = await page(world), Copy()
    await socket.send_json({"t": "subscribe", "stream": made["id"]})
    copy.take(await socket.receive_json())
    for _ in range(2):
        await agent.done(await agent.next(f.Dispatch), "1")
    await settle()
    found = await world.hub.reads.entities(made["id"])
    assert found is not None
    while copy.seq < found[0]:
        copy.take(await socket.receive_json())
    assert state_hash(copy.entities) == state_hash(found[1])
    await socket.leave()
    assert world.hub.fanout.viewer_count == 0


async def test_a_page_resumes_where_it_was(world: World) -> None:
    made = await world.submit(chain("t.one"))
    found = await world.hub.reads.entities(made["id"])
    assert found is not None
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "after_seq": 1})
    frame = await socket.receive_json()
    assert frame["t"] == "events"
    assert [event["seq"] for event in frame["events"]] == list(range(2, found[0] + 1))
    async with world.client() as http:
        await http.post(f"/api/v1/constellations/{made['id']}/pause")
    frame = await socket.receive_json()
    assert [event["kind"] for event in frame["events"]] == ["paused"]


async def test_a_page_that_is_up_to_date_hears_only_what_is_new(world: World) -> None:
    made = await world.submit(chain("t.one"))
    found = await world.hub.reads.entities(made["id"])
    assert found is not None
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "after_seq": found[0]})
    await settle()
    async with world.client() as http:
        await http.post(f"/api/v1/constellations/{made['id']}/pause")
    assert (await socket.receive_json())["events"][0]["seq"] == found[0] + 1


async def test_a_page_from_the_future_must_resync(world: World) -> None:
    made = await world.submit(chain("t.one"))
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "after_seq": 10_000})
    assert (await socket.receive_json())["t"] == "resync"


async def test_a_page_that_lacks_events_costs_one_look_at_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await world.submit(chain("t.one"))
    looks, read = [], world.hub.reads.events

    async def events(stream: str, after: int, limit: int) -> list[bytes]:
        looks.append((stream, after))
        return await read(stream, after, limit)

    monkeypatch.setattr(world.hub.reads, "events", events)
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "after_seq": 0})
    assert (await socket.receive_json())["t"] == "events"
    assert looks == [(made["id"], 0)]


@pytest.mark.parametrize("lost", [2, 3], ids=["the first", "one between"])
async def test_a_page_is_not_caught_up_over_a_gap(world: World, monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    made = await world.submit(chain("t.one"))
    async with world.client() as http:
        for control in ("pause", "resume"):
            assert (await http.post(f"/api/v1/constellations/{made['id']}/{control}")).is_success
    read = world.hub.reads.events

    async def events(stream: str, after: int, limit: int) -> list[bytes]:
        return [raw for raw in await read(stream, after, limit) if decode_event(raw).seq != lost]

    assert len(await read(made["id"], 1, 10)) > 2
    monkeypatch.setattr(world.hub.reads, "events", events)
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "after_seq": 1})
    assert (await socket.receive_json())["t"] == "resync"


async def test_the_fleet_is_streamed_and_access_never(world: World) -> None:
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": "fleet"})
    assert (await socket.receive_json())["t"] == "snapshot"
    agent = await world.join("one")
    kinds = [event["kind"] for event in (await socket.receive_json())["events"]]
    assert kinds[0] == "enrollment_opened"
    assert agent.id
    await socket.send_json({"t": "subscribe", "stream": "access"})
    last = await socket.until_closed()
    assert json.loads(last[-1])["code"] == "forbidden"


async def test_a_large_snapshot_comes_in_parts_before_all_events(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom.edge.live.endpoint.SNAPSHOT_PART_BYTES", 400)
    agent = await world.online("one")
    made = await world.submit(chain("t.one", "t.one"))
    dispatch = await agent.next(f.Dispatch)
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"], "parts": True})
    held = Copy()
    seen: list[dict[str, Any]] = []
    while not seen or len(seen) < seen[0]["parts"]:
        seen.append(await socket.receive_json())
        held.take(seen[-1])
    assert len(seen) > 2
    assert [frame["part"] for frame in seen] == list(range(len(seen)))
    assert len({(frame["hash"], frame["seq"], frame["parts"]) for frame in seen}) == 1
    assert held.entities == (await world.hub.reads.entities(made["id"]) or (0, {}))[1]
    await agent.done(dispatch, "1")
    held.take(await socket.receive_json())
    assert held.seq > seen[0]["seq"]
    await socket.send_json({"t": "subscribe", "stream": made["id"]})
    while (frame := await socket.receive_json())["t"] != "snapshot":
        pass
    assert (frame["part"], frame["parts"]) == (0, 1), "who does not ask for parts gets none"


async def test_an_unknown_stream_is_a_resync_with_a_reason(world: World) -> None:
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": "c-none"})
    said = {"t": "resync", "reason": "there is no such stream", "stream": "c-none", "unknown": True}
    assert await socket.receive_json() == said


async def test_a_ticket_is_good_once_and_not_for_long(world: World) -> None:
    used, old = await ticket(world), await ticket(world)
    first = await world.socket("/api/v1/live").open()
    await first.send_json({"t": "ticket", "ticket": used})
    assert (await first.receive_json())["t"] == "ready"
    await world.clock.advance(31_000)
    for text in (used, old, "nonsense"):
        socket = await world.socket("/api/v1/live").open()
        await socket.send_json({"t": "ticket", "ticket": text})
        assert json.loads((await socket.until_closed())[-1])["code"] == "not_signed_in"


async def test_the_first_frame_must_be_a_ticket_and_frames_are_strict(world: World) -> None:
    for text in ('{"t":"subscribe","stream":"fleet"}', "{", '{"t":"ticket","ticket":"x","more":1}', "x" * 5000):
        socket = await world.socket("/api/v1/live").open()
        await socket.send(text)
        assert '"t":"refuse"' in (await socket.until_closed())[-1]
    socket = await page(world)
    await socket.send_json({"t": "ping", "at_ms": 9})
    assert (await socket.receive_json())["at_ms"] == 9
    await socket.send('{"t":"nonsense"}')
    assert json.loads((await socket.until_closed())[-1])["code"] == "protocol_error"


async def test_progress_travels_beside_the_log_and_the_latest_wins(world: World) -> None:
    agent = await world.online("one")
    made = await world.submit(chain("t.one"))
    dispatch = await agent.next(f.Dispatch)
    socket = await page(world)
    await socket.send_json({"t": "subscribe", "stream": made["id"]})
    assert (await socket.receive_json())["t"] == "snapshot"
    before = await world.hub.reads.entities(made["id"])
    await agent.send(*(f.Progress(at=dispatch.at, done_bytes=number) for number in range(1, 6)))
    frame = await socket.receive_json()
    assert frame["t"] == "beside"
    (item,) = frame["items"]
    assert (item["kind"], item["about"], item["value"]["done_bytes"]) == ("progress", "t0", 5)
    assert await world.hub.reads.entities(made["id"]) == before


# One client by itself, with a transport that does not take anything.


class Stuck:
    """A socket whose peer takes nothing until it is let."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def write(self, text: str) -> None:
        self.sent.append(text)


def a_client(
    world: World, drawn: Callable[[], Awaitable[None]] = at_once, caller: Caller | None = None
) -> tuple[LiveClient, Stuck]:
    hub = world.hub
    parts = LiveParts(
        access=hub.access, drawn=drawn, fanout=hub.fanout, now_ms=hub.now_ms, reads=hub.reads, tickets=hub.tickets
    )
    socket = Stuck()
    token = next(iter(hub.access.tokens))  # one that is good: a page without one is shown nothing
    caller = caller or Caller("p", "ann", Role.VIEWER, frozenset(), token, Means.BEARER)
    return LiveClient(parts, socket, caller, Snapshots(parts.reads, parts.fanout)), socket  # type: ignore[arg-type]


def an_event(stream: str, seq: int, note: str = "") -> bytes:
    return encode_event(Event(at_ms=1, by="engine", kind="k", note=note, puts={}, seq=seq, stream=stream))


async def test_a_slow_page_is_told_to_resync_and_then_cut(world: World) -> None:
    client, _ = a_client(world)
    client._streams["c-1"] = endpoint._Stream(seq=0, loading=False)
    world.hub.fanout.subscribe(client, "c-1")
    big = "x" * 60_000
    for seq in range(1, 30):
        client.take_event("c-1", seq, an_event("c-1", seq, big))
    assert client._queue == [b'{"t":"resync","reason":"this page takes the stream too slowly","stream":"c-1"}']
    first_cut = client._cut
    client._streams["c-1"] = endpoint._Stream(seq=0, loading=False)
    for seq in range(1, 30):
        client.take_event("c-1", seq, an_event("c-1", seq, big))
    assert first_cut is None
    assert client._cut is not None
    assert client._cut.code == "overloaded"


async def test_a_gap_is_never_passed_on(world: World) -> None:
    client, _ = a_client(world)
    client._streams["c-1"] = endpoint._Stream(seq=3, loading=False)
    client.take_event("c-1", 3, an_event("c-1", 3))
    assert client._queue == []
    client.take_event("c-1", 5, an_event("c-1", 5))
    assert client._queue == [b'{"t":"resync","reason":"event 4 is missing","stream":"c-1"}']


async def test_what_comes_while_the_page_draws_goes_together_afterwards(world: World) -> None:
    draws = asyncio.Semaphore(0)

    async def drawn() -> None:
        await draws.acquire()

    client, socket = a_client(world, drawn)
    client._streams["c-1"] = endpoint._Stream(seq=0, loading=False)
    writing = asyncio.create_task(client._write())
    for seq in range(1, 4):
        client.take_event("c-1", seq, an_event("c-1", seq))
        await settle()
    assert [seqs(text) for text in socket.sent] == [[1]]
    draws.release()
    await settle()
    assert [seqs(text) for text in socket.sent] == [[1], [2, 3]]
    draws.release()
    await settle()
    client.take_event("c-1", 4, an_event("c-1", 4))
    await settle()
    assert [seqs(text) for text in socket.sent] == [[1], [2, 3], [4]]
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


async def test_changed_lists_are_said_at_once_and_then_after_a_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "CHANGES_EVERY_S", 3600)
    client, socket = a_client(world)
    client._streams["fleet"] = endpoint._Stream(seq=0, loading=False)
    writing = asyncio.create_task(client._write())
    for seq in range(1, 31):
        client.take_event("fleet", seq, an_event("fleet", seq))
        for topic in (Topic.TASKS, Topic.ACTIVITY):
            change = Beside(about=topic, kind=CHANGED, stream="fleet", value=msgspec.Raw(b"null"))
            client.take_beside(change, msgspec.json.encode(change))
        await settle()
    assert len([text for text in socket.sent if "events" in text]) == 30
    assert [told(text) for text in socket.sent if "beside" in text] == [["tasks", "activity"]]
    assert client._changes_rest is not None
    client._changes_rest.cancel()
    client._rested()
    await settle()
    assert told(socket.sent[-1]) == ["tasks", "activity"], "the last change is never left out"
    client._rested()
    await settle()
    assert len(socket.sent) == 32, "nothing has changed since"
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


async def test_of_too_many_changed_parts_the_list_is_said_as_a_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "BESIDE_MAX", 2)
    client, _ = a_client(world)
    client._streams["fleet"] = endpoint._Stream(seq=0, loading=False)
    for name in ("c-1", "c-2", "c-2", "c-3", "c-4"):
        change = Beside(about=Topic.TASKS, kind=CHANGED, stream="fleet", value=msgspec.Raw(json.dumps(name).encode()))
        client.take_beside(change, msgspec.json.encode(change))
    said = [json.loads(raw)["value"] for raw in client._take_changes()]
    assert said == ["c-1", "c-2", None]
    assert client._changes_rest is not None
    client._changes_rest.cancel()


def told(text: str) -> list[str]:
    return [item["about"] for item in json.loads(text)["items"]]


def seqs(text: str) -> list[int]:
    return [event["seq"] for event in json.loads(text)["events"]]


async def test_neighbouring_events_are_joined_and_order_stays() -> None:
    queue: list[bytes | tuple[str, bytes]] = [("a", b"1"), ("b", b"2"), b"[pong]", ("a", b"3")]
    assert endpoint._joined(queue) == [
        b'{"t":"events","events":[1,2]}',
        b"[pong]",
        b'{"t":"events","events":[3]}',
    ]


async def test_beside_is_bounded(world: World) -> None:
    client, _ = a_client(world)
    client._streams["c-1"] = endpoint._Stream(seq=0, loading=False)
    for number in range(1_000):
        for kind in ("log", "progress"):
            item = Beside(about=f"t{number}", kind=kind, stream="c-1", value=msgspec.Raw(b"1"))
            client.take_beside(item, b"{}")
    assert len(client._lines) == endpoint.BESIDE_MAX
    assert len(client._progress) == endpoint.BESIDE_MAX


class Reads:
    """Counts how often the fleet is read; `during` is done while it is."""

    def __init__(self) -> None:
        self.times = 0
        self.during: Callable[[], None] = lambda: None

    async def entities(self, stream: str) -> StreamState:
        assert stream == "fleet"
        self.times += 1
        await asyncio.sleep(0)
        self.during()
        return StreamState(self.times, {})


def changed(fanout: Fanout, stream: str, seq: int = 9) -> None:
    event = Event(about="x", at_ms=1, by="engine", kind="x", puts={}, seq=seq, stream=stream)
    fanout.publish(seq, [(event, b"{}")])


async def test_the_fleet_is_read_once_for_all_pages_until_it_changes() -> None:
    reads, fanout = Reads(), Fanout()
    snapshots = Snapshots(reads, fanout)  # type: ignore[arg-type]
    found = await asyncio.gather(*(snapshots.fleet(parts=True) for _ in range(20)))
    assert (reads.times, len(set(found))) == (1, 1)
    changed(fanout, "c-1")
    assert (await snapshots.fleet(parts=True))[0] == 1
    changed(fanout, "fleet")
    assert (await snapshots.fleet(parts=True))[0] == 2
    fanout.begin_anew("another log")
    assert (await snapshots.fleet(parts=True))[0] == 3


async def test_a_fleet_that_changed_while_it_was_read_is_read_again_for_the_next_page() -> None:
    reads, fanout = Reads(), Fanout()
    snapshots = Snapshots(reads, fanout)  # type: ignore[arg-type]
    reads.during = lambda: changed(fanout, "fleet")
    assert [(await snapshots.fleet(parts=True))[0] for _ in range(2)] == [1, 2]


async def test_one_person_may_have_two_hundred_pages_and_not_any_number(world: World) -> None:
    pages = [await page(world) for _ in range(200)]
    (viewer,) = {viewer.token for viewer in world.hub.fanout.viewers()}
    caller = Caller("p", "ann", Role.VIEWER, frozenset(), viewer, Means.BEARER)
    for _ in range(endpoint.SOCKETS_PER_TOKEN_MAX - len(pages)):
        world.hub.fanout.join(a_client(world, caller=caller)[0])
    refused = await world.socket("/api/v1/live").open()
    await refused.send_json({"t": "ticket", "ticket": await ticket(world)})
    answer = await refused.receive_json()
    assert (answer["t"], answer["code"]) == ("refuse", "rate_limited")
    for one in pages:
        await one.leave()
