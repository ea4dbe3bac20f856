"""Versions of saved recipes and their runs: counts by version, the trial of one from a proposal, and the way back.

Owns when a recipe goes back to its version before: only runs of the person who saved a version decide it. All counts
are records of the fleet, so a log that is folded again decides the same. Starts no run and writes no recipe text but
the number of its version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import RecipeSeen
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.work import Put, Refusal, Work, check_reader, fault
from starloom_protocol.records.entities import RecipeRuns, RecipeVersion, VersionRuns
from starloom_protocol.stream.authors import ENGINE, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, ConstellationState, PrincipalKind, Reason, TaskState

VERSIONS_KEPT: Final = 20
CLEAN, FAILED = "c", "f"
"""The letters of `VersionRuns.ends`: one for each of the last runs, the newest last."""
ENDS_KEPT: Final = 8
FAILING: Final = 2
FAILING_OF: Final = 3
"""A version does not work any more if `FAILING` of its last `FAILING_OF` runs failed."""
OF_THE_RECIPE: Final = frozenset(
    {
        Code.BAD_ARGUMENTS,
        Code.CHECK_FAILED,
        Code.CONDITION_UNMET,
        Code.DEVICE_OUTSIDE,
        Code.EXIT_CODE,
        Code.FACT_TOO_BIG,
        Code.FILE_NOT_FOUND,
        Code.GOAL_UNMET,
        Code.MOMENT_OUTSIDE,
        Code.NOT_A_LIST,
        Code.NO_VALUE,
        Code.NO_WINNER,
        Code.OUTPUT_TOO_BIG,
        Code.TOOL_FAILED,
        Code.UNKNOWN_OUTPUT,
        Code.WRONG_TYPE,
    }
)
"""Causes in the calls and conditions of a plan. Any other end is by a device, its owner, a model or the hub."""
_OF_A_PERSON: Final = (f"{PrincipalKind.PERSON}:", f"{PrincipalKind.PROGRAM}:", f"{PrincipalKind.ASSISTANT}:")
_VERSION_LINE: Final = re.compile(r"^version:.*$", re.MULTILINE)


def saved_versions(shard: Shard, name: str) -> list[RecipeVersion]:
    """Return the kept versions of a recipe, oldest first."""
    versions = [record for record in shard.fleet.recipes.values() if record.name == name]
    return sorted(versions, key=lambda record: record.number)


def owner_of(versions: Sequence[RecipeVersion], number: int) -> str:
    """Return the person who saved a kept version; of one that the hub took back, the one who saved that text first."""
    saved = next((version for version in versions if version.number == number), None)
    if saved is None or saved.author != ENGINE:
        return "" if saved is None else who(saved.author)
    text = numbered(saved.text, 0)
    earlier = (old for old in reversed(versions) if old.number < number and old.author != ENGINE)
    return next((who(old.author) for old in earlier if numbered(old.text, 0) == text), "")


def key_of(version: RecipeVersion) -> str:
    """Return the id under which a version is kept."""
    return f"{version.name}/{version.number}"


def removals_before_one_more(versions: list[RecipeVersion]) -> list[Put]:
    """Return the removals of the oldest kept versions before one more is added."""
    return [("recipe", key_of(old), None) for old in versions[: max(0, len(versions) + 1 - VERSIONS_KEPT)]]


def numbered(text: str, number: int) -> str:
    """Write the version that the hub gives into the text, so that what is exported says which one it is."""
    if text.lstrip().startswith("{"):
        return text
    return _VERSION_LINE.sub(f"version: {number}", text, count=1)


def version_now(shard: Shard, name: str) -> int:
    """Return the newest version of a saved recipe; 0 for none, and where runs are not counted."""
    if not shard.settings.trial_runs:
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
    runs = fleet.recipe_runs.get(name) or RecipeRuns(name=name)
    is_owners_run = _is_of_its_owner(work.shard, head.author, name, number)
    in_a_row = (runs.in_a_row + 1 if end == CLEAN else 0) if is_owners_run else runs.in_a_row
    version_runs = _with_end(runs_of(runs, number), end, head.id, work.at_ms, is_owners_run=is_owners_run)
    runs_after = replace(
        runs,
        in_a_row=in_a_row,
        trial=runs.trial and in_a_row < work.shard.settings.trial_runs,
        versions=_with(runs.versions, version_runs),
    )
    note = f"version {number}: {'clean' if end == CLEAN else 'failed'}"
    work.emit(fleet, EventKind.RECIPE_RAN, name, [("recipe_runs", name, runs_after)], note=note, by=ENGINE)
    if is_owners_run and end == FAILED and number == version_now(work.shard, name):
        _go_back(work, runs_after, number)


def on_seen(work: Work, item: RecipeSeen) -> None:
    """Note that a person has read that a recipe went back; others are shown it as before."""
    check_reader(work.by)
    runs, reader = work.shard.fleet.recipe_runs.get(item.name), who(work.by)
    if runs is None or not runs.told or reader in runs.seen:
        hint = "See `starloom recipe show NAME`."
        raise Refusal(fault(Code.NOT_FOUND, f"{item.name[:64]} has no notice to read", "name", hint))
    put: Put = ("recipe_runs", item.name, replace(runs, seen=[*runs.seen, reader]))
    work.emit(work.shard.fleet, EventKind.RECIPE_SEEN, item.name, [put])
    work.answer({"name": item.name})


def after_saving(runs: RecipeRuns | None, name: str, numbers: set[int], *, source: str) -> RecipeRuns | None:
    """Return the runs of a recipe after a version was saved; `source` is the constellation of a kept proposal."""
    if runs is None:
        return RecipeRuns(name=name, source=source, trial=True) if source else None
    return replace(runs, seen=[], told=0, versions=[one for one in runs.versions if one.number in numbers])


def runs_of(runs: RecipeRuns, number: int) -> VersionRuns:
    """Return the runs of one version, all 0 before its first one."""
    return next((one for one in runs.versions if one.number == number), VersionRuns(number=number))


def fails(runs: VersionRuns) -> bool:
    """Return whether the last runs of a version say that it does not work any more."""
    return runs.ends[-FAILING_OF:].count(FAILED) >= FAILING


def _with(versions: list[VersionRuns], changed: VersionRuns) -> list[VersionRuns]:
    others = [one for one in versions if one.number != changed.number]
    return sorted([*others, changed], key=lambda one: one.number)


def _with_end(runs: VersionRuns, end: str, constellation: str, at_ms: int, *, is_owners_run: bool) -> VersionRuns:
    """Return the counts after one more run; only a run of the recipe's owner is among the ends that decide."""
    ends = (runs.ends + end)[-ENDS_KEPT:] if is_owners_run else runs.ends
    if end == CLEAN:
        return replace(runs, clean=runs.clean + 1, clean_id=constellation, clean_ms=at_ms, ends=ends)
    return replace(runs, ends=ends, failed=runs.failed + 1, failed_id=constellation, failed_ms=at_ms)


