"""What paces say beside what happened: each sample is one end of an attempt, and the first ends are all there.

Only inputs of a few bytes move in a schedule, so no sample has a transfer taken off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from starloom.core.placement.pace import log_of
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event
from tests.store.memory import MemoryHistory

_ALL_BELOW: Final = 8
_FADES_AT: Final = 64
Call = tuple[str, str, int]
"""A tool, a device, and the moment of an end."""


def judge_paces(history: MemoryHistory) -> Iterator[str]:
    """Yield every sample that is none, and every end of a new pair that became no sample."""
    ended, faults = _ends(history)
    learned: Counter[tuple[str, str]] = Counter()
    rows: dict[str, Any] = {}
    for event in map(decode_event, history.streams.get(FLEET, [])):
        for key, raw in event.puts.items():
            if not key.startswith("pace/"):
                continue
            was = rows.pop(key, None)
            if raw is None:
                continue
            row: Any = decode_entity(key, bytes(raw))
            rows[key] = row
            calls, failures, logs = (was.count, was.failures, was.logs) if was is not None else (0, 0, 0)
            if calls + failures >= _FADES_AT:
                continue
            at: Call = (row.tool, row.device, event.at_ms)
            if row.count - calls == 1 and row.failures == failures:
                learned[row.tool, row.device] += 1
                took = row.logs - logs
                if took not in ended.get(at, []):
                    yield f"the pace of {row.tool} on {row.device} learned {took} at {event.at_ms}, of {ended.get(at)}"
                else:
                    ended[at].remove(took)
            elif row.failures - failures == 1 and row.count == calls:
                if not faults[at]:
                    yield f"the pace of {row.tool} on {row.device} counts a failure at {event.at_ms} that was none"
            else:
                yield f"the pace of {row.tool} on {row.device} changed by {row.count - calls} calls at once"
    made: Counter[tuple[str, str]] = Counter(learned)
    for (tool, device, _at_ms), left in ended.items():
        made[tool, device] += len(left)
    for pair, count in made.items():
        if learned[pair] < min(count, _ALL_BELOW) and not any(row.failures for row in rows.values()):
            yield f"{count} calls of {pair[0]} ended well on {pair[1]}, and {learned[pair]} became its pace"


def _ends(history: MemoryHistory) -> tuple[dict[Call, list[int]], Counter[Call]]:
    """Return, of every attempt that ended, its logarithm by call; and those that did not, or may not have."""
    ended: dict[Call, list[int]] = {}
    faults: Counter[Call] = Counter()
    for stream, raws in history.streams.items():
        if stream in (ACCESS, FLEET):
            continue
        specs: dict[str, Any] = {}
        open_ones: dict[str, bool] = {}
        for event in map(decode_event, raws):
            for key, raw in event.puts.items():
                if raw is None:
                    continue
                if key.startswith("spec/"):
                    specs[key.removeprefix("spec/")] = decode_entity(key, bytes(raw))
                elif key.startswith("attempt/"):
                    attempt: Any = decode_entity(key, bytes(raw))
                    if attempt.end is None and attempt.code is None:
                        open_ones[key] = True
                    elif open_ones.pop(key, False):
                        spec = specs[key.removeprefix("attempt/").rpartition("/")[0]]
                        at = (spec.tool or "", attempt.device, event.at_ms)
                        if attempt.end == "ok":
                            took_ms = max(0, attempt.ended_ms - attempt.leased_ms)
                            ended.setdefault(at, []).append(log_of(took_ms))
                        else:
                            faults[at] += 1
    return ended, faults
