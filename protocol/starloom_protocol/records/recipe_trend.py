"""The trend of a recipe: its last runs beside each other, and one sentence on what has changed. Read by clients."""

from __future__ import annotations

import msgspec

from starloom_protocol.records.run_report import Phase
from starloom_protocol.vocabulary import ConstellationState


class TrendRun(msgspec.Struct, frozen=True, kw_only=True):
    """One ended run, in figures of its report."""

    attempts: int
    checks_passed: int
    constellation: str
    created_at: str
    makespan_ms: int
    micros: int
    """Millionths of a dollar for the model."""
    mended: int
    """Failures that were tried again, moved to another device, or gone round."""
    state: ConstellationState
    tasks: int
    wait: Phase | None
    """The cause for which it waited longest; None where it did not wait."""
    wait_ms: int
    width_mean: float
    work_ms: int


class RecipeTrend(msgspec.Struct, frozen=True, kw_only=True):
    """The last runs of a recipe, the newest first. `more`: there are earlier ones that are not looked at."""

    more: bool
    recipe: str
    runs: list[TrendRun]
    sentence: str
