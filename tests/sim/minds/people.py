"""People of a schedule with minds: they submit such plans, answer questions, and give hints."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starloom.core.clock.leaving_out import parts_to_leave_out
from starloom.core.state import inputs as i
from starloom.core.state.inputs import PartLeftOut
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.stream.authors import ENGINE
from tests.sim.client import Client
from tests.sim.minds.plans import make

RARE: Final = {"deny": 0.3, "go_on": 0.3, "stop": 0.3}
"""The weights of answers that end or prolong what is asked about, beside 1 for the others."""


class Asked(Client):
    """One person doing one thing."""

    async def do(self) -> None:
        match self._act.kind:
            case "pursue":
                await self.submit()
            case "hint":
                await self._hint()
            case "reply":
                await self._reply(1.0)
            case _:
                await super().do()

    def _planned(self) -> LoweredPlan:
        if self._act.kind != "pursue":
            return super()._planned()
        return make(self._chance, [device[2:] for device in self.site.agents])

    def _live(self) -> list[Any]:
        engine = self.site.engine
        if engine is None:
            return []
        return [engine.shard.constellations[name] for name in engine.shard.live]

    async def _hint(self) -> None:
        goals = [(found.name, name) for found in self._live() for name, spec in found.specs.items() if spec.goal]
        await self._leave_out()
        if not goals:
            return
        name, group = self._chance.choice(goals)
        await self.site.ask(
            i.ControlRequested(
                id=self.site.ident(), by=self.by, constellation=name, action="hint", task=group, reason="look at it"
            )
        )

    async def _leave_out(self) -> None:
        """Leave a part out, as the hub does when the chance to end in time sinks; now and then one that must stay.

        No chance is drawn, so that every known seed keeps the rest of its acts.
        """
        for found in self._live():
            parts = parts_to_leave_out(found)
            wrong = found.seq % 5 == 0 and bool(found.specs)
            if not parts and not wrong:
                continue
            names = list(found.specs) if wrong else parts
            part = names[found.seq % len(names)]
            chance = 95 if found.seq % 7 == 0 else 20
            ident = self.site.ident()
            await self.site.ask(PartLeftOut(by=ENGINE, chance=chance, constellation=found.name, id=ident, task=part))

    async def _reply(self, share: float) -> None:
        for found in self._live():
            for question in [found.questions[key] for key in found.open_questions]:
                if self._chance.random() > share:
                    continue
                values = [choice.value for choice in question.choices] or ["allow", "deny"]
                weights = [RARE.get(value, 1.0) for value in values]
                value = self._chance.choices(values, weights)[0]
                words = self._chance.choice(["", "look there"])
                await self.site.ask(
                    i.QuestionAnswered(
                        id=self.site.ident(),
                        by=self.by,
                        constellation=found.name,
                        question=question.id,
                        reason=words,
                        value=value,
                    )
                )
                await asyncio.sleep(0)

    async def finish(self) -> None:
        await super().finish()
        await self._reply(0.5)
