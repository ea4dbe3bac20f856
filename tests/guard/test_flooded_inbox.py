"""T300: a device sends reports faster than the hub decides; it alone waits, and the inbox stays short."""

from __future__ import annotations

import asyncio

import pytest

from starloom.edge.agents.aip import PORTION_MOST
from starloom.engine.inputs.inbox import CROWDED, QUEUE_MOST
from starloom_protocol.bounds import LEDGER_MOST
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle

AT = f.LeaseRef(attempt=1, constellation="c-x", incarnation=1, task="t")
REPORTS: list[f.Frame] = [f.Started(at=AT, report=number + 1) for number in range(8_000)]
ENTRIES: list[f.Frame] = [f.LedgerReport(entries=[f.LedgerEntry(at=AT, state="unknown")] * LEDGER_MOST)] * 8
MESSAGES = 10
MOST = CROWDED + PORTION_MOST + LEDGER_MOST


async def flood(liar: Agent, frames: list[f.Frame]) -> None:
    for _ in range(MESSAGES):
        await liar.send(*frames)


@pytest.mark.parametrize("frames", [REPORTS, ENTRIES], ids=["reports", "entries of its ledger"])
async def test_t300_a_flood_of_reports_refuses_nobody(world: World, frames: list[f.Frame]) -> None:
    liar, honest = await world.online("liar"), await world.online("srv")
    before, longest = world.engine.counts.inputs, 0
    flooding = asyncio.create_task(flood(liar, frames))
    async with world.client() as http:
        while not flooding.done():
            named = asyncio.create_task(http.patch(f"/api/v1/devices/{honest.id}", json={"labels": ["a"]}))
            while not named.done():
                longest = max(longest, len(world.engine.inbox))
                await asyncio.sleep(0)
            assert named.result().status_code == 200
    await settle(1_000)
    assert CROWDED <= longest <= MOST < QUEUE_MOST
    assert world.engine.counts.inputs - before >= 8_000 * MESSAGES
    assert world.hub.fleet.devices[liar.id].link == "online"


async def test_t300_a_device_that_goes_leaves_nothing_waiting(world: World) -> None:
    liar = await world.online("liar")
    before = world.engine.counts.inputs
    await liar.send(*REPORTS)
    assert liar.ws is not None
    await liar.ws.leave()
    await settle(1_000)
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert world.engine.counts.inputs - before < MOST
