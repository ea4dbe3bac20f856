"""Decides commits of the log again from their inputs, and reports differences from the log.

Reads the history only and owns no live state. The shard is loaded as its owner loaded it and then stepped forward;
after a difference it continues from the logged events, so that one difference is reported once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from starloom.core.clock.retirement import missing, prune_demands
from starloom.core.state.apply import load, put, undo
from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Shard
from starloom.core.state.work import Work
from starloom.core.step import look, step
from starloom.engine.commits import (
    ConstellationLoaded,
    Foreign,
    Mark,
    QueuesExamined,
    QueuesPruned,
    ShardLoaded,
    ShardRegained,
    decode_kept,
    with_settings,
)
from starloom.engine.retention.retiring import decode_entities
from starloom.store.chain import ChainedCommit
from starloom.store.port import ReadPort
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event

PAGE_COMMITS: Final = 200
COMMITS_MOST: Final = 50_000
THREAD_ABOVE_EVENTS: Final = 50
DIFFERENCES_MOST: Final = 50
"""The first difference shows the cause; those after it mostly follow from it."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One event that was decided differently; `decided` is empty if there was no decision, `logged` if no event."""

    decided: str
    input: str
    logged: str
    pos: int
    seq: int
    stream: str


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome. `exact` is false if the log does not reach back to a loaded shard, or lacks inputs."""

    commits: int
    constellation: str
    differences: list[Difference]
    events: int
    exact: bool
    first_pos: int
    inputs: int
    last_pos: int
    note: str
    seconds_of_log: int
    without_inputs: int


class NothingThere(Exception):
    """The durable log has no such constellation."""


class PrunedBeside(Exception):
    """Commits needed to decide again are no longer in the history: a constellation of the same time was pruned."""


class Redeciding:
    """A separate shard that is stepped by the inputs in the log."""

    def __init__(self) -> None:
        self.shard = Shard()
        self.commits = 0
        self.inputs = 0
        self.events = 0
        self.without_inputs = 0
        self.differences: list[Difference] = []
        self.different = 0

    def load(
        self, streams: Sequence[tuple[str, int, dict[str, bytes]]], taken: ShardLoaded | None, incarnation: int
    ) -> None:
        """Start with these streams (name, seq, entities), as an owner does."""
        self.shard = Shard(with_settings(taken.settings)) if taken is not None else Shard()
        self.shard.incarnation = taken.incarnation if taken is not None else incarnation
        for name, seq, entities in sorted(streams, key=lambda item: (item[0] not in (FLEET, ACCESS), item[0])):
            load(self.shard, name, seq, decode_entities(entities))
        self._clear_notes()

    def bring(self, name: str, seq: int, entities: dict[str, bytes]) -> None:
        """Load a constellation; one that is held and finished is loaded again, to have its owner's order."""
        constellation = self.shard.constellations.get(name)
        if constellation is not None:
            if name in self.shard.live:
                return
            del self.shard.constellations[name]
        load(self.shard, name, seq, decode_entities(entities))
        self._clear_notes()

    def _clear_notes(self) -> None:
        self.shard.touched.clear()
        self.shard.settled.clear()
        self.shard.queued_now.clear()

    def take(self, commit: ChainedCommit) -> None:
        """Decide one commit again and compare it with the log."""
        self.commits += 1
        self.events += len(commit.events)
        logged = commit.events
        inputs = [decode_kept(raw) for raw in commit.inputs]
        decodable = [item for item in inputs if not isinstance(item, Foreign)]
        if not inputs or len(decodable) < len(inputs):
            self.without_inputs += bool(logged)
            self._follow(logged)
            return
        work = Work(self.shard)
        made_by: list[str] = []
        for item in decodable:
            self._step(work, item)
            made_by.extend([type(item).__name__] * (len(work.events) - len(made_by)))
        decided = [pending.encoded()[1] for pending in work.events]
        if decided == logged:
            self.shard.journal.clear()
            return
        self._tell(commit, decided, made_by)
        undo(self.shard)
        self._clear_notes()
        self._follow(logged)

    def _step(self, work: Work, item: AnyInput | Mark) -> None:
        if isinstance(item, ShardRegained):
            self.shard.incarnation = item.incarnation
        elif isinstance(item, QueuesPruned):
            prune_demands(self.shard)
        elif isinstance(item, QueuesExamined):
            look(work)
        elif not isinstance(item, ShardLoaded | ConstellationLoaded):
            self.inputs += 1
            try:
                step(work, item)
            except Exception:
                work.undo_input()

    def _tell(self, commit: ChainedCommit, decided: list[bytes], made_by: list[str]) -> None:
        logged = commit.events
        at = next((n for n, (a, b) in enumerate(zip(decided, logged, strict=False)) if a != b), None)
        at = min(len(decided), len(logged)) if at is None else at
        decided_event = decode_event(decided[at]) if at < len(decided) else None
        logged_event = decode_event(logged[at]) if at < len(logged) else None
        about = logged_event or decided_event
        self.different += 1
        if about is None or len(self.differences) == DIFFERENCES_MOST:
            return
        self.differences.append(
            Difference(
                decided=_line_of(decided_event, logged_event),
                input=made_by[at] if at < len(made_by) else "",
                logged=_line_of(logged_event, decided_event),
                pos=commit.pos,
                seq=about.seq,
                stream=about.stream,
            )
        )

    def _follow(self, logged: list[bytes]) -> None:
        """Apply the logged events to the shard."""
        for raw in logged:
            event = decode_event(raw)
            stream = self.shard.stream(event.stream)
            for full, record in event.puts.items():
                kind, _, key = full.partition("/")
                put(self.shard, stream, kind, key, None if record is None else decode_entity(full, record))
            stream.seq = event.seq
        self.shard.journal.clear()
        self._clear_notes()


