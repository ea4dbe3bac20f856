"""The conversation that ends in a plan, a look, an answer, a question or a plain fault: ask, check, two repairs.

A model's plan is checked like any other and has fewer rights than a person's: it may not waive its own approval, use a
secret, or name a missing tool or device. Nor may it tie a task to a device that may not, or cannot, run its tool: a
person's plan may wait for a grant, while a model may know another way or should name the grant, before anybody is asked
to approve. Faults that the engine finds are mended in the same two repairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starloom.planner.context import recipes as context_recipes
from starloom.planner.context.assembly import Asking, Context, fenced, fenced_faults, joined, request_part
from starloom.planner.context.tools import more, ways
from starloom.planner.equivalents import check_with_equivalents, equivalents
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.model.conversations.answering import Ground, Words, finished
from starloom.planner.model.conversations.looking import LookRound, faults_in, looking_part, turns_of
from starloom.planner.model.port import Model, ModelFault, Reply, Turn, reply_of
from starloom.planner.model.prompt import PromptPart, planning_context
from starloom.planner.model.reading import (
    PLANNING_FORM,
    Asked,
    Declined,
    Looked,
    MoreTools,
    Picked,
    Wished,
    Worded,
    read_reply,
)
from starloom.planner.recipes.catalogue import plan_recipe
from starloom.planner.requests.fitting import Candidate
from starloom.planner.trash_lists import with_lists
from starloom_protocol.plan import PlanCheck, Recipe, check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, TaskSpec
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import has_node
from starloom_protocol.vocabulary import CODES, Approval, Code, Sharing

ABLE_NAMED: Final = 6


def pin_faults(plan: LoweredPlan, fleet: FleetSnapshot) -> list[Fault]:
    """Return a fault for each task whose one named device does not offer its tool, or is not allowed to run it."""
    by_key = {key: device for device in fleet.devices for key in (device.id, device.name)}
    faults = []
    for spec in plan.specs:
        pinned = spec.device.id or spec.device.name if spec.device is not None else None
        device = by_key.get(pinned or "")
        fault = _fault(spec, spec.tool, device, fleet) if device is not None and spec.tool is not None else None
        if fault is not None:
            faults.append(fault)
    return faults


def _fault(spec: TaskSpec, tool: str, device: DeviceSnapshot, fleet: FleetSnapshot) -> Fault | None:
    offer = device.tools.get(tool)
    if not device.tools or (offer is not None and not offer.unavailable):
        # A device that has never sent an offer may have the tool.
        return None
    others = _able(tool, fleet.devices)
    elsewhere = f"other devices that can: {', '.join(others)}" if others else "no device can"
    if offer is None:
        reason, way = f"{device.name} does not have {tool}", elsewhere
    elif offer.grant is not None and offer.grant not in device.grants:
        reason = f"the owner of {device.name} does not allow {offer.grant}, which {tool} needs"
        needs = f'{{"kind": "cannot", "needs": [{{"grant": "{offer.grant}", "device": NAME}}]}}'
        way = f"If it must be this device, answer {needs}; {elsewhere}"
    else:
        reason, way = f"{tool} cannot run on {device.name} now: {offer.unavailable}", elsewhere
    return Fault(code=Code.FORBIDDEN, hint=f"{way}.", place=f"plan, task {spec.id}, device", reason=reason)


def _able(tool: str, devices: Sequence[DeviceSnapshot]) -> list[str]:
    able = [device.name for device in devices if tool in device.tools and not device.tools[tool].unavailable]
    more = len(able) - ABLE_NAMED
    return [*able[:ABLE_NAMED], *([f"{more} more"] if more > 0 else [])]


REPAIRS: Final = 2
MORE_TOOLS_MOST: Final = 3
FAULTS_TOLD = 20
RECIPES_TOLD = 40
ECHO_CHARS = 60_000


@dataclass(frozen=True)
class Withdrawn:
    """The person took the request back, as the model reads the answer to its question; `fault` says so otherwise."""

    fault: Fault


Planned = LoweredPlan | Looked | Words | Asked | Withdrawn | Fault


class Conversation:
    """One request with one model. `plan` first; `mend` with the engine's faults as long as repairs are left.

    `ground` holds the results of its looks, on which an answer without a plan rests.
    """

    def __init__(
        self,
        model: Model,
        words: str,
        params: Mapping[str, Any],
        fleet: FleetSnapshot,
        *,
        near: Sequence[tuple[Recipe, Candidate]] = (),
        asked: Sequence[tuple[str, str]] = (),
        recipes: Sequence[Recipe] = (),
        before: Sequence[str] = (),
        today: str = "",
        rounds: Sequence[LookRound] = (),
        sharing: Sharing = Sharing.CARDS,
        ground: Ground | None = None,
    ) -> None:
        self._model = model
        self._ground = ground
        self._recipes = {recipe.name: recipe for recipe in (*recipes, *(recipe for recipe, _ in near))}
        self._fleet = fleet
        self._repairs = REPAIRS
        asking = Asking(
            words=words,
            params=params,
            fleet=fleet,
            asked=asked,
            near=near,
            recipes=tuple(self._recipes.values()),
            before=before,
            today=today,
            needed=frozenset(name for one in rounds for name in one.shown),
        )
        context, first = first_prompt(asking, sharing, len(rounds))
        self._sharing = sharing
        self._shelf = context.shelf
        self._told_tools = {tool.offer.name for tool in context.shelf.full}
        self._asked_for: dict[str, None] = dict.fromkeys(name for one in rounds for name in one.shown)
        self._rounds = MORE_TOOLS_MOST
        self._turns = [first_turn(first), *turns_of(rounds)]
        look_parts = [PromptPart(f"What it looked at, round {at}", one.cards) for at, one in enumerate(rounds, 1)]
        self.parts: list[PromptPart] = [*first, *look_parts]

    async def plan(self) -> Planned:
        """Ask and, if the answer has faults, have them mended; never return an empty plan."""
        outcome: LoweredPlan | Looked | Words | list[Fault]
        while True:
            try:
                reply = await reply_of(self._model, self.parts[0].text, self._turns)
            except ModelFault as error:
                return error.fault
            read = read_reply(reply)
            if isinstance(read, Asked):
                return read
            if isinstance(read, MoreTools) and self._rounds:
                self._turns += [Turn("model", _echo(reply)), self._more(read.words)]
                continue
            if isinstance(read, Declined):
                reason = f"the model says that it cannot do this: {read.text}{ways(self._shelf, read.needs)}"
                no = Fault(code=Code.MODEL_ANSWER, hint=CODES[Code.MODEL_ANSWER].hint, place="model", reason=reason)
                return Withdrawn(no) if read.withdrawn else no
            if isinstance(read, Worded):
                outcome = self._told_by_looks(read)
            elif isinstance(read, Wished):
                outcome = self._checked(read)
            elif isinstance(read, Looked):
                outcome = faults_in(read, self._fleet, self._sharing) or read
            elif isinstance(read, Picked):
                outcome = self._filled(read)
            elif isinstance(read, Fault):
                outcome = [read]
            else:
                reason = PLANNING_FORM
                if isinstance(read, MoreTools):
                    reason = f"more tools were shown {MORE_TOOLS_MOST} times already; answer with what is there"
                outcome = [Fault(code=Code.MODEL_ANSWER, place="answer", reason=reason)]
            if isinstance(outcome, LoweredPlan | Looked | Words):
                self._turns.append(Turn("model", _echo(reply)))
                return replace(outcome, shown=tuple(self._asked_for)) if isinstance(outcome, Looked) else outcome
            if not self._repairs:
                return _given_up(outcome)
            self._turns.append(Turn("model", _echo(reply)))
            self._tell(outcome)

    async def mend(self, faults: Sequence[Fault]) -> Planned:
        """Have the engine's faults in the last plan mended; return the fault itself when no repair is left."""
        if not self._repairs:
            return _given_up(faults)
        self._tell(faults)
        return await self.plan()

    def _tell(self, faults: Sequence[Fault]) -> None:
        self._repairs -= 1
        lines = [told_fault(fault, "plan") for fault in faults[:FAULTS_TOLD]]
        request = "It has these faults. Answer again with the whole plan, look or answer."
        self._turns.append(Turn("starloom", f"{request}\n{fenced_faults(lines)}"))

    def _more(self, words: str) -> Turn:
        """Return the turn that shows the tools nearest to the model's words."""
        self._rounds -= 1
        recipes = list(self._recipes.values())
        fitting = [] if context_recipes.all_of(recipes) else context_recipes.nearest(recipes, words)
        before = set(self._told_tools)
        lines_of_tools = more(self._shelf, words, self._told_tools)
        self._asked_for |= dict.fromkeys(sorted(self._told_tools - before))
        lines = [*lines_of_tools, *fitting] or ["(no other tool has one of these words)"]
        left = f"You may ask {self._rounds} times more." if self._rounds else "This was the last time; answer now."
        return Turn("starloom", f"{fenced('tools', lines)}\n{left}")

    def _told_by_looks(self, read: Worded) -> Words | list[Fault]:
        """Return an answer without a plan, held against the looks; the last try loses what they do not show."""
        if self._ground is None or not self._ground.results:
            reason = "an answer in words rests on looks, and there is no result of one; look first, or write the plan"
            return [Fault(code=Code.MODEL_ANSWER, place="kind", reason=reason)]
        draft = self._ground.judged(read)
        if not draft.cites:
            draft.faults.append("an answer cites the looks that it rests on")
        words = finished(draft)
        if words.words and draft.cites and (not draft.faults or not self._repairs):
            return words
        return [Fault(code=Code.MODEL_ANSWER, place="answer", reason=fault) for fault in draft.faults or [words.reason]]

    def _filled(self, read: Picked) -> LoweredPlan | list[Fault]:
        """Return the plan of one of the recipes that were offered, with the model's values."""
        recipe = self._recipes.get(read.recipe)
        if recipe is None:
            names = ", ".join(list(self._recipes)[:RECIPES_TOLD]) or "none"
            reason = f"there is no recipe {quoted(read.recipe[:64])} to choose; there is {names}"
            return [Fault(code=Code.UNKNOWN_RECIPE, place="recipe", reason=reason)]
        check = plan_recipe(recipe, read.params, self._fleet)
        # A recipe with a secret was written by a person, and a person starts it.
        faults = [*check.faults, *_beyond_a_model({"params": read.params, "plan": recipe.plan}, check.plan)]
        return check.plan if check.plan is not None and not faults else faults

    def _checked(self, read: Wished) -> LoweredPlan | list[Fault]:
        tools = self._fleet.known_tools()
        policy = read.document.get("policy", {})
        # Its own work is looked at when something fails, unless it says otherwise.
        reviewed = {"review": "on_failure", **policy} if isinstance(policy, dict) else policy

        def checking(document: Any) -> PlanCheck:
            return check_plan(
                document,
                known_devices=self._fleet.known_names(),
                known_tools=tools,
                known_signatures=self._fleet.known_signatures(),
                place="plan",
            )

        declared = equivalents(self._fleet.records, self._fleet.offers)
        check = check_with_equivalents({**read.document, "policy": reviewed}, declared, checking)
        faults = [*check.faults, *_beyond_a_model(read.document, check.plan)]
        if check.plan is not None and not faults:
            return pin_faults(check.plan, self._fleet) or with_lists(check.plan)
        return faults


