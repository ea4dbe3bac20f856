"""T222: no place in a stream that a page names makes a fault of the hub, or an entry in its log."""

from __future__ import annotations

import logging

import pytest

from starloom_protocol.stream.feed import FLEET
from tests.edge.world import World, Ws

ODD = [
    {"stream": FLEET, "after_seq": 2**63 - 1},
    {"stream": FLEET, "after_seq": 2**64},
    {"stream": FLEET, "after_seq": 10**30},
    {"stream": FLEET, "after_seq": -(2**70)},
    {"stream": "c-\x00"},
    {"stream": "c-\x00", "after_seq": 1},
    {"stream": "c-\u202e"},
]
"""SQLite and PostgreSQL take no such numbers, and PostgreSQL no such name: a load ended in an error of the hub."""


async def opened(world: World) -> Ws:
    _, text = await world.new_token("viewer")
    return await world.page(text)


@pytest.mark.parametrize("odd", ODD, ids=ascii)
async def test_t222_an_odd_place_in_a_stream_is_refused_as_one(
    world: World, odd: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    socket = await opened(world)
    with caplog.at_level(logging.WARNING):
        await socket.send_json({"t": "subscribe", **odd})
        said = await socket.receive_json()
    assert (said["t"], said["code"]) == ("refuse", "protocol_error")
    assert caplog.records == []


async def test_t222_a_place_that_is_only_too_late_is_answered_with_the_present(world: World) -> None:
    socket = await opened(world)
    await socket.send_json({"t": "subscribe", "stream": FLEET, "after_seq": 2**53})
    assert (await socket.receive_json())["t"] == "resync"
