"""A hostile model, or a worker that was taken over, looks: real hub, real socket of a device, only reading."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom.engine.ports import Reply
from starloom_protocol.plan import check_plan
from starloom_protocol.vocabulary import Role
from tests.edge.world import World
from tests.guard.test_rights import READ, V1, as_token, dispatched, plan, worker

CALLS = {
    "writes": i.LookCall(device="srv", tool="t.write"),
    "changes": i.LookCall(device="srv", tool="t.change", args='{"name":"nginx"}'),
    "names a secret": i.LookCall(device="srv", tool="t.read", args='{"env":{"X":{"secret":"canary"}}}'),
    "names no tool": i.LookCall(device="srv", tool="t.nothing"),
    "names no device": i.LookCall(device="srv-of-another", tool="t.read"),
    "is too large": i.LookCall(device="srv", tool="t.read", args='{"a":"' + "x" * 9_000 + '"}'),
}


async def look(world: World, *calls: i.LookCall, hold: bool = False) -> Reply:
    ask = world.hub.inbox.ask
    request = i.RequestReceived(by="person:ann", constellation="c-x", hold=hold, id="r", request="look around")
    assert not (await ask(request)).faults
    await ask(i.JobClaimed(by="worker:w", constellation="c-x", id="j", job="plan-1", ttl_ms=15_000, worker="w"))
    proposed = i.LooksProposed(
        by="worker:w", calls=list(calls), constellation="c-x", id="l", job="plan-1", why="x", worker="w"
    )
    return await ask(proposed)


@pytest.mark.parametrize("how", CALLS)
async def test_t83_a_look_that_is_more_than_reading_reaches_no_device(world: World, how: str) -> None:
    agent = await worker(world)
    refused = await look(world, i.LookCall(device="srv", tool="t.read"), CALLS[how])
    assert [str(fault.place).startswith("calls[1]") for fault in refused.faults] == [True]
    assert await dispatched(agent) == []


async def test_t83_nothing_is_looked_at_before_a_person_allows_what_was_held(world: World) -> None:
    agent = await worker(world)
    refused = await look(world, i.LookCall(device="srv", tool="t.read"), hold=True)
    assert "waits for a person" in refused.faults[0].reason
    assert await dispatched(agent) == []


@pytest.mark.parametrize("how", CALLS)
async def test_t83_a_look_of_a_reviewer_that_is_more_than_reading_reaches_no_device(world: World, how: str) -> None:
    agent = await worker(world)
    ask = world.hub.inbox.ask
    made = check_plan(plan(READ, policy={"review": "always"})).plan
    assert not (await ask(i.RequestReceived(by="person:ann", constellation="c-x", id="r", plan=made))).faults
    (sent,) = await dispatched(agent)
    await agent.done(sent, "1")
    await ask(i.JobClaimed(by="worker:w", constellation="c-x", id="j", job="review-1", ttl_ms=15_000, worker="w"))
    for bad, reason in ((CALLS[how], "refused"), (i.LookCall(device="srv", tool="t.read"), "")):
        calls = [i.LookCall(device="srv", tool="t.read"), bad]
        found = await ask(
            i.LooksProposed(
                by="worker:w", calls=calls, constellation="c-x", id=f"l{reason}", job="review-1", worker="w"
            )
        )
        assert bool(found.faults) is bool(reason)
    assert [frame.at.task for frame in await dispatched(agent)][1:] == ["review-1-look-1-1", "review-1-look-1-2"]


async def test_t83_a_look_that_only_reads_reaches_its_device(world: World) -> None:
    """Without this the tests above could pass because nothing is ever looked at."""
    agent = await worker(world)
    assert not (await look(world, i.LookCall(device="srv", tool="t.read"))).faults
    assert [frame.at.task for frame in await dispatched(agent)] == ["look-1-1"]


async def test_t83_only_an_owner_widens_what_a_model_is_shown(world: World) -> None:
    wanted = {"url": "http://127.0.0.1:9/v1", "model": "m", "share": "cards_and_file_heads"}
    async with as_token(world, Role.OPERATOR, []) as http:
        assert (await http.put(f"{V1}/model", json=wanted)).status_code == 403
    async with world.client() as http:
        assert (await http.put(f"{V1}/model", json={**wanted, "share": "all"})).status_code == 422
