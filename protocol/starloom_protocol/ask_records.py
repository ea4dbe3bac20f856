"""Questions of devices to their owners before a call, as the hub keeps them. Entities of `fleet` and their parts.

They are copies for people to see and answer: the device's own file decides. Holds no judgement.
"""

from __future__ import annotations

from starloom_protocol.record import Record


class OwnerAsk(Record, frozen=True, kw_only=True):
    """One open question as the device sends it in an `asks` frame.

    `action` identifies this question: the hash of tool, arguments, task and a nonce. `args` is text for display,
    without secrets and possibly truncated. After `left_s` seconds the device counts the question as denied.
    """

    action: str
    args: str = ""
    constellation: str = ""
    id: str
    left_s: int
    task: str = ""
    tool: str


class PendingAsk(Record, frozen=True, kw_only=True):
    """One question of a device that waits for an answer; `answer` is empty until a person has answered on the hub."""

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
    """The open questions of one device; a device without open questions has no such entity.

    `answers` is the device's own policy: `hub` accepts an answer given on the hub, `here` only one typed on the device.
    """

    answers: str
    device: str
    open: list[PendingAsk] = []
