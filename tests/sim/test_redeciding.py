"""Random histories - crashes, takeovers, retirements, refused edits - are decided again without a difference."""

from __future__ import annotations

import asyncio

import pytest

from starloom.engine.redeciding import Redecided, redecide
from starloom_protocol.stream.feed import ACCESS, FLEET
from tests.sim.recorded import run_recorded
from tests.store.memory import MemoryHistory, MemoryStore

pytestmark = pytest.mark.sim


def again(history: MemoryHistory) -> list[Redecided]:
    async def run() -> list[Redecided]:
        store = MemoryStore(history=history)
        names = [name for name in history.streams if name not in (ACCESS, FLEET)]
        return [await redecide(store, name) for name in names]

    return asyncio.run(run())


@pytest.mark.parametrize("seed", range(100, 112))
def test_what_a_schedule_decided_is_decided_again(seed: int) -> None:
    _, history = run_recorded(seed)
    for found in again(history):
        assert found.exact, found.note
        assert found.differences == []
        assert found.inputs
