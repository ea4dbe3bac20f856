"""The pauses between two tries of a link: a herd is spread, and a hub on this computer is not waited for long."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from starloom_agent.wire.connection import Connection, ConnectionEnded
from starloom_agent.wire.dialling import Route
from starloom_agent.wire.link import (
    DOUBTS_MOST,
    RECONNECT_MOST_HERE_S,
    RECONNECT_MOST_S,
    RECONNECT_MOST_TUNNEL_S,
    Link,
    pause_most_s,
)

MANY_FAILURES = 12
"""So many tries fail while a hub is away for some minutes."""


def longest_pause_s(route: Route, most_s: float = RECONNECT_MOST_S) -> float:
    def never() -> Connection:
        raise AssertionError("nothing is dialled here")

    link = Link(
        never, most_s=pause_most_s(route, most_s), jitter=lambda: 1.0, say=lambda _: None, status=lambda *_: None
    )
    return link.wait_s(MANY_FAILURES, None)


@pytest.mark.parametrize(
    "route",
    [
        Route("http://127.0.0.1:8470"),
        Route("http://localhost:8470"),
        Route("http://127.0.0.1:8470", via="/home/ann/starloom/run/hub.sock"),
    ],
)
def test_a_hub_on_this_computer_is_dialled_within_seconds(route: Route) -> None:
    assert longest_pause_s(route) == RECONNECT_MOST_HERE_S < 3


@pytest.mark.parametrize(
    "route",
    [
        Route("https://hub.example"),
        Route("http://192.168.0.7:8470"),
        Route("http://127.0.0.1:8470", via="192.168.0.8:9000"),
    ],
)
def test_a_herd_of_other_devices_keeps_the_whole_window(route: Route) -> None:
    assert longest_pause_s(route) == RECONNECT_MOST_S


@pytest.mark.parametrize("end", ["127.0.0.1:9000", "[::1]:9000", "localhost:9000"])
def test_the_end_of_a_tunnel_is_dialled_within_seconds(end: str) -> None:
    route = Route("https://127.0.0.1:8470", via=end)
    assert longest_pause_s(route) == RECONNECT_MOST_TUNNEL_S < 5


def test_a_shorter_pause_of_the_owner_holds_here_too() -> None:
    assert longest_pause_s(Route("http://127.0.0.1:8470"), 0.5) == 0.5


class Refusing:
    """A connection that the hub refuses with the next of these ends, and then one that lasts."""

    def __init__(self, ends: list[ConnectionEnded], dialled: list[None], lasts: asyncio.Event) -> None:
        self._ends, self._dialled, self._lasts = ends, dialled, lasts

    async def serve(self) -> None:
        self._dialled.append(None)
        if self._ends:
            raise self._ends.pop(0)
        self._lasts.set()
        await asyncio.Event().wait()

    def say_bye(self, why: str) -> None:
        assert why


async def refused(ends: list[ConnectionEnded]) -> tuple[ConnectionEnded | None, int, list[tuple[str, str]]]:
    """Return how a link ended that is refused so, how often it dialled, and what its status said."""
    dialled: list[None] = []
    said: list[tuple[str, str]] = []
    lasts, stopping = asyncio.Event(), asyncio.Event()

    async def leave() -> None:
        pass

    link = Link(
        lambda: cast("Connection", Refusing(ends, dialled, lasts)),
        most_s=0.0005,
        jitter=lambda: 0.0,
        say=lambda _: None,
        status=lambda state, why: said.append((state, why)),
    )
    running = asyncio.create_task(link.run(stopping, leave))
    await asyncio.wait({running, asyncio.create_task(lasts.wait())}, return_when=asyncio.FIRST_COMPLETED)
    stopping.set()
    return await running, len(dialled), said


async def test_a_hub_that_does_not_know_the_device_is_asked_again_until_it_does() -> None:
    unknown = [ConnectionEnded("unknown", final=True, doubtful=True, unknown=True) for _ in range(2 * DOUBTS_MOST)]
    ended, tries, said = await refused(unknown)
    assert (ended, tries) == (None, 2 * DOUBTS_MOST + 1)
    assert said[0] == ("offline", "unknown")


async def test_a_removed_device_stops_at_once_and_a_doubtful_refusal_after_some() -> None:
    removed = ConnectionEnded("revoked", final=True)
    assert await refused([removed]) == (removed, 1, [("refused", "revoked")])
    doubtful = [ConnectionEnded("signature", final=True, doubtful=True) for _ in range(DOUBTS_MOST)]
    last = doubtful[-1]
    ended, tries, said = await refused(doubtful)
    assert (ended, tries, said[-1]) == (last, DOUBTS_MOST, ("refused", "signature"))
