"""Standing approvals of people, and the calls that an approval is about. Entities of `fleet` and their parts.

Holds no judgement: `core.people.approvals` decides which calls an approval covers.
"""

from __future__ import annotations

from starloom_protocol.record import Record
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
