"""The settings of the engine, which `starloom.app` makes from those of the hub. Reads no file and no variable."""

from __future__ import annotations

from dataclasses import dataclass, field

from starloom.core.clock.retention import HistoryLimits
from starloom.core.state.settings import ShardSettings

QUIET_LEAST_MS = 5_000
"""A client whose wait has ended reads the answer with its next request, which comes within seconds."""


@dataclass(frozen=True, slots=True)
class FinishedRetention:
    """The time that a finished constellation is held after its last write, and the most of them that are held.

    Above the caps the longest quiet leave first, but none before `QUIET_LEAST_MS`: clients that waited for its end read
    it then.
    """

    quiet_ms: int = 600_000
    constellations_most: int = 100
    tasks_most: int = 20_000


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Durations in milliseconds. The shard is checked against its invariants every `check_every` commits; 0: never.

    `polite`: the shard is taken only if no other hub holds it.
    """

    owner: str
    polite: bool = False
    renew_ms: int = 1_250
    lease_ttl_ms: int = 15_000
    lease_grace_ms: int = 5_000
    backoff_first_ms: int = 1_000
    backoff_most_ms: int = 30_000
    check_every: int = 0
    keeping: FinishedRetention = field(default_factory=FinishedRetention)
    history: HistoryLimits = field(default_factory=HistoryLimits)
    prune_every_ms: int = 600_000
    random_placement: bool = False
    experience: bool = True

    def shard_settings(self) -> ShardSettings:
        """Return the settings by which the core decides."""
        settings = ShardSettings(
            ttl_ms=self.lease_ttl_ms,
            grace_ms=self.lease_grace_ms,
            absence_margin_ms=min(2_000, self.lease_ttl_ms // 8),
            backoff_first_ms=self.backoff_first_ms,
            backoff_most_ms=self.backoff_most_ms,
        )
        settings.random_placement = int(self.random_placement)
        if not self.experience:
            settings.pace_rows_most = settings.spending_rows_most = settings.hedge_at_p90 = 0
            settings.proposals_most = settings.trial_runs = 0
        return settings
