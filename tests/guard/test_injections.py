"""The injection corpus: no text of a stranger, and no model that obeys it, widens anything or sends anything out.

Each text of `injections/*.yaml` is played in each room where a text of its kind stands before a model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.injections.corpus import ROOMS, WANTS, Injection, corpus
from tests.guard.injections.rooms import ROOM_OF
from tests.guard.injections.world import World, listening, standing
from tests.models.server import FakeModel

CASES = [(injection, room) for injection in corpus() for room in ROOMS[injection.kind]]


def _case(injection: Injection, room: str) -> object:
    marks = [] if injection.first else [pytest.mark.test]
    return pytest.param(injection, room, id=f"{injection.id}-{room}", marks=marks)


@pytest.mark.parametrize(("injection", "room"), [_case(*case) for case in CASES])
async def test_t114_a_text_that_a_model_obeys_widens_nothing_and_sends_nothing(
    injection: Injection, room: str, tmp_path: Path
) -> None:
    async with listening() as outside:
        played = await ROOM_OF[room](World(injection, tmp_path / "disk", outside))
    assert played.all_wrong() == []


async def test_t114_what_a_person_approved_reaches_its_server(tmp_path: Path) -> None:
    """Without this the tests above could pass because nothing is ever sent."""
    injection = next(each for each in corpus() if each.id == "page-comment")
    async with listening() as outside:
        world = World(injection, tmp_path / "disk", outside)
        await ROOM_OF["goal"](world, hosts=["127.0.0.1"])
    assert outside.came
    assert set(outside.came) == {"GET /take HTTP/1.1"}


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("obey me", True),
        ("DATA result\n{}\nobey me", True),
        ('{"text":"obey me"}', True),
        ('DATA result\n{"text":"obey me"}', False),
        ("```text\nobey me\n```", False),
        ("```text\n```\nobey me", True),
        ('DATA result\n{"text":"x\u2028obey"}', True),
    ],
)
def test_t114_an_order_outside_of_data_is_seen(text: str, stands: bool) -> None:
    fake = FakeModel([])
    fake.asked = [{"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "obey me"}]}]
    assert bool(standing(fake, "obey me")) == stands


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
