"""Selection of a device for a ready task: rank and pick among the feasible ones, each a pure function.

Ready tasks wait in queues by demand (same tool, same selector). A task that becomes ready tries the free devices of its
demand; a slot that becomes free goes to the queues, in the turns of `queues`. Never scans a graph.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final
from zlib import crc32

import msgspec

from starloom.core.placement.device_conditions import (
    spared_words,
)
from starloom.core.placement.feasible import WHOLE_LOAD, capable
from starloom.core.placement.finish import (
    DOUBT_LEAST,
    NOISE_MS,
    WAIT_MOST_MS,
    WAITING_MOST,
    Paced,
    PlacementPass,
    paced_of,
    rests,
    same,
)
from starloom.core.placement.health import hinders_its_tool
from starloom.core.placement.pace import SMALL_BYTES, index_of, inputs_of, size_of
from starloom.core.state import queues
from starloom.core.state.model import Constellation, Demand, Feasible, Fleet, Shard
from starloom.core.state.queues import enqueue, queueable
from starloom_protocol.records.entities import Selector, TaskRecord, TaskSpec
from starloom_protocol.records.fleet import Health
from starloom_protocol.stream.authors import told_name, who
from starloom_protocol.text.wording import listed
from starloom_protocol.vocabulary import (
    CODES,
    REPEATABLE,
    WORKING_CONSTELLATION_STATES,
    AttemptEnd,
    Code,
    CodeClass,
    Repeatability,
)

_NOTHING = (0, 0)
_LEAST_BUSY, _FIRST = "it is the least busy that can", "it should finish it first"
_ONLY = "it is the only free device that can"
_THEN = {
    _LEAST_BUSY: "it was the least busy that could then",
    _ONLY: "it was the only free device then",
    "its inputs are there": "its inputs were there",
}
_FENCED, _FAILED, _SILENT = 1, 2, 3
"""Why a device is avoided for a task. A fence tells of a cut line, so no other device is waited for after one; a device
that reported a failure still answers, one that was lost may not."""
_Ranked = tuple[int, int, int, int, int, int]
"""Avoided, trust, finish (0: as good as the best), minus its inputs there, load, index among the feasible by name.

A device of another person than those whose values a task takes has `_ELSEWHERE` or `_STRANGE` added to its trust.
"""
_ELSEWHERE, _STRANGE = 10, 20
"""The ranks of a device that is nobody's own, as the demo devices are, and of one of another person."""
HOLD_MS: Final = 30_000
"""A task whose values were made on a person's device waits so long for one of that person before others take it."""
_HELD_MOST: Final = 64
"""So many tasks are held in a line; those behind them wait unseen, since none is longer ready."""
_BY_LOAD: _Ranked = (0, 0, 0, 0, 0, 0)


class Choice(msgspec.Struct, frozen=True, gc=False):
    """The chosen device, up to two alternatives, why in words, and the expected time there (0: unknown)."""

    device: str
    others: list[str]
    why: str
    repeatability: Repeatability
    expects_ms: int = 0


def avoided(constellation: Constellation, task: str, record: TaskRecord) -> dict[str, int]:
    """Return the devices that failed this task in this round by a fault of theirs, with the kind of the last one."""
    devices: dict[str, int] = {}
    for attempt in constellation.tried(task, record.attempt, record.round):
        if attempt.end is AttemptEnd.LOST:
            devices.setdefault(attempt.device, _SILENT)
        elif attempt.code is not None and CODES[attempt.code].code_class is CodeClass.DEVICE:
            devices.setdefault(attempt.device, _FENCED if attempt.code is Code.FENCED else _FAILED)
    return devices


