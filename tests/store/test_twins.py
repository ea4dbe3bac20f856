"""Random calls find no difference between the memory twin and a real Redis; STARLOOM_TWINS=500 SEED=7 for more."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.store.memory import MemoryStore
from tests.store.memory_servers import Gone
from tests.store.twin_calls import KINDS, draw_calls
from tests.store.twins import Twins, compare

SEQUENCES = int(os.environ.get("STARLOOM_TWINS", "8"))
SEED = int(os.environ.get("SEED", "0"))
CALLS = 40


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Stores are killed and replaced on purpose."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.test
async def test_the_twins_never_differ() -> None:
    done, different = await compare(SEED, SEQUENCES, CALLS)
    assert not different, "\n".join(different)
    assert done == SEQUENCES


@pytest.mark.test
async def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    async def retire(self: MemoryStore, streams: Sequence[tuple[str, int]]) -> None:
        self._owned()
        for stream, _seq in streams:
            self.redis.put(Gone(stream))

    monkeypatch.setattr(MemoryStore, "retire", retire)
    done, different = await compare(0, 40, CALLS)
    assert done < 40
    assert "retire" in different[0]
    assert 1 < len(different) < CALLS, different


async def test_the_same_calls_may_be_carried_out_again(tmp_path: Path) -> None:
    async with Twins(tmp_path) as twins:
        calls = draw_calls(3, 10)
        assert [await twins.differ(calls), await twins.differ(calls)] == [None, None]


def test_every_call_is_drawn_and_a_seed_draws_the_same() -> None:
    assert {call.kind for seed in range(20) for call in draw_calls(seed, CALLS)} == set(KINDS)
    assert draw_calls(5, CALLS) == draw_calls(5, CALLS) != draw_calls(6, CALLS)