def _is_of_its_owner(shard: Shard, author: str, name: str, number: int) -> bool:
    """Return whether a run is by the person who saved that version; runs of others decide nothing."""
    return who(author) == owner_of(saved_versions(shard, name), number)


def _end_of(constellation: Constellation) -> str | None:
    """Return how a run counts; None for one that a person changed or ended, or whose failures are not by its plan."""
    state = constellation.head.state
    if state not in (ConstellationState.SUCCEEDED, ConstellationState.FAILED, ConstellationState.PARTIAL):
        return None
    if constellation.head.given_up or _is_changed_by_a_person(constellation):
        return None
    broken = [name for name, record in constellation.tasks.items() if record.state is TaskState.FAILED]
    if state is ConstellationState.SUCCEEDED:
        return None if broken else CLEAN
    return FAILED if any(_is_by_the_plan(constellation, name) for name in broken) else None


def _is_changed_by_a_person(constellation: Constellation) -> bool:
    edits = (version for key, version in constellation.versions.items() if key != "1")
    return any(version.author.startswith(_OF_A_PERSON) for version in edits) or any(
        record.marked is not None
        or record.state is TaskState.CANCELLED
        or record.reason in (Reason.SKIPPED_BY_PERSON, Reason.MARKED)
        for record in constellation.tasks.values()
    )


def _is_by_the_plan(constellation: Constellation, task: str) -> bool:
    """Return whether the plan is the cause of a failure, as far as code can tell.

    A call that fails on one device and goes well on another, in the same list, says something of that device.
    """
    spec, record = constellation.specs[task], constellation.tasks[task]
    if record.code not in OF_THE_RECIPE:
        return False
    beside = (
        constellation.tasks[other.id]
        for other in constellation.specs.values()
        if spec.group is not None
        and (other.group, other.tool, other.args) == (spec.group, spec.tool, spec.args)
        and other.id in constellation.tasks
    )
    return not any(one.state is TaskState.SUCCEEDED and one.device != record.device for one in beside)


def _is_settled(versions: list[RecipeVersion]) -> bool:
    """Return whether the newest text is that of the version before, or one that a person took back from the hub."""
    texts = {version.number: numbered(version.text, 0) for version in versions}
    taken_back = [texts.get(version.back_from) for version in versions if version.back_from]
    return texts[versions[-1].number] in (texts[versions[-2].number], *taken_back)


def _go_back(work: Work, runs: RecipeRuns, number: int) -> None:
    """Make the version before the newest one the next version, if the newest fails and that one worked."""
    versions = saved_versions(work.shard, runs.name)
    earlier = versions[-2] if len(versions) > 1 else None
    if earlier is None or not fails(runs_of(runs, number)):
        return
    if owner_of(versions, earlier.number) != owner_of(versions, number):
        return
    before = runs_of(runs, earlier.number)
    if CLEAN not in before.ends or fails(before) or _is_settled(versions):
        return
    last = runs_of(runs, number).ends[-FAILING_OF:]
    because = (
        f"version {number} failed in {last.count(FAILED)} of its last {len(last)} runs; "
        f"version {earlier.number} had {before.clean} clean run{'s' if before.clean != 1 else ''}"
    )
    version = RecipeVersion(
        at_ms=work.at_ms,
        author=ENGINE,
        back_from=number,
        because=because,
        name=runs.name,
        number=number + 1,
        text=numbered(earlier.text, number + 1),
        title=earlier.title,
    )
    puts: list[Put] = [
        ("recipe", key_of(version), version),
        *removals_before_one_more(versions),
        ("recipe_runs", runs.name, replace(runs, in_a_row=0, seen=[], told=version.number)),
    ]
    work.emit(work.shard.fleet, EventKind.RECIPE_WENT_BACK, runs.name, puts, note=because, by=ENGINE)