def pick(
    shard: Shard, constellation: Constellation, spec: TaskSpec, record: TaskRecord, demand: Demand, turn: PlacementPass
) -> Choice | None:
    """Choose among the free capable devices; None if none is free, or a busy one should finish the task earlier.

    Ranked by: has not failed this task (one that was silent over it comes last), reliability (a probed one first), not
    spared for its owner, a device of those whose values it takes, expected finish, location of the inputs, least load,
    name. Reads `demand.free`, see `_free`.
    """
    fleet, feasible, used = shard.fleet, demand.feasible, shard.fleet.used
    lying = inputs_of(constellation, spec) if spec.inputs else {}
    whole = sum(size for _count, size in lying.values()) if lying else 0
    paced = paced_of(fleet, demand, size_of(whole) if whole else 0) if fleet.paces else None
    if not (record.attempt or lying or fleet.health or shard.settings.random_placement):
        if paced is None:
            return _least_busy(fleet, spec, demand, {})
        # No device is worth a wait where all finish within the same moment, nor is one before another.
        is_alike = paced.alike == len(feasible)
        if not turn.silent and (is_alike or _has_no_choice(turn, constellation, demand, spec, paced)):
            return _least_busy(fleet, spec, demand, paced.known)
    homes = _homes(fleet, lying, demand.people) if lying else None
    avoid = avoided(constellation, spec.id, record) if record.attempt else {}
    if shard.settings.random_placement:
        return _drawn(shard, constellation, spec, record, demand, avoid)
    best: list[_Ranked] = []
    for place in demand.free:
        device = (item := feasible[place]).device
        load = used.get(device, 0) * WHOLE_LOAD // item.slots
        trust = item.is_spared + (_trust(fleet.health.get(device)) if fleet.health else 0)
        if trust < 0 and not _may_probe(fleet, constellation, device, spec, record, demand):
            continue
        at_hand = lying.get(device, _NOTHING)[0] if lying else 0
        trust += _strangeness(fleet, device, homes) if homes else 0
        best.append((avoid.get(device, 0) if avoid else 0, trust, 0, -at_hand, load, place))
    if not best:
        return None
    if homes and min(best)[1] >= _STRANGE - 2 and _is_held(fleet, record, demand, turn, homes, avoid):
        if not turn.silent:
            turn.hold((constellation.name, spec.id), demand, record.since_ms + HOLD_MS)
        return None
    expects_ms: dict[int, int] = {}
    if paced is not None and turn.silent:
        # An input that decided nothing left all of these waiting; it had a time, which this look has not.
        return None
    if paced is not None:
        moving = {device: size for device, (_count, size) in lying.items()} if whole >= SMALL_BYTES else {}
        expected = _Expected(fleet, feasible, demand, paced, size_of(whole), whole if moving else 0, moving)
        best, expects_ms = _by_finish(best, expected)
        best.sort()
        if not homes and not best[0][0] and best[0][1] == 0 and _may_wait(turn, constellation, demand, spec):
            waits_for = _better(turn, expected, best[0][5], avoid)
            if waits_for is not None:
                turn.wait((constellation.name, spec.id), demand, *waits_for)
                return None
    else:
        best.sort()
    chosen = best[0]
    if chosen[0] > _FENCED and any(item.device not in avoid for item in feasible):
        return None
    device = feasible[chosen[5]].device
    others = [feasible[item[5]].device for item in best[1:3]]
    repeatability = spec.repeatability or fleet.tools[device][demand.tool].repeatability
    why = _why(chosen, len(best), demand.selector)
    if why == _LEAST_BUSY and any(item[2] for item in best):
        why = _FIRST
    why += _courtesy(fleet, demand, chosen[5]) if demand.spares else ""
    if homes:
        why += _home_words(fleet, demand, device, homes)
    return Choice(device, others, why, repeatability, expects_ms.get(chosen[5], 0))


def _homes(fleet: Fleet, lying: Collection[str], people: frozenset[str]) -> frozenset[str] | None:
    """Return the people on whose devices the values of a task were made; None where all of `people` are among them."""
    made_on = (fleet.devices.get(device) for device in lying)
    homes = frozenset(who(device.let_in_by) for device in made_on if device is not None and device.let_in_by)
    return homes if homes and not people <= homes else None


def is_strange(fleet: Fleet, constellation: Constellation, spec: TaskSpec, device: str) -> bool:
    """Tell whether a device is of another person than those on whose devices the values of a task were made."""
    homes = _homes(fleet, inputs_of(constellation, spec), frozenset({who(fleet.devices[device].let_in_by)}))
    return homes is not None and _strangeness(fleet, device, homes) == _STRANGE


