"""The log of a schedule with people, gone through once: what every stream has before each event, and after each commit.

Rules are said over it in the modules beside this one; nothing of the core decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from starloom.edge.access.callers import SESSION
from starloom_protocol.records.entities import Attempt, Principal, Secret, Token, decode_entity
from starloom_protocol.records.schedules import Schedule, with_course
from starloom_protocol.stream.authors import token_of, who
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, ROLE_RANK, Role
from tests.sim.people.site import PutBack
from tests.store.memory import MemoryHistory

Puts = dict[str, Any]


class Course:
    """The records of every stream as of the event in hand."""

    def __init__(self) -> None:
        self.streams: dict[str, dict[str, Any]] = {ACCESS: {}, FLEET: {}}
        self.pos = 0

    def take(self, event: Event, puts: Puts) -> None:
        records = self.streams.setdefault(event.stream, {})
        for key, record in puts.items():
            if record is None:
                records.pop(key, None)
            else:
                records[key] = record

    def copied(self) -> Course:
        """Return fleet and access as they are now."""
        copy = Course()
        copy.streams = {stream: dict(self.streams[stream]) for stream in (ACCESS, FLEET)}
        return copy

    def of_kind(self, stream: str, kind: str) -> dict[str, Any]:
        start = f"{kind}/"
        return {key.removeprefix(start): one for key, one in self.streams[stream].items() if key.startswith(start)}

    def schedules(self) -> dict[str, Schedule]:
        """Return the schedules, each with its course."""
        courses = self.of_kind(FLEET, "schedule_course")
        return {name: with_course(one, courses.get(name)) for name, one in self.of_kind(FLEET, "schedule").items()}

    def schedule_after(self, name: str, puts: Puts) -> Schedule | None:
        """Return a schedule as an event leaves it."""
        records = self.streams[FLEET] | puts
        there = records.get(f"schedule/{name}")
        return with_course(there, records.get(f"schedule_course/{name}")) if there is not None else None

    def live(self) -> dict[str, Any]:
        """Return the heads of what has not ended."""
        heads = {name: records["head"] for name, records in self.streams.items() if "head" in records}
        return {name: head for name, head in heads.items() if head.state not in FINAL_CONSTELLATION_STATES}

    def tokens(self) -> dict[str, Token]:
        return self.of_kind(ACCESS, "token")

    def principals(self) -> dict[str, Principal]:
        return self.of_kind(ACCESS, "principal")

    def secrets(self) -> dict[str, Secret]:
        return self.of_kind(ACCESS, "secret")

    def is_over(self, token: str) -> bool:
        """Tell whether what binds what was done with a token has ended.

        Sessions have their time and bind nothing; what they come from does.
        """
        bound_by = self.tokens().get(token)
        while bound_by is not None and bound_by.kind == SESSION:
            bound_by = self.tokens().get(bound_by.parent)
        return bound_by is not None and bound_by.revoked_ms > 0

    def has_right(self, author: str, least: Role) -> bool:
        """Tell whether the author of an event has a role of at least this rank now, bound by nothing that ended."""
        if self.is_over(token_of(author)):
            return False
        holder = next((one for one in self.principals().values() if who(author) == f"{one.kind}:{one.name}"), None)
        return holder is None or ROLE_RANK[holder.role] >= ROLE_RANK[least]


def decoded(event: Event) -> Puts:
    """Return the records of an event by key, None for each that it removes."""
    return {key: None if raw is None else decode_entity(key, bytes(raw)) for key, raw in event.puts.items()}


class Rules(Protocol):
    """Rules of one subject. `at` sees an event before it counts, `after` the course after a commit."""

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]: ...

    def after(self, now: Course, events: list[Event]) -> Iterator[str]: ...


def follow(history: MemoryHistory, restores: list[PutBack], rules: list[Rules], restored: Any) -> Iterator[str]:
    """Go through the log; `restored(now, backup, restore)` is asked after the first commit that follows a restore."""
    now, ahead = Course(), list(restores)
    for commit in history.commits:
        backup = now.copied() if ahead and ahead[0].pos < commit.pos else now
        events = [decode_event(raw) for raw in commit.events]
        for event in events:
            puts = decoded(event)
            for rule in rules:
                yield from rule.at(now, event, puts)
            now.take(event, puts)
        now.pos = commit.pos
        while ahead and ahead[0].pos < commit.pos:
            yield from restored(now, backup, ahead.pop(0))
        for rule in rules:
            yield from rule.after(now, events)


def begins(now: Course, event: Event, puts: Puts) -> Iterator[tuple[str, str, Attempt]]:
    """Yield what an event begins on a device: task, number and attempt. Those that a fork brings along are no work."""
    for key, record in puts.items():
        if not isinstance(record, Attempt) or record.origin is not None or record.origin_task:
            continue
        if key not in now.streams.get(event.stream, {}):
            task, _, number = key.removeprefix("attempt/").rpartition("/")
            yield task, number, record
