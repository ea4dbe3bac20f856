"""Records of devices: the device, its offer, pairing, health and paces, and the work that a stop-all ended there.

The vital figures of devices, as the hub sends them, stand here too; they are kept in no state.
"""

from __future__ import annotations

from typing import Final

import msgspec

from starloom_protocol.records.record import Record
from starloom_protocol.vocabulary import ConstellationState, DeviceLink, Effect, Profile, Repeatability, Vital


class Health(Record, frozen=True, kw_only=True):
    """The health of a device; a device without recent faults has no such entity.

    `state`: ok (some faults), suspect (chosen last), quarantined (given probes only; `trying`: a probe is running).
    `good` counts consecutive successes since the last fault; the next probe is due `probe_ms` after `since_ms`.
    """

    device: str
    faults: int = 0
    good: int = 0
    probe_ms: int = 0
    since_ms: int
    state: str = "ok"
    trying: bool = False


PACE_OCTAVE: Final = 1024
"""The difference of two logarithms of a pace where one time is twice the other."""
PACE_CALLS_LEAST: Final = 3
"""Fewer calls of a tool on a device are a guess at its pace."""


class Pace(Record, frozen=True, kw_only=True):
    """The pace of a tool on a device, for inputs of one size class: how long its calls took, how much they gave.

    Times are counted from lease to end by the hub's clock. `logs` and `squares` are the sums of their logarithms
    (`PACE_OCTAVE` for a doubling) and of the squares of these, `byte_logs` and `byte_squares` the same of the bytes of
    results; all lose half of their weight at a fixed number of calls, so that old ones fade. `failures` counts ends by
    a fault of the device. The empty tool is the transfer to a device: milliseconds for a MiB.
    """

    byte_logs: int = 0
    byte_squares: int = 0
    count: int = 0
    device: str
    failures: int = 0
    last_ms: int
    logs: int = 0
    size: int = 0
    squares: int = 0
    tool: str = ""


class Stopping(Record, frozen=True, kw_only=True):
    """The part of one device in the last stop-all: the attempts that it had to end, and its confirmation.

    `attempts` are CONSTELLATION/TASK/ATTEMPT and still open there; `asked` is their number at the beginning.
    `confirmed_ms` is the time when the end of the last one was certain.
    """

    asked: int
    at_ms: int
    attempts: list[str] = []
    by: str
    confirmed_ms: int = 0
    device: str
    reason: str = ""


class ToolOffer(Record, frozen=True, kw_only=True):
    """One tool as a device offers it; `args` is the canonical text of the JSON schema of its arguments.

    `returns` is the schema of its result, or the name of one that both ends know (`tools.results`); empty if unknown.
    `effects_by` narrows `effects` by the value of an argument: argument -> value -> effects. `stands_for` is a tool in
    whose place the device's owner says that this one may be called.
    """

    args: str = "{}"
    effects: list[Effect] = []
    effects_by: dict[str, dict[str, list[Effect]]] = {}
    grant: str | None = None
    name: str
    repeatability: Repeatability = Repeatability.NEVER
    returns: str = ""
    self_verified: bool = False
    stands_for: str = ""
    title: str = ""
    unavailable: str | None = None


class Offer(Record, frozen=True, kw_only=True):
    """The current capabilities of a device as it states them; `facts` are strings: os, arch, disk_free_bytes, ..."""

    digest: str
    facts: dict[str, str] = {}
    grants: list[str] = []
    slots: int = 1
    tools: list[ToolOffer] = []


class Device(Record, frozen=True, kw_only=True):
    """One device; its id is made from its key. `session` rises with each connection.

    `remembers` describes work that it has begun and this history lacks, until a person has seen it. `ledger_ms` is the
    time when its present ledger was first seen: that ledger proves nothing about work given to the device before.
    While it drains, movable work is moved away at `drain_due_ms` (0: never). `aside` is the reason of its quarantine;
    `probing` lets it have one task in spite of it, to test whether it works again. `profile_most` is the profile that
    its join code allowed; `over` names the part of its present offer that exceeds it and was not accepted. `left`: the
    device left of its own accord, and is `revoked`, too. A person had it `forgotten` after that: no list shows it, and
    its record stays for the log, which has its id. `expected_until_ms`: the hub that it was connected to ended, and the
    device is expected back until then.
    """

    aside: str = ""
    condition: dict[str, str] = {}
    demo: bool = False
    drain_due_ms: int = 0
    drain_reason: str = ""
    draining: bool = False
    expected_until_ms: int = 0
    forgotten: bool = False
    id: str
    instance: str | None = None
    joined_ms: int
    key: str
    labels: list[str] = []
    left: bool = False
    ledger: str | None = None
    ledger_ms: int = 0
    link: DeviceLink = DeviceLink.OFFLINE
    link_since_ms: int = 0
    name: str
    os: str = ""
    over: str = ""
    probing: bool = False
    profile: Profile = Profile.OBSERVE
    profile_most: Profile = Profile.OPERATE
    quarantined: bool = False
    remembers: str = ""
    reports: int = 0
    revoked: bool = False
    session: int = 0
    version: str = ""


class Enrollment(Record, frozen=True, kw_only=True):
    """One pairing. State: open, asking, approved, denied, used, expired; `code_hash` is a hash, never the code.

    `replaces` is the device whose name and labels this one takes on approval; it is revoked then. `labels` are those
    that the device asks for; a person who approves the device grants them. A code for several devices is a pairing of
    its own, open until `devices` of them have `used` it; each of these has a pairing with its own words, whose
    `code_of` is the id of the code's pairing.
    """

    attempts: int = 0
    code_hash: str
    code_of: str = ""
    created_ms: int
    demo: bool = False
    device: str | None = None
    devices: int = 1
    expires_ms: int
    id: str
    key: str | None = None
    label: str = ""
    labels: list[str] = []
    name: str = ""
    os: str = ""
    owner: str
    preapproved: bool = False
    profile_most: Profile = Profile.OPERATE
    reason: str = ""
    replaces: str = ""
    state: str = "open"
    used: int = 0
    words: str = ""


class DeviceVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one device. The last point of each is that of `Vitals.until_ms`; null: nothing was heard then.

    A line begins with its first point; one that was never heard is left out. `heard_ms` is 0 if nothing was.
    """

    device: str
    heard_ms: int
    lines: dict[Vital, list[int | None]]


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """Lines as one hub has heard them, `step_s` between two points. It keeps them in memory alone.

    `since_ms` is the time of the first figure of any device (0: none yet): earlier figures are lost.
    `left_out` counts devices beyond the most that one answer holds.
    """

    hub: str
    items: list[DeviceVitals]
    left_out: int = 0
    since_ms: int
    slots: int
    step_s: int
    until_ms: int


class DeviceWork(msgspec.Struct, frozen=True, kw_only=True):
    """How many constellations that were asked for since a moment had work on a device, by their state now."""

    constellations: dict[ConstellationState, int]
    device: str