def _beyond_a_model(document: Mapping[str, Any], plan: LoweredPlan | None) -> list[Fault]:
    """Return the parts of a plan that only a person may write."""
    faults = []
    if plan is not None and not plan.specs:
        faults.append(Fault(code=Code.PLAN_INVALID, place="plan.tasks", reason="the plan has no tasks"))
    if plan is not None and plan.policy.approval is Approval.NEVER:
        reason = "a model's plan may not set approval aside; leave `approval` out"
        faults.append(Fault(code=Code.PLAN_INVALID, place="plan.policy.approval", reason=reason))
    if has_node(document, ("secret",)):
        faults.append(Fault(code=Code.PLAN_INVALID, place="plan", reason="a model's plan may not use a secret"))
    return faults


def first_prompt(asking: Asking, sharing: Sharing, rounds: int = 0) -> tuple[Context, list[PromptPart]]:
    """Return the context of a conversation after so many rounds of looks, and each part that is sent first, in order.

    The first part is the instructions; `first_turn` makes the one message of the others.
    """
    context = planning_context(asking)
    return context, [*context.parts, looking_part(sharing, rounds), request_part(asking.words, asking.params)]


def first_turn(parts: Sequence[PromptPart]) -> Turn:
    """Return all parts but the instructions as the turn that begins a conversation."""
    stable = joined(part.text for part in parts[1:] if part.stable)
    return Turn("starloom", joined(part.text for part in parts[1:]), len(stable))


