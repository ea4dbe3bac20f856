"""Learning: an attempt that ends becomes a sample of its tool's pace on its device, by an event of the fleet.

The hub measures from lease to end by its own clock, so a device cannot state a time; it can only be slow. Of a row with
many calls one end in `SPARSE` is taken, by the input's random number, so that the log of the fleet grows slowly.
"""

from __future__ import annotations

from typing import Final

from starloom.core.placement.health import is_fault
from starloom.core.placement.pace.index import (
    MIB,
    SMALL_BYTES,
    TRANSFER,
    index_of,
    key_of,
    oldest,
    size_of,
    with_failure,
    with_sample,
)
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Work
from starloom_protocol.records.entities import Attempt, TaskSpec
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.events import EventKind

EACH_BELOW: Final = 8
SPARSE: Final = 8
MOVED_LEAST: Final = 4 * SMALL_BYTES


def inputs_of(constellation: Constellation, spec: TaskSpec) -> dict[str, tuple[int, int]]:
    """Return, by device, how many inputs of a task lie there and how many bytes they have."""
    found: dict[str, tuple[int, int]] = {}
    for item in spec.inputs:
        source = constellation.last_attempt(item.source)
        if source is not None:
            count, size = found.get(source.device, (0, 0))
            found[source.device] = count + 1, size + source.bytes
    return found


def succeeded(work: Work, constellation: Constellation, spec: TaskSpec, ended: Attempt) -> None:
    """Take the time of an attempt that succeeded."""
    fleet = work.shard.fleet
    if not work.shard.settings.pace_rows_most or not _counts(work, spec, ended):
        return
    took_ms = max(0, ended.ended_ms - ended.leased_ms)
    if not spec.inputs:
        row = _row(work, spec.tool or "", ended.device, 0)
        if _is_taken(work, row):
            _put(work, [("pace", key_of(row.tool, row.device, 0), with_sample(row, took_ms, ended.bytes, work.at_ms))])
        return
    lying = inputs_of(constellation, spec)
    whole = sum(size for _count, size in lying.values())
    moved = whole - lying.get(ended.device, (0, 0))[1]
    index, size = index_of(fleet), size_of(whole)
    puts: list[Put] = []
    if moved >= MOVED_LEAST:
        transfer_ms = index.transfer_ms(ended.device, moved)
        # The part above the expected time is the transfer; where that is the smaller part, it would be mostly chance.
        expected_ms = index.expected(spec.tool or "", size, ended.device)
        rate = _row(work, TRANSFER, ended.device, 0)
        if expected_ms and transfer_ms * 2 >= expected_ms and _is_taken(work, rate):
            over_ms = max(took_ms - expected_ms, took_ms // 4) * MIB // moved
            puts.append(("pace", key_of(TRANSFER, ended.device, 0), with_sample(rate, over_ms, moved, work.at_ms)))
        took_ms = max(took_ms // 4, took_ms - transfer_ms)
    row = _row(work, spec.tool or "", ended.device, size)
    if _is_taken(work, row):
        key = key_of(row.tool, row.device, size)
        puts.append(("pace", key, with_sample(row, took_ms, ended.bytes, work.at_ms)))
    _put(work, puts)


def failed(work: Work, spec: TaskSpec, ended: Attempt) -> None:
    """Count an end by a fault of the device."""
    if not work.shard.settings.pace_rows_most or not is_fault(ended) or not _counts(work, spec, ended):
        return
    row = _row(work, spec.tool or "", ended.device, 0)
    if _is_taken(work, row):
        _put(work, [("pace", key_of(row.tool, row.device, 0), with_failure(row, work.at_ms))])


def forgotten(work: Work, device: str) -> list[Put]:
    """Return the puts that remove the paces of a device that leaves."""
    return [("pace", key, None) for key, row in work.shard.fleet.paces.items() if row.device == device]


def _counts(work: Work, spec: TaskSpec, ended: Attempt) -> bool:
    device = work.shard.fleet.devices.get(ended.device)
    return spec.tool is not None and device is not None and not device.revoked and ended.origin is None


def _row(work: Work, tool: str, device: str, size: int) -> Pace:
    found = work.shard.fleet.paces.get(key_of(tool, device, size))
    return found or Pace(device=device, last_ms=work.at_ms, size=size, tool=tool)


def _is_taken(work: Work, row: Pace) -> bool:
    return row.count + row.failures < EACH_BELOW or work.roll % SPARSE == 0


def _put(work: Work, puts: list[Put]) -> None:
    if not puts:
        return
    fleet = work.shard.fleet
    new = sum(key not in fleet.paces for _kind, key, _row in puts)
    if new:
        stay = {key for _kind, key, _row in puts}
        gone = oldest(fleet.paces, work.shard.settings.pace_rows_most)
        puts = [*(("pace", key, None) for key in gone if key not in stay), *puts]
    work.emit(fleet, EventKind.PACE_LEARNED, puts[-1][1], puts, by="engine")
