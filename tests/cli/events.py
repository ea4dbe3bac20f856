"""Builds event logs for the tests of the command line: real records, encoded as the hub encodes them."""

from __future__ import annotations

import msgspec

from starloom_protocol.records.entities import Record, encode_entity
from starloom_protocol.stream.feed import Event

CONSTELLATION = "c-test"


class Log:
    """A log of one constellation that grows by `add`; it is also an `EventSource`."""

    def __init__(self) -> None:
        self.rows: list[Event] = []
        self.asked: list[tuple[int, float]] = []

    def add(self, kind: str, *, note: str = "", about: str = "", **puts: Record) -> Event:
        """Append an event; keys are written with `__` for `/` and `DOT` for a dot."""
        named = {key.replace("__", "/").replace("DOT", "."): msgspec.Raw(encode_entity(v)) for key, v in puts.items()}
        event = Event(
            about=about,
            at_ms=1_700_000_000_000 + len(self.rows),
            by="engine",
            kind=kind,
            note=note,
            puts=dict(named),
            seq=len(self.rows) + 1,
            stream=CONSTELLATION,
        )
        self.rows.append(event)
        return event

    def events(self, constellation: str, after: int, *, wait_s: float = 0, limit: int = 500) -> list[Event]:
        assert constellation == CONSTELLATION
        self.asked.append((after, wait_s))
        return [event for event in self.rows if event.seq > after][:limit]
