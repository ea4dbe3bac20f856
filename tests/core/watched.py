"""A driver that watches what no single invariant sees: refused inputs, final rounds, edits of started work, timers.

Also restarts: the shard is thrown away and loaded again from the fold of its events, as a starting owner does.
"""

from __future__ import annotations

import hashlib
from typing import Any

from starloom.core.clock.expiry import TIDY
from starloom.core.clock.timers import due_moments
from starloom.core.state.apply import full_key, load
from starloom.core.state.invariants import check
from starloom.core.state.model import Shard
from starloom.core.state.orders import Answer, ArmTimer
from starloom_protocol.records.entities import Attempt, Record, TaskRecord, decode_entity, encode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, state_hash
from starloom_protocol.vocabulary import FINAL_TASK_STATES, REPEATABLE, AttemptEnd, EffectSeen, TaskState
from tests.builders import Driver


class WatchedDriver(Driver):
    """A `Driver` whose every step is judged by oracles that know only events and folded bytes."""

    def __init__(self, *devices: str, **fields: Any) -> None:
        super().__init__(*devices, **fields)
        self._last_states: dict[tuple[str, str], TaskState] = {}
        self.ended: dict[tuple[str, str, int], str] = {}
        self.armed: set[tuple[Any, ...]] = set()
        self.sent_ever: set[tuple[str, str, int]] = set()

    def do(self, item: Any) -> Answer:
        before, seen = self._hashes(), len(self.events)
        answer = super().do(item)
        fresh = self.events[seen:]
        if answer.faults:
            assert not fresh, f"a refused {type(item).__name__} made events"
            assert not self.sent, f"a refused {type(item).__name__} ordered {self.sent}"
            assert self._shard_hashes() == before
        else:
            assert self._shard_hashes() == self._hashes()
        self._note_finals(fresh)
        for dispatch in self.dispatched:
            self.sent_ever.add((dispatch.at.constellation, dispatch.at.task, dispatch.at.attempt))
        self._check_open_attempts()
        self._check_timers()
        return answer

    def _hashes(self) -> dict[str, str]:
        return {name: state_hash(self.folded.get(name, {})) for name in self.shard.constellations}

    def _shard_hashes(self) -> dict[str, str]:
        return {
            name: state_hash({full_key(kind, key): encode_entity(record) for kind, key, record in found.records()})
            for name, found in self.shard.constellations.items()
        }

    def _note_finals(self, fresh: list[Event]) -> None:
        """I5: the state and result of a final (task, round) never change. I6: no edit touches started work."""
        records: dict[tuple[str, str], TaskRecord] = {}
        for event in fresh:
            for key, raw in event.puts.items():
                kind, _, task = key.partition("/")
                if kind != "task":
                    continue
                if raw is None:
                    removed = self._last(event.stream, task)
                    # What was made from an item that is not in a new list goes, ended or not.
                    unstarted = removed is None or removed in (TaskState.WAITING, TaskState.READY)
                    assert unstarted or event.kind == "group_expanded", f"{task} was {removed}"
                    self.ended = {k: v for k, v in self.ended.items() if k[:2] != (event.stream, task)}
                    continue
                record = decode_entity(key, raw)
                assert isinstance(record, TaskRecord)
                records[(event.stream, task)] = record
                self._last_states[(event.stream, task)] = record.state
                if record.state in FINAL_TASK_STATES:
                    self._note_final(event.stream, task, record)
                else:
                    assert (event.stream, task, record.round) not in self.ended, f"{event.kind} reopened {task}"

    def _last(self, stream: str, task: str) -> TaskState | None:
        return self._last_states.get((stream, task))

    def _note_final(self, stream: str, task: str, record: TaskRecord) -> None:
        attempt = self.shard.constellations[stream].attempts.get(f"{task}/{record.attempt}")
        value = attempt.value or attempt.artifact or "" if attempt else ""
        mark = hashlib.sha256(f"{record.state}|{record.marked}|{value}".encode()).hexdigest()
        known = self.ended.setdefault((stream, task, record.round), mark)
        assert known == mark, f"{task} changed after the end of round {record.round}"

    def _check_open_attempts(self) -> None:
        """Every open lease was dispatched; work that may not be repeated is not leased twice by itself."""
        for name, found in self.shard.constellations.items():
            for key in found.open_attempts:
                task, _, number = key.rpartition("/")
                assert (name, task, int(number)) in self.sent_ever, f"{key} is leased and was never dispatched"
            for task, record in found.tasks.items():
                if record.confirmed or (record.state is TaskState.SUCCEEDED and record.marked is not None):
                    continue
                risky = [a for a in self._attempts(name, task, record.round) if _may_have_run(a)]
                assert len(risky) <= 1, f"{name}/{task} may have run {len(risky)} times in round {record.round}"

    def _attempts(self, name: str, task: str, of_round: int) -> list[Attempt]:
        found = self.shard.constellations[name]
        return [
            attempt
            for key, attempt in found.attempts.items()
            if key.rpartition("/")[0] == task and attempt.round == of_round
        ]

    def _check_timers(self) -> None:
        """What state implies to be due was armed: a restart changes nothing about when things happen."""
        for timer in self.timers:
            self.armed.add(_timer_key(timer))
        for timer in due_moments(self.shard):
            # Tidying is armed by the start of an owner alone, and then by itself.
            assert timer.kind == TIDY or _timer_key(timer) in self.armed, f"{timer} was never armed"

    def restart(self) -> None:
        """Throw the shard away and load what the events folded to; timers come from state alone."""
        old = self.shard
        shard = Shard(old.settings)
        shard.incarnation = old.incarnation + 1
        load(shard, FLEET, old.fleet.seq, {full_key(k, key): record for k, key, record in old.fleet.records()})
        load(shard, ACCESS, old.access.seq, {full_key(k, key): record for k, key, record in old.access.records()})
        for name, found in old.constellations.items():
            entities: dict[str, Record] = {
                key: decode_entity(key, raw) for key, raw in sorted(self.folded.get(name, {}).items())
            }
            load(shard, name, found.seq, entities)
        shard.touched.clear()
        shard.settled.clear()
        check(shard)
        self.shard = shard
        self.timers = list(due_moments(shard))


def _may_have_run(attempt: Attempt) -> bool:
    if attempt.repeatability in REPEATABLE:
        return False
    if attempt.end in (AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED):
        return False
    return attempt.effect is not EffectSeen.NONE


def _timer_key(timer: ArmTimer) -> tuple[Any, ...]:
    return (timer.constellation, timer.entity, timer.kind, timer.round, timer.attempt)
