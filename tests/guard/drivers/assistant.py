"""A hostile assistant over MCP: the real `starloom mcp`, by the official client, and plans that want too much."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

from mcp import Client

from tests.guard.drivers.ground import Ground, standing
from tests.guard.drivers.hostile import REFUSED, plans
from tests.guard.drivers.tally import AttackTally, Stopwatch, unlogged
from tests.recipes.test_assistants import by_stdio

WHO = "assistant:"
EDITS = ("secret", "kill", "wipe", "never")
# Its tool `submit` makes a preview first, which refuses what a submission would refuse.
SUBMITTED, EDITED = (
    "forbidden: POST /api/v1/constellations/preview: ",
    "forbidden: POST /api/v1/constellations/{constellation}/edits: ",
)
WHY = re.compile(r"may not name a secret|`approval: never` needs the scope|may (?:change|destroy|execute|send)[a-z, ]*")


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    tally = AttackTally()
    with standing(home) as ground:
        asyncio.run(_attack(ground, clock, random.Random(seed), tally))
        ground.judge(tally)
        tally.unlogged = unlogged(ground.fleet.client, tally)
    return tally


async def _attack(ground: Ground, clock: Stopwatch, chance: random.Random, tally: AttackTally) -> None:
    owner = ground.fleet.client
    asks = {"starloom": 1, "name": "of the owner", "tasks": [{"id": "ask", "person": "Go?"}]}
    owners = (await asyncio.to_thread(owner.create, "/constellations", {"plan": asks}))["id"]
    async with by_stdio(ground.fleet) as client:
        while not clock.over() or not tally.attacks:
            made = plans(chance)
            for kind in chance.sample(list(made), len(made)):
                document = made[kind] if chance.random() < 0.7 else json.dumps(made[kind])
                await _submit(ground, client, kind, document, tally)
                if kind in EDITS:
                    await _edit(client, owners, kind, made[kind], tally)
    work = await asyncio.to_thread(owner.get, f"/constellations/{owners}")
    if work["version"] != 1:
        tally.effects.append(f"the owner's plan is at version {work['version']}")


async def _submit(ground: Ground, client: Client, kind: str, document: Any, tally: AttackTally) -> None:
    tally.attacks += 1
    answered = await client.call_tool("submit", {"plan": document})
    if answered.is_error:
        _refused(tally, SUBMITTED, kind, str(answered.content))
        return
    made = answered.structured_content or {}
    state = await asyncio.to_thread(ground.settle, str(made["constellation"]), tally)
    if kind in REFUSED or state != "awaiting_approval" or not made["needs_approval"]:
        tally.effects.append(f"{kind} was taken and is {state}")
    else:
        tally.held += 1


async def _edit(client: Client, owners: str, kind: str, plan: dict[str, Any], tally: AttackTally) -> None:
    tally.attacks += 1
    operations: list[dict[str, Any]] = [{"add_task": task} for task in plan["tasks"] if task["id"] != "z"]
    if "policy" in plan:
        operations.append({"set_policy": plan["policy"]})
    asked = {"constellation": owners, "operations": operations, "reason": f"needed for {plan['name']}"}
    answered = await client.call_tool("propose_edit", asked)
    if answered.is_error:
        _refused(tally, EDITED, kind, str(answered.content))
    elif (answered.structured_content or {}).get("applied") is not False:
        tally.effects.append(f"the edit {kind} was applied")
    else:
        _refused(tally, EDITED, kind, str((answered.structured_content or {})["because"]))


def _refused(tally: AttackTally, door: str, kind: str, said: str) -> None:
    if WHY.search(said) is None:
        tally.effects.append(f"{kind} was answered without a reason: {said[:300]}")
    tally.refuse(WHO, door)
