"""A device fills the history of the hub with questions to its owner: by changes (T177), by their length (T299)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.edge.agents.offer_bounds import ASKS
from starloom.store.port import Commit
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.wire import frames as f
from tests.edge.world import World, settle


def asks(number: int, *, left_s: int = 60) -> f.AsksFrame:
    made = OwnerAsk(action=f"a-{number}", args="x" * 2_000, id=f"q-{number}", left_s=left_s, tool="shell.run")
    return f.AsksFrame(answers="hub", open=[made])


async def test_t177_a_device_that_asks_without_pause_loses_its_connection(world: World) -> None:
    liar = await world.online("liar")
    before = world.engine.shard.fleet.seq
    for number in range(2 * ASKS.burst):
        await liar.send(asks(number))
        await settle()
        if world.hub.fleet.devices[liar.id].link != "online":
            break
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert world.engine.shard.fleet.seq - before <= ASKS.burst + 2


async def test_t177_a_question_that_a_device_repeats_as_it_connects_again_counts_once(world: World) -> None:
    honest = await world.join("srv")
    for number in range(ASKS.burst + 10):
        await honest.connect(world)
        await honest.send(asks(1, left_s=600 - number))
        await settle()
    assert world.hub.fleet.devices[honest.id].link == "online"
    assert [ask.id for ask in world.engine.shard.fleet.asks[honest.id].open] == ["q-1"]


@pytest.mark.parametrize("field", ["action", "args", "constellation", "id", "task", "tool"])
async def test_t299_a_long_text_in_a_question_comes_into_no_log(world: World, field: str) -> None:
    """Each kept 900 kB in the log of inputs, whatever the event showed of them."""
    liar = await world.online("liar")
    kept = spied_inputs(world)
    (ask,) = asks(1).open
    await liar.send(f.AsksFrame(answers="hub", open=[replace(ask, **{field: "y" * 900_000})]))
    await settle()
    assert world.hub.fleet.devices[liar.id].link == "offline"
    assert 0 < max(map(len, kept)) < 10_000


def spied_inputs(world: World) -> list[bytes]:
    """Return the inputs that the commits from now on keep."""
    kept: list[bytes] = []
    store: Any = world.engine._store
    commit = store.commit

    async def committed(one: Commit, *args: Any, **more: Any) -> Any:
        kept.extend(one.inputs)
        return await commit(one, *args, **more)

    store.commit = committed
    return kept
