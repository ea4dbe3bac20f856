"""What a device asks its owner before a call, as the hub keeps it. Entities of `fleet` and their parts.

A copy for people to see and answer: the device's own file decides. Holds no judgement.
"""

from __future__ import annotations

from starloom_protocol.record import Record


class OwnerAsk(Record, frozen=True, kw_only=True):
    """One open question as the device tells it, in an `asks` frame.

    `action` names this one asking: the hash of tool, arguments, task and a number used once. `args` is text to show,
    without secrets and perhaps cut. After `left_s` the device itself counts it as denied.
    """

    action: str
    args: str = ""
    constellation: str = ""
    id: str
    left_s: int
    task: str = ""
    tool: str


class PendingAsk(Record, frozen=True, kw_only=True):
    """One question of a device that waits; `answer` is empty until somebody answered here."""

    action: str
    answer: str = ""
    answered_by: str = ""
    answered_ms: int = 0
    args: str = ""
    asked_ms: int
    constellation: str = ""
    expires_ms: int
    id: str
    reason: str = ""
    task: str = ""
    tool: str


class DeviceAsks(Record, frozen=True, kw_only=True):
    """All that one device asks at the moment; there is none of a device that asks nothing.

    `answers` is that device's own policy: `hub` takes an answer from a person here, `here` only one typed on it.
    """

    answers: str
    device: str
    open: list[PendingAsk] = []
