"""Records of devices: the device, its offer, pairing, health and paces, and the work that a stop-all ended there.

The vital figures of devices, as the hub sends them, stand here too; they are kept in no state.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from starloom_protocol.bounds import EFFECTS_MOST, ENTRIES_MOST, TOOLS_MOST, Line, Long, Word
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
    state: Literal["ok", "suspect", "quarantined"] = "ok"
    trying: bool = False


PACE_OCTAVE: Final = 1024
"""The difference of two logarithms of a pace where one time is twice the other."""
PACE_CALLS_LEAST: Final = 3
"""Fewer calls of a tool on a device are a guess at its pace."""


class Pace(Record, frozen=True, kw_only=True):
    """The pace of a tool on a device, for inputs of one size class: how long its calls took, how much they gave.

    Times are counted from lease to end by the hub's clock. All sums lose half of their weight at a fixed number of
    calls, so that old ones fade.
    """

    byte_logs: int = 0
    """The sum of the logarithms of the bytes of results; `PACE_OCTAVE` stands for a doubling."""
    byte_squares: int = 0
    """The sum of the squares of these logarithms."""
    count: int = 0
    """The calls in the sums."""
    device: str
    failures: int = 0
    """Ends by a fault of the device."""
    last_ms: int
    logs: int = 0
    """The sum of the logarithms of the times in milliseconds; `PACE_OCTAVE` stands for a doubling."""
    size: int = 0
    """The size class of the inputs."""
    squares: int = 0
    """The sum of the squares of these logarithms."""
    tool: str = ""
    """Empty: the transfer of a MiB to the device."""


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


_Effects = Annotated[list[Effect], msgspec.Meta(max_length=EFFECTS_MOST)]
_EffectsByValue = Annotated[dict[Long, _Effects], msgspec.Meta(max_length=ENTRIES_MOST)]


class ToolOffer(Record, frozen=True, kw_only=True):
    """One tool as a device offers it."""

    args: Long = "{}"
    """The canonical text of the JSON schema of its arguments."""
    effects: _Effects = []
    effects_by: Annotated[dict[Word, _EffectsByValue], msgspec.Meta(max_length=ENTRIES_MOST)] = {}
    """Narrows `effects` by the value of an argument: argument -> value -> effects. A list stands there by its
    `list_key`."""
    grant: Line | None = None
    """The grant of the device that it needs; null: none."""
    name: Line
    repeatability: Repeatability = Repeatability.NEVER
    returns: Long = ""
    """The schema of its result, or the name of one that both ends know (`tools.results`); empty: unknown."""
    self_verified: bool = False
    """It has verified its own effect where it succeeds."""
    stands_for: Line = ""
    """A tool in whose place the device's owner says that this one may be called."""
    title: Line = ""
    unavailable: Line | None = None
    """Why it cannot be called now; null: it can."""


class Offer(Record, frozen=True, kw_only=True):
    """The current capabilities of a device as it states them; `facts` are strings: os, arch, disk_free_bytes, ..."""

    digest: Word
    facts: Annotated[dict[Line, Line], msgspec.Meta(max_length=ENTRIES_MOST)] = {}
    grants: Annotated[list[Line], msgspec.Meta(max_length=ENTRIES_MOST)] = []
    slots: int = 1
    tools: Annotated[list[ToolOffer], msgspec.Meta(max_length=TOOLS_MOST)] = []


class KeptOffers:
    """Reads the offers of a history. One of an earlier hub may be beyond a bound of today: it counts as none.

    A device sends its offer at each connection, so such a device offers nothing until then.
    """

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(Offer)

    def decode(self, raw: bytes | msgspec.Raw) -> Offer:
        """Return the offer.

        Raises:
            msgspec.DecodeError: the bytes are no JSON.
        """
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError:
            return Offer(digest="")


