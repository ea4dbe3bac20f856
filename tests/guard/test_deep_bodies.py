"""T310: no body that nests deeply makes an error of the server, on any route and in any of its fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.edge.world import World, a_world
from tests.guard import api

DEPTHS = (40, 60, 900, 100_000)
"""Deeper than a value may be; as deep as a body may be; beyond that; and beyond the reader of JSON."""


def nested(body: dict[str, Any], name: str, depth: int) -> bytes:
    """Return the body with lists, and maps, of this depth in one of its fields."""
    deep = "[" * depth + "]" * depth if depth % 3 else '{"a":' * depth + "1" + "}" * depth
    return json.dumps({**body, name: "DEEP"}).replace('"DEEP"', deep).encode()


def bodies_of(document: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Return the names of the fields of each body, by method and path."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            shape = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for one in (shape, *shape.get("anyOf", ())):
                name = one.get("$ref", "").rpartition("/")[2]
                if name and (method.upper(), path) not in api.LEFT_OUT:
                    found[method.upper(), path] = list(document["components"]["schemas"][name]["properties"])
    return found


def asked_of(world: World, real: dict[str, str]) -> list[api.Request]:
    """Return requests for each field of each body, and for those that a sound body leads further in."""
    made = []
    bodies: list[tuple[str, str, dict[str, Any], str]] = [
        (method, path, {}, name) for (method, path), names in bodies_of(world.app.openapi()).items() for name in names
    ]
    assert len({path for _, path, _, _ in bodies}) > 40
    words: dict[str, Any] = {"request": "how are my machines"}
    recipe: dict[str, Any] = {"recipe": "facts"}
    for path in ("/constellations", "/constellations/preview", "/schedules", "/schedule-preview", "/what-if"):
        bodies += [
            ("POST", f"/api/v1{path}", {"cron": "0 3 * * *"} if "sched" in path else {}, name) for name in ("plan",)
        ]
        bodies += [("POST", f"/api/v1{path}", sound, "params") for sound in (words, recipe)]
    for method, path, body, name in bodies:
        place = path
        for part, value in real.items():
            place = place.replace("{" + part + "}", value)
        made += [
            {"method": method, "path": place, "template": path, "query": {}, "content": nested(body, name, depth)}
            for depth in DEPTHS
        ]
    return made


@pytest.mark.test
async def test_t310_no_field_that_nests_deeply_makes_an_error_of_the_server(world: World) -> None:
    answers = await api.ask_all(world, asked_of(world, await api.real_things(world)), down=False)
    assert answers.errors == []
    assert answers.cases > 500


async def test_t310_a_message_of_another_assistant_that_nests_deeply_is_refused(tmp_path: Path) -> None:
    sent = '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    async with a_world(tmp_path, a2a=True) as world, world.client() as http:
        for depth in DEPTHS:
            part = nested({"recipe": "facts"}, "params", depth).decode()
            answer = await http.post("/a2a", content=f'{sent}"parts":[{{"data":{part}}}]}}}}}}', headers=headers)
            said = answer.json()
            assert ("error" in said) if answer.status_code == 200 else (said["code"] == "bad_request"), depth
