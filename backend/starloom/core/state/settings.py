"""The limits and durations that decisions need. Decides nothing, and reads no file and no environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE_MOST_MS: Final = 120_000
"""Longer than a hub is away that is upgraded or restarted with its computer."""

TRIAL_RUNS: Final = 3
"""After so many clean runs in a row words start a recipe that was kept from a proposal."""


@dataclass(slots=True, kw_only=True, eq=False)
class ShardSettings:
    """The limits and durations that decisions need, in the order of the record that a commit has of them.

    All are whole numbers. A rule that earlier hubs did not have is turned on by one that is not 0, so that their logs
    are decided again as they were:

    binds_approvals    an approval is bound to devices; from 2 on that of a preview, too
    grows_patience     the wait for an absent device grows with what its attempt is expected to take
    hedge_at_p90       a hedge is due by the calls that were measured on its device
    keeps_courses      a firing writes the course of its schedule, which is a record of its own
    keeps_reopenings   a head has the moment at which it was opened again; from 2 on the time between its rounds, too
    names_pauses       a paused schedule has who paused it, and why
    random_placement   devices are chosen at random, for a comparison
    restarts_waits     the wait of a ready task begins after a pause, an approval or a hold
    """

    absence_margin_ms: int = 2_000
    approval_ms: int = 86_400_000
    backoff_first_ms: int = 1_000
    backoff_most_ms: int = 30_000
    binds_approvals: int = 2
    dependencies_most: int = 100_000
    fences_most: int = 10
    grace_ms: int = 5_000
    grows_patience: int = 1
    hedge_after_ms: int = 10_000
    hedge_at_p90: int = 1
    hedge_times: int = 3
    keeps_courses: int = 1
    keeps_reopenings: int = 2
    kept_results_most: int = 1_000
    names_pauses: int = 1
    pace_rows_most: int = 2_000
    patience_most_ms: int = PATIENCE_MOST_MS
    probe_first_ms: int = 30_000
    probe_most_ms: int = 600_000
    proposals_most: int = 20
    quarantine_at: int = 6
    random_placement: int = 0
    refusals_most: int = 10
    restarts_waits: int = 1
    return_ms: int = 10_000
    rule_firings_most: int = 100
    schedule_apart_ms: int = 60_000
    schedules_most: int = 200
    spending_rows_most: int = 500
    standing_most: int = 500
    suspect_at: int = 3
    tasks_most: int = 10_000
    trial_runs: int = TRIAL_RUNS
    ttl_ms: int = 15_000
