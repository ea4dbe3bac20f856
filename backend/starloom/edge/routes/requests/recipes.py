"""Routes of recipes and their proposals: list, show, check, save, versions, remove, dismiss. They run nothing.

Translates and passes on: the plan language gives a text its meaning, and the core decides whether it may be saved. All
faults are reported at once. Plans of a caller that ended clean are shown as the recipes that they would become; each
caller sees and dismisses its own alone, and keeping one is saving a recipe with it.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import yaml
from fastapi import APIRouter, Query, Request
from pydantic import Field, StringConstraints
from starlette.responses import Response

from starloom.core.people.recipes.proposals import LEFT, OPEN
from starloom.core.people.recipes.runs import numbered
from starloom.core.people.recipes.saving import TEXT_CHARS_MOST
from starloom.core.state import inputs
from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.routes.bodies import Body, Reason
from starloom.edge.web.admission import caller_of
from starloom.edge.web.computing import LARGE_BYTES
from starloom.edge.web.problems import Problem, accepted, problem_of_faults, problem_of_recipe
from starloom.edge.web.replies import JsonReply, Repeats, json_reply
from starloom.planner.recipes.catalogue import listed
from starloom_protocol.api.recipes import (
    LeftRow,
    ProposalList,
    RecipeChecked,
    RecipeNamed,
    RecipeRow,
    RecipeTried,
    RecipeVersionRow,
    RecipeWhole,
)
from starloom_protocol.api.service import Items
from starloom_protocol.plan import Recipe, built_in_results, read_recipe, without_values
from starloom_protocol.plan.lowering.parts import nodes
from starloom_protocol.records.entities import RecipeVersion
from starloom_protocol.stream.authors import who
from starloom_protocol.vocabulary import Approval, Code

RowT = TypeVar("RowT", RecipeRow, RecipeWhole)
_R = V1 + "/recipes"

PHRASES_AT_ONCE = 4
"""More phrases are read in another thread: each is compared with every recipe."""


class Checked(Body):
    """A recipe as text (YAML or JSON), or as a document."""

    recipe: dict[str, Any] | Annotated[str, StringConstraints(max_length=TEXT_CHARS_MOST)]


class Saved(Checked):
    """`base_version` is the version that the caller saw; without it the name must be new here.

    `proposal` is one of the caller's own, which this recipe keeps; it is on trial then.
    """

    base_version: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    proposal: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")] = ""
    reason: Reason = ""


class Recipes:
    def __init__(self, hub: Hub, repeats: Repeats) -> None:
        self._hub = hub
        self._repeats = repeats

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_R, self.recipes, methods=["GET"])
        router.add_api_route(_R, self.save, methods=["POST"], status_code=201)
        router.add_api_route(_R + "/check", self.check, methods=["POST"])
        router.add_api_route(_R + "/{name}", self.recipe, methods=["GET"])
        router.add_api_route(_R + "/{name}", self.remove, methods=["DELETE"], status_code=204)
        router.add_api_route(_R + "/{name}/seen", self.seen, methods=["POST"])
        router.add_api_route(_R + "/{name}/versions", self.versions, methods=["GET"])

    async def recipes(self, request: Request) -> JsonReply[Items[RecipeRow]]:
        """List the recipes: built-in ones and those saved here."""
        items = [self._for_reader(request, row) for row in self._hub.planner.recipes()]
        return json_reply({"items": items, "next": None})

    def _for_reader(self, request: Request, row: RowT) -> RowT:
        """Return a row in which *unread* is that of the caller: each person reads the notice alone."""
        runs = self._hub.fleet.recipe_runs.get(row["name"])
        if runs is None or row["trust"] is None or who(caller_of(request).by) not in runs.seen:
            return row
        return {**row, "trust": {**row["trust"], "unread": False}}

    async def recipe(
        self, request: Request, name: str, version: Annotated[int | None, Query(ge=1, le=1_000_000)] = None
    ) -> JsonReply[RecipeWhole]:
        """Show a recipe with its document and its text as written; `version` names an older one that was saved."""
        if version is None:
            row = self._hub.planner.recipe(name)
            if row is None:
                raise self._unknown(name)
            return json_reply(self._for_reader(request, row))
        version_record = self._hub.fleet.recipes.get(f"{name}/{version}")
        older = self._hub.planner.version(version_record) if version_record else None
        if older is None:
            numbers = ", ".join(str(item.number) for item in self._versions(name))
            if not numbers and self._hub.planner.recipe(name) is None:
                raise self._unknown(name)
            reason = f"version {version} of {name[:64]} is not kept here; kept are: {numbers or 'none'}"
            raise Problem(Code.NOT_FOUND, reason, hint="See `starloom recipe show NAME`.")
        return json_reply(older)

    async def versions(self, name: str) -> JsonReply[Items[RecipeVersionRow]]:
        """List the versions of a recipe that are kept, newest first; a built-in one has none here."""
        if not self._versions(name) and self._hub.planner.recipe(name) is None:
            raise self._unknown(name)
        items: list[RecipeVersionRow] = [
            {
                "version": version.number,
                "title": version.title,
                "author": version.author,
                "saved_at": entity_json.iso(version.at_ms),
                "back_from": version.back_from,
                "because": version.because,
                "runs": self._hub.planner.runs(version),
            }
            for version in reversed(self._versions(name))
        ]
        return json_reply({"items": items, "next": None})

    async def check(self, request: Request, body: Checked) -> JsonReply[RecipeTried]:
        """Check a recipe: list every fault, or show the recipe it would become and how each phrase of it is read.

        Nothing is kept and nothing runs.
        """
        recipe, text, lacking = await self._parsed(request, body.recipe)
        large = len(text) > LARGE_BYTES or len(recipe.phrases) > PHRASES_AT_ONCE
        planner = self._hub.planner.still()
        examples = await self._hub.computing.run(request, large, lambda: planner.tried(recipe))
        return json_reply({**listed(recipe, built_in=False), "lacking": lacking, "examples": examples})

    async def save(self, request: Request, body: Saved) -> JsonReply[RecipeChecked]:
        """Keep a recipe: a new one, or the version after `base_version`. Runs nothing."""

        async def make() -> JsonReply[RecipeChecked]:
            recipe, text, lacking = await self._parsed(request, body.recipe)
            caller, base = caller_of(request), body.base_version or 0
            if base == 0 and not self._versions(recipe.name) and self._hub.planner.recipe(recipe.name) is not None:
                raise Problem(
                    Code.CONFLICT,
                    f"{recipe.name} is the name of a built-in recipe",
                    hint="Give yours another name.",
                )
            if faults := self._hub.planner.phrases_taken(recipe):
                raise problem_of_faults(faults)
            item = inputs.RecipeSaved(
                approves=caller.approves,
                base_version=base,
                name=recipe.name,
                proposal=body.proposal,
                reason=body.reason,
                says=bool(recipe.plan.get("sentence")),
                secrets=[str(value) for _, kind, value in nodes(recipe.plan, "") if kind == "secret"],
                text=numbered(text, base + 1),
                title=recipe.title,
                unapproved=_sets_approval_aside(recipe),
                **caller.signed(),
            )
            reply = await self._hub.inbox.ask(item)
            if reply.faults:
                versions = self._versions(recipe.name)
                raise problem_of_faults(
                    reply.faults, more={"current_version": versions[-1].number} if versions else None
                )
            saved_recipe = recipe.model_copy(update={"version": base + 1})
            return json_reply({**listed(saved_recipe, built_in=False), "lacking": lacking}, 201)

        return await self._repeats.once(request, make)

    async def remove(self, request: Request, name: str, anyway: bool = False) -> Response:
        """Remove a saved recipe with all its versions; constellations made from it go on.

        One that schedules run is removed with `anyway` only: their firings fail from then on.
        """
        if not self._versions(name) and self._hub.planner.recipe(name) is not None:
            reason = f"{name} is built in; only recipes that were saved here can be removed"
            raise Problem(Code.CONFLICT, reason, hint="`starloom recipes` names those as yours.")
        caller = caller_of(request)
        item = inputs.RecipeRemoved(anyway=anyway, approves=caller.approves, name=name, **caller.signed())
        reply = await self._hub.inbox.ask(item)
        if reply.faults:
            raise problem_of_faults(reply.faults)
        return Response(status_code=204)

    async def seen(self, request: Request, name: str) -> JsonReply[RecipeNamed]:
        """Note that you have read that the hub went back to an earlier version of a recipe; others still see it."""
        caller = caller_of(request)
        item = inputs.RecipeSeen(name=name, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return json_reply({"name": name})

    def _versions(self, name: str) -> list[RecipeVersion]:
        versions = [version for version in self._hub.fleet.recipes.values() if version.name == name]
        return sorted(versions, key=lambda version: version.number)

    def _unknown(self, name: str) -> Problem:
        return problem_of_recipe(name, [item["name"] for item in self._hub.planner.recipes()])

    async def _parsed(self, request: Request, document: dict[str, Any] | str) -> tuple[Recipe, str, list[str]]:
        """Return a recipe, its text, and a sentence for each tool of it that no device offers now.

        Raises:
            Problem: with every fault.
        """
        text = document if isinstance(document, str) else _text_of(document)
        results = {**built_in_results(), **without_values(self._hub.fleet.signatures())}
        tools = self._hub.fleet.known_tools()
        parsed = await self._hub.computing.run(
            request,
            len(text) > LARGE_BYTES,
            lambda: read_recipe(text, known_tools=tools, known_signatures=results),
        )
        if parsed.recipe is None:
            raise problem_of_faults(parsed.faults)
        lacking = dict.fromkeys(f"{fault.reason}. {fault.hint}".rstrip() for fault in parsed.lacking)
        return parsed.recipe, text, list(lacking)


def _text_of(document: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=110)
    return text


def _sets_approval_aside(recipe: Recipe) -> bool:
    """Return whether a recipe's policy may be `approval: never`, now or by a parameter."""
    policy = recipe.plan.get("policy")
    approval = policy.get("approval") if isinstance(policy, dict) else policy
    return approval not in (None, Approval.RISKY.value, Approval.ALWAYS.value)


