"""What the engine counts of itself, and the clock by which it measures; nothing depends on either."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Counts:
    """What the engine has done, for `/metrics`."""

    commits: int = 0
    inputs: int = 0
    events: int = 0
    slow_steps: int = 0
    failed_steps: int = 0
    retaken: int = 0
    ignored: dict[str, int] = field(default_factory=dict)


class Measured(Protocol):
    """A clock of which spans can be measured, in seconds."""

    def __call__(self) -> float: ...
