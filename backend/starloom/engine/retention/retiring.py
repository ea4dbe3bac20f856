"""Finished constellations leave memory and Redis, and come back from the history when an input is about one.

The loop calls it between two batches, so nothing is stepped or committed meanwhile. `core.clock.retirement` decides
which may leave, `Finished` when; docs/decisions/history-and-secrets.md says why this is no event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

import msgspec

from starloom.core.clock.retirement import may_retire, missing, prune_demands, retire
from starloom.core.state.apply import load
from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Shard
from starloom.engine.commits import Recording
from starloom.engine.inputs.inbox import Entry
from starloom.engine.orders.pump import REPORTS, Acknowledgements
from starloom.engine.ports import Clock, Reply
from starloom.engine.settings import QUIET_LEAST_MS, FinishedRetention
from starloom.store.port import CommitPort, Damaged, Refused, Unavailable
from starloom_protocol.records.entities import Fault, Record, decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import CODES, Code

AT_ONCE_MOST = 16
"""Inputs wait while these leave the shard; the next ones leave a sweep later."""


class Finished:
    """The final constellations in memory, the longest quiet first."""

    def __init__(self, keeping: FinishedRetention) -> None:
        self._keeping = keeping
        self._quiet: dict[str, tuple[int, int]] = {}  # name -> (last position written, when)

    def __len__(self) -> int:
        return len(self._quiet)

    def note(self, shard: Shard, streams: Iterable[str], pos: int, at_ms: int) -> None:
        """Note streams written or loaded at a position: those of finished constellations are quiet from now on."""
        live, constellations, quiet = shard.live, shard.constellations, self._quiet
        for stream in streams:
            if stream in live:
                quiet.pop(stream, None)
            elif stream in constellations:
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
        leaving: list[str] = []
        for name, (pos, at_ms) in self._quiet.items():
            quiet_ms = now_ms - at_ms
            too_many = count > keeping.constellations_most or tasks > keeping.tasks_most
            if quiet_ms < (min(QUIET_LEAST_MS, keeping.quiet_ms) if too_many else keeping.quiet_ms):
                break
            constellation = shard.constellations[name]
            if pos > safe_pos or not may_retire(shard, constellation):
                continue
            leaving.append(name)
            count -= 1
            tasks -= len(constellation.tasks)
            if len(leaving) == AT_ONCE_MOST:
                break
        return leaving


THREAD_ABOVE_ENTITIES = 2_000
DOUBTS_MOST = 10_000
"""The most constellations in doubt; any further ones stay in Redis until the shard is taken again."""
WAITING_MOST = 500
"""Late results that wait for the history, of up to a megabyte each. They only leave a trace; a device that is not told
that one arrived sends it again when it connects.
"""
log = logging.getLogger("starloom.engine")


class Retiring:
    """Retires and recalls finished constellations; `retired` and `recalled` count them."""

    def __init__(
        self,
        store: CommitPort,
        clock: Clock,
        keeping: FinishedRetention,
        acks: Acknowledgements,
        recording: Recording,
    ) -> None:
        self._recording = recording
        self._acks = acks
        self._waiting: dict[tuple[str, int], AnyInput] = {}
        self._store = store
        self._clock = clock
        self._finished = Finished(keeping)
        self._leaving: dict[str, int] = {}  # gone from memory; Redis may still have them, at this seq
        self._in_doubt: dict[str, None] = {}  # not in memory; a recall that was not answered may have put it in Redis
        self.retired = 0
        self.recalled = 0

    def note(self, shard: Shard, streams: Sequence[str] | dict[str, int], pos: int, at_ms: int) -> None:
        """Note the streams that a commit at `pos` wrote."""
        self._finished.note(shard, streams, pos, at_ms)

    def reload(self, shard: Shard, pos: int) -> None:
        """Start over with a shard that was loaded at `pos`."""
        self._leaving.clear()
        self._in_doubt.clear()
        self._finished.reload(shard, pos)

    def retaken(self, shard: Shard, live: dict[str, int]) -> None:
        """Note that the shard was taken again: streams in Redis that memory lacks leave with the next ones."""
        held_here = shard.constellations
        self._leaving = {
            name: seq for name, seq in live.items() if name not in held_here and name not in (ACCESS, FLEET)
        }
        self._in_doubt.clear()

    def in_redis(self) -> list[str]:
        """Return the constellations that are not in memory and may still be in Redis."""
        return [*self._leaving, *self._in_doubt]

    async def let_go(self, shard: Shard, safe_pos: int) -> bool:
        """Drop the due constellations from memory, then from Redis; False if there were none or Redis did not do it.

        Memory first: the copy in Redis is then complete and no longer written, and goes at the next try.

        Raises:
            Refused: the shard must be taken again first.
        """
        for name in self._finished.due(shard, self._clock.now_ms(), safe_pos):
            self._leaving[name] = shard.constellations[name].seq
            retire(shard, name)
            self._finished.forget(name)
        if self._in_doubt:
            await self._make_sure(shard)
        if not self._leaving:
            return False
        prune_demands(shard)
        self._recording.queues_pruned()
        try:
            await self._store.retire(list(self._leaving.items()))
        except Unavailable as error:
            log.warning("event=retire_failed constellations=%d reason=%s", len(self._leaving), error)
            return False
        self.retired += len(self._leaving)
        self._leaving.clear()
        return True

    async def bring(self, shard: Shard, names: Sequence[str], pos: int) -> None:
        """Load those of the constellations that the history has and the shard lacks; the log ends at `pos`.

        Raises:
            Unavailable, Refused, Damaged: as `CommitPort.recall`.
        """
        # No constellation has a NUL in its name, and PostgreSQL answers a question about one by an error.
        absent = [name for name in names if name not in shard.constellations and "\0" not in name]
        try:
            recalled = await self._store.recall(absent)
        except (Unavailable, Damaged):
            self._in_doubt.update(dict.fromkeys(absent[: max(0, DOUBTS_MOST - len(self._in_doubt))]))
            raise
        for name, (seq, raws) in recalled.items():
            large = len(raws) > THREAD_ABOVE_ENTITIES
            load(shard, name, seq, await asyncio.to_thread(decode_entities, raws) if large else decode_entities(raws))
            self._leaving.pop(name, None)
            self._in_doubt.pop(name, None)
            self._finished.note(shard, (name,), pos, self._clock.now_ms())
            self.recalled += 1
            self._recording.constellation_loaded(name)
        shard.touched.clear()
        shard.settled.clear()
        shard.queued_now.clear()

    async def _make_sure(self, shard: Shard) -> None:
        """Recall the constellations in doubt once more, to learn their seq for leaving; one at a time, as one may fail.

        The one that failed is asked for behind the others the next time, so that it holds none of them up.

        Raises:
            Refused: the shard must be taken again first.
        """
        for name in list(self._in_doubt):
            if name not in shard.constellations:
                try:
                    recalled = await self._store.recall([name])
                except Unavailable as error:
                    log.warning("event=recall_in_doubt reason=%s", error)
                    del self._in_doubt[name]
                    self._in_doubt[name] = None
                    return
                except Damaged as error:
                    # A stream with a gap is not made live.
                    log.warning("event=recall_damaged constellation=%s reason=%s", name, error)
                    recalled = {}
                self._leaving.update({stream: seq for stream, (seq, _raws) in recalled.items()})
            del self._in_doubt[name]

    async def bring_for(self, shard: Shard, batch: list[Entry], pos: int) -> list[Entry]:
        """Load the constellations that a batch is about; return the inputs that can be stepped now (see `without`)."""
        try:
            await self.bring(shard, missing(shard, (item for item, _future in batch)), pos)
        except (Unavailable, Refused, Damaged) as error:
            return self.without(shard, batch, error)
        return batch

    def without(self, shard: Shard, batch: list[Entry], error: Exception) -> list[Entry]:
        """Return the inputs of a batch that are about held constellations.

        Requests about others are answered with a fault. A report about another waits, unacknowledged, because its agent
        has the only other copy.
        """
        log.warning("event=recall_failed reason=%s", error)
        code = error.code if isinstance(error, Unavailable) else Code.STORE_UNAVAILABLE
        fault = Fault(code=code, reason=f"what it is about could not be read: {error}", hint=CODES[code].hint)
        steppable: list[Entry] = []
        for item, future in batch:
            if not missing(shard, (item,)):
                steppable.append((item, future))
            elif future is not None:
                if not future.done():
                    future.set_result(Reply(faults=[fault]))
            elif isinstance(item, REPORTS) and not isinstance(error, Damaged):
                self._acks.hold(item.device, item.frame.report)
                if len(self._waiting) < WAITING_MOST:
                    self._waiting[item.device, item.frame.report] = item
            else:
                steppable.append((item, future))
        return steppable

    def take_waiting(self) -> list[AnyInput]:
        """Return and clear the waiting reports, which are to be stepped again."""
        waiting, self._waiting = list(self._waiting.values()), {}
        return waiting


def decode_entities(raws: dict[str, bytes]) -> dict[str, Record]:
    """Return the records of a stream's entities, sorted by key so that the store's order does not matter.

    Raises:
        Damaged: one of them has a kind, a field or a word that this version does not know.
    """
    records: dict[str, Record] = {}
    for key in sorted(raws):
        try:
            records[key] = decode_entity(key, raws[key])
        except (KeyError, msgspec.ValidationError) as error:
            why = "there is no such kind" if isinstance(error, KeyError) else error
            raise Damaged(
                f"the record {quoted(key)} is unknown to this version of Starloom ({why}): a later version of Starloom "
                "has run here. Start that version again, or restore a backup that this one can read (docs/backup.md)"
            ) from error
    return records
