"""Saved recipes: one entity a version, never changed, in the stream `fleet`. Does not run them.

The edge checks a recipe's text; this module decides whether it may become the next version of its name.
"""

from __future__ import annotations

from shlex import quote

from starloom.core.people.recipes import proposals, runs
from starloom.core.people.recipes.runs import key_of, owner_of, removals_before_one_more, saved_versions
from starloom.core.rights.authorship import check_recipe
from starloom.core.state.inputs import RecipeRemoved, RecipeSaved
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.entities import RecipeVersion
from starloom_protocol.stream.authors import told_name, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, ScheduleState

RECIPES_MOST = 200
"""The words of a request are compared with the phrases of each."""
TEXT_CHARS_MOST = 64 * 1024
"""A recipe is one event, and part of the state of the fleet."""
ALL_CHARS_MOST = 4 * 1024 * 1024
"""All versions of all recipes are state in memory and in Redis."""


def on_recipe_saved(work: Work, item: RecipeSaved) -> None:
    """Save a recipe as the version after the one that its writer saw; of two writers at the same time one wins."""
    check_recipe(item.by, item.secrets, unapproved=item.unapproved, says=item.says, approves=item.approves)
    versions = saved_versions(work.shard, item.name)
    newest = versions[-1].number if versions else 0
    if item.base_version != newest:
        reason = (
            f"there is a recipe {item.name} already, at version {newest}"
            if item.base_version == 0
            else f"{item.name} is at version {newest}, not {item.base_version}"
        )
        hint = f"Look at it, then save with base_version {newest}; or choose another name."
        raise Refusal(fault(Code.CONFLICT, reason, "name", hint))
    _check_own(versions, item.by, approves=item.approves)
    _check_room(work, item, is_new=not versions)
    proposal = proposals.open_proposal(work, item.proposal) if item.proposal else None
    version = RecipeVersion(
        approves=item.approves,
        at_ms=work.at_ms,
        author=item.by,
        name=item.name,
        number=newest + 1,
        text=item.text,
        title=item.title,
    )
    removals = removals_before_one_more(versions)
    puts: list[Put] = [("recipe", key_of(version), version), *removals]
    numbers_left = {version.number for version in versions[len(removals) :]}
    runs_before = work.shard.fleet.recipe_runs.get(version.name)
    source = proposal.constellation if proposal else ""
    runs_after = runs.after_saving(runs_before, version.name, numbers_left, source=source)
    if runs_after != runs_before:
        puts.append(("recipe_runs", version.name, runs_after))
    work.emit(work.shard.fleet, EventKind.RECIPE_SAVED, version.name, puts, note=item.reason)
    if proposal is not None:
        proposals.close(work, proposal, proposals.KEPT, recipe=version.name)
    work.answer({"name": version.name, "version": version.number})


def on_recipe_removed(work: Work, item: RecipeRemoved) -> None:
    """Remove all versions of a recipe; constellations made from it continue, because a plan holds no recipe."""
    versions = saved_versions(work.shard, item.name)
    if not versions:
        raise Refusal(fault(Code.UNKNOWN_RECIPE, f"nobody has saved a recipe {item.name[:64]} here", "name"))
    _check_own(versions, item.by, approves=item.approves)
    if not item.anyway:
        _check_unscheduled(work, item.name)
    puts: list[Put] = [("recipe", key_of(old), None) for old in versions]
    if item.name in work.shard.fleet.recipe_runs:
        puts.append(("recipe_runs", item.name, None))
    work.emit(work.shard.fleet, EventKind.RECIPE_REMOVED, item.name, puts, note=item.reason)
    work.answer({"name": item.name})


def _check_own(versions: list[RecipeVersion], by: str, *, approves: bool) -> None:
    """Refuse to replace or remove the recipe of somebody else to an author who may not approve.

    Others start it by its name and trust its text as that of the person who keeps it.
    """
    owner = owner_of(versions, versions[-1].number) if versions else who(by)
    if approves or owner == who(by):
        return
    newest = versions[-1]
    reason = f"{told_name(owner or newest.author)} keeps {newest.name}, and {who(by)} may change own recipes only"
    hint = "Save yours under another name, or ask its owner or somebody who may answer approvals."
    raise Refusal(fault(Code.FORBIDDEN, reason, "name", hint))


def _check_unscheduled(work: Work, name: str) -> None:
    """Refuse where schedules run the recipe: each of their firings would fail, and that is seen much later."""
    schedules = work.shard.fleet.schedules.values()
    users = sorted(one.name for one in schedules if one.recipe == name and one.state is not ScheduleState.STOPPED)
    if users:
        reason = f"{name} is run by {'a schedule' if len(users) == 1 else 'schedules'}: {', '.join(users)}"
        hint = f"Change or remove them first. To remove it anyway: starloom recipe rm {quote(name)} --anyway."
        raise Refusal(fault(Code.CONFLICT, reason, "name", hint))


def _check_room(work: Work, item: RecipeSaved, *, is_new: bool) -> None:
    if len(item.text) > TEXT_CHARS_MOST:
        reason = f"the recipe has {len(item.text)} characters; at most {TEXT_CHARS_MOST} are kept"
        raise Refusal(fault(Code.PLAN_TOO_BIG, reason, "recipe"))
    all_kept = work.shard.fleet.recipes.values()
    if is_new and len({record.name for record in all_kept}) >= RECIPES_MOST:
        raise Refusal(fault(Code.TOO_MANY_RECIPES, f"{RECIPES_MOST} recipes are saved here already"))
    if sum(len(record.text) for record in all_kept) + len(item.text) > ALL_CHARS_MOST:
        reason = f"the saved recipes and their versions would pass {ALL_CHARS_MOST // 2**20} MiB together"
        raise Refusal(fault(Code.TOO_MANY_RECIPES, reason))