def _strangeness(fleet: Fleet, device: str, homes: Collection[str]) -> int:
    """Return the rank of a device by the person of whom it is: values stay with the people who have them already."""
    owner = who(fleet.devices[device].let_in_by)
    return 0 if owner in homes else _STRANGE if owner else _ELSEWHERE


def _is_held(
    fleet: Fleet, record: TaskRecord, demand: Demand, turn: PlacementPass, homes: Collection[str], avoid: Container[str]
) -> bool:
    """Tell whether a task waits for a busy device of the people who have its values, though one of others is free."""
    if not turn.silent and turn.now_ms >= record.since_ms + HOLD_MS:
        return False
    return any(
        fleet.used.get(item.device, 0) >= item.slots
        and item.device not in avoid
        and not _strangeness(fleet, item.device, homes)
        for item in demand.feasible
    )


def _home_words(fleet: Fleet, demand: Demand, device: str, homes: Collection[str]) -> str:
    """Return the words on the person of whose device a task takes values, where devices of others could have it."""
    names = listed(sorted(map(told_name, homes)))
    if not _strangeness(fleet, device, homes):
        return f", and it is of {names}, whose values it takes"
    could = any(not _strangeness(fleet, item.device, homes) for item in demand.feasible)
    return f", and no device of {names}, whose values it takes, {'was free' if could else 'can do it'}"


def _drawn(
    shard: Shard,
    constellation: Constellation,
    spec: TaskSpec,
    record: TaskRecord,
    demand: Demand,
    avoid: Mapping[str, int],
) -> Choice | None:
    """Choose a free device by the name of the attempt alone, for measurements; one that failed the task comes last."""
    fleet, feasible = shard.fleet, demand.feasible
    free = [feasible[place].device for place in sorted(demand.free)]
    fresh = [device for device in free if device not in avoid] or free
    if not fresh or (fresh is free and avoid and any(item.device not in avoid for item in feasible)):
        return None
    device = fresh[crc32(f"{constellation.name}/{spec.id}/{record.attempt}".encode()) % len(fresh)]
    repeatability = spec.repeatability or fleet.tools[device][demand.tool].repeatability
    others = [item for item in fresh if item != device][:2]
    return Choice(device, others, "it was drawn: this hub places at random", repeatability)


@dataclass(slots=True)
class _Expected:
    """The expected times of one task on the devices of its demand; `moving` bytes of its inputs lie on each device."""

    fleet: Fleet
    feasible: list[Feasible]
    demand: Demand
    paced: Paced
    size: int
    whole: int
    moving: dict[str, int]

    def times(self, places: list[int]) -> dict[int, int]:
        """Return the milliseconds from lease to end by place."""
        if self.whole:
            return {place: self.on(place) for place in places}
        known, guessed = self.paced.known, self.paced.guessed
        # No call for a time that is there: a chain asks for those of all free devices at each of its tasks.
        return {
            place: known[place] if place in known else guessed[place] if place in guessed else self._guess(place)
            for place in places
        }

    def on(self, place: int) -> int:
        """Return the milliseconds on a device from lease to end."""
        paced = self.paced
        takes_ms = paced.known.get(place, paced.guessed.get(place))
        if takes_ms is None:
            takes_ms = self._guess(place)
        return takes_ms + self.transfer_ms(self.feasible[place].device)

    def _guess(self, place: int) -> int:
        takes_ms = index_of(self.fleet).expected(self.demand.tool, self.size, self.feasible[place].device)
        self.paced.guessed[place] = takes_ms
        return takes_ms

    def transfer_ms(self, device: str) -> int:
        """Return the milliseconds in which the inputs that lie elsewhere reach a device."""
        if not self.whole:
            return 0
        return index_of(self.fleet).transfer_ms(device, self.whole - self.moving.get(device, 0))


