"""What reaches the hub about the lab: a person wants a fault or wants it over, a program of the lab did it."""

from __future__ import annotations

from starloom.core.input_record import Input
from starloom_protocol.lab_faults import FaultKind, FaultTarget


class LabFaultAsked(Input, frozen=True, kw_only=True, tag="lab_fault_asked"):
    """A person wants something broken. `held`: a program of the lab runs the device now, `able`: and can do this."""

    able: bool
    device: str
    fault: str
    for_ms: int
    held: bool
    kind: FaultKind
    size_ms: int
    target: FaultTarget


class LabFaultHealAsked(Input, frozen=True, kw_only=True, tag="lab_fault_heal_asked"):
    """A person wants a fault over before its time."""

    fault: str


class LabFaultBegan(Input, frozen=True, kw_only=True, tag="lab_fault_began"):
    """The lab did it; `note` says what."""

    fault: str
    note: str


class LabFaultEnded(Input, frozen=True, kw_only=True, tag="lab_fault_ended"):
    """The lab took it back; or `failed` to do it, with the reason."""

    failed: bool
    fault: str
    note: str
