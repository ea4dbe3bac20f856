"""What is kept of devices: the device, what it offers, its pairing, how it fares, what it was told to stop."""

from __future__ import annotations

from starloom_protocol.record import Record
from starloom_protocol.vocabulary import DeviceLink, Effect, Profile, Repeatability


class Health(Record, frozen=True, kw_only=True):
    """How a device fares among its peers; there is none of a device without recent faults.

    `state`: ok (some faults), suspect (asked last), quarantined (asked only by a probe; `trying`: it has one). `good`
    counts successes in a row since the last fault; `probe_ms` is how long after `since_ms` the next probe is due.
    """

    device: str
    faults: int = 0
    good: int = 0
    probe_ms: int = 0
    since_ms: int
    state: str = "ok"
    trying: bool = False


class Stopping(Record, frozen=True, kw_only=True):
    """What one device was told to end by the last stop-all, and whether it confirmed.

    `attempts` are CONSTELLATION/TASK/ATTEMPT that are still open there, `asked` how many there were. `confirmed_ms` is
    when the last of them ended for sure.
    """

    asked: int
    at_ms: int
    attempts: list[str] = []
    by: str
    confirmed_ms: int = 0
    device: str
    reason: str = ""


class ToolOffer(Record, frozen=True, kw_only=True):
    """One tool as a device offers it; `args` is the canonical text of its JSON schema.

    `returns` is that of its result, or the name of one that both ends know (`tool_results`); empty: nobody knows.
    `effects_by` narrows `effects` by the value of an argument: argument -> value -> effects.
    """

    args: str = "{}"
    effects: list[Effect] = []
    effects_by: dict[str, dict[str, list[Effect]]] = {}
    grant: str | None = None
    name: str
    repeatability: Repeatability = Repeatability.NEVER
    returns: str = ""
    self_verified: bool = False
    title: str = ""
    unavailable: str | None = None


class Offer(Record, frozen=True, kw_only=True):
    """What a device says it can do now; `facts` are strings such as os, arch, python, disk_free_bytes."""

    digest: str
    facts: dict[str, str] = {}
    grants: list[str] = []
    slots: int = 1
    tools: list[ToolOffer] = []


class Device(Record, frozen=True, kw_only=True):
    """One device; its id is made from its key. `session` rises with each connection.

    `remembers` says what it has begun that this history does not have, until a person has seen it.

    `ledger_ms` is when its present ledger was first seen: of what was given to it before, that ledger proves nothing.
    While it drains, what may move is moved away at `drain_due_ms` (0: never). `aside` says why it is quarantined;
    `probing` lets it have one task all the same, to see whether it works again. `profile_most` is what its join code
    allowed; `over` says what of its present offer goes beyond that and was not taken over. `left`: it went away by its
    own will, and is `revoked`, too. `expected_until_ms`: the hub that it was connected to ended, so it is expected back
    until then.
    """

    aside: str = ""
    condition: dict[str, str] = {}
    demo: bool = False
    drain_due_ms: int = 0
    drain_reason: str = ""
    draining: bool = False
    expected_until_ms: int = 0
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
    """One pairing. State: open, asking, approved, denied, used, expired; `code_hash` is never the code.

    `replaces` is the device whose name and labels this one takes when it is let in, and which is revoked then.
    `labels` are those that the device asks for; a person who approves it gives them to it.
    A code for several devices is a pairing of its own, open until `devices` of them have `used` it; each of these has a
    pairing with its own words, whose `code_of` names that of the code.
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
