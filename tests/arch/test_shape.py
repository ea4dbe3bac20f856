"""The figures of the shape that are bounds: rooms, private doors, words. `make shape` prints all of them."""

from __future__ import annotations

import pytest

from tests.arch.shape import CHILDREN_MOST, FLOORS_MOST, Rooms, accents, packages, private_uses

CORE_ARROWS_MOST = 40
ROOMS = {one.name: one for one in packages()}
BOUNDED = ("starloom.core", "starloom.edge", "starloom.cli", "starloom.host", "starloom.client", "starloom.terminal")
BOUNDED_ROOMS = [one for name, one in ROOMS.items() if f"{name}.".startswith(tuple(f"{each}." for each in BOUNDED))]


def test_circles_floors_and_arrows_up_are_counted() -> None:
    chain = Rooms("p", ("a", "b", "c"), frozenset({("a", "b"), ("b", "c")}))
    assert (chain.floors, chain.up, chain.circles) == (3, 0, [])
    bent = Rooms("p", ("a", "b", "c"), frozenset({("a", "b"), ("b", "a"), ("b", "c")}))
    assert (bent.floors, bent.up, bent.circles) == (2, 2, [frozenset({"a", "b"})])


@pytest.mark.parametrize("room", BOUNDED_ROOMS, ids=lambda room: room.name)
def test_a_room_has_few_children_on_few_floors(room: Rooms) -> None:
    assert len(room.children) <= CHILDREN_MOST
    assert room.floors <= FLOORS_MOST
    assert room.circles == []


def test_the_rooms_of_the_core_have_few_arrows() -> None:
    assert len(ROOMS["starloom.core"].arrows) <= CORE_ARROWS_MOST


def test_docstrings_and_comments_are_plain_english() -> None:
    assert accents() == []


def test_no_library_is_entered_by_a_private_door() -> None:
    assert private_uses() == []
