"""A request that looks have answered, and one that is withdrawn: real hub, worker, agents and command line."""

from __future__ import annotations

import asyncio
import json

from starloom.client.exits import Exit, exit_of_state
from tests.models.server import Json, Say
from tests.recipes.fleet import Fleet
from tests.recipes.test_looking import LOOK, NORTH, SOUTH, cards_in, planned_by


def said(asked: Json) -> Say:
    """Answer with the number of bytes that the cards show, as a model would."""
    size = next(card for card in cards_in(asked) if card["device"] == "laptop")
    cites = [{"task": size["task"], "pointer": "/text"}]
    return Say(tool={"kind": "answer", "text": "laptop sold {1} [1].", "cites": cites})


async def test_looks_answer_a_request_and_nothing_else_runs(fleet: Fleet) -> None:
    fleet.device("laptop").write("sales.csv", "48213 pieces")
    fleet.device("server").write("sales.csv", SOUTH)
    async with planned_by(fleet, Say(tool=LOOK), said) as fake:
        answer = await asyncio.to_thread(fleet.submit, "how much did laptop sell", approve=False)
        assert len(fake.asked) == 2, "no further call writes the words"
        assert "48213" not in json.dumps([asked["messages"][1:] for asked in fake.asked])
    assert answer.state == "succeeded", answer.told()
    assert exit_of_state(answer.state) is Exit.SUCCEEDED
    shown = await asyncio.to_thread(fleet.cli, "show", answer.id)
    assert "laptop sold 48213 pieces" in shown
    assert "no plan was needed" in shown


async def test_a_request_that_is_cancelled_before_its_plan_was_withdrawn(fleet: Fleet) -> None:
    fleet.device("laptop").write("sales.csv", NORTH)
    async with planned_by(fleet, Say(stall=True)) as fake:
        running = await asyncio.to_thread(fleet.begin, "how much did laptop sell", approve=False)
        while not fake.asked:
            await asyncio.to_thread(running.look)
        await asyncio.to_thread(fleet.cli, "cancel", running.id)
        answer = await asyncio.to_thread(running.wait)
    assert (answer.state, exit_of_state(answer.state)) == ("cancelled", Exit.CANCELLED)
    assert "withdrawn" in answer.sentence
    assert "withdrawn" in await asyncio.to_thread(fleet.cli, "show", running.id)
