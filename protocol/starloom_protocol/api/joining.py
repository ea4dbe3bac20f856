"""Answers to devices outside a connection: joining, leaving, upgrading; and the questions to their owners."""

from __future__ import annotations

from typing import Generic, NotRequired, TypedDict, TypeVar

from starloom_protocol.api.approvals import NamedDevice

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
    """The agent that this hub hands out: the hash of its list of packages, and its wheels."""

    requirements: str
    wheels: list[WheelRow]


class AskRow(TypedDict):
    """A question of a device to its owner; `line` answers it on the device."""

    id: str
    action: str
    answer: str | None
    answered_by: str | None
    answers: str
    args: str
    asked_at: str | None
    constellation: str
    constellation_name: str
    device: NamedDevice
    expires_at: str | None
    line: str
    task: str
    tool: str
