"""The planner as one object for the edge and the jobs: recipes, matching, planning and preview on the current fleet.

It holds no state of its own; the fleet and the saved recipes are read at each call, on the thread that changes them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from starloom.core.people.approvals.need import changing_calls
from starloom.planner.context.assembly import Asking
from starloom.planner.context.brief import Brief, brief
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast import budgets
from starloom.planner.forecast.plans import Change, expected_time, what_if
from starloom.planner.forecast.runs import RunAsked, run_forecast
from starloom.planner.model.conversations.planning import first_prompt
from starloom.planner.model.prompt import PromptPart, planning_parts
from starloom.planner.preview.capability import calls_after, can_begin
from starloom.planner.preview.plan import core_fleet, preview, ungranted
from starloom.planner.recipes.catalogue import (
    Catalogue,
    listed,
    newest,
    plan_recipe,
    recipe_of,
    recipe_text,
    with_effects,
    with_saved,
)
from starloom.planner.recipes.gallery import card, every_sentence
from starloom.planner.recipes.trust import trust_row, version_runs_row
from starloom.planner.requests.distilling import distil
from starloom.planner.requests.matching import Match, Matched, match, match_all, offered
from starloom.planner.requests.phrases import read_phrase
from starloom.planner.requests.refusals import examples, refused
from starloom_protocol.api.previews import PlanPreview, RunWhatIf, WhatIf
from starloom_protocol.api.recipes import ExampleTried, ProposalRow, RecipeRow, RecipeWhole, RunsRow, TrustRow
from starloom_protocol.plan import PlanCheck, Recipe, read_document
from starloom_protocol.records.approvals import Call
from starloom_protocol.records.edits import AddDependency, EditOperation, LoweredPlan
from starloom_protocol.records.entities import (
    Dependency,
    Fault,
    RecipeProposal,
    RecipeRuns,
    RecipeVersion,
    RuleRecord,
    TaskSpec,
)
from starloom_protocol.records.specs import Approved
from starloom_protocol.stream.authors import who
from starloom_protocol.text.wording import moment, quoted
from starloom_protocol.vocabulary import CODES, Code, Sharing


class Planning:
    """The planner. `fleet` and `saved` return the present fleet and recipes; quickly, for previews during typing."""

    def __init__(
        self,
        catalogue: Catalogue,
        fleet: Callable[[], FleetSnapshot],
        saved: Callable[[], Iterable[RecipeVersion]] = tuple,
        runs: Callable[[], Iterable[RecipeRuns]] = tuple,
    ) -> None:
        self._built_in = catalogue
        self._fleet = fleet
        self._saved = saved
        self._runs = runs

    @property
    def _catalogue(self) -> Catalogue:
        return with_saved(self._built_in, self._saved(), self._runs())

    def still(self) -> Planning:
        """Return a planner that stays on the fleet and recipes of now, for work in a thread while entities change."""
        fleet, saved, runs = self._fleet(), tuple(self._saved()), tuple(self._runs())
        return Planning(self._built_in, lambda: fleet, lambda: saved, lambda: runs)

    def understand(self, words: str, params: Mapping[str, Any], by: str, *, shown: bool = False) -> Matched:
        """Match words against all recipes; `params` were given beside them. `shown`: their author sees the preview."""
        return match_all(words, self._catalogue, self._fleet_for(by), params=params, shown_to=by if shown else "")

    def _fleet_for(self, author: str) -> FleetSnapshot:
        """Return the fleet as an author speaks of it, whose *my phone* is a phone of their own."""
        return self._fleet().as_spoken_by(who(author))

    def plan_recipe(self, name: str, params: Mapping[str, Any]) -> PlanCheck:
        """Return the plan of a recipe with these values, or every fault."""
        recipe = self._catalogue.get(name)
        if recipe is None:
            reason = f"there is no recipe {quoted(name[:64])}"
            near = difflib.get_close_matches(name, [recipe.name for recipe in self._catalogue.all()], n=1)
            hint = f"Did you mean `{near[0]}`?" if near else CODES[Code.UNKNOWN_RECIPE].hint
            return PlanCheck(faults=[Fault(code=Code.UNKNOWN_RECIPE, hint=hint, place="recipe", reason=reason)])
        return plan_recipe(recipe, params, self._fleet())

    def tried(self, recipe: Recipe) -> list[ExampleTried]:
        """Return each phrase of a recipe, filled for the devices of now and read among all recipes of this hub."""
        fleet = self._fleet()
        beside = [*(other for other in self._catalogue.all() if other.name != recipe.name), recipe]
        rows: list[ExampleTried] = []
        for sentence, of_one in zip(every_sentence(recipe, fleet), every_sentence(recipe, fleet, most=1), strict=True):
            if sentence.lacks:
                why = "; ".join(lack["reason"] for lack in sentence.lacks)
                rows.append({"words": sentence.words, "fits": None, "params": {}, "why": why})
                continue
            words = sentence.words
            result = match(words, beside, fleet)
            if result.outcome is Match.EXACT and result.candidates[0].recipe != recipe.name:
                # *Which files are twice on a and b* compares both, while *on a* looks for what one device has twice.
                words = of_one.words
                result = match(words, beside, fleet)
            first = result.candidates[0] if result.candidates else None
            is_this = first is not None and first.recipe == recipe.name
            exact = result.outcome is Match.EXACT
            # A phrase may leave a value to a form: the words mean this recipe, and start nothing before it is given.
            fits = True if exact and is_this else None if is_this and first is not None and first.missing else False
            if exact and not is_this and sentence.single:
                # With one device the words may be those of another recipe; with several they are tried again.
                fits = None
            if exact and not is_this and first is not None:
                why = f"these words start {first.recipe}"
            else:
                why = "" if fits else refused(result, fleet).reason
            params = dict(first.params) if fits and first is not None else {}
            rows.append({"words": words, "fits": fits, "params": params, "why": why})
        return rows

    @cached_property
    def _built_in_shapes(self) -> dict[tuple[str, ...], str]:
        """The built-in recipes by the shapes of their phrases; reading them all takes a while."""
        return {shape: other.name for other in self._built_in.all() for shape in _shapes(other)}

    def phrases_taken(self, recipe: Recipe) -> list[Fault]:
        """Return a fault for each phrase that a built-in recipe has as well: its words would run that one."""
        names = self._built_in_shapes
        return [
            Fault(
                code=Code.CONFLICT,
                hint=f"Say it in other words, or leave it out: starloom submit -r {recipe.name} runs yours.",
                place=f"phrases[{at}]",
                reason=f"{quoted(recipe.phrases[at])} is a phrase of the built-in {names[shape]}, which it would run",
            )
            for at, shape in enumerate(_shapes(recipe))
            if shape in names
        ]

    def refused(self, match: Matched) -> Fault:
        """Return the fault of words with this match, which start nothing."""
        return refused(match, self._fleet())

    def examples(self, match: Matched) -> tuple[str, ...]:
        """Return requests in words that would work on the devices of now, those nearest to the words that matched."""
        return examples(self._fleet(), match)

    def preview(
        self, plan: LoweredPlan, *, words: bool = False, by: str = "", approves: bool = True, micros: int = 0
    ) -> PlanPreview:
        """Return the preview of a plan that `by` asks for, as a JSON value; `words`: it was asked for in words.

        `approves`: `by` may answer approvals. `micros` bounds the cost of the model, in millionths of a dollar; 0:
        nothing does.
        """
        fleet = self._fleet()
        plan_preview = preview(plan, fleet, words=words, by=by, approves=approves)
        value, ungranted = plan_preview.plain(), plan_preview.ungranted
        if stuck := [fault for fault in plan_preview.faults if fault.task not in ungranted]:
            value["may_not"] = f"{stuck[0].reason} {stuck[0].way_out}"
        value["estimate"], sentence = expected_time(plan, fleet)
        if sentence and not value.get("faults"):
            value["estimate_said"] = sentence
        chance = budgets.of_plan(plan, fleet.spendings, micros)
        if chance is not None:
            value["budget"] = chance
        return value

    def unable(self, plan: LoweredPlan) -> list[Fault]:
        """Return a fault for each task that no device of now can begin, with the way out; those that wait for a grant
        come last, because another fault is not mended by one.
        """
        fleet = self._fleet()
        if can_begin(plan, fleet):
            return []
        plan_preview = preview(plan, fleet)
        ungranted = plan_preview.ungranted
        return [
            Fault(
                code=Code.MISSING_GRANT if one.task in ungranted else one.code,
                hint=one.way_out,
                place=f"tasks.{one.task}",
                reason=one.reason,
            )
            for one in sorted(plan_preview.unable, key=lambda one: one.task in ungranted)
        ]

    def unfit(
        self, operations: Iterable[EditOperation], tasks: Mapping[str, TaskSpec], *, able: bool = True
    ) -> list[Fault]:
        """Return a fault for each call of an edit that its devices refuse by their versions of its tool; where its
        calls are to be `able` to begin, also for each that no device of now can.
        """
        added = [one.dependency for one in operations if isinstance(one, AddDependency)]
        left = LoweredPlan(dependencies=added, hash="", name="", specs=calls_after(operations, tasks))
        return [fault for fault in self.unable(left) if able or fault.code is Code.UNKNOWN_FIELD]

    def what_if(self, plan: LoweredPlan, change: Change, *, words: str, within_ms: int | None) -> WhatIf:
        """Return the expected time of a plan now and after a change of the fleet, which `words` name."""
        return what_if(plan, self._fleet(), change, words=words, within_ms=within_ms)

    def run_forecast(self, question: RunAsked) -> Callable[[], RunWhatIf]:
        """Return the work, for another thread, that answers a question about the rest of a run on the fleet of now."""
        fleet = self._fleet()
        return lambda: run_forecast(question, fleet)

    def changing_calls(
        self, specs: Sequence[TaskSpec], rules: Iterable[RuleRecord], approved: Approved | None = None
    ) -> list[Call]:
        """Return the calls of a plan that do more than read, on this fleet; those that ask a person come first."""
        return changing_calls(core_fleet(self._fleet()), specs, rules, approved)

    def ungranted(self, specs: Sequence[TaskSpec], dependencies: Iterable[Dependency]) -> list[str]:
        """Return a sentence for each grant that a device lacks, so that tasks wait there after an approval."""
        return ungranted(specs, dependencies, self._fleet())

    def brief(self, words: str, today: str = "") -> Brief:
        """Return the brief with which a person's own assistant writes a plan for these words."""
        return brief(words, self._fleet(), self._catalogue.all(), today=today)

    def prompt(self, words: str, today: str) -> list[PromptPart]:
        """Return each part of the prompt that the owner's model would be sent for these words."""
        return planning_parts(words, self._fleet(), recipes=self._catalogue.all(), today=today)

    def first_prompt(
        self, words: str, params: Mapping[str, Any], *, by: str, before: Sequence[str], today: str, sharing: Sharing
    ) -> list[PromptPart]:
        """Return each part, in order, of what a job would send to the owner's model first for these words of `by`."""
        fleet, catalogue = self._fleet_for(by), self._catalogue
        asking = Asking(
            words=words,
            params=params,
            fleet=fleet,
            near=offered(match_all(words, catalogue, fleet, params=params), catalogue),
            recipes=tuple(catalogue.all()),
            before=before,
            today=today,
        )
        return first_prompt(asking, sharing)[1]

    def recipes(self) -> list[RecipeRow]:
        """Return every recipe's head, with its picture and its sentence for the devices of now."""
        saved, fleet = newest(self._saved()), self._fleet()
        effects = fleet.known_effects() if saved else {}
        rows: list[RecipeRow] = []
        for recipe in self._catalogue.all():
            built_in = recipe.name not in saved
            shown_as = recipe if built_in else with_effects(recipe, effects)
            trust = None if built_in else self._trust(saved[recipe.name])
            rows.append({**listed(shown_as, built_in=built_in), **card(recipe, fleet), "trust": trust})
        return rows

    def recipe(self, name: str) -> RecipeWhole | None:
        """Return one recipe with its document and text as written, or None."""
        recipe = self._catalogue.get(name)
        if recipe is None:
            return None
        saved = newest(self._saved()).get(name)
        return self._whole(recipe, saved.text if saved else self._built_in.text(name), saved)

    def version(self, saved: RecipeVersion) -> RecipeWhole | None:
        """Return one saved version of a recipe; None if this hub's language has moved on since it was saved."""
        recipe = recipe_of(saved.text, saved.number)
        return None if recipe is None else self._whole(recipe, saved.text, saved)

    def proposal(self, proposal: RecipeProposal) -> ProposalRow | None:
        """Return the recipe that a proposal would become; None if its plan cannot be made again here."""
        catalogue, fleet = self._catalogue, self._fleet()
        draft = distil(proposal, catalogue.all(), fleet)
        if draft is None:
            return None
        recipe = with_effects(draft.recipe, fleet.known_effects())
        return {
            "id": proposal.id,
            "constellation": proposal.constellation,
            "proposed_at": moment(proposal.at_ms),
            "request": proposal.request,
            "name": recipe.name,
            "title": recipe.title,
            "phrase": draft.phrase,
            "values": draft.values,
            "answers": list(draft.answers),
            "effects": list(recipe.effects),
            "document": read_document(draft.text),
            "text": draft.text,
        }

    def runs(self, version: RecipeVersion) -> RunsRow:
        """Return the runs of one version of a saved recipe."""
        return version_runs_row(self._runs_of(version.name), version.number)

    def _whole(self, recipe: Recipe, text: str, saved: RecipeVersion | None) -> RecipeWhole:
        fleet = self._fleet()
        shown_as = recipe if saved is None else with_effects(recipe, fleet.known_effects())
        trust = None if saved is None else self._trust(saved)
        return {**recipe_text(shown_as, text, built_in=saved is None), **card(recipe, fleet), "trust": trust}

    def _trust(self, newest: RecipeVersion) -> TrustRow:
        return trust_row(self._runs_of(newest.name), newest)

    def _runs_of(self, name: str) -> RecipeRuns | None:
        return next((one for one in self._runs() if one.name == name), None)


def _shapes(recipe: Recipe) -> list[tuple[str, ...]]:
    """Return each phrase of a recipe with the type of what stands in its slots."""
    return [
        tuple(f"{{{recipe.params[part].type}}}" if is_slot else part for part, is_slot in read_phrase(phrase).parts)
        for phrase in recipe.phrases
    ]
