"""Finished constellations in memory: the time since which each is quiet, and those that may leave now.

Owns no state of a constellation and writes nothing; the loop drops those that `due` returns, between two batches.
"""

from __future__ import annotations

from collections.abc import Iterable

from starloom.core.clock.eviction import may_retire
from starloom.core.state.model import Shard
from starloom.engine.settings import QUIET_LEAST_MS, Keeping

AT_ONCE_MOST = 16


class Finished:
    """The final constellations in memory, the longest quiet first."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._quiet: dict[str, tuple[int, int]] = {}  # name -> (last position written, when)

    def __len__(self) -> int:
        return len(self._quiet)

    def note(self, shard: Shard, streams: Iterable[str], pos: int, at_ms: int) -> None:
        """Note streams written or loaded at a position: those of finished constellations are quiet from now on."""
        live, held, quiet = shard.live, shard.constellations, self._quiet
        for stream in streams:
            if stream in live:
                quiet.pop(stream, None)
            elif stream in held:
                quiet.pop(stream, None)
                quiet[stream] = (pos, at_ms)

    def reload(self, shard: Shard, pos: int) -> None:
        """Start over with a shard just loaded at `pos`: each final constellation is quiet since its end."""
        self._quiet.clear()
        final = [(item.head.ended_ms, name) for name, item in shard.constellations.items() if name not in shard.live]
        for ended_ms, name in sorted(final):
            self._quiet[name] = (pos, ended_ms)

    def forget(self, name: str) -> None:
        """Forget a constellation that has left."""
        self._quiet.pop(name, None)

    def due(self, shard: Shard, now_ms: int, safe_pos: int) -> list[str]:
        """Return some constellations that may leave: quiet long enough or above the caps, without open work, and with
        everything durable and sent at `safe_pos`. Call again after they have left.
        """
        keeping = self._keeping
        count = len(self._quiet)
        tasks = sum(len(shard.constellations[name].tasks) for name in self._quiet)
        found: list[str] = []
        for name, (pos, at_ms) in self._quiet.items():
            quiet_ms = now_ms - at_ms
            too_many = count > keeping.constellations_most or tasks > keeping.tasks_most
            if quiet_ms < (min(QUIET_LEAST_MS, keeping.quiet_ms) if too_many else keeping.quiet_ms):
                break
            constellation = shard.constellations[name]
            if pos > safe_pos or not may_retire(shard, constellation):
                continue
            found.append(name)
            count -= 1
            tasks -= len(constellation.tasks)
            if len(found) == AT_ONCE_MOST:
                break
        return found
