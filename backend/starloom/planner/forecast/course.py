"""The course of a running constellation: its present state, copied, is played to its end, as often as one asks.

Owns the copy: what needs real results is taken out of it, devices are off or doubled in it, and running work of other
constellations holds its slots there. Plays follow each other: each is undone through the core's own journal. Knows no
clock, and nothing of it reaches the state that it was made of. It assumes that each call succeeds.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from msgspec.structs import replace

from starloom.core.clock import moments
from starloom.core.clock.timers import due_moments
from starloom.core.placement import finish
from starloom.core.placement.pace import index_of
from starloom.core.placement.queue_position import Held
from starloom.core.placement.selection import requeue
from starloom.core.run.attempts import absence_of
from starloom.core.state.apply import full_key, load, put, undo
from starloom.core.state.inputs import AnyInput, ResultReported, TimerFired
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import ArmTimer, SendDispatch
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom.planner.forecast.known import known_of
from starloom.planner.forecast.plans import Change, copy_device, harmless, judged_again_ms
from starloom.planner.forecast.times import Times
from starloom_protocol.records.entities import Attempt, Device, Head, Policy, Record, TaskRecord, TaskSpec
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import (
    FINAL_TASK_STATES,
    Approval,
    AttemptEnd,
    ConstellationState,
    DeviceLink,
    Outcome,
    Repeatability,
    TaskState,
)
from starloom_protocol.wire.frames import LeaseRef, ResultFrame

OTHERS: Final = "work-of-others"
"""The constellation of the copy that holds the slots of all others."""
STEPS_A_TASK: Final = 12
"""A play with more steps for each task, and 1,000 beside them, has no end that is of use."""
_TIMERS: Final = frozenset({"backoff", moments.TIMER})
_HOLDING_SLOT: Final = frozenset({TaskState.LEASED, TaskState.RUNNING})
_PLACE_AGAIN: Final = TimerFired(id="play", by=ENGINE, constellation=FLEET, entity="", kind=finish.TIMER)


@dataclass(frozen=True, slots=True)
class Placed:
    """When a task began or should begin, when it should end, and on which device."""

    task: str
    device: str
    begin_ms: int
    end_ms: int
    timed: bool = True
    """Whether the time of its tool is known; otherwise it ends at once."""
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """One play: when the last task ended, and the tasks that were open before it."""

    end_ms: int
    tasks: list[Placed]


@dataclass(frozen=True, slots=True)
class _Ends:
    """A call of the constellation ends well."""

    at: LeaseRef
    device: str
    tool: str


@dataclass(frozen=True, slots=True)
class _Lost:
    """The absence of a device that the change takes away has lasted as long as the plan allows."""

    task: str


@dataclass(frozen=True, slots=True)
class _Frees:
    """Work of another constellation frees its slot."""

    task: str


_Moment = _Ends | _Lost | _Frees | ArmTimer


@dataclass(slots=True)
class _Play:
    """The state of one play: its time, what is due, and the tasks that have begun and ended in it."""

    now_ms: int
    times: Times
    due: list[tuple[int, int, _Moment]] = field(default_factory=list)
    order: int = 0
    begins: dict[str, tuple[str, int]] = field(default_factory=dict)
    placed: list[Placed] = field(default_factory=list)

    def at(self, due_ms: int, moment: _Moment) -> None:
        self.order += 1
        heappush(self.due, (max(due_ms, self.now_ms), self.order, moment))


class Course:
    """Plays of one constellation from `now_ms` on, on the fleet of `state` with a change; `steps` counts the inputs.

    Calls of the tools `without_figure` end at once, so that the time of the others can be told.
    """

    def __init__(
        self,
        state: Shard,
        name: str,
        now_ms: int,
        change: Change,
        occupied: Sequence[Held] = (),
        without_figure: Collection[str] = (),
    ) -> None:
        self.steps = 0
        self._without_figure = frozenset(without_figure)
        self.lost: list[str] = []
        """The running tasks whose device the change takes away and that may not be repeated."""
        self._now_ms = now_ms
        self._name = name
        self._off = frozenset(change.without)
        self._shard = shard = Shard()
        shard.settings.pace_rows_most = shard.settings.spending_rows_most = 0
        self._paces = dict(state.fleet.paces)
        load(shard, FLEET, 0, _fleet_of(state, change, self._paces))
        self._others = _held_by_others(occupied, shard.fleet.devices)
        load(shard, OTHERS, 0, dict(self._others))
        load(shard, name, 0, _simple(state.constellations[name]))
        self._known_paces = known_of(state.fleet.paces.values(), self._paces.values())
        self._constellation = shard.constellations[name]
        self._find_lost()

    @property
    def open(self) -> int:
        """The number of tasks that have not ended."""
        return sum(1 for record in self._constellation.tasks.values() if record.state not in FINAL_TASK_STATES)

    def play(self, chance: random.Random | None) -> Played | None:
        """Return one play, without `chance` that of the expected times; None if it does not come to an end."""
        play = _Play(self._now_ms, Times(self._paces, self._known_paces, chance))
        try:
            return self._to_the_end(play)
        finally:
            self._undo_play()

    def _to_the_end(self, play: _Play) -> Played | None:
        self._begin(play)
        most = self.steps + STEPS_A_TASK * (self.open + len(self._others)) + 1_000
        item: AnyInput = _PLACE_AGAIN
        constellation = self._constellation
        end_ms = play.now_ms
        while self._step(play, item):
            if not constellation.unfinished_top:
                return Played(end_ms, play.placed)
            judged_ms = judged_again_ms(self._shard, play.now_ms)
            if self.steps >= most or not (play.due or judged_ms):
                return None
            if judged_ms and (not play.due or judged_ms < play.due[0][0]):
                play.now_ms, item = judged_ms, _PLACE_AGAIN
                continue
            play.now_ms, _order, moment = heappop(play.due)
            item = self._input_of(play, moment)
            end_ms = play.now_ms
        return None

    def _begin(self, play: _Play) -> None:
        """Note when the work that is running now should end."""
        constellation, index = self._constellation, index_of(self._shard.fleet)
        for task, record in constellation.tasks.items():
            if record.state not in _HOLDING_SLOT or record.device is None:
                continue
            attempt, tool = constellation.attempt(task, record.attempt), constellation.specs[task].tool or ""
            play.begins[task] = attempt.device, attempt.leased_ms
            if attempt.device in self._off:
                settings = self._shard.settings
                absent_ms = play.now_ms + settings.ttl_ms + settings.grace_ms
                after_ms = absence_of(settings, constellation.specs[task], attempt, absent_ms)[0]
                play.at(absent_ms + after_ms, _Lost(task))
                continue
            at = LeaseRef(attempt=record.attempt, constellation=self._name, incarnation=attempt.incarnation, task=task)
            if tool in self._without_figure:
                play.at(play.now_ms, _Ends(at, attempt.device, tool))
                continue
            expects_ms = attempt.expects_ms or index.expected(tool, 0, attempt.device)
            rest_ms = play.times.rest_ms(tool, attempt.device, expects_ms, play.now_ms - attempt.leased_ms)
            play.at(play.now_ms + rest_ms, _Ends(at, attempt.device, tool))
        others = self._shard.constellations[OTHERS]
        for key, attempt in others.attempts.items():
            task = key.rpartition("/")[0]
            rest_ms = play.times.rest_ms("", attempt.device, attempt.expects_ms, play.now_ms - attempt.leased_ms)
            if attempt.expects_ms:
                play.at(play.now_ms + rest_ms, _Frees(task))
        for timer in due_moments(self._shard):
            if timer.kind in _TIMERS:
                play.at(timer.due_ms, timer)

    def _input_of(self, play: _Play, moment: _Moment) -> AnyInput:
        """Return the input of what happens now."""
        shard, constellation = self._shard, self._constellation
        match moment:
            case ArmTimer():
                return TimerFired(
                    id="play",
                    attempt=moment.attempt,
                    by=ENGINE,
                    constellation=moment.constellation,
                    entity=moment.entity,
                    kind=moment.kind,
                    round=moment.round,
                )
            case _Frees():
                others = shard.constellations[OTHERS]
                ended = replace(others.tasks[moment.task], state=TaskState.SUCCEEDED)
                put(shard, others, "task", moment.task, ended)
                return _PLACE_AGAIN
            case _Lost():
                record = constellation.tasks[moment.task]
                attempt = constellation.attempt(moment.task, record.attempt)
                over = replace(attempt, end=AttemptEnd.LOST, ended_ms=play.now_ms)
                ready = replace(record, state=TaskState.READY, device=None, absent_since_ms=0, reason=None)
                put(shard, constellation, "attempt", f"{moment.task}/{record.attempt}", over)
                put(shard, constellation, "task", moment.task, ready)
                return _PLACE_AGAIN
            case _Ends():
                device, begin_ms = play.begins.pop(moment.at.task)
                timed, group = moment.tool not in self._without_figure, constellation.specs[moment.at.task].group
                play.placed.append(Placed(moment.at.task, device, begin_ms, play.now_ms, timed, group))
                size = play.times.given_bytes(moment.tool, device)
                frame = ResultFrame(at=moment.at, bytes=size, outcome=Outcome.OK, report=1, value="null")
                return ResultReported(id="play", by=f"device:{device}", device=device, frame=frame)

    def _step(self, play: _Play, item: AnyInput) -> bool:
        """Step one input and note what it begins; False if work begins whose time nobody can expect."""
        self.steps += 1
        work = Work(self._shard)
        step(work, replace(item, at_ms=play.now_ms))
        for effect in work.orders:
            if isinstance(effect, ArmTimer) and effect.kind in _TIMERS:
                play.at(effect.due_ms, effect)
            elif isinstance(effect, SendDispatch):
                takes_ms = 0
                if effect.tool not in self._without_figure:
                    expects_ms = self._constellation.attempt(effect.at.task, effect.at.attempt).expects_ms
                    if not expects_ms:
                        return False
                    takes_ms = play.times.takes_ms(effect.tool, effect.device, expects_ms)
                play.begins[effect.at.task] = effect.device, play.now_ms
                play.at(play.now_ms + takes_ms, _Ends(effect.at, effect.device, effect.tool))
        return True

    def _undo_play(self) -> None:
        """Undo a play."""
        shard, constellation = self._shard, self._constellation
        undo(shard)
        shard.touched.clear()
        shard.settled.clear()
        shard.queued_now.clear()
        shard.ended_stops.clear()
        for demand in shard.demands.values():
            demand.rested, demand.rests_until_ms = (), 0
        # Tasks that had no room in their group left their queue without a record of it.
        constellation.parked.clear()
        for task in constellation.tasks:
            requeue(shard, constellation, task)

    def _find_lost(self) -> None:
        constellation = self._constellation
        for task, record in constellation.tasks.items():
            if record.state in _HOLDING_SLOT and record.device in self._off:
                attempt = constellation.attempt(task, record.attempt)
                if (
                    absence_of(self._shard.settings, constellation.specs[task], attempt, attempt.leased_ms)[1]
                    != "reassign"
                ):
                    self.lost.append(task)


def _fleet_of(state: Shard, change: Change, paces: dict[str, Pace]) -> dict[str, Record]:
    """Return the records of a changed fleet; its tools only read, so that a play waits for no approval."""
    devices, offers = dict(state.fleet.devices), dict(state.fleet.offers)
    for source in change.copies:
        copy_device(source, devices, offers, paces)
    for device in change.without:
        devices[device] = replace(devices[device], link=DeviceLink.OFFLINE)
    records: dict[str, Record] = {f"device/{key}": device for key, device in devices.items()}
    records |= {f"offer/{key}": harmless(offer) for key, offer in offers.items()}
    records |= {f"pace/{key}": row for key, row in paces.items()}
    records |= {f"health/{key}": row for key, row in state.fleet.health.items()}
    return records


def _held_by_others(occupied: Sequence[Held], devices: Mapping[str, Device]) -> dict[str, Record]:
    author, pure = "person:others", Repeatability.PURE
    records: dict[str, Record] = {
        "head": Head(author=author, created_ms=0, id=OTHERS, name="", state=ConstellationState.ACTIVE)
    }
    for number, one in enumerate(occupied):
        if one.device not in devices:
            continue
        task = f"t{number}"
        records[f"spec/{task}"] = TaskSpec(id=task, changed_in=1, tool="")
        records[f"attempt/{task}/1"] = Attempt(
            device=one.device, expects_ms=one.expects_ms, incarnation=1, leased_ms=one.leased_ms, repeatability=pure
        )
        records[f"task/{task}"] = TaskRecord(
            attempt=1, device=one.device, since_ms=one.leased_ms, started=1, state=TaskState.RUNNING
        )
    return records


def _simple(constellation: Constellation) -> dict[str, Record]:
    """Return the records of a constellation without the parts that need real results, people or a model."""
    records: dict[str, Record] = {}
    for kind, table in constellation.tables.items():
        if kind not in ("draft", "rule", "question", "job"):
            records |= {full_key(kind, key): record for key, record in table.items()}
    head = constellation.head
    policy = Policy(approval=Approval.NEVER, partial=head.policy.partial, priority=head.policy.priority)
    records["head"] = replace(head, attention=[], budget=None, policy=policy)
    for key, spec in constellation.specs.items():
        records[f"spec/{key}"] = replace(
            spec, checks=[], judge=None, secrets=[], undo=None, verify=None, reuse=None, stop_when=None
        )
    for key, record in constellation.tasks.items():
        if record.hedge > record.attempt:
            records.pop(f"attempt/{key}/{record.hedge}", None)
            records[f"task/{key}"] = replace(record, hedge=0)
    return records
