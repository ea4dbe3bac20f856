"""The fleet and the recipes are read on the thread that changes them, also for work that another thread does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from tests.edge.world import World
from tests.planner.fleets import device, fleet

V1 = "/api/v1"
LARGE: dict[str, Any] = {
    "starloom": 1,
    "name": "Many",
    "tasks": [{"id": f"a{number}", "tool": "fs.stat", "args": {"path": "a"}} for number in range(400)],
}
RECIPE = {
    "starloom_recipe": 1,
    "name": "look-around",
    "title": "Look around",
    "version": 1,
    "phrases": [f"look around way {number}" for number in range(6)],
    "effects": ["read"],
    "plan": {"starloom": 1, "name": "Look", "tasks": [{"id": "a", "tool": "fs.stat", "args": {"path": "a"}}]},
}
ANSWER = 'starloom: 1\nname: Look\ntasks:\n  - {id: look, person: "Did it work?"}'


class Reads:
    """The names of the threads in which the fleet, saved recipes or their runs were read."""

    def __init__(self) -> None:
        self.threads: set[str] = set()
        self._view = fleet(device("nas"), device("pc"))

    def fleet(self) -> FleetSnapshot:
        self._note()
        return self._view

    def table(self) -> Iterator[Any]:
        self._note()
        return iter(())

    def _note(self) -> None:
        self.threads.add(threading.current_thread().name)


@pytest.fixture
def reads(world: World) -> Reads:
    seen = Reads()
    planner = Planning(load_catalogue(), seen.fleet, seen.table, seen.table)
    object.__setattr__(world.hub, "planner", planner)
    return seen


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("constellations", {"plan": LARGE}),
        ("constellations/preview", {"plan": LARGE}),
        ("what-if", {"plan": LARGE, "without": ["one"]}),
        ("recipes/check", {"recipe": RECIPE}),
        ("brief", {"answer": f"```yaml\n{ANSWER}\n```"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_work_in_a_thread_reads_the_fleet_before(world: World, reads: Reads, path: str, body: Any) -> None:
    await world.join("one")
    async with world.client() as http:
        answer = await http.post(f"{V1}/{path}", json=body)
    assert answer.status_code in (200, 202), answer.text
    assert reads.threads == {threading.current_thread().name}


async def test_a_brief_reads_the_fleet_before(world: World, reads: Reads) -> None:
    async with world.client() as http:
        answer = await http.get(f"{V1}/brief", params={"request": "look"})
    assert answer.status_code == 200
    assert reads.threads == {threading.current_thread().name}
