"""Answers of the lab about faults and orders."""

from __future__ import annotations

from typing import TypedDict

from starloom_protocol.vocabulary import FaultKind, FaultState, FaultTarget


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
