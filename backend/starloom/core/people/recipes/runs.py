"""Versions of saved recipes and their runs: counts by version, the trial of one from a proposal, and the way back.

Integers and short texts only, by events of the fleet, so that a log decides again to the same. Starts nothing.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import RecipeSeen
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.entities import RecipeRuns, RecipeVersion, VersionRuns
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, ConstellationState, TaskState

VERSIONS_KEPT: Final = 20
_VERSION_LINE: Final = re.compile(r"^version:.*$", re.MULTILINE)


def saved_versions(shard: Shard, name: str) -> list[RecipeVersion]:
    """Return the kept versions of a recipe, oldest first."""
    kept = [record for record in shard.fleet.recipes.values() if record.name == name]
    return sorted(kept, key=lambda record: record.number)


def key_of(version: RecipeVersion) -> str:
    """Return the id under which a version is kept."""
    return f"{version.name}/{version.number}"


def giving_way(kept: list[RecipeVersion]) -> list[Put]:
    """Return the removals of the oldest kept versions before one more is added."""
    return [("recipe", key_of(old), None) for old in kept[: max(0, len(kept) + 1 - VERSIONS_KEPT)]]


def numbered(text: str, number: int) -> str:
    """Write the version that the hub gives into the text, so that what is exported says which one it is."""
    if text.lstrip().startswith("{"):
        return text
    return _VERSION_LINE.sub(f"version: {number}", text, count=1)


CLEAN, FAILED = "c", "f"
ENDS_KEPT: Final = 8
FAILING: Final = 2
FAILING_OF: Final = 3
"""A version fails if so many of its last runs did."""
OF_A_DEVICE: Final = frozenset(
    {
        Code.DECLINED,
        Code.DEVICE_REVOKED,
        Code.FENCED,
        Code.INTERRUPTED,
        Code.LOST,
        Code.MISSING_GRANT,
        Code.NETWORK,
        Code.NO_DEVICE,
        Code.NO_SPACE,
        Code.POLICY_REFUSED,
        Code.QUARANTINED,
        Code.SECRET_NOT_TAKEN,
        Code.SECRET_UNREADABLE,
        Code.TOOL_UNAVAILABLE,
    }
)
"""Ends by what a device or its owner is now; they say nothing of the plan."""


def version_now(shard: Shard, name: str | None) -> int:
    """Return the newest version of a saved recipe; 0 for none, and where runs are not counted."""
    if name is None or not shard.settings.trial_runs:
        return 0
    return max((version.number for version in saved_versions(shard, name)), default=0)


def count(work: Work, constellation: Constellation) -> None:
    """Count the end of a constellation for the version of the recipe from which its plan was made."""
    head, fleet = constellation.head, work.shard.fleet
    name, number = head.recipe or "", head.recipe_version
    if not work.shard.settings.trial_runs or not number or f"{name}/{number}" not in fleet.recipes:
        return
    end = _end_of(constellation)
    if end is None or head.origin is not None or head.undone_from is not None:
        return
    held = fleet.recipe_runs.get(name) or RecipeRuns(name=name)
    in_a_row = held.in_a_row + 1 if end == CLEAN else 0
    ran = replace(
        held,
        in_a_row=in_a_row,
        trial=held.trial and in_a_row < work.shard.settings.trial_runs,
        versions=_with(held.versions, _ended(runs_of(held, number), end, head.id, work.at_ms)),
    )
    note = f"version {number}: {'clean' if end == CLEAN else 'failed'}"
    work.emit(fleet, EventKind.RECIPE_RAN, name, [("recipe_runs", name, ran)], note=note, by="engine")
    if end == FAILED and number == version_now(work.shard, name):
        _go_back(work, ran, number)


def on_seen(work: Work, item: RecipeSeen) -> None:
    """Note that a person has read that a recipe went back."""
    held = work.shard.fleet.recipe_runs.get(item.name)
    if held is None or not held.told:
        hint = "See `starloom recipe show NAME`."
        raise Refusal(fault(Code.NOT_FOUND, f"{item.name[:64]} has no notice to read", "name", hint))
    put: Put = ("recipe_runs", item.name, replace(held, told=0))
    work.emit(work.shard.fleet, EventKind.RECIPE_SEEN, item.name, [put])
    work.answer({"name": item.name})


def after_saving(held: RecipeRuns | None, name: str, kept: set[int], *, source: str) -> RecipeRuns | None:
    """Return the runs of a recipe after a version was saved; `source` is the constellation of a kept proposal."""
    if held is None:
        return RecipeRuns(name=name, source=source, trial=True) if source else None
    return replace(held, told=0, versions=[one for one in held.versions if one.number in kept])


def runs_of(held: RecipeRuns, number: int) -> VersionRuns:
    """Return the runs of one version, all 0 before its first one."""
    return next((one for one in held.versions if one.number == number), VersionRuns(number=number))


def fails(runs: VersionRuns) -> bool:
    """Return whether the last runs of a version say that it does not work any more."""
    return runs.ends[-FAILING_OF:].count(FAILED) >= FAILING


def _with(versions: list[VersionRuns], changed: VersionRuns) -> list[VersionRuns]:
    others = [one for one in versions if one.number != changed.number]
    return sorted([*others, changed], key=lambda one: one.number)


def _ended(runs: VersionRuns, end: str, constellation: str, at_ms: int) -> VersionRuns:
    ends = (runs.ends + end)[-ENDS_KEPT:]
    if end == CLEAN:
        return replace(runs, clean=runs.clean + 1, clean_id=constellation, clean_ms=at_ms, ends=ends)
    return replace(runs, ends=ends, failed=runs.failed + 1, failed_id=constellation, failed_ms=at_ms)


def _end_of(constellation: Constellation) -> str | None:
    """Return how a run counts; None for one that a person ended, or that failed by a device alone."""
    state = constellation.head.state
    broken = [record for record in constellation.tasks.values() if record.state is TaskState.FAILED]
    if state is ConstellationState.SUCCEEDED:
        return None if broken else CLEAN
    if state not in (ConstellationState.FAILED, ConstellationState.PARTIAL):
        return None
    return FAILED if any(record.code not in OF_A_DEVICE for record in broken) else None


def _is_settled(versions: list[RecipeVersion]) -> bool:
    """Return whether the newest text is that of the version before, or one that a person took back from the hub."""
    texts = {version.number: numbered(version.text, 0) for version in versions}
    left = [texts.get(version.back_from) for version in versions if version.back_from]
    return texts[versions[-1].number] in (texts[versions[-2].number], *left)


def _go_back(work: Work, held: RecipeRuns, number: int) -> None:
    """Make the version before the newest one the next version, if the newest fails and that one worked."""
    versions = saved_versions(work.shard, held.name)
    earlier = versions[-2] if len(versions) > 1 else None
    if earlier is None or not fails(runs_of(held, number)):
        return
    before = runs_of(held, earlier.number)
    if not before.clean or fails(before) or _is_settled(versions):
        return
    last = runs_of(held, number).ends[-FAILING_OF:]
    because = (
        f"version {number} failed in {last.count(FAILED)} of its last {len(last)} runs; "
        f"version {earlier.number} had {before.clean} clean run{'s' if before.clean != 1 else ''}"
    )
    made = RecipeVersion(
        at_ms=work.at_ms,
        author="engine",
        back_from=number,
        because=because,
        name=held.name,
        number=number + 1,
        text=numbered(earlier.text, number + 1),
        title=earlier.title,
    )
    puts: list[Put] = [
        ("recipe", key_of(made), made),
        *giving_way(versions),
        ("recipe_runs", held.name, replace(held, in_a_row=0, told=made.number)),
    ]
    work.emit(work.shard.fleet, EventKind.RECIPE_WENT_BACK, held.name, puts, note=because, by="engine")