_P = V1 + "/recipe-proposals"


class Proposals:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_P, self.proposals, methods=["GET"])
        router.add_api_route(_P + "/{proposal}", self.dismiss, methods=["DELETE"], status_code=204)

    async def proposals(self, request: Request) -> JsonReply[ProposalList]:
        """List the caller's own proposals, the newest first; one whose plan cannot be made again is left out."""
        owner = who(caller_of(request).by)
        marks = [mark for mark in self._hub.access.proposals.values() if mark.owner == owner]
        marks.sort(key=lambda mark: (-mark.at_ms, mark.id))
        offers = [mark for mark in marks if mark.state == OPEN]
        left_out: list[LeftRow] = [
            {"constellation": mark.constellation, "request": mark.request, "because": mark.because}
            for mark in marks
            if mark.state == LEFT
        ]
        planner = self._hub.planner.still()
        # Each one is lowered and matched, which takes some milliseconds.
        rows = await self._hub.computing.run(
            request, bool(offers), lambda: [row for mark in offers if (row := planner.proposal(mark)) is not None]
        )
        return json_reply({"items": rows, "next": None, "left_out": left_out})

    async def dismiss(self, request: Request, proposal: str) -> Response:
        """Dismiss a proposal for good: the same shape is not proposed to the caller again."""
        caller = caller_of(request)
        item = inputs.RecipeProposalDismissed(proposal=proposal, **caller.signed())
        accepted(await self._hub.inbox.ask(item))
        return Response(status_code=204)