def _by_finish(ranked: list[_Ranked], expected: _Expected) -> tuple[list[_Ranked], dict[int, int]]:
    """Return the free devices with the expected finish in their ranks, and the expected times by place.

    Among those that are as good as the best one, the finish is 0, so that location, load and name decide.
    """
    times = expected.times([item[5] for item in ranked])
    if len(ranked) == 1:
        return ranked, times
    doubts = expected.paced.doubt
    moves = {place: expected.transfer_ms(expected.feasible[place].device) for place in times} if expected.whole else {}
    least_ms = min([times[place] - moves[place] for place in times] if moves else times.values())
    seem: dict[int, int] = {}
    for place, time_ms in times.items():
        moved_ms = moves[place] if moves else 0
        # Where two paces may be the same, only the transfer tells the devices apart.
        alike = (time_ms - moved_ms - least_ms) * 1000 <= least_ms * doubts.get(place, DOUBT_LEAST)
        seem[place] = least_ms + moved_ms if alike else time_ms
    first_ms = min([(item[0], item[1], seem[item[5]]) for item in ranked])[2]
    # The rule of `same`, whose first part tells for almost all.
    low_ms, high_ms = first_ms - NOISE_MS, first_ms + NOISE_MS
    made = []
    for avoid, trust, _finish, there, load, place in ranked:
        finish_ms = seem[place]
        if low_ms <= finish_ms <= high_ms or same(finish_ms, first_ms, DOUBT_LEAST):
            finish_ms = 0
        made.append((avoid, trust, finish_ms, there, load, place))
    return made, times


def _may_wait(turn: PlacementPass, constellation: Constellation, demand: Demand, spec: TaskSpec) -> bool:
    """Tell whether a task may wait for a better device: few do, and in a long queue none that the next one equals.

    There is work enough for all devices then, and no task gains by its place.
    """
    if len(turn.waiting) >= WAITING_MOST or turn.silent:
        return False
    line = demand.lines[constellation.name]
    return len(line) < WAITING_MOST or -line[0][0] < constellation.rank.get(spec.id, 0)


def _has_no_choice(
    turn: PlacementPass, constellation: Constellation, demand: Demand, spec: TaskSpec, paced: Paced
) -> bool:
    """Tell whether a task takes the only free device, whose pace is known, since it may wait for no other one."""
    free = demand.free
    return len(free) == 1 and free <= paced.known.keys() and not _may_wait(turn, constellation, demand, spec)


