"""Recipes of such a schedule, and the planner that makes plans of them: a text here is the plan itself.

The planner does what `starloom.jobs.kinds.planning` does: it claims a job, reads the newest version, and proposes.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from starloom.core.state import inputs as i
from starloom.core.state.model import Shard
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, RecipeVersion
from starloom_protocol.vocabulary import Approval, Code, ConstellationState

if TYPE_CHECKING:
    from tests.sim.people.site import Peopled

NAMES: Final = ("brew", "mow")
_TTL_MS: Final = 15_000


def newest(shard: Shard, name: str) -> RecipeVersion | None:
    versions = [one for one in shard.fleet.recipes.values() if one.name == name]
    return max(versions, key=lambda one: one.number, default=None)


def plan_of(version: RecipeVersion) -> LoweredPlan:
    return msgspec.json.decode(version.text, type=LoweredPlan)


def saving(ident: str, name: str, plan: LoweredPlan, base: int) -> i.RecipeSaved:
    """Return the input that keeps a plan as the next version of a recipe, as its route does."""
    of_recipe = msgspec.structs.replace(plan, recipe=name)
    return i.RecipeSaved(
        base_version=base,
        by="",
        id=ident,
        name=name,
        secrets=sorted({secret for spec in plan.specs for secret in spec.secrets}),
        text=msgspec.json.encode(of_recipe).decode(),
        title=name,
        unapproved=plan.policy.approval is Approval.NEVER,
    )


class Planner:
    """A worker that looks for jobs by itself, as long as there is work."""

    def __init__(self, site: Peopled, chance: random.Random) -> None:
        self._site = site
        self._chance = chance

    async def run(self) -> None:
        while not self._site.closing:
            await asyncio.sleep(self._chance.choice([1.0, 3.0]))
            engine = self._site.engine
            live = [engine.shard.constellations[name] for name in engine.shard.live] if engine is not None else []
            planning = [one for one in live if one.head.recipe and one.head.state is ConstellationState.PLANNING]
            for name, recipe in [(one.name, one.head.recipe or "") for one in planning]:
                await self._plan(name, recipe)

    async def _plan(self, constellation: str, recipe: str) -> None:
        signed: dict[str, Any] = {"by": "worker:w", "constellation": constellation, "job": "plan-1", "worker": "w"}
        claimed = await self._site.ask(i.JobClaimed(id=self._site.ident(), ttl_ms=_TTL_MS, **signed))
        engine = self._site.engine
        if claimed is None or claimed.faults or engine is None:
            return
        version = newest(engine.shard, recipe)
        await asyncio.sleep(self._chance.choice([0.0, 0.0, 0.5, 20.0]))
        if version is not None:
            answer: dict[str, Any] = {"plan": plan_of(version)}
        else:
            answer = {"fault": Fault(code=Code.UNKNOWN_RECIPE, hint="", reason=f"there is no recipe {recipe}")}
        await self._site.ask(i.PlanProposed(id=self._site.ident(), **signed, **answer))
