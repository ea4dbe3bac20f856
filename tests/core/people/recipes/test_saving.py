"""Saved recipes in the core: versions in order, one winner of two writers, bounded, forgotten whole."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.recipes import runs, saving
from starloom.core.state.inputs import RecipeRemoved, RecipeSaved
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.vocabulary import Code, ScheduleState
from tests.core.watched import WatchedDriver

TEXT = "starloom_recipe: 1\n"


def saved(number: int, **more: Any) -> RecipeSaved:
    fields = {"name": "mine", "text": TEXT, "title": "Mine", "base_version": number - 1, **more}
    return RecipeSaved(id=f"save-{number}-{fields['name']}", by="principal:mara", **fields)


def scheduled(identity: str, **more: Any) -> Schedule:
    fields = {"author": "principal:mara", "created_ms": 1, "cron": "@daily", "owner": "mara", "zone": "UTC", **more}
    return Schedule(id=identity, **fields)


@pytest.fixture
def watched() -> WatchedDriver:
    return WatchedDriver()


def kept(watched: WatchedDriver) -> list[str]:
    return sorted(watched.shard.fleet.recipes)


def test_versions_follow_one_another(watched: WatchedDriver) -> None:
    assert watched.do(saved(1)).value == {"name": "mine", "version": 1}
    assert watched.do(saved(2, text=TEXT + "# two\n")).value == {"name": "mine", "version": 2}
    record = watched.shard.fleet.recipes["mine/2"]
    assert (record.author, record.number, record.text) == ("principal:mara", 2, TEXT + "# two\n")
    assert kept(watched) == ["mine/1", "mine/2"]


def test_of_two_writers_who_saw_the_same_version_one_wins(watched: WatchedDriver) -> None:
    watched.do(saved(1))
    watched.do(saved(2))
    refused = watched.do(saved(2))
    assert [fault.code for fault in refused.faults] == [Code.CONFLICT]
    assert "at version 2, not 1" in refused.faults[0].reason
    again = watched.do(saved(1))
    assert "there is a recipe mine already" in again.faults[0].reason
    assert kept(watched) == ["mine/1", "mine/2"]


def test_old_versions_go_and_numbers_rise(watched: WatchedDriver) -> None:
    for number in range(1, runs.VERSIONS_KEPT + 4):
        assert not watched.do(saved(number)).faults
    numbers = sorted(record.number for record in watched.shard.fleet.recipes.values())
    assert numbers == list(range(4, runs.VERSIONS_KEPT + 4))


def test_what_is_kept_is_bounded(watched: WatchedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    long = watched.do(saved(1, text="x" * (saving.TEXT_CHARS_MOST + 1)))
    assert [fault.code for fault in long.faults] == [Code.PLAN_TOO_BIG]
    monkeypatch.setattr(saving, "ALL_CHARS_MOST", 3 * len(TEXT))
    monkeypatch.setattr(saving, "RECIPES_MOST", 2)
    assert not watched.do(saved(1)).faults
    assert not watched.do(saved(1, name="other")).faults
    third = watched.do(saved(1, name="third"))
    assert [fault.code for fault in third.faults] == [Code.TOO_MANY_RECIPES]
    assert not watched.do(saved(2)).faults
    full = watched.do(saved(3))
    assert [fault.code for fault in full.faults] == [Code.TOO_MANY_RECIPES]


def test_a_recipe_that_schedules_run_is_removed_only_anyway(watched: WatchedDriver) -> None:
    """Every later firing would fail, which nobody sees before its time."""
    watched.do(saved(1))
    for number, state in enumerate((ScheduleState.ACTIVE, ScheduleState.PAUSED, ScheduleState.STOPPED)):
        one = scheduled(f"s-{number}", name=f"nightly {number}", recipe="mine", state=state)
        watched.shard.fleet.schedules[one.id] = one
    refused = watched.do(RecipeRemoved(id="rm", by="principal:mara", name="mine"))
    assert [fault.code for fault in refused.faults] == [Code.CONFLICT]
    assert refused.faults[0].reason == "mine is run by schedules: nightly 0, nightly 1"
    assert "--anyway" in refused.faults[0].hint
    assert kept(watched) == ["mine/1"]
    assert not watched.do(RecipeRemoved(id="rm2", by="principal:mara", name="mine", anyway=True)).faults
    assert kept(watched) == []


def test_a_recipe_is_forgotten_with_all_its_versions(watched: WatchedDriver) -> None:
    watched.do(saved(1))
    watched.do(saved(2))
    watched.do(saved(1, name="mine-too"))
    assert not watched.do(RecipeRemoved(id="rm", by="principal:mara", name="mine")).faults
    assert kept(watched) == ["mine-too/1"]
    twice = watched.do(RecipeRemoved(id="rm2", by="principal:mara", name="mine"))
    assert [fault.code for fault in twice.faults] == [Code.UNKNOWN_RECIPE]
