"""Words that fit a recipe on trial: the planning job starts nothing by them, and offers the recipe to a model."""

from __future__ import annotations

from starloom.jobs.kinds.planning import plan_of
from starloom.planner.recipes.catalogue import Catalogue, load_catalogue, with_saved
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, Head, RecipeRuns, RecipeVersion
from starloom_protocol.vocabulary import Code, ConstellationState
from tests.planner.fleets import device, fleet

WORDS = "count unpaid papers at nas"
TEXT = """
starloom_recipe: 1
name: papers
title: Papers
version: 1
phrases: ["count unpaid papers at {nas}"]
params: {nas: {type: device}}
plan: {starloom: 1, name: P, tasks: [{id: a, tool: fs.find, device: {param: nas}, args: {root: Papers}}]}
"""
HEAD = Head(author="person:ann", created_ms=1, id="c-1", name="", request=WORDS, state=ConstellationState.PLANNING)
FLEET = fleet(device("nas"))


def catalogue(*, trial: bool) -> Catalogue:
    version = RecipeVersion(at_ms=1, author="person:ann", name="papers", number=1, text=TEXT, title="Papers")
    return with_saved(load_catalogue(), [version], [RecipeRuns(name="papers", source="c-0", trial=trial)])


def test_a_recipe_on_trial_is_left_to_a_model_or_a_person() -> None:
    found = plan_of(HEAD, FLEET, catalogue(trial=True))
    assert isinstance(found, Fault)
    assert (found.code, "Papers" in found.reason) == (Code.RECIPE_ON_TRIAL, True)


def test_a_trusted_one_is_planned_without_a_model() -> None:
    found = plan_of(HEAD, FLEET, catalogue(trial=False))
    assert isinstance(found, LoweredPlan)
    assert found.recipe == "papers"
