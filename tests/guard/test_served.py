"""Requests to real processes: as many as are promised, no two alike, spread over every operation."""

from __future__ import annotations

from pathlib import Path

from tests.edge.world import a_world
from tests.guard import api, served


async def test_at_least_so_many_different_requests_are_drawn(tmp_path: Path) -> None:
    async with a_world(tmp_path, lab=True) as world:
        document = world.app.openapi()
    few = {path: found for path, found in document["paths"].items() if path.endswith(("/preview", "/recipes"))}
    few["/api/v1/lan/open"] = document["paths"]["/api/v1/lan/open"]
    document = {**document, "paths": few}
    made = served.drawn(document, {"constellation": "c-1"}, 30, 1)
    assert len(made) >= 30
    assert len({(one["method"], one["path"], str(one["query"]), one["content"]) for one in made}) == len(made)
    operations = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    assert {(one["method"].upper(), one["template"]) for one in made} == operations - api.LEFT_OUT
