"""The limits and durations that decisions need. Decides nothing, and reads no file and no environment."""

from __future__ import annotations

from typing import Final

PATIENCE_MOST_MS: Final = 120_000
"""Longer than a hub is away that is upgraded or restarted with its computer."""

TRIAL_RUNS: Final = 3
"""After so many clean runs in a row words start a recipe that was kept from a proposal."""


class ShardSettings:
    """The limits and durations that decisions need; durations in milliseconds."""

    __slots__ = (
        "absence_margin_ms",
        "approval_ms",
        "backoff_first_ms",
        "backoff_most_ms",
        "binds_approvals",
        "dependencies_most",
        "fences_most",
        "grace_ms",
        "grows_patience",
        "hedge_after_ms",
        "hedge_at_p90",
        "hedge_times",
        "keeps_courses",
        "keeps_reopenings",
        "kept_results_most",
        "names_pauses",
        "pace_rows_most",
        "patience_most_ms",
        "probe_first_ms",
        "probe_most_ms",
        "proposals_most",
        "quarantine_at",
        "random_placement",
        "refusals_most",
        "restarts_waits",
        "return_ms",
        "rule_firings_most",
        "schedule_apart_ms",
        "schedules_most",
        "spending_rows_most",
        "standing_most",
        "suspect_at",
        "tasks_most",
        "trial_runs",
        "ttl_ms",
    )

    def __init__(
        self,
        *,
        ttl_ms: int = 15_000,
        grace_ms: int = 5_000,
        absence_margin_ms: int = 2_000,
        backoff_first_ms: int = 1_000,
        backoff_most_ms: int = 30_000,
        schedule_apart_ms: int = 60_000,
        schedules_most: int = 200,
        approval_ms: int = 86_400_000,
    ) -> None:
        self.ttl_ms = ttl_ms
        self.grace_ms = grace_ms
        self.absence_margin_ms = absence_margin_ms
        self.backoff_first_ms = backoff_first_ms
        self.backoff_most_ms = backoff_most_ms
        self.schedule_apart_ms = schedule_apart_ms
        self.schedules_most = schedules_most
        self.approval_ms = approval_ms
        self.binds_approvals = 2
        self.standing_most = 500
        self.suspect_at = 3
        self.quarantine_at = 6
        self.probe_first_ms = 30_000
        self.probe_most_ms = 600_000
        self.grows_patience = 1
        self.hedge_after_ms = 10_000
        self.hedge_at_p90 = 1
        self.hedge_times = 3
        self.keeps_courses = 1
        self.keeps_reopenings = 1
        self.kept_results_most = 1_000
        self.names_pauses = 1
        self.pace_rows_most = 2_000
        self.patience_most_ms = PATIENCE_MOST_MS
        self.proposals_most = 20
        self.spending_rows_most = 500
        self.trial_runs = TRIAL_RUNS
        self.random_placement = 0
        self.refusals_most = 10
        self.restarts_waits = 1
        self.fences_most = 10
        self.return_ms = 10_000
        self.rule_firings_most = 100
        self.tasks_most = 10_000
        self.dependencies_most = 100_000
