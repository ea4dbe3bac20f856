"""The forecast of a plan before it starts: the core plays it in virtual time, with times drawn by seed.

Owns the forecast on the fleet of now, and *what if*: the same beside one on a changed fleet. Knows no clock, and starts
and changes nothing. It is silent where it would have to guess: about a tool without enough calls, a list whose length
is a result, a branch that a result decides, a person. *What if* tells the time of the tools that it knows and names
the tasks that are not in it. Work of other constellations is not played.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from msgspec.structs import replace

from starloom.core.placement import finish
from starloom.core.placement.pace import SAMPLES_LEAST, key_of
from starloom.core.state.apply import load
from starloom.core.state.inputs import AnyInput, RequestReceived, ResultReported, TimerFired
from starloom.core.state.model import Shard
from starloom.core.state.orders import SendDispatch
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast.known import known_of
from starloom.planner.forecast.times import Times
from starloom_protocol.api.previews import Course, Estimate, WhatIf
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Device, Offer, Policy
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.text.courtesy import no_work_words
from starloom_protocol.vocabulary import Approval, ConstellationState, DeviceLink, Effect, Outcome, Repeatability
from starloom_protocol.wire.frames import ResultFrame

PLAYS_MOST: Final = 200
PLAYS_LEAST: Final = 10
STEPS_OF_PREVIEW: Final = 600
"""Tasks that a preview plays in all, some 50 ms; a plan with more than a tenth of them has no estimate there."""
STEPS_MOST: Final = 20_000
LOW, HIGH = 0.1, 0.9
WIDER: Final = 1.15
"""Ranges are so much wider than the plays: these know only what was seen, and devices also change."""
_BY = "person:forecast"


@dataclass(frozen=True)
class Forecast:
    """The makespans of all plays in milliseconds, the shortest first."""

    plays_ms: tuple[int, ...]

    @property
    def expected_ms(self) -> int:
        """The median."""
        return self.share_ms(0.5)

    @property
    def low_ms(self) -> int:
        """The lower end of the range in which four of five runs should end."""
        return self._wider(LOW)

    @property
    def high_ms(self) -> int:
        """The upper end of that range."""
        return self._wider(HIGH)

    def chance(self, within_ms: int) -> float:
        """Return the share of plays that end in time."""
        return sum(1 for play_ms in self.plays_ms if play_ms <= within_ms) / len(self.plays_ms)

    def _wider(self, share: float) -> int:
        middle = self.expected_ms
        return max(1, int(middle * (self.share_ms(share) / middle) ** WIDER))

    def share_ms(self, share: float) -> int:
        """Return the time below which the next run ends with this probability; between two plays, on their line."""
        # Of n plays the next run is as likely to end in each of the n + 1 gaps around them.
        place = min(len(self.plays_ms) - 1.0, max(0.0, share * (len(self.plays_ms) + 1) - 1))
        below = int(place)
        above = min(len(self.plays_ms) - 1, below + 1)
        return max(1, round(self.plays_ms[below] + (place - below) * (self.plays_ms[above] - self.plays_ms[below])))


@dataclass(frozen=True)
class Change:
    """A change of the fleet that is only assumed: devices left out, and devices that are there twice; by id."""

    without: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


def plays_for(tasks: int, steps: int) -> int:
    """Return how many plays a plan of so many tasks gets; 0 if it is too long for `steps`."""
    plays = min(PLAYS_MOST, steps // max(1, tasks))
    return plays if plays >= PLAYS_LEAST else 0


def forecast(
    plan: LoweredPlan,
    fleet: FleetSnapshot,
    *,
    plays: int,
    change: Change | None = None,
    seed: str = "",
    partly: bool = False,
) -> Forecast | None:
    """Return the forecast of a plan; None where it would be a guess or the plan cannot end on this fleet.

    With `partly` calls of tools that ran too seldom end at once, unless there are no others.
    """
    unknown = unknown_tools(plan, fleet.paces)
    if plays <= 0 or not _can_be_played(plan) or not _is_known(plan, unknown, partly=partly):
        return None
    stage = _Stage(fleet, change or Change(), seed or plan.hash, unknown)
    played = _simple(plan)
    times_ms: list[int] = []
    for number in range(plays):
        took_ms = stage.play(played, number)
        if took_ms is None:
            return None
        times_ms.append(took_ms)
    return Forecast(tuple(sorted(times_ms)))


def unknown_tools(plan: LoweredPlan, paces: Mapping[str, Pace]) -> list[str]:
    """Return the tools of a plan that have too few calls for a forecast."""
    return unknown_among(dict.fromkeys(spec.tool for spec in plan.specs if spec.tool is not None), paces)


def unknown_among(tools: Iterable[str], paces: Mapping[str, Pace]) -> list[str]:
    """Return those of these tools that have too few calls for a forecast."""
    calls: dict[str, int] = {}
    for row in paces.values():
        calls[row.tool] = calls.get(row.tool, 0) + row.count
    return [tool for tool in tools if calls.get(tool, 0) < SAMPLES_LEAST]


def _is_known(plan: LoweredPlan, unknown: list[str], *, partly: bool) -> bool:
    tools = {spec.tool for spec in plan.specs if spec.tool is not None}
    return bool(plan.specs) and (not unknown or (partly and len(unknown) < len(tools)))


def _can_be_played(plan: LoweredPlan) -> bool:
    """Tell whether the course of a plan depends on no result and no person."""
    if plan.rules or any(dependency.condition is not None for dependency in plan.dependencies):
        return False
    return not any(
        spec.person is not None or (spec.for_each is not None and spec.for_each.source is not None)
        for spec in plan.specs
    )


def _simple(plan: LoweredPlan) -> LoweredPlan:
    """Return a plan without the parts that need real results: checks, judges, secrets, approvals."""
    specs = [replace(spec, checks=[], judge=None, secrets=[], undo=None, verify=None) for spec in plan.specs]
    return replace(plan, specs=specs, policy=Policy(approval=Approval.NEVER))


class _Stage:
    """A shard of its own with the changed fleet, on which plays follow each other; it learns nothing."""

    def __init__(self, fleet: FleetSnapshot, change: Change, seed: str, without_figure: Iterable[str]) -> None:
        self._without_figure = frozenset(without_figure)
        self._shard = Shard()
        self._shard.settings.pace_rows_most = self._shard.settings.spending_rows_most = 0
        self._shard.settings.proposals_most = self._shard.settings.trial_runs = 0
        self._paces = dict(fleet.paces)
        devices = {key: device for key, device in fleet.records.items() if key not in change.without}
        offers = dict(fleet.offers)
        for source in change.copies:
            copy_device(source, devices, offers, self._paces)
        entities: dict[str, Device | Offer | Pace] = {f"device/{key}": device for key, device in devices.items()}
        entities |= {f"offer/{key}": harmless(offer) for key, offer in offers.items() if key in devices}
        entities |= {f"pace/{key}": row for key, row in self._paces.items()}
        load(self._shard, FLEET, 0, dict(entities))
        self._known_paces = known_of(fleet.paces.values(), self._paces.values())
        self._seed = seed
        self._now_ms = 1

    def play(self, plan: LoweredPlan, number: int) -> int | None:
        """Return the makespan of one play; None if the plan does not end well."""
        chance = random.Random(f"{self._seed} {number}")  # noqa: S311 - a play must be the same again
        times = Times(self._paces, self._known_paces, chance)
        name, begin_ms = f"play-{number}", self._now_ms
        running: list[tuple[int, int, SendDispatch, int]] = []
        order = 0
        item: AnyInput = RequestReceived(id=name, by=_BY, constellation=name, plan=plan)
        while True:
            for dispatch, expects_ms in self._step(item):
                took_ms = 0
                if dispatch.tool not in self._without_figure:
                    if not expects_ms:
                        return None
                    took_ms = times.takes_ms(dispatch.tool, dispatch.device, expects_ms)
                order += 1
                heappush(running, (self._now_ms + took_ms, order, dispatch, took_ms))
            if not running:
                break
            judged_ms = judged_again_ms(self._shard, self._now_ms)
            if judged_ms and judged_ms < running[0][0]:
                self._now_ms = judged_ms
                item = TimerFired(id=name, by=ENGINE, constellation=FLEET, entity="", kind=finish.TIMER)
                continue
            self._now_ms, _order, dispatch, _took_ms = heappop(running)
            size = times.given_bytes(dispatch.tool, dispatch.device)
            frame = ResultFrame(at=dispatch.at, bytes=size, outcome=Outcome.OK, report=1, value="null")
            item = ResultReported(id=name, by=f"device:{dispatch.device}", device=dispatch.device, frame=frame)
        shard = self._shard
        constellation = shard.constellations.pop(name, None)
        shard.live.pop(name, None)
        shard.demands.clear()
        shard.queued.clear()
        ended = constellation is not None and constellation.head.state is ConstellationState.SUCCEEDED
        return self._now_ms - begin_ms if ended else None

    def _step(self, item: AnyInput) -> list[tuple[SendDispatch, int]]:
        work = Work(self._shard)
        step(work, replace(item, at_ms=self._now_ms))
        self._shard.journal.clear()
        dispatches = []
        for effect in work.orders:
            if isinstance(effect, SendDispatch):
                constellation = self._shard.constellations[effect.at.constellation]
                dispatches.append((effect, constellation.attempt(effect.at.task, effect.at.attempt).expects_ms))
        return dispatches


def judged_again_ms(shard: Shard, now_ms: int) -> int:
    """Return when tasks that wait for a better device are judged again; 0 if none do."""
    rests = [demand.rests_until_ms for demand in shard.demands.values() if demand.rested and demand.lines]
    return max(min(rests), now_ms + 1_000) if rests else 0


def copy_device(source: str, devices: dict[str, Device], offers: dict[str, Offer], paces: dict[str, Pace]) -> None:
    """Add another device like one that is there, with its offer and its paces."""
    device, copied = devices[source], f"{source}-copy"
    devices[copied] = replace(device, id=copied, name=f"{device.name}-copy")
    if source in offers:
        offers[copied] = offers[source]
    for row in [row for row in paces.values() if row.device == source]:
        paces[key_of(row.tool, copied, row.size)] = replace(row, device=copied)


def harmless(offer: Offer) -> Offer:
    """Return an offer whose tools only read, so that a play waits for no approval."""
    tools = [
        replace(tool, effects=[Effect.READ], effects_by={}, repeatability=Repeatability.PURE) for tool in offer.tools
    ]
    return replace(offer, tools=tools)


TOOLS_NAMED_MOST = 4
NAMED_MOST: Final = 50
"""Tasks without a figure that an answer names; its sentence names four."""
DEVICES_NAMED_MOST = 4
NOT_PLAYED = (
    "The course of this plan depends on a result or on a person, or a device cannot take all of its tasks, "
    "so there is no estimate."
)


def what_if(
    plan: LoweredPlan, fleet: FleetSnapshot, change: Change, *, words: str, within_ms: int | None = None
) -> WhatIf:
    """Return both forecasts; `words` name the change."""
    plays = plays_for(len(plan.specs), STEPS_MOST)
    now = forecast(plan, fleet, plays=plays, partly=True)
    then = forecast(plan, fleet, plays=plays, change=change, partly=True) if now is not None else None
    unknown = unknown_tools(plan, fleet.paces)
    left_out = [spec.id for spec in plan.specs if spec.tool in unknown]
    lacking = left_out_words(left_out) if now is not None else ""
    return {
        "name": plan.name,
        "plan_hash": plan.hash,
        "change": words,
        "within_ms": within_ms,
        "now": _course(now, within_ms, left_out),
        "then": _course(then, within_ms, left_out),
        "said": _sentence(plan, fleet, now, then, words, long=plays == 0) + lacking,
    }


def expected_time(plan: LoweredPlan, fleet: FleetSnapshot) -> tuple[Estimate | None, str]:
    """Return the estimate of a preview, and a sentence: why there is none, or which tasks are not in it."""
    plays = plays_for(len(plan.specs), STEPS_OF_PREVIEW)
    outlook = forecast(plan, fleet, plays=plays, partly=True)
    if outlook is None:
        return None, _silence(plan, fleet, long=plays == 0)
    unknown = unknown_tools(plan, fleet.paces)
    left_out = [spec.id for spec in plan.specs if spec.tool in unknown]
    estimate: Estimate = {"expected_ms": outlook.expected_ms, "low_ms": outlook.low_ms, "high_ms": outlook.high_ms}
    return estimate, left_out_words(left_out).strip()


def _silence(plan: LoweredPlan, fleet: FleetSnapshot, *, long: bool) -> str:
    """Return why a plan has no estimate."""
    if long:
        return f"The plan has {len(plan.specs):,} tasks, more than can be played, so there is no estimate."
    lacking = unknown_tools(plan, fleet.paces)
    if lacking:
        return f"{listed(lacking)} ran too seldom for an estimate: three calls are enough."
    return NOT_PLAYED + no_work_of(fleet.records.values())


def no_work_of(devices: Iterable[Device]) -> str:
    """Return a sentence for each device that is there and takes no new work, a space before each; empty if none is."""
    refusing = [
        (device.name, words)
        for device in devices
        if device.link is DeviceLink.ONLINE and (words := no_work_words(device.condition))
    ]
    sentences = "".join(f" {name} takes no new work, because {words}." for name, words in refusing[:DEVICES_NAMED_MOST])
    more = len(refusing) - DEVICES_NAMED_MOST
    return sentences + (f" {more} more devices take none." if more > 0 else "")


def left_out_words(tasks: Sequence[str]) -> str:
    """Return a sentence on the tasks that an estimate lacks, a space before it; empty if it lacks none."""
    if not tasks:
        return ""
    whose = "whose tool" if len(tasks) == 1 else "whose tools"
    return f" Not in it: {listed(tasks, 'task')}, {whose} ran too seldom for a figure; three calls are enough."


def _course(outlook: Forecast | None, within_ms: int | None, left_out: list[str]) -> Course | None:
    if outlook is None:
        return None
    # A time that lacks some tasks has no chance that could be told.
    chance = round(outlook.chance(within_ms), 3) if within_ms is not None and not left_out else None
    course: Course = {
        "expected_ms": outlook.expected_ms,
        "low_ms": outlook.low_ms,
        "high_ms": outlook.high_ms,
        "chance": chance,
        "plays": len(outlook.plays_ms),
    }
    if left_out:
        course["left_out"] = left_out[:NAMED_MOST]
    return course


def _sentence(
    plan: LoweredPlan,
    fleet: FleetSnapshot,
    now: Forecast | None,
    then: Forecast | None,
    words: str,
    *,
    long: bool,
) -> str:
    if now is None:
        return _silence(plan, fleet, long=long)
    if then is None:
        return f"{words}, the plan cannot end: no other device can take all of its tasks."
    part = then.expected_ms / now.expected_ms
    if 0.95 < part < 1.05:
        return f"{words}, the plan takes about as long."
    return f"{words}, the plan takes about {abs(1 - part):.0%} {'longer' if part > 1 else 'less time'}."


def listed(names: Sequence[str], noun: str = "tool") -> str:
    """Return names in a sentence; beyond the most that are named, how many more of the noun there are."""
    names_shown = list(names[:TOOLS_NAMED_MOST])
    if len(names) > TOOLS_NAMED_MOST:
        return f"{', '.join(names_shown)} and {len(names) - TOOLS_NAMED_MOST} more {noun}s"
    return " and ".join(filter(None, (", ".join(names_shown[:-1]), names_shown[-1])))
