"""Answers of the lab: faults of simulated devices, orders to break and to heal, scenarios and their runs."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from starloom_protocol.records.lab import FaultKind, FaultState, FaultTarget


class BreakableDevice(TypedDict):
    """A simulated device, and the faults that are possible for it now."""

    id: str
    name: str
    can: dict[FaultTarget, list[FaultKind]]
    why_not: str | None


class FaultRow(TypedDict):
    """A fault of a simulated device."""

    id: str
    target: FaultTarget
    kind: FaultKind
    device: str
    device_name: str
    for_s: float
    by_s: float | None
    state: FaultState
    healing: bool
    by: str
    note: str
    constellations: list[str]
    asked_at: str | None
    began_at: str | None
    ended_at: str | None


class Faults(TypedDict):
    """Simulated devices and their faults."""

    devices: list[BreakableDevice]
    items: list[FaultRow]
    for_s_most: float
    next: str | None


class OrderRow(FaultRow):
    """An order to a program of the lab: to break or to heal."""

    order: str


class Orders(TypedDict):
    """The orders that a program has not seen."""

    items: list[OrderRow]


class FaultAfter(TypedDict):
    """The state of a fault after a report."""

    state: FaultState


class Noted(TypedDict):
    """The number of the event by which a note was written."""

    seq: int


class StoryRow(TypedDict):
    """A line of a story, in seconds since the hub accepted the request."""

    at_s: float
    kind: str
    text: str


class FaultMeeting(TypedDict):
    """The work of one constellation that a fault affected, and how often each device began each task."""

    constellation: str
    name: str
    state: str
    ended: bool
    story: list[StoryRow]
    begun: dict[str, dict[str, int]]
    begun_lines: list[str]


class FaultWhole(FaultRow):
    """A fault with its report: one entry for each constellation that it affected."""

    report: list[FaultMeeting]


RunState = Literal["starting", "running", "met", "not_met", "stopped", "failed"]


class RunRow(TypedDict):
    """A run of a scenario: its story as far as it has come, and its verdict once there is one.

    `said` are lines that the run's process wrote beside its story; `end` is the state in which the request ended.
    """

    id: str
    scenario: str
    seed: int
    state: RunState
    began_at: str | None
    ended_at: str | None
    story: list[StoryRow]
    said: list[str]
    why: str
    misses: list[str]
    effects: dict[str, dict[str, int]]
    took_s: float | None
    end: str | None


class RunInShort(TypedDict):
    """The latest run of a scenario."""

    id: str
    state: RunState
    ended_at: str | None


class FaultTime(TypedDict):
    """The time of a fault in a scenario: an event and its task, seconds, or a share of ended tasks."""

    event: NotRequired[str]
    task: NotRequired[str]
    after_s: NotRequired[float]
    progress: NotRequired[float]


class ScenarioFault(TypedDict):
    """A fault that a scenario makes."""

    target: FaultTarget
    kind: FaultKind
    device: str | None
    for_s: float
    at: FaultTime


class Expectation(TypedDict):
    """The state that a scenario expects, and the time within which it is reached."""

    state: str
    within_s: float


class ScenarioRow(TypedDict):
    """A scenario that came with Starloom, with its latest run."""

    name: str
    title: str
    about: str
    seed: int
    devices: list[str]
    faults: list[ScenarioFault]
    expect: Expectation
    latest: RunInShort | None
