"""A stack for each file of chaos tests, and after each test the judgement of everything that happened on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import httpx
import pytest

from tests.chaos.history import collect
from tests.chaos.judge import Verdict, judge
from tests.chaos.stack import Stack, running
from tests.installation import home_for
from tests.waiting import SLOWER, until


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A service with the agents `north` and `south`, and `east` behind the fault proxy; a module's `SETTINGS` hold."""
    settings = getattr(request.module, "SETTINGS", {})
    with home_for(request) as home, running(Stack(home, settings), ("north", "south"), ("east",)) as made:
        yield made


@pytest.fixture(autouse=True)
def counted_requests(monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Count what this test asks of hubs, for the report; commands that it starts are not among it."""
    count = itertools.count()
    send = httpx.Client.send

    def counting(client: httpx.Client, *args: Any, **more: Any) -> httpx.Response:
        next(count)
        return send(client, *args, **more)

    monkeypatch.setattr(httpx.Client, "send", counting)
    yield
    record_property("requests", next(count))


Settled = Callable[[], Verdict]
Note = Callable[[str, object], None]


@pytest.fixture
def settled(stack: Stack, record_property: Note) -> Settled:
    """Judge the history of the stack once it has come to rest, and fail on whatever it breaks.

    What is found and what was killed goes into the report of `make chaos`.
    """

    def look() -> Verdict:
        verdict = Verdict()

        def rests() -> bool:
            nonlocal verdict
            verdict = judge(collect(stack))
            return not verdict.all

        try:
            until(rests, "the history is in order", 10 * SLOWER)
        except AssertionError:
            told = "\n".join(verdict.all)
            raise AssertionError(f"the history of {stack.home} breaks promises:\n{told}") from None
        finally:
            record_property("verdict", asdict(verdict))
            record_property("kills", asdict(stack.kills))
            record_property("stack", str(stack.home))
        return verdict

    return look
