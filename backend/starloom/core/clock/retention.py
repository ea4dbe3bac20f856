"""Retention: chooses the finished constellations that may leave the durable history, oldest end first.

Pure: the content and the size of the history are arguments. Never chooses a constellation that live state still needs
(`needed`, `away_since`). The store removes the chosen ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from starloom.core.clock.schedules import constellation_of
from starloom.core.state.model import Shard
from starloom_protocol.vocabulary import DeviceLink

BY_AGE = "history_keep_days"
BY_SIZE = "history_keep_mb"


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """The greatest age and size of the history; None is no bound, and both None keep everything.

    For `least_ms` after its end no constellation goes because of the size, however large the history is. For `files_ms`
    after its end a constellation stays if its artifacts still exist.
    """

    age_ms: int | None = None
    bytes_most: int | None = None
    files_ms: int = 90 * 86_400_000
    least_ms: int = 7 * 86_400_000

    @property
    def unbounded(self) -> bool:
        return self.age_ms is None and self.bytes_most is None

    def newest_ms(self, now_ms: int) -> int:
        """Return the latest end that a constellation may have to go at all."""
        ages = [age for age in (self.age_ms, None if self.bytes_most is None else self.least_ms) if age is not None]
        return now_ms - min(ages) if ages else 0


class Past(Protocol):
    """The facts of a finished constellation by which it is chosen."""

    @property
    def bytes(self) -> int: ...

    @property
    def devices(self) -> Collection[str]: ...

    @property
    def ended_ms(self) -> int: ...

    @property
    def id(self) -> str: ...


F = TypeVar("F", bound=Past)


def needed(shard: Shard) -> set[str]:
    """Return every constellation that the shard holds or names.

    It holds those that are live, have something open, or were used recently. It names firings in schedules, sources of
    standing approvals, those made under idempotency keys, and origins of live forks.
    """
    names = set(shard.constellations)
    for schedule in shard.fleet.schedules.values():
        names.update(schedule.running)
        names.update(constellation_of(schedule.id, moment) for moment in schedule.queued)
        if schedule.last is not None:
            names.add(schedule.last.constellation)
    names.update(standing.constellation for standing in shard.fleet.standing.values())
    names.update(key.made for key in shard.access.idempotency.values())
    for name in shard.live:
        constellation = shard.constellations[name]
        if constellation.head.origin is not None:
            names.add(constellation.head.origin.constellation)
    return names


def away_since(shard: Shard) -> dict[str, int]:
    """Return each disconnected device that may come back, with the moment since which it is away.

    Such a device may hold results and remembered work of constellations that ended since; it must be heard first.
    """
    return {
        device.id: device.link_since_ms
        for device in shard.fleet.devices.values()
        if not device.revoked and device.link is not DeviceLink.ONLINE
    }


def leaving(
    items: Iterable[F],
    limits: HistoryLimits,
    *,
    away: Mapping[str, int],
    held: Collection[str],
    now_ms: int,
    with_files: Collection[str],
    size_bytes: int,
) -> list[tuple[F, str]]:
    """Return the finished constellations that go now, each with the setting that requires it.

    `items` are in the order of their ends, `held` are those that live state needs (`needed`), `with_files` those whose
    artifacts still exist. `away` is `away_since`.
    """
    leaving_now: list[tuple[F, str]] = []
    for item in items:
        limit = _limit_passed(item, limits, now_ms, size_bytes)
        if limit is None or item.ended_ms <= 0 or item.id in held:
            continue
        if item.id in with_files and item.ended_ms > now_ms - limits.files_ms:
            continue
        if any(away.get(device, item.ended_ms + 1) <= item.ended_ms for device in item.devices):
            continue
        size_bytes -= item.bytes
        leaving_now.append((item, limit))
    return leaving_now


def _limit_passed(item: Past, limits: HistoryLimits, now_ms: int, size_bytes: int) -> str | None:
    if limits.age_ms is not None and item.ended_ms <= now_ms - limits.age_ms:
        return BY_AGE
    is_too_large = limits.bytes_most is not None and size_bytes > limits.bytes_most
    return BY_SIZE if is_too_large and item.ended_ms <= now_ms - limits.least_ms else None