class Device(Record, frozen=True, kw_only=True):
    """One device; its id is made from its key."""

    aside: str = ""
    """The reason of its quarantine."""
    condition: dict[str, str] = {}
    """Its newest facts beside the offer, by `DeviceFact`."""
    demo: bool = False
    """It is one of the demo devices that a hub runs on its own computer."""
    drain_due_ms: int = 0
    """The time at which movable work is moved away while it drains; 0: never."""
    drain_reason: str = ""
    draining: bool = False
    """It is given no new work."""
    expected_until_ms: int = 0
    """The hub that it was connected to ended, and it is expected back until then; 0: it is not."""
    forgotten: bool = False
    """It was revoked, and no list shows it. Its record stays for the log, which has its id."""
    former_names: list[str] = []
    """They still mean this device in plans and schedules, the latest first. None is the name of another device, or a
    former one of it."""
    id: str
    instance: str | None = None
    """The process of its agent, which is another one after each start."""
    joined_by: str = ""
    """The id of the principal whose code it joined with, who may revoke it as owners may; empty: owners alone."""
    joined_ms: int
    key: str
    labels: list[str] = []
    left: bool = False
    """It left of its own accord, and is `revoked`, too."""
    ledger: str | None = None
    """The id of the ledger of its agent."""
    ledger_ms: int = 0
    """The first time of its present ledger, which proves nothing about work given to the device before."""
    let_in_by: str = ""
    """The author whose code it joined with, whose words *my phone* mean it; empty: it joined before this was kept."""
    link: DeviceLink = DeviceLink.OFFLINE
    link_since_ms: int = 0
    """The time since which `link` is as it is."""
    name: str
    os: str = ""
    over: str = ""
    """The part of its present offer that exceeds `profile_most` and was not accepted."""
    probing: bool = False
    """It may have one task in spite of its quarantine, to test whether it works again."""
    profile: Profile = Profile.OBSERVE
    """The profile that its owner gave it."""
    profile_most: Profile = Profile.OPERATE
    """The profile that its join code allowed."""
    quarantined: bool = False
    """It is given no work, because of `aside`."""
    refused: str = ""
    """The code for which the hub refuses its agent, until it connects: one of the two shares no version with the other.
    Not proved, because such an agent never comes to prove its key."""
    remembers: str = ""
    """Work that it has begun and this history lacks, until a person has seen it."""
    reports: int = 0
    """Written by no release any more; a record of an earlier one may have it."""
    reserved: bool = False
    """It takes only work that names it, so that nothing which others gave or found comes to it unasked."""
    revoked: bool = False
    session: int = 0
    """Rises with each connection."""
    version: str = ""
    """The version of its agent."""


class Enrollment(Record, frozen=True, kw_only=True):
    """One pairing of a device, or the code of several.

    A code for several devices is a pairing of its own, open until `devices` of them have `used` it; each of these has a
    pairing with its own words.
    """

    attempts: int = 0
    """How often a device asked with it."""
    code_hash: str
    """A hash, never the code."""
    code_of: str = ""
    """The id of the pairing that the several devices' code stands for; empty: it has a code of its own."""
    created_ms: int
    demo: bool = False
    device: str | None = None
    """The device that asks, or has joined; null: none has yet."""
    devices: int = 1
    """How many devices the code is for."""
    expires_ms: int
    id: str
    key: str | None = None
    label: str = ""
    labels: list[str] = []
    """Those that a person gave with the code, and those that the device asks for: one who approves it grants them."""
    name: str = ""
    os: str = ""
    owner: str
    """The one who made the code."""
    preapproved: bool = False
    """The device joins without a person who compares the words."""
    profile_most: Profile = Profile.OPERATE
    """The profile that the code allows."""
    reason: str = ""
    """Why it was denied."""
    replaces: str = ""
    """The device whose name and labels this one takes on approval; it is revoked then."""
    state: Literal["open", "asking", "approved", "denied", "used", "expired"] = "open"
    token: str = ""
    """The token with which it was made, and with which it ends."""
    used: int = 0
    """How many devices have used the code."""
    words: str = ""
    """The words that both screens show."""


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
    failed_here: int = 0
    """In how many of the failed ones a task failed whose last attempt was on this device."""
