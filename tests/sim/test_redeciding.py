"""Random histories - crashes, takeovers, retirements, refused edits - are decided again without a difference."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from starloom.engine.redeciding import Redecided, redecide
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event, encode_event
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


def test_a_changed_log_is_shown_where_it_was_changed() -> None:
    _, history = run_recorded(3)
    at, event = next(
        (at, event)
        for at, commit in enumerate(history.commits)
        for event in map(decode_event, commit.events)
        if event.kind == "task_leased"
    )
    commit = history.commits[at]
    forged = msgspec.structs.replace(event, by="person:mallory")
    events = [encode_event(forged) if raw == encode_event(event) else raw for raw in commit.events]
    history.commits[at] = msgspec.structs.replace(commit, events=events)
    shown = next(found for found in again(history) if found.constellation == event.stream)
    assert [item.pos for item in shown.differences] == [at + 1]
    assert "mallory" in shown.differences[0].logged
