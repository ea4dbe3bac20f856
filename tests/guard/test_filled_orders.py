"""T301: a long item of a list is filled into the arguments of a call until no message holds its order."""

from __future__ import annotations

import json

import pytest

from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, settle
from tests.guard.test_rights import C, plan


@pytest.mark.parametrize("times", [3, 4])
async def test_t301_an_order_that_no_message_holds_does_not_leave(world: World, times: int) -> None:
    liar, honest = await world.join("liar"), await world.join("srv")
    await liar.connect(world, offer=an_offer("t.look"))
    await honest.connect(world, offer=an_offer("t.one"))
    filled = {f"a{number}": {"each": ""} for number in range(times)}
    each = {"id": "each", "tool": "t.one", "args": filled, "for_each": {"from": "look", "output": "/rows"}}
    async with world.client() as http:
        made = (await http.post(C, json={"plan": plan({"id": "look", "tool": "t.look"}, each)})).json()["id"]
        look = await liar.next(f.Dispatch)
        rows = json.dumps(["x" * 300_000])
        await liar.send(f.ResultFrame(at=look.at, facts={"/rows": rows}, outcome=Outcome.OK, report=1, value="null"))
        await settle(200)
        read = (await http.get(f"{C}/{made}")).json()
    assert world.hub.fleet.devices[honest.id].link == "online"
    if times == 3:
        assert len(json.loads((await honest.next(f.Dispatch)).args)["a0"]) == 300_000
    else:
        assert "its arguments are filled to 1,200," in read["answer"]["sentence"]
