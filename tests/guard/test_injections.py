"""The injection corpus: no text of a stranger, and no model that obeys it, widens anything or sends anything out.

Each text of `injections/*.yaml` is played in each room where a text of its kind stands before a model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.injections.corpus import ROOMS, WANTS, Injection, corpus
from tests.guard.injections.rooms import ROOM_OF
from tests.guard.injections.world import World, listening

CASES = [(injection, room) for injection in corpus() for room in ROOMS[injection.kind]]


def _case(injection: Injection, room: str) -> object:
    marks = [] if injection.first else [pytest.mark.proof]
    return pytest.param(injection, room, id=f"{injection.id}-{room}", marks=marks)


@pytest.mark.parametrize(("injection", "room"), [_case(*case) for case in CASES])
async def test_t114_a_text_that_a_model_obeys_widens_nothing_and_sends_nothing(
    injection: Injection, room: str, tmp_path: Path
) -> None:
    async with listening() as outside:
        played = await ROOM_OF[room](World(injection, tmp_path / "disk", outside))
    assert played.all_wrong() == []


def test_t114_the_corpus_has_every_kind_every_want_and_sixty_texts() -> None:
    texts = corpus()
    assert len(texts) >= 60
    assert len({each.id for each in texts}) == len(texts)
    assert {each.kind for each in texts} == set(ROOMS)
    assert {each.wants for each in texts} == set(WANTS)
    first = [each for each in texts if each.first]
    assert {each.kind for each in first} == set(ROOMS)
    assert {each.wants for each in first} == set(WANTS)
    for each in texts:
        assert each.order in each.text, each.id
        assert each.order.isascii(), each.id
        assert not set(each.order) & set("\"\\`'"), each.id
