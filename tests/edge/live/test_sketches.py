"""A sketch reaches the pages that look at its constellation, and nothing else reaches them by this way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from starloom.edge.live.fanout import Fanout
from starloom.edge.live.sketches import Sketches
from starloom.store.port import Unavailable
from starloom_protocol.stream.feed import Beside
from starloom_protocol.stream.sketches import Sketch, SketchTask
from tests.edge.peers.test_neighbours import Viewer

SKETCH = Sketch(call=1, job="plan-1", since_ms=5, tasks=[SketchTask(id="a", tool="t")], worker="w")


class Port:
    """A channel with these messages, which then breaks as often as it is asked."""

    def __init__(self, *messages: bytes) -> None:
        self.messages = list(messages)

    async def say(self, raw: bytes) -> None:
        raise AssertionError(f"a hub says no sketch: {raw!r}")

    async def hear(self) -> AsyncIterator[bytes]:
        for message in self.messages:
            yield message
        self.messages = []
        raise Unavailable("the connection has ended")


async def no_wait(_ms: int) -> None:
    await asyncio.sleep(0)


def message(stream: str = "c1", kind: str = "sketch", **fields: Any) -> bytes:
    made = json.loads(msgspec.json.encode(SKETCH)) | fields
    return json.dumps({"about": "x", "kind": kind, "stream": stream, "value": made}).encode()


def heard(*messages: bytes) -> tuple[list[Beside], Sketches]:
    fanout, viewer = Fanout(), Viewer()
    fanout.subscribe(viewer, "c1")
    carried: list[bytes] = []
    fanout.carry = carried.append
    sketches = Sketches(Port(), fanout, no_wait)
    for raw in messages:
        sketches.take(raw)
    assert carried == []  # each hub hears the channel itself
    return viewer.beside, sketches


def test_a_sketch_reaches_who_looks_at_its_constellation_alone() -> None:
    found, sketches = heard(message(), message("c2"), message("c1", call=2))
    assert [json.loads(bytes(item.value))["call"] for item in found] == [1, 2]
    assert {(item.about, item.kind, item.stream) for item in found} == {("sketch/plan-1", "sketch", "c1")}
    assert sketches.refused == 0


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{",
        b"null",
        b"\xff",
        message(kind="progress"),
        message(kind="log"),
        message("fleet"),
        message("access"),
        message(call="1"),
        message(tasks=[{"id": "a" * 81}]),
        message(tasks=[{"id": str(at)} for at in range(61)]),
        message(looks=[{"tool": "t"}] * 13),
        message(words="x" * 301),
        message(extra="y" * 40_000),
        b"[" * 100_000,
        message(extra="\0").replace(b'"\\u0000"', b"[" * 9_000),
    ],
)
def test_what_is_no_sketch_reaches_nobody(wrong: bytes) -> None:
    found, sketches = heard(wrong, message())
    assert len(found) == 1
    assert sketches.refused == 1


def test_only_the_fields_of_a_sketch_are_passed_on() -> None:
    found, _ = heard(message(html="<script>", about="t1"))
    assert json.loads(bytes(found[0].value)) == json.loads(msgspec.json.encode(SKETCH))


async def test_a_channel_that_broke_is_heard_again() -> None:
    fanout, viewer = Fanout(), Viewer()
    fanout.subscribe(viewer, "c1")
    port = Port(message())
    task = asyncio.create_task(Sketches(port, fanout, no_wait).run())
    for _ in range(20):
        await asyncio.sleep(0)
    port.messages = [message(call=2)]
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [json.loads(bytes(item.value))["call"] for item in viewer.beside] == [1, 2]
