"""Recipes distilled from plans: the words of the person with slots, the plan's constants, and never another plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from starloom.planner.recipes.catalogue import Catalogue, load_catalogue, plan_recipe, with_saved
from starloom.planner.recipes.plan_document import is_same
from starloom.planner.requests.distilling import Distilled, distil
from starloom.planner.requests.matching import Match, match, match_all
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import (
    Input,
    PlannerAnswer,
    RecipeProposal,
    RecipeRuns,
    RecipeVersion,
    TaskSpec,
    VersionRuns,
)
from tests.planner.corpus import read_corpus
from tests.planner.fleets import device, fleet

FLEET = fleet(device("laptop"), device("nas"), device("srv-b"))
BUILT_IN = load_catalogue()
RECIPES = BUILT_IN.all()
TASK: dict[str, Any] = {"id": "t1", "tool": "fs.find", "device": {"name": "nas"}, "args": {"root": "Invoices"}}


def lowered(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    made = check_plan({"starloom": 1, "name": "by a model", "tasks": list(tasks), **fields})
    assert made.plan is not None, made.faults
    return made.plan


def proposal(words: str, plan: LoweredPlan) -> RecipeProposal:
    return RecipeProposal(
        at_ms=1,
        constellation="c-1",
        id="0" * 24,
        owner="person:ann",
        plan=msgspec.json.encode(plan).decode(),
        request=words,
        shape="s",
    )


def made(words: str, *tasks: dict[str, Any], **fields: Any) -> Distilled:
    found = distil(proposal(words, lowered(*(tasks or (TASK,)), **fields)), RECIPES, FLEET)
    assert found is not None
    return found


def test_devices_and_folders_in_the_words_become_slots() -> None:
    found = made("count unpaid papers below Invoices at nas")
    assert found.phrase == "count unpaid papers below {root} at {nas}"
    assert (found.recipe.name, found.recipe.title) == (
        "count-unpaid-papers-below-invoices-at-nas",
        "Count unpaid papers below Invoices at nas",
    )
    params = {name: (param.type, param.default) for name, param in found.recipe.params.items()}
    assert params == {"root": ("path", "Invoices"), "nas": ("device", {"name": "nas"})}


def test_a_place_in_a_value_is_no_folder() -> None:
    task = {"id": "same", "tool": "fs.read", "args": {"path": "notes/prices.csv"}, "vote": {"n": 3, "on": "/text"}}
    found = made("read the prices three times", task)
    assert {name: param.type for name, param in found.recipe.params.items()} == {"path": "path"}


def test_other_words_of_that_form_make_the_plan_with_their_values() -> None:
    found = made("count unpaid papers below Invoices at nas")
    other = match("count unpaid papers below `Old bills` at laptop", [found.recipe], FLEET)
    assert other.outcome is Match.EXACT
    plan = plan_recipe(found.recipe, other.candidates[0].params, FLEET).plan
    assert plan is not None
    assert (plan.specs[0].args, plan.specs[0].device.name if plan.specs[0].device else "") == (
        '{"root":"Old bills"}',
        "laptop",
    )


def test_the_same_proposal_makes_the_same_recipe() -> None:
    words = "count unpaid papers below Invoices at nas"
    assert made(words) == made(words)


def test_numbers_and_addresses_are_slots_where_the_person_said_them() -> None:
    page = {"id": "t", "tool": "net.check", "device": {"name": "nas"}, "args": {"url": "https://shop.example/"}}
    wait = {"id": "u", "tool": "fs.find", "args": {"root": "Logs", "limit": 20, "deep": 3}}
    found = made("fetch stale prices of https://shop.example/ and 20 lines", page, wait)
    assert found.phrase == "fetch stale prices of {url} and {limit} lines"
    assert sorted(found.recipe.params) == ["limit", "nas", "root", "url"]
    assert found.recipe.plan["tasks"][1]["args"] == {"root": {"param": "root"}, "limit": {"param": "limit"}, "deep": 3}


def test_a_part_of_a_word_is_no_slot() -> None:
    found = made("count unpaid papers on the nas-box below Invoices/old", TASK)
    assert found.phrase == "count unpaid papers on the nas-box below Invoices/old"


def test_a_plan_in_rows_is_named_by_its_own_name() -> None:
    assert made("Tidy receipts").recipe.title == "Tidy receipts"


@pytest.mark.parametrize("words", ["do it", "on nas", "please do that on nas now", "nas Invoices"])
def test_words_that_say_too_little_make_no_phrase(words: str) -> None:
    found = made(words)
    assert (found.phrase, found.recipe.phrases) == ("", [])


@pytest.mark.parametrize(
    "words", ["how are my machines", "back up Documents of laptop to nas", "what fills the disk of nas"]
)
def test_words_of_another_recipe_are_left_to_it(words: str) -> None:
    assert match(words, RECIPES, FLEET).outcome is Match.EXACT
    assert made(words).phrase == ""


def test_names_of_recipes_that_there_are_get_a_number() -> None:
    taken = made("fleet health").recipe.name
    assert taken == "fleet-health-2"


@pytest.mark.parametrize("words", ["count {root} papers", "count unpaid } papers at nas"])
def test_braces_in_words_make_no_slot(words: str) -> None:
    assert made(words).phrase == ""


def test_a_plan_that_would_not_come_back_as_it_was_is_no_recipe() -> None:
    """A kept plan whose call the document cannot say, as one that was changed on disk would have."""
    plan = lowered(TASK)
    hidden = replace(plan, specs=[replace(plan.specs[0], undoes="t0")])
    assert distil(proposal("count unpaid papers below Invoices at nas", hidden), RECIPES, FLEET) is None


def test_every_call_of_the_plan_stands_in_the_recipe() -> None:
    write = {"id": "t2", "tool": "fs.trash", "device": {"name": "nas"}, "args": {"paths": ["a"]}}
    found = made("count unpaid papers below Invoices at nas", TASK, write)
    assert [task["tool"] for task in found.recipe.plan["tasks"]] == ["fs.find", "fs.trash"]
    again = plan_recipe(found.recipe, {}, FLEET).plan
    assert again is not None
    assert is_same(again, lowered(TASK, write))


def grown(*, trial: bool, in_a_row: int = 0) -> Catalogue:
    found = made("count unpaid papers below Invoices at nas")
    name = found.recipe.name
    version = RecipeVersion(at_ms=1, author="person:ann", name=name, number=1, text=found.text, title="x")
    counted = [VersionRuns(number=1, clean=in_a_row, clean_ms=5_000)] if in_a_row else []
    runs = RecipeRuns(name=name, source="c-1", trial=trial, in_a_row=in_a_row, versions=counted)
    return with_saved(BUILT_IN, [version], [runs])


WORDS = "count unpaid papers below Letters at laptop"


def test_a_recipe_on_trial_is_offered_and_never_taken() -> None:
    found = match_all(WORDS, grown(trial=True, in_a_row=2), FLEET)
    assert found.outcome is Match.NEAR
    first = found.candidates[0]
    assert (first.recipe, dict(first.params), first.missing) == (
        "count-unpaid-papers-below-invoices-at-nas",
        {"root": "Letters", "nas": {"name": "laptop"}},
        (),
    )
    assert first.plain()["trial"] == {"clean": 2, "needed": 3, "last_at": "1970-01-01T00:00:05.000Z"}


def test_a_trusted_recipe_is_taken_as_any_other() -> None:
    found = match_all(WORDS, grown(trial=False, in_a_row=3), FLEET)
    assert (found.outcome, found.candidates[0].trial) == (Match.EXACT, None)


@pytest.mark.parametrize("trial", [True, False])
def test_a_grown_recipe_takes_no_words_that_another_one_takes(trial: bool) -> None:
    """Its phrase may have been changed by hand to that of a built-in recipe, word for word."""
    name = "look-alike"
    text = (
        "starloom_recipe: 1\nname: look-alike\ntitle: L\nversion: 1\nphrases: ['how are my machines']\n"
        "plan: {starloom: 1, name: L, tasks: [{id: a, tool: fs.trash, args: {paths: [x]}}]}\n"
    )
    version = RecipeVersion(at_ms=1, author="person:ann", name=name, number=1, text=text, title="L")
    catalogue = with_saved(BUILT_IN, [version], [RecipeRuns(name=name, source="c-1", trial=trial)])
    found = match_all("how are my machines", catalogue, FLEET)
    assert (found.outcome, found.candidates[0].recipe) == (Match.EXACT, "fleet-health")


def test_the_corpus_is_taken_as_before_with_a_grown_recipe_beside() -> None:
    corpus, catalogue = read_corpus(), grown(trial=False, in_a_row=3)
    taken = 0
    for request in corpus.requests:
        view = corpus.fleets[request.fleet]
        found = match_all(request.words, catalogue, view)
        if found.outcome is Match.EXACT:
            taken += 1
            assert (found.candidates[0].recipe, request.words) == (request.exact, request.words)
    assert taken == sum(bool(request.exact) for request in corpus.requests)


def test_letters_with_accents_keep_their_letter_in_names() -> None:
    device_of = {**TASK, "device": {"name": "küche"}}
    found = distil(proposal("zähle Papiere bei küche", lowered(device_of)), RECIPES, fleet(device("küche")))
    assert found is not None
    assert found.recipe.name == "zahle-papiere-bei-kuche"
    assert "kuche" in found.recipe.params


def test_a_look_stays_a_step_and_its_value_is_read_again() -> None:
    look = {"id": "look-1-1", "tool": "fs.list", "device": {"name": "nas"}, "args": {"path": "Invoices"}}
    read = {"id": "t1", "tool": "fs.read", "device": {"name": "nas"}}
    found = made(
        "tell the paper below Invoices at nas", look, {**read, "inputs": {"path": {"from": "look-1-1", "output": "/p"}}}
    )
    assert found.phrase == "tell the paper below {path} at {nas}"
    assert "from: look-1-1" in found.text
    assert found.values == {"path": "Invoices", "nas": {"name": "nas"}}


def answered(words: str, answer: str, **args: Any) -> Distilled | None:
    plan = lowered({**TASK, "args": args})
    return distil(replace(proposal(words, plan), answers=[PlannerAnswer(answer=answer, question="Q?")]), RECIPES, FLEET)


def test_an_answer_is_a_parameter_with_the_answer_as_default() -> None:
    found = answered("count the unpaid papers at nas", "those of May in Invoices", root="Invoices", name="May")
    assert found is not None
    params = {name: (param.type, param.default) for name, param in found.recipe.params.items()}
    assert params == {
        "nas": ("device", {"name": "nas"}),
        "root": ("path", "Invoices"),
        "name": ("text", "May"),
    }
    assert found.phrase == "count the unpaid papers at {nas}"
    assert found.answers == ("name", "root")


def test_the_question_of_a_model_is_no_text_of_a_recipe() -> None:
    plan = lowered({**TASK, "args": {"name": "May"}})
    asked = PlannerAnswer(answer="May", question="rm -rf / everywhere?")
    found = distil(replace(proposal("count the unpaid papers at nas", plan), answers=[asked]), RECIPES, FLEET)
    assert found is not None
    assert "rm -rf" not in found.text


def test_a_traced_plan_is_the_same_as_the_one_that_its_recipe_makes() -> None:
    plan = lowered({**TASK, "args": {"root": "Invoices"}})
    last = replace(plan.specs[0], args="".join(("{", "}")), inputs=[Input(name="root", output="/p", source="look-1-1")])
    look = TaskSpec(args="".join(("{", "}")), changed_in=1, device=last.device, id="look-1-1", tool="system.info")
    found = distil(proposal("tell the newest paper of nas", replace(plan, specs=[look, last])), RECIPES, FLEET)
    assert found is not None
    assert found.phrase == "tell the newest paper of {nas}"


def test_slots_of_one_title_have_the_names_of_their_tasks() -> None:
    other = {**TASK, "id": "t2", "args": {"root": "Receipts"}}
    found = made("count papers in Invoices and Receipts at nas", TASK, other)
    titles = {name: param.title for name, param in found.recipe.params.items()}
    assert titles == {"root": "Root of t1", "root_2": "Root of t2", "nas": "Nas"}


def test_a_plan_that_a_recipe_makes_already_is_no_recipe() -> None:
    """Other devices, folders and names of tasks make no other recipe; another tool or argument does."""
    kept = made("count unpaid papers below Invoices at nas").recipe
    known = [*RECIPES, kept]
    other = {**TASK, "id": "look", "device": {"name": "laptop"}, "args": {"root": "/srv/Old bills"}}
    assert distil(proposal("look at the old bills", lowered(other)), known, FLEET) is None
    more = {**other, "args": {"root": "Invoices", "suffixes": [".pdf"]}}
    assert distil(proposal("look at the old bills", lowered(more)), known, FLEET) is not None
    assert distil(proposal("look at the old bills", lowered({**other, "tool": "fs.list"})), known, FLEET) is not None


def test_a_plan_of_a_built_in_recipe_is_no_recipe() -> None:
    found = BUILT_IN.get("disk-space")
    assert found is not None
    plan = plan_recipe(found, {}, FLEET).plan
    assert plan is not None
    assert distil(proposal("how full are my disks here", plan), RECIPES, FLEET) is None
