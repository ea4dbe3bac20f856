"""The watch of a constellation by its event log until it ends, or until only a person can move it.

The log is read by long poll from the last number seen, so a cut loses nothing. A hub that stays away ends the watch
as unreachable, never as a success. A token that may start work and not read waits by its creating request instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from starloom.client.exits import Exit, exit_of_state
from starloom.client.problems import Problem
from starloom.client.routes import post_constellations
from starloom.client.view import View
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, PERSON_ATTENTION, Code, ConstellationState

if TYPE_CHECKING:
    from starloom.client.calls import Post
    from starloom_protocol.api.previews import Created

POLL_S = 20.0
SETTLE_S = 3.0
OUTAGE_S = 60.0
AGAIN_S = 2.0
PAGE = 500


class EventSource(Protocol):
    """Where events come from: the client, or a test's list."""

    def events(self, constellation: str, after: int, *, wait_s: float = 0, limit: int = PAGE) -> list[Event]: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that were new, in order; `caught_up` once the log's end was reached."""

    events: list[Event]
    caught_up: bool


def follow(
    source: EventSource,
    view: View,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    quiet: Callable[[], None] = lambda: None,
    outage_s: float = OUTAGE_S,
) -> Iterator[Batch]:
    """Yield batches after applying them to `view`, until its state is final or it needs a person.

    `quiet` is called once whenever nothing has happened for `SETTLE_S`, to print the reason of the waiting.

    Raises:
        Problem: the hub refused, or it was away for longer than `outage_s`.
    """
    away_since: float | None = None
    pause = 0.2
    told_quiet = False
    while True:
        wait_s = 0.0
        if view.seq:
            wait_s = POLL_S if told_quiet and not view.needs_person() else SETTLE_S
        try:
            events = source.events(view.constellation, view.seq, wait_s=wait_s, limit=PAGE)
        except Problem as problem:
            if problem.exit_code is not Exit.UNREACHABLE:
                raise
            if away_since is None:
                away_since = now()
                say("the hub does not answer; trying again ...")
            if now() - away_since >= outage_s:
                raise
            sleep(pause)
            pause = min(pause * 2, 2.0)
            continue
        if away_since is not None:
            say("the hub is back")
            away_since, pause = None, 0.2
        was_stuck = view.needs_person()
        fresh = view.apply(events)
        caught_up = len(events) < PAGE
        yield Batch(fresh, caught_up)
        if fresh:
            told_quiet = False
        elif view.seq and not told_quiet and not view.needs_person():
            told_quiet = True
            quiet()
        if not caught_up:
            continue
        if view.final or (was_stuck and not fresh):
            return


class Creating(Protocol):
    """The client, as far as a creating request is repeated under its key."""

    def create(self, call: Post[Created], body: Any, *, wait_s: float = 0, key: str | None = None) -> Created: ...

    def pause(self, pause_s: float) -> None: ...


def ended_or_stuck(source: Creating, body: Any, key: str, *, now: Callable[[], float] = time.monotonic) -> Created:
    """Return a request as the hub answers it, once it has ended or only a person can move it.

    The request is sent again under its key, which starts nothing twice, and so needs no right to read.

    Raises:
        Problem: the hub refused, or it was away or overloaded for longer than `OUTAGE_S`.
    """
    away_since: float | None = None
    was_stuck = False
    while True:
        try:
            created = source.create(post_constellations(), body, wait_s=SETTLE_S if was_stuck else POLL_S, key=key)
        except Problem as problem:
            if problem.exit_code is not Exit.UNREACHABLE and problem.code != Code.RATE_LIMITED:
                raise
            away_since = now() if away_since is None else away_since
            if now() - away_since >= OUTAGE_S:
                raise
            source.pause(AGAIN_S)
            continue
        away_since = None
        stuck = _needs_person(created)
        if created["state"] in FINAL_CONSTELLATION_STATES or (stuck and was_stuck):
            return created
        was_stuck = stuck


def _needs_person(created: Created) -> bool:
    if created.get("running"):
        return False
    is_held = created["state"] in (ConstellationState.AWAITING_APPROVAL, ConstellationState.PAUSED)
    return is_held or not PERSON_ATTENTION.isdisjoint(created.get("attention", ()))


def outcome_unread(created: Created) -> Exit:
    """Return the exit code of a request that has ended or needs a person."""
    code = exit_of_state(created["state"])
    return Exit.ATTENTION if code is None else code


def outcome(view: View) -> Exit:
    """Return the exit code of a watch; only a final state is a result."""
    code = exit_of_state(view.state)
    return Exit.ATTENTION if code is None else code
