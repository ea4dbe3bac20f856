"""The answers about the runs of saved recipes: counts, the trial, and why the hub went back a version. Pure."""

from __future__ import annotations

from starloom.core.people.recipes.runs import runs_of
from starloom.core.state.settings import TRIAL_RUNS
from starloom_protocol.api.recipes import RunsRow, TrustRow
from starloom_protocol.records.entities import RecipeRuns, RecipeVersion, VersionRuns
from starloom_protocol.text.wording import moment


def runs_row(runs: VersionRuns) -> RunsRow:
    """Return the runs of one version."""
    return {
        "clean": runs.clean,
        "failed": runs.failed,
        "last_clean_at": moment(runs.clean_ms),
        "last_clean": runs.clean_id,
        "last_failed_at": moment(runs.failed_ms),
        "last_failed": runs.failed_id,
    }


def version_runs_row(runs: RecipeRuns | None, number: int) -> RunsRow:
    """Return the runs of a version, all 0 for one that never ran."""
    return runs_row(VersionRuns(number=number) if runs is None else runs_of(runs, number))


def trust_row(runs: RecipeRuns | None, newest: RecipeVersion) -> TrustRow:
    """Return how far a saved recipe is trusted, with the runs of all its kept versions together."""
    runs = runs or RecipeRuns(name=newest.name)
    clean = max(runs.versions, key=lambda one: one.clean_ms, default=VersionRuns(number=0))
    failed = max(runs.versions, key=lambda one: one.failed_ms, default=VersionRuns(number=0))
    together = VersionRuns(
        clean=sum(one.clean for one in runs.versions),
        clean_id=clean.clean_id,
        clean_ms=clean.clean_ms,
        failed=sum(one.failed for one in runs.versions),
        failed_id=failed.failed_id,
        failed_ms=failed.failed_ms,
        number=newest.number,
    )
    return {
        "author": newest.author,
        "trial": runs.trial,
        "in_a_row": runs.in_a_row,
        "needed": TRIAL_RUNS,
        "source": runs.source,
        "went_back": newest.because,
        "back_from": newest.back_from,
        "unread": runs.told == newest.number,
        "runs": runs_row(together),
    }
