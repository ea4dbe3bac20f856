"""Answers about devices: the fleet, its tools, join codes, and the questions of devices to their owners.

Also the answers to devices that have no connection: joining, leaving, upgrading. Types only.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from starloom_protocol.api.approvals import NamedDevice
from starloom_protocol.api.service import QrCode
from starloom_protocol.vocabulary import DeviceLink, Effect, Profile, Repeatability


class HealthRow(TypedDict):
    """The health of a device: its state, and the faults that count."""

    state: str
    faults: int


class DeviceState(TypedDict):
    """A device without its tools; `slow` says where past runs show that it takes much longer than its peers.

    `former_names` still mean it in plans, schedules and commands. `hub_computer` is `own` for the computer that keeps
    the hub, and `former` for one that kept it before.
    """

    id: str
    name: str
    former_names: list[str]
    os: str
    labels: list[str]
    profile: Profile
    profile_most: Profile
    over: str
    link: DeviceLink
    link_since: str | None
    load: str
    draining: bool
    drain_reason: str
    drain_until: str | None
    reserved: bool
    quarantined: bool
    aside: str
    refused: str
    remembers: str
    health: HealthRow
    revoked: bool
    left: bool
    forgotten: bool
    demo: bool
    hub_computer: Literal["own", "former", ""]
    joined_at: str | None
    version: str
    older_than: str
    session: int
    condition: dict[str, str]
    facts: dict[str, str]
    grants: list[str]
    slots: int
    running: int
    slow: str


class DeviceRow(DeviceState):
    """A device with the names of the tools that it has now."""

    tools: list[str]


class ToolRow(TypedDict):
    """A tool of one device with its schemas, and why it is unavailable."""

    name: str
    title: str
    effects: list[Effect]
    repeatability: Repeatability
    grant: str | None
    self_verified: bool
    unavailable: str | None
    args: Any
    returns: Any


class PageAddress(TypedDict):
    """The address of a page and its QR code."""

    url: str
    qr: QrCode


class DeviceDetail(DeviceState):
    """A device with its tools; `open` is where a person opens the page of a tab that is asleep."""

    tools: list[ToolRow]
    open: PageAddress | None


class ToolDevice(TypedDict):
    """A device that offers a tool."""

    id: str
    name: str
    link: DeviceLink
    effects: list[Effect]
    unavailable: str | None


class Capability(TypedDict):
    """A tool and the devices that offer it; its effects are those that it has on any device."""

    tool: str
    title: str
    effects: list[Effect]
    repeatability: Repeatability
    grant: str | None
    devices: list[ToolDevice]


class RefusedRow(TypedDict):
    """A refusal at a door of the hub, and how often it was repeated."""

    at: str | None
    door: str
    address: str
    who: str
    code: str
    reason: str
    times: int
    enrollment: str


class EnrollmentRow(TypedDict):
    """A join code, or a device that joins by one."""

    id: str
    state: str
    label: str
    labels: list[str]
    name: str
    os: str
    device: str | None
    words: str
    profile_most: Profile
    replaces: str
    preapproved: bool
    demo: bool
    owner: str
    reason: str
    devices: int
    used: int
    code_of: str
    created_at: str | None
    expires_at: str | None


class Enrollments(TypedDict):
    """Join codes and joining devices, and the latest refusals."""

    items: list[EnrollmentRow]
    next: str | None
    refused: list[RefusedRow]


class EnrollmentDetail(EnrollmentRow):
    """A join code with the devices that were refused with it."""

    refused: list[RefusedRow]


class LanWays(TypedDict):
    """The lines by which a device of the local network joins."""

    url: str
    pin: str
    words: str
    line: str
    windows_line: str
    agent_line: str


class PhoneWay(TypedDict):
    """The address that a phone opens, or `why` there is none and the way out."""

    url: str
    why: str
    way_out: NotRequired[str]
    qr: QrCode | None
    words: str
    warning: str


class JoinWays(TypedDict):
    """Every way to use a join code."""

    code: str
    url: str
    line: str
    windows_line: str
    agent_line: str
    ssh_line: str
    lan: LanWays | None
    phone: PhoneWay


class NewEnrollment(EnrollmentRow, JoinWays):
    """A join code, shown this once, with every way to use it."""


Said = TypeVar("Said")


class JoinState(TypedDict):
    """A device that joins, as it sees itself; `reason` says why it may not."""

    enrollment: str
    state: str
    device: str | None
    labels: list[str]
    name: str
    words: str
    hub_key: str
    owner: str
    profile_most: Profile
    reason: NotRequired[str]


class WheelRow(TypedDict):
    """A wheel of the agent, named with its hash."""

    name: str
    version: str
    file: str
    sha256: str
    bytes: int


class SignedAnswer(TypedDict, Generic[Said]):
    """An answer that the hub has signed for one device."""

    answer: Said
    signature: str


class LeftHub(TypedDict):
    """A device that has left the hub."""

    left: bool
    name: str


class OfferedAgent(TypedDict):
    """The agent that this hub hands out: the hash of its list of packages, and its wheels; `name` is the device's."""

    name: str
    requirements: str
    wheels: list[WheelRow]


class AskRow(TypedDict):
    """A question of a device to its owner; `line` answers it on the device."""

    id: str
    action: str
    answer: str | None
    answered_at: str | None
    answered_by: str | None
    answers: str
    reason: str
    args: str
    asked_at: str | None
    constellation: str
    constellation_name: str
    device: NamedDevice
    expires_at: str | None
    line: str
    task: str
    tool: str
