"""The pauses between two tries of a link: a herd is spread, and a hub on this computer is not waited for long."""

from __future__ import annotations

import pytest

from starloom_agent.wire.connection import Connection
from starloom_agent.wire.dialling import Route
from starloom_agent.wire.link import (
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
