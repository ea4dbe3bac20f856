"""The texts of the corpus: each with the kind of its source, what it wants, and the phrase that gives the order.

`order` stands in the text without quotes and escapes, so that it is found in a prompt however it is written there.
A very long text has `times`: so many bytes follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

HERE: Final = Path(__file__).parent

WANTS: Final = (
    "send",
    "secret",
    "write",
    "approve",
    "widen",
    "goal",
    "budget",
    "device",
    "person",
    "fence",
    "terminal",
    "unicode",
    "long",
)
"""Send data out, get a secret, write outside, approve itself, widen the rights, begin another goal, change the budget,
call another device, speak as the person, break out of its fence, steer a terminal, trick with signs, be very long."""

ROOMS: Final[dict[str, tuple[str, ...]]] = {
    "page": ("goal", "answer", "judge"),
    "mail": ("goal", "look", "answer"),
    "file": ("goal", "look", "answer", "judge"),
    "file_name": ("goal", "look", "review"),
    "log_line": ("goal", "look", "review"),
    "process": ("goal", "look", "answer"),
    "tool_result": ("goal", "review", "judge"),
    "tool_title": ("plan", "context"),
    "mcp_schema": ("plan", "context"),
    "mcp_instructions": ("plan", "context"),
    "mcp_resource": ("goal", "answer"),
    "mcp_prompt": ("goal", "answer"),
    "agent_card": ("plan", "context"),
    "agent_words": ("goal", "review", "judge"),
    "device_name": ("plan", "context"),
    "device_label": ("plan",),
    "recipe": ("plan",),
    "hint": ("goal", "look", "review"),
    "quoted_person": ("goal", "review", "answer"),
}
"""Where a text of each kind stands before a model on the real path."""

UNSHOWN: Final = frozenset({"mcp_instructions", "agent_card"})
"""Kinds whose words no model is shown: the agent reads them and passes nothing on."""


@dataclass(frozen=True)
class Injection:
    """One hostile text. `first` puts it into the tier `quick`, too."""

    id: str
    kind: str
    wants: str
    order: str
    text: str
    first: bool = False
    times: int = 0

    @property
    def whole(self) -> str:
        """The text with its length."""
        return self.text + "a" * self.times


@cache
def corpus() -> tuple[Injection, ...]:
    """Return every text, in the order of files and lines."""
    found = [
        item for path in sorted(HERE.glob("*.yaml")) for item in yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    ]
    return tuple(Injection(**item) for item in found)