def _line_of(event: Event | None, other: Event | None) -> str:
    """Return an event in one line: its differences from the other, or its content."""
    if event is None:
        return ""
    line = f"{event.kind} {event.about}".strip()
    if other is None or (event.kind, event.about) != (other.kind, other.about):
        return line
    for key, raw in event.puts.items():
        if other.puts.get(key) != raw:
            return f"{line}: {key} {bytes(raw).decode() if raw is not None else 'removed'}"[:600]
    return f"{line}: by {event.by}, {event.note}"


async def redecide(reads: ReadPort, constellation: str) -> Redecided:
    """Decide every step of a constellation again.

    Raises:
        NothingThere: the durable log does not have it.
        PrunedBeside: a constellation that ran at the same time was pruned.
        Unavailable: the history does not answer.
    """
    first = await reads.position_of(constellation, 1)
    last = await reads.position_of(constellation, 0)
    if first is None or last is None or constellation in (ACCESS, FLEET):
        raise NothingThere(constellation)
    pruned = await _pruned(reads)
    if any(begin <= last and first <= end for begin, end in pruned):
        raise PrunedBeside(
            f"what ran beside {constellation} was pruned from the history, so its steps cannot be decided again"
        )
    start, loaded, note = await _start(reads, first, last, pruned)
    run = Redeciding()
    page = await reads.commits_after(start - 1, PAGE_COMMITS)
    began_ms = page[0].at_ms
    run.load(await _streams_at(reads, start), loaded, page[0].incarnation)
    ended_ms = began_ms
    while page and page[0].pos <= last:
        part = [commit for commit in page if commit.pos <= last]
        for commit in part:
            await _prepare(reads, run, commit, begins=commit.pos == start)
            # One commit at a time, a large one in a thread, so that the hub's loop is not held up.
            if len(commit.events) > THREAD_ABOVE_EVENTS:
                await asyncio.to_thread(run.take, commit)
            else:
                run.take(commit)
                await asyncio.sleep(0)
        ended_ms = part[-1].at_ms
        page = await reads.commits_after(part[-1].pos, PAGE_COMMITS) if part[-1].pos < last else []
    if run.without_inputs:
        lacking = f"{run.without_inputs} commits hold no inputs that this version can decide."
        note = f"{note} {lacking}" if note else lacking
    return Redecided(
        commits=run.commits,
        constellation=constellation,
        differences=run.differences,
        events=run.events,
        exact=loaded is not None and not run.without_inputs,
        first_pos=start,
        inputs=run.inputs,
        last_pos=last,
        note=note,
        seconds_of_log=(ended_ms - began_ms) // 1000,
        without_inputs=run.without_inputs,
    )


async def _pruned(reads: ReadPort) -> list[tuple[int, int]]:
    """Return the first and last positions of the pruned parts of the log."""
    ranges: list[tuple[int, int]] = []
    no = 0
    while page := await reads.prunings(no, PAGE_COMMITS):
        ranges += [(anchor.first, anchor.last) for pruning in page for anchor in pruning.anchors]
        no = page[-1].no
    return ranges


async def _start(
    reads: ReadPort, first: int, last: int, pruned: Sequence[tuple[int, int]]
) -> tuple[int, ShardLoaded | None, str]:
    """Return where and how a whole shard was loaded before a commit; or that commit itself if that is too far back."""
    pos = first
    while pos > 0:
        since = await reads.owned_since(pos)
        if last - since > COMMITS_MOST:
            note = f"The hub's start is more than {COMMITS_MOST} commits back; ties may fall otherwise."
            return first, None, note
        if any(begin < first and since <= end for begin, end in pruned):
            return first, None, "Commits before it were pruned; ties may fall otherwise."
        for raw in (await reads.commits_after(since - 1, 1))[0].inputs:
            kept = decode_kept(raw)
            if isinstance(kept, ShardLoaded):
                return since, kept, ""
        pos = since - 1
    return first, None, "The log was begun without inputs."


async def _streams_at(reads: ReadPort, pos: int) -> list[tuple[str, int, dict[str, bytes]]]:
    return [(name, seq, await reads.entities_at(name, seq)) for name, seq in (await reads.live_before(pos)).items()]


async def _prepare(reads: ReadPort, run: Redeciding, commit: ChainedCommit, *, begins: bool) -> None:
    """Load what its owner loaded before this commit: the whole shard, or constellations that came back."""
    items: list[AnyInput] = []
    names: dict[str, None] = {}
    for item in map(decode_kept, commit.inputs):
        if isinstance(item, ShardLoaded):
            if not begins:
                run.load(await _streams_at(reads, commit.pos), item, commit.incarnation)
        elif isinstance(item, ConstellationLoaded):
            names[item.constellation] = None
        elif not isinstance(item, QueuesExamined | QueuesPruned | ShardRegained | Foreign):
            items.append(item)
    names.update(dict.fromkeys(missing(run.shard, items)))
    for name in names:
        seq = await reads.last_before(name, commit.pos)
        if seq:
            run.bring(name, seq, await reads.entities_at(name, seq))
