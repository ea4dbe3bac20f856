"""Records of faults that a person requested in the lab. An entity of `fleet`; holds no judgement."""

from __future__ import annotations

from starloom_protocol.lab_faults import FaultKind, FaultState, FaultTarget
from starloom_protocol.record import Record


class LabFault(Record, frozen=True, kw_only=True):
    """One fault of a simulated device, from the request to its end.

    `constellations` are those with work on the device when it began. `healing`: a person asked to end it early.
    `note` reports what was done, or why it was not; `size_ms` is the delay, or the error of the clock.
    """

    asked_ms: int
    began_ms: int = 0
    by: str
    constellations: list[str] = []
    device: str
    ended_ms: int = 0
    for_ms: int
    healing: bool = False
    id: str
    kind: FaultKind
    note: str = ""
    size_ms: int = 0
    state: FaultState = FaultState.ASKED
    target: FaultTarget
