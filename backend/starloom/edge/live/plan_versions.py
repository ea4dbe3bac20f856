"""The fold of a constellation's log to its plan at a version, and the comparison of two. Pure over encoded events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from starloom.edge.live.entity_json import plain
from starloom.store.port import StreamState
from starloom_protocol.api.constellations import Difference, PlanItem
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.stream.feed import Event, decode_event

_PLAN_KINDS = ("spec/", "dep/", "rule/")


def state_of_version(events: Iterable[bytes], version: int) -> StreamState | None:
    """Return (seq, entities) as they were just before version + 1 was made, or at the end; None if never reached."""
    entities: dict[str, bytes] = {}
    seq, reached = 0, version == 0
    following = f"version/{version + 1}"
    for raw in events:
        event = decode_event(raw)
        if following in event.puts:
            break
        seq = event.seq
        _apply(entities, event)
        reached = reached or f"version/{version}" in event.puts
    return StreamState(seq, entities) if reached else None


def state_when_made(events: Iterable[bytes], version: int, *, before: bool = False) -> StreamState | None:
    """Return the state right after the event that made a version, or just before it; None if there is none."""
    entities: dict[str, bytes] = {}
    seq, key = 0, f"version/{version}"
    for raw in events:
        event = decode_event(raw)
        if before and key in event.puts:
            return StreamState(seq, entities)
        seq = event.seq
        _apply(entities, event)
        if key in event.puts:
            return StreamState(seq, entities)
    return None


def _apply(entities: dict[str, bytes], event: Event) -> None:
    for key, record in event.puts.items():
        if record is None:
            entities.pop(key, None)
        else:
            entities[key] = bytes(record)


def difference(before: dict[str, bytes], after: dict[str, bytes]) -> Difference:
    """Return the additions, removals and changes between two plans: specs, dependencies and rules."""
    old = {key: raw for key, raw in before.items() if key.startswith(_PLAN_KINDS)}
    new = {key: raw for key, raw in after.items() if key.startswith(_PLAN_KINDS)}
    return {
        "added": [_item(key, new[key]) for key in sorted(new.keys() - old.keys())],
        "removed": [_item(key, old[key]) for key in sorted(old.keys() - new.keys())],
        "changed": [
            {"kind": _kind(key), "id": _identity(key), "before": before_fields, "after": after_fields}
            for key in sorted(old.keys() & new.keys())
            for before_fields, after_fields in [_changed(key, old[key], new[key])]
            if before_fields or after_fields
        ],
    }


def _kind(key: str) -> str:
    kind = key.partition("/")[0]
    return {"spec": "task", "dep": "dependency"}.get(kind, kind)


def _identity(key: str) -> str:
    return key.partition("/")[2]


def _item(key: str, raw: bytes) -> PlanItem:
    return {"kind": _kind(key), "id": _identity(key), "value": plain(decode_entity(key, raw))}


def _changed(key: str, before: bytes, after: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that differ; counters of the plan's own bookkeeping do not."""
    if before == after:
        return {}, {}
    old, new = (msgspec.to_builtins(decode_entity(key, raw)) for raw in (before, after))
    names = [name for name in {**old, **new} if name not in ("changed_in", "fired") and old.get(name) != new.get(name)]
    return {name: old.get(name) for name in names}, {name: new.get(name) for name in names}