def told_fault(fault: Fault, place: str) -> str:
    """Return one line about a fault for a model, with the way out beside it where one is known.

    The way out of a code is a person's: a model cannot use other words, or rows.
    """
    usual = CODES[Code.MODEL_ANSWER].hint if fault.code is Code.MODEL_ANSWER else ""
    hint = f" Hint: {fault.hint}" if fault.hint and fault.hint != usual else ""
    if fault.place == "answer" and fault.code is Code.MODEL_ANSWER and not hint:
        hint = " Hint: Answer with one whole JSON object."
    return f"- {fault.place or place}: {fault.reason} ({fault.code}){hint}"


def _echo(reply: Reply) -> str:
    """Return the model's reply for the next turns; never empty, because the wire formats refuse that."""
    return reply.text[:ECHO_CHARS].strip() or json.dumps({"kind": "cannot", "text": ""})


def _given_up(faults: Sequence[Fault]) -> Fault:
    """Return the end of a conversation, for a person; the faults of an answer that is no plan have no place in it."""
    is_plan = any(fault.place != "answer" for fault in faults)
    places = [f"{fault.place}: " if fault.place and is_plan else "" for fault in faults]
    reasons = "; ".join(f"{place}{fault.reason}" for place, fault in zip(places, faults[:FAULTS_TOLD], strict=False))
    reason = f"after {REPAIRS} repairs the model's {'plan' if is_plan else 'answer'} still has faults: {reasons}"
    return Fault(code=Code.MODEL_ANSWER, hint=CODES[Code.MODEL_ANSWER].hint, place="model", reason=reason)
