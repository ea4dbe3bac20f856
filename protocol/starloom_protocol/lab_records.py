"""What is kept of faults that somebody asked the lab for. An entity of `fleet`; holds no judgement."""

from __future__ import annotations

from starloom_protocol.lab_faults import FaultKind, FaultState, FaultTarget
from starloom_protocol.record import Record


class LabFault(Record, frozen=True, kw_only=True):
    """One fault of a simulated device, from the wish to its end.

    `constellations` are those that had work there when it began. `healing`: somebody wants it over before its time.
    `note` says what was done, or why it was not; `size_ms` is the delay, or how wrong the clock is.
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
