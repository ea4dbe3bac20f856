"""No place in a stream that a page names (T222), or of a list (T312), makes a fault of the hub."""

from __future__ import annotations

import base64
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


BEYOND = ["99999999999999999999:5", "-99999999999999999999:5", "5:99999999999999999999", "5:c-\x00", "x:5", "5", ""]


@pytest.mark.parametrize("odd", BEYOND, ids=ascii)
@pytest.mark.parametrize("path", ["/api/v1/constellations", "/api/v1/audit"])
async def test_t312_an_odd_cursor_of_a_list_is_refused(world: World, path: str, odd: str) -> None:
    """SQLite takes no number of more than 64 bits, and answered such a cursor with an error of the hub."""
    async with world.client() as http:
        cursor = base64.urlsafe_b64encode(odd.encode()).decode().rstrip("=")
        answer = await http.get(path, params={"cursor": cursor})
    if path.endswith("constellations") and odd in ("5:99999999999999999999", "5"):
        assert answer.json()["items"] == [], "an id is a text of any length"
    else:
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
