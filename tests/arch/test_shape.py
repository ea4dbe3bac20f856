"""The figures of the shape that are bounds: rooms, private doors, words. `make shape` prints all of them."""

from __future__ import annotations

import ast
import asyncio

import pytest

from tests.arch.shape import (
    CHILDREN_MOST,
    FLOORS_MOST,
    LONGEST_FUNCTION,
    PARTICIPLES,
    Rooms,
    accents,
    functions,
    names_bound,
    names_of_anything,
    packages,
    participles,
    paths_in_quotes,
    polls,
    private_uses,
    product,
    traced,
    untyped_answers,
)

CORE_ARROWS_MOST = 40
TRACE_MOST = 49
"""Files of the hub that one request runs through, from its POST to its answer."""
ROOMS = {one.name: one for one in packages()}


def test_circles_floors_and_arrows_up_are_counted() -> None:
    chain = Rooms("p", ("a", "b", "c"), frozenset({("a", "b"), ("b", "c")}))
    assert (chain.floors, chain.up, chain.circles) == (3, 0, [])
    bent = Rooms("p", ("a", "b", "c"), frozenset({("a", "b"), ("b", "a"), ("b", "c")}))
    assert (bent.floors, bent.up, bent.circles) == (2, 2, [frozenset({"a", "b"})])


@pytest.mark.parametrize("room", ROOMS.values(), ids=lambda room: room.name)
def test_a_room_has_few_children_on_few_floors(room: Rooms) -> None:
    assert len(room.children) <= CHILDREN_MOST
    assert room.floors <= FLOORS_MOST
    assert room.circles == []


def test_the_rooms_of_the_core_have_few_arrows() -> None:
    assert len(ROOMS["starloom.core"].arrows) <= CORE_ARROWS_MOST


def test_a_request_runs_through_few_files() -> None:
    ran, _ = asyncio.run(traced())
    assert len(ran) <= TRACE_MOST, ran


def test_no_function_is_long() -> None:
    assert [f"{at} has {count} lines" for count, at in functions(product()) if count > LONGEST_FUNCTION] == []


def test_docstrings_and_comments_are_plain_english() -> None:
    assert accents() == []


@pytest.mark.parametrize("package", PARTICIPLES["most"])
def test_names_that_are_bare_participles_only_become_fewer(package: str, places: dict[str, list[str]]) -> None:
    count, most = len(places[package]), PARTICIPLES["most"][package]
    new = "\n".join(["name what it holds (devices, request, lines), or what a function does:", *places[package]])
    assert count <= most, f"{package} has {count} names of this kind, {count - most} more than before; {new}"
    assert count == most, f"write {count} for {package} in tests/arch/participles.json instead of {most}"


@pytest.fixture(scope="module")
def places() -> dict[str, list[str]]:
    return participles()


def test_each_name_that_a_module_binds_is_seen() -> None:
    module = """
import a as told
class A:
    kept: int
    def made(self, given, *, asked=1):
        self.had = [found for found in given]
        found = found.found
        with x as said, y as (_taken, z): ...
        match z:
            case {"b": known}: ...
"""
    names = {(scope, name) for scope, _, name in names_bound(ast.parse(module))}
    assert names == {("", "A"), (".A", "kept"), (".A", "made")} | {
        (".A.made", name) for name in ("self", "given", "asked", "had", "found", "said", "_taken", "z", "known")
    }


def test_no_timer_of_the_page_asks_the_hub_again_and_again() -> None:
    assert polls() == []


def test_answers_are_read_by_their_type() -> None:
    assert untyped_answers() == []


def test_a_command_that_reads_an_untyped_answer_is_counted() -> None:
    command = """
def show(run, found: dict[str, Any], kept: DeviceRow) -> None:
    run.client.get(f"/devices/{found['id']}")
    print(found.get("name"), kept["name"], f"{run.url}/devices/{kept['id']}")
    run.client.stream("/audit/export")
"""
    tree = ast.parse(command)
    assert list(paths_in_quotes(tree, {"devices", "audit"})) == [(3, "/devices/")]
    assert sorted(names_of_anything(tree)) == [(3, "found['id']"), (4, "found['name']")]


def test_no_library_is_entered_by_a_private_door() -> None:
    assert private_uses() == []
