"""What is left after the faults: the SQL log, the agents' ledgers, the witness file, and what clients were told.

Reads only. Whether it is right is decided by `judge`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from starloom.store.redis import keys
from starloom_protocol.stream.feed import ACCESS, FLEET, Event
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import Receipt, ResultFrame
from tests.chaos.sql_log import CommitLine, read_log
from tests.chaos.stack import Stack
from tests.chaos.work import Line

_results: msgspec.json.Decoder[ResultFrame | Receipt] = msgspec.json.Decoder(ResultFrame | Receipt)


@dataclass(frozen=True)
class LedgerLine:
    """One attempt as an agent's ledger has it. `pending`: its end still waits to be acknowledged as durable.

    `outcome` is that of the result that it keeps, and None for a receipt or where the hub let it forget.
    """

    device: str
    constellation: str
    task: str
    incarnation: int
    attempt: int
    state: str
    began: bool
    pending: bool
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Told:
    """A request that a client was told is accepted, and the events that it saw."""

    id: str
    name: str
    seen: Mapping[int, Event]


@dataclass(frozen=True)
class History:
    """Everything the judge looks at. `live` is what Redis holds, by stream."""

    commits: list[CommitLine]
    events: list[Event]
    ledgers: list[LedgerLine]
    told: list[Told]
    witness: list[Line]
    live: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)


def read_ledger(device: str, ledger: Path) -> list[LedgerLine]:
    """Return the attempts of an agent's ledger."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=10)) as sql:
        frames = b"\n".join(frame for (frame,) in sql.execute("SELECT frame FROM reports"))
        rows = sql.execute(
            "SELECT constellation, task, incarnation, attempt, state, began_s IS NOT NULL, result FROM attempts"
        ).fetchall()
    return [
        LedgerLine(
            device,
            constellation,
            task,
            incarnation,
            attempt,
            state,
            bool(began),
            constellation.encode() in frames,
            _outcome(result),
        )
        for constellation, task, incarnation, attempt, state, began, result in rows
    ]


def _outcome(result: bytes | None) -> Outcome | None:
    kept = _results.decode(result) if result is not None else None
    return kept.outcome if isinstance(kept, ResultFrame) else None


def collect(stack: Stack) -> History:
    """Read everything of a stack that has come to rest."""
    commits, events = read_log(stack.history)
    live: dict[str, dict[str, bytes]] = {}
    with stack.redis_client() as redis:
        for stream in dict.fromkeys(event.stream for event in events):
            found: Mapping[bytes, bytes] = redis.hgetall(keys.entities(stream))
            live[stream] = {key.decode(): bytes(raw) for key, raw in found.items()}
    return History(
        commits=commits,
        events=events,
        ledgers=[line for name, path in stack.ledgers().items() for line in read_ledger(name, path)],
        told=[Told(request.id, request.name, dict(request.seen)) for request in stack.accepted.values()],
        witness=stack.place.lines(),
        live={name: entities for name, entities in live.items() if name not in (ACCESS, FLEET)},
    )
