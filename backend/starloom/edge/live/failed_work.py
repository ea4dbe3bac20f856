"""Failures by device: on which devices the tasks failed that made a constellation fail.

A task counts for the device of its last attempt, and one that was never started for none. The history has the devices
of a constellation and its state, not which of them failed, so this is read from its entities, once for each end.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from starloom.edge.live.views import Headlines
from starloom.store.port import ReadPort
from starloom_protocol.vocabulary import TaskState

KNOWN_MOST: Final = 5_000
READ_MOST: Final = 20
"""The most constellations that one request reads; those beyond count for each of their devices until the next one."""


class FailedWork:
    """The devices on which each failed constellation has failed tasks, kept for the end that it had."""

    def __init__(self, reads: ReadPort, headlines: Headlines) -> None:
        self._reads = reads
        self._headlines = headlines
        self._failed_on: OrderedDict[tuple[str, int], frozenset[str]] = OrderedDict()

    async def count(self, devices: Sequence[str], since_ms: int) -> dict[str, int]:
        """Count the failed constellations made since a moment that have a failed task on each of these devices."""
        counts: dict[str, int] = {}
        count_read = 0
        work = await self._reads.failed_work(devices, since_ms)
        headlines = await self._headlines.of_all(list(work))
        for constellation, workers in work.items():
            headline = headlines.get(constellation)
            end = constellation, headline.head.ended_ms if headline is not None else 0
            failed = self._failed_on.get(end)
            if failed is None and count_read < READ_MOST:
                count_read += 1
                failed = self._failed_on[end] = await self._read_failed(constellation)
                if len(self._failed_on) > KNOWN_MOST:
                    self._failed_on.popitem(last=False)
            for device in workers:
                if failed is None or device in failed:
                    counts[device] = counts.get(device, 0) + 1
        return counts

    async def _read_failed(self, constellation: str) -> frozenset[str]:
        state = await self._reads.entities(constellation)
        return frozenset() if state is None else await asyncio.to_thread(failed_on, state.entities)


class _Ended(msgspec.Struct):
    state: str
    attempt: int = 0


class _Tried(msgspec.Struct):
    device: str


_ended_decoder = msgspec.json.Decoder(_Ended)
_tried_decoder = msgspec.json.Decoder(_Tried)


def failed_on(entities: Mapping[str, bytes]) -> frozenset[str]:
    """Return the devices of the last attempts of failed tasks."""
    devices = set()
    for key, raw in entities.items():
        if not key.startswith("task/"):
            continue
        record = _ended_decoder.decode(raw)
        if record.state == TaskState.FAILED and record.attempt:
            attempt = entities.get(f"attempt/{key.removeprefix('task/')}/{record.attempt}")
            if attempt is not None:
                devices.add(_tried_decoder.decode(attempt).device)
    return frozenset(devices)
