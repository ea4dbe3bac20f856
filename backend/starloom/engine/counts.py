"""The engine's counters and the clock for its measurements; no behaviour depends on either."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Counts:
    """The counters of the engine's work, for `/metrics`."""

    commits: int = 0
    inputs: int = 0
    events: int = 0
    slow_steps: int = 0
    failed_steps: int = 0
    retaken: int = 0
    ignored: dict[str, int] = field(default_factory=dict)


class Measured(Protocol):
    """A monotonic clock for measuring spans, in seconds."""

    def __call__(self) -> float: ...