def _better(turn: PlacementPass, expected: _Expected, free: int, avoid: Collection[str]) -> tuple[str, int, int] | None:
    """Return the busy device that should finish a task before the best free one: its id, the wait, the time there.

    Only devices with known paces are waited for. A free one whose pace is not known is taken, unless its factor over
    other tools makes it so slow that it should finish later even at its best.
    """
    fleet, feasible, paced = expected.fleet, expected.feasible, expected.paced
    doubt = paced.doubt.get(free, 0)
    if free in paced.known:
        least_ms = expected.on(free)
    else:
        least_ms = index_of(fleet).least(expected.demand.tool, expected.size, feasible[free].device)
        least_ms += expected.transfer_ms(feasible[free].device)
    found: tuple[str, int, int] | None = None
    for takes_ms, place in paced.order:
        if takes_ms >= least_ms:
            break
        item = feasible[place]
        device = item.device
        if fleet.used.get(device, 0) < item.slots or item.is_spared or device in avoid or device in fleet.health:
            continue
        takes_ms += expected.transfer_ms(device)
        wait_ms = turn.free_ms(fleet, device, takes_ms // 8)
        finish_ms = wait_ms + takes_ms
        if (
            0 <= wait_ms <= WAIT_MOST_MS
            and finish_ms < least_ms
            and not same(finish_ms, least_ms, max(doubt, paced.doubt[place]))
        ):
            least_ms, found = finish_ms, (device, wait_ms, takes_ms)
    return found


def _may_probe(
    fleet: Fleet, constellation: Constellation, device: str, spec: TaskSpec, record: TaskRecord, demand: Demand
) -> bool:
    """Tell whether a task may probe a device: it may be repeated, and is not one that failed there."""
    if (spec.repeatability or fleet.tools[device][demand.tool].repeatability) not in REPEATABLE:
        return False
    tried = constellation.tried(spec.id, record.attempt, record.round)
    return not any(attempt.device == device and hinders_its_tool(attempt) for attempt in tried)


def _least_busy(fleet: Fleet, spec: TaskSpec, demand: Demand, expects_ms: Mapping[int, int]) -> Choice | None:
    """Choose as `pick` does, by one number a device, where devices differ only in owner, load and name.

    `expects_ms` are the expected times by place, where they are known.
    """
    free, feasible = demand.free, demand.feasible
    if not free:
        return None
    if len(free) == 1:
        [place], others = free, []
    else:
        used, count = fleet.used.get, len(feasible)
        best = [
            used((item := feasible[place]).device, 0) * WHOLE_LOAD // item.slots * count + item.idle_rank
            for place in free
        ]
        best.sort()
        place, others = best[0] % count, [feasible[rank % count].device for rank in best[1:3]]
    device = feasible[place].device
    repeatability = spec.repeatability or fleet.tools[device][demand.tool].repeatability
    why = _why(_BY_LOAD, len(free), demand.selector)
    if demand.spares:
        why += _courtesy(fleet, demand, place)
    return Choice(device, others, why, repeatability, expects_ms.get(place, 0))


def _trust(health: Health | None) -> int:
    """Return the rank of a device by its faults: probed first, suspect last."""
    if health is None or health.state == "ok":
        return 0
    return -2 if health.state == "quarantined" else 2


def _courtesy(fleet: Fleet, demand: Demand, chosen: int) -> str:
    """Return the words on a free device that was passed over for its owner; empty if there is none."""
    feasible = demand.feasible
    if feasible[chosen].is_spared:
        return ""
    passed = next((feasible[place].device for place in sorted(demand.free) if feasible[place].is_spared), None)
    if passed is None:
        return ""
    return f", and {fleet.devices[passed].name} is taken last, because {spared_words(fleet.devices[passed])}"


def why_then(why: str) -> str:
    """Return the reason of a choice as one of its own time: since then, other devices may have become free or gone."""
    return next((then + why.removeprefix(now) for now, then in _THEN.items() if why.startswith(now)), why)


def _why(chosen: _Ranked, free: int, selector: Selector) -> str:
    if chosen[1] < 0:
        return "it was set aside and is tried again"
    if selector.name is not None or selector.id is not None:
        return "the plan names it"
    if free == 1:
        return _ONLY
    if chosen[3]:
        return "its inputs are there"
    return _LEAST_BUSY


def full(constellation: Constellation, spec: TaskSpec) -> bool:
    """Tell whether the group of a child runs as many children at once as it may."""
    if spec.group is None:
        return False
    for_each = constellation.specs[spec.group].for_each
    if for_each is None or not for_each.max_parallel:
        return False
    return constellation.tally[spec.group].held_slots >= for_each.max_parallel


def _free(fleet: Fleet, demand: Demand) -> set[int]:
    """Return the places of the feasible devices with a free slot; only devices that changed are examined."""
    feasible, free = demand.feasible, demand.free
    if demand.needs is not None or demand.fleet_seen != fleet.revision:
        feasible = capable(fleet, demand)
    used, changed, behind = fleet.used, fleet.slots_changed, fleet.slots_number - demand.free_seen
    if behind > len(changed):
        free.clear()
        free.update(place for place, item in enumerate(feasible) if used.get(item.device, 0) < item.slots)
    elif behind:
        for device in changed[-behind:]:
            place = demand.places.get(device)
            if place is not None:
                (free.add if used[device] < feasible[place].slots else free.discard)(place)
    demand.free_seen = fleet.slots_number
    return free


def next_lease(shard: Shard, turn: PlacementPass) -> tuple[Constellation, TaskSpec, TaskRecord, Choice] | None:
    """Remove the next placeable task from its queue and return it with its device; None if there is none."""
    fleet = shard.fleet
    if not shard.queued or (turn.last and turn.is_over(fleet)):
        return None
    if len(shard.demands) == 1:
        [demand] = shard.demands.values()
        alone = queues.alone(shard, demand)
        if alone is not None:
            return _alone(shard, turn, alone, demand)
    by_owner: dict[str, list[Demand]] = {}
    left = 0
    for key, demand in list(shard.demands.items()):
        if not demand.lines:
            del shard.demands[key]
        elif (free := _free(fleet, demand)) and not (demand.rested and rests(shard, demand, turn.now_ms)):
            by_owner.setdefault(demand.owner, []).append(demand)
            left += len(free)
    if not by_owner:
        return None
    owners = list(by_owner) if len(by_owner) < 2 else sorted(by_owner, key=lambda owner: queues.owner_key(shard, owner))
    for owner in owners:
        demands = by_owner[owner]
        if len(demands) == 1 and (alone := queues.alone(shard, demands[0])) is not None:
            found = _placeable(shard, turn, alone, demands)
            if found is not None:
                queues.served(shard, alone)
        else:
            turns = queues.Turns(shard, owner, demands)
            found = None
            while found is None and (asked := turns.next()) is not None:
                found = _placeable(shard, turn, *asked)
            turns.close()
            if found is not None:
                turns.served(found[0])
        if found is not None:
            turn.last, turn.revision = found[3].device if left == 1 else "", fleet.revision
            return found
    return None


def _alone(
    shard: Shard, turn: PlacementPass, constellation: Constellation, demand: Demand
) -> tuple[Constellation, TaskSpec, TaskRecord, Choice] | None:
    """Return what `next_lease` does where only one constellation waits, for one tool, as for most of a wide plan."""
    fleet = shard.fleet
    free = _free(fleet, demand)
    if not free or (demand.rested and rests(shard, demand, turn.now_ms)):
        return None
    left = len(free)
    found = _from_line(shard, turn, constellation, demand)
    if not demand.lines[constellation.name]:
        queues.leave(shard, demand, constellation.name)
    if found is not None:
        queues.served(shard, constellation)
        turn.last, turn.revision = found[3].device if left == 1 else "", fleet.revision
    return found


def _placeable(
    shard: Shard, turn: PlacementPass, constellation: Constellation, demands: list[Demand]
) -> tuple[Constellation, TaskSpec, TaskRecord, Choice] | None:
    """Remove a constellation's next placeable task from these demands, highest rank first, and return it."""
    name = constellation.name
    if len(demands) > 1:
        for demand in demands:
            _prune_head(shard, demand, name)
        demands = sorted((one for one in demands if name in one.lines), key=lambda one: one.lines[name][0])
    for demand in demands:
        found = _from_line(shard, turn, constellation, demand)
        if not demand.lines[name]:
            queues.leave(shard, demand, name)
        if found is not None:
            return found
    return None


def _prune_head(shard: Shard, demand: Demand, name: str) -> None:
    line = demand.lines[name]
    while line and shard.queued.get((name, line[0][2])) != demand.key:
        heappop(line)
    if not line:
        queues.leave(shard, demand, name)


def _from_line(
    shard: Shard, turn: PlacementPass, constellation: Constellation, demand: Demand
) -> tuple[Constellation, TaskSpec, TaskRecord, Choice] | None:
    queued, name = shard.queued, constellation.name
    line = demand.lines[name]
    set_aside = []
    found = None
    while line:
        entry = heappop(line)
        task = entry[2]
        at = name, task
        if queued.get(at) != demand.key:
            continue
        if turn.waiting and at in turn.waiting:
            set_aside.append(entry)
            continue
        record, spec = constellation.tasks[task], constellation.specs[task]
        if constellation.head.state not in WORKING_CONSTELLATION_STATES:
            # It stays out of the queue until the constellation is active again (`requeue`).
            del queued[at]
            continue
        if spec.group is not None and full(constellation, spec):
            del queued[at]
            constellation.parked.setdefault(spec.group or "", {})[task] = None
            continue
        choice = pick(shard, constellation, spec, record, demand, turn)
        if choice is None:
            set_aside.append(entry)
            if turn.held and len(set_aside) >= _HELD_MOST:
                break
            continue
        del queued[at]
        found = constellation, spec, record, choice
        break
    for entry in set_aside:
        heappush(line, entry)
    return found


def requeue(shard: Shard, constellation: Constellation, task: str) -> None:
    """Put a ready task back into its queue, after its constellation became active or its group has room."""
    record = constellation.tasks.get(task)
    if record is None or not queueable(record):
        return
    if (constellation.name, task) in shard.queued:
        return
    enqueue(shard, constellation, constellation.specs[task])
