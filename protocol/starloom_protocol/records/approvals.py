"""Records of approvals: the calls that one is about, standing approvals, and questions of devices to their owners.

Entities of `fleet` and their parts. The questions are copies for people to see and answer: the device's own file
decides. Holds no judgement: `core.people.approvals.need` decides which calls an approval covers.
"""

from __future__ import annotations

from starloom_protocol.bounds import Line, TaskName, Word
from starloom_protocol.records.record import Record
from starloom_protocol.vocabulary import Effect


class Call(Record, frozen=True, kw_only=True):
    """One call that a plan would make: a tool with whole arguments (canonical text), and the devices it may go to."""

    args: str = "{}"
    devices: list[str] = []
    effects: list[Effect] = []
    task: str
    tool: str


class Standing(Record, frozen=True, kw_only=True):
    """A standing approval: this tool with these arguments on these devices asks nobody until a person revokes it.

    `action` is the hash of tool and arguments; `constellation` is the one whose approval it came from.
    """

    action: str
    args: str = "{}"
    at_ms: int
    by: str
    constellation: str
    devices: list[str] = []
    effects: list[Effect] = []
    id: str
    tool: str


class OwnerAsk(Record, frozen=True, kw_only=True):
    """One open question as the device sends it in an `asks` frame.

    `action` identifies this question: the hash of tool, arguments, task and a nonce. `args` is text for display,
    without secrets and possibly truncated. After `left_s` seconds the device counts the question as denied.
    """

    action: Word
    args: Line = ""
    constellation: Word = ""
    id: Word
    left_s: int
    task: TaskName = ""
    tool: Word


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
