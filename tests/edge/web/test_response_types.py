"""Types of answers: one declaration holds the endpoint, the document and the answers themselves."""

from __future__ import annotations

import json
import re
from typing import Any, TypedDict

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from starloom.edge.routes.bodies import Body
from starloom.edge.web.replies import Application, JsonReply, json_reply, response_type, shapes, unconverted
from starloom_protocol.api.fleet import DeviceRow
from tests.arch.shape import untyped_routes
from tests.edge.world import World


class Pair(TypedDict):
    """Two fields of a test."""

    name: str
    size: int


def test_a_type_reaches_the_document() -> None:
    async def pair() -> JsonReply[Pair]:
        return json_reply({"name": "a", "size": 1})

    app = Application()
    more = unconverted({"responses": {"4XX": {"description": "Refused"}}})
    app.router.add_api_route("/pair", pair, methods=["GET"], **more)
    document = app.openapi()
    assert document is app.openapi()
    answer = document["paths"]["/pair"]["get"]["responses"]["200"]["content"]["application/json"]
    assert answer["schema"] == {"$ref": "#/components/schemas/Pair"}
    assert "4XX" in document["paths"]["/pair"]["get"]["responses"]
    assert document["components"]["schemas"]["Pair"]["required"] == ["name", "size"]


async def test_every_reference_of_the_document_has_a_schema(world: World) -> None:
    document = world.app.openapi()
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert "DeviceRow" in named
    assert named <= set(document["components"]["schemas"])


def test_a_route_with_two_answers_describes_both() -> None:
    async def one_or_many() -> JsonReply[Pair] | JsonReply[list[Pair]]:
        one: Pair = {"name": "a", "size": 1}
        return json_reply(one)

    kind = response_type(one_or_many)
    assert shapes(kind) == (Pair, list[Pair])
    app = Application()
    app.router.add_api_route("/found", one_or_many, methods=["GET"], **unconverted({}))
    answers = app.openapi()["paths"]["/found"]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    pair = {"$ref": "#/components/schemas/Pair"}
    assert schema == {"anyOf": [pair, {"type": "array", "items": pair}]}


async def test_every_json_answer_has_a_type(world: World) -> None:
    found = untyped_routes(world.app)
    assert not found, f"declare the answer as `-> JsonReply[...]`: {found}"


def test_an_answer_of_any_shape_is_found() -> None:
    async def anything() -> Any:
        return json_reply({"name": "a"})

    app = Application()
    app.router.add_api_route("/anything", anything, methods=["POST"])
    assert untyped_routes(app) == ["POST /anything"]


def bodies_of_any_shape(app: FastAPI) -> list[str]:
    """Return the routes with a JSON body that has no type of its own, such as a mapping of anything."""
    found = []
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            schemas = [content["schema"]] if content else []
            parts = [part for schema in schemas for part in schema.get("anyOf", [schema])]
            if any("$ref" not in part and part != {"type": "null"} for part in parts):
                found.append(f"{method.upper()} {path}")
    return found


async def test_every_json_body_has_a_type(world: World) -> None:
    assert bodies_of_any_shape(world.app) == [], "declare a `Body`"


def test_a_body_of_any_shape_is_found() -> None:
    async def mapping(body: dict[str, Any]) -> JsonReply[Pair]:
        return json_reply({"name": str(body), "size": 1})

    async def perhaps(body: list[dict[str, Any]] | None = None) -> JsonReply[Pair]:
        return json_reply({"name": str(body), "size": 1})

    app = Application()
    for path, route in (("/mapping", mapping), ("/perhaps", perhaps)):
        app.router.add_api_route(path, route, methods=["POST"], **unconverted({}))
    assert bodies_of_any_shape(app) == ["POST /mapping", "POST /perhaps"]


async def test_every_body_refuses_unknown_fields(world: World) -> None:
    assert world.app.routes
    models = [kind for kind in BaseModel.__subclasses__() if kind.__module__.startswith("starloom.edge.routes")]
    assert models == [Body], "derive it from `Body`"


async def test_an_answer_of_another_shape_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert response_type(_devices_of(world).endpoint).__args__ == (DeviceRow,)
    await world.join("one")
    monkeypatch.setattr("starloom.edge.live.entity_json.iso", lambda _ms: 5)
    async with world.client() as http:
        with pytest.raises(AssertionError, match="does not answer by its type"):
            await http.get("/api/v1/devices")


def _devices_of(world: World) -> APIRoute:
    found: APIRoute = next(route for route in world.app.routes if getattr(route, "path", "") == "/api/v1/devices")
    return found
