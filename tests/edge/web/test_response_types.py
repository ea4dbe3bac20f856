"""Types of answers: one declaration holds the endpoint, the document and the answers themselves."""

from __future__ import annotations

import json
import re
from typing import TypedDict

import pytest
from fastapi.routing import APIRoute

from starloom.edge.web.replies import json_reply
from starloom.edge.web.response_types import Application, JsonReply, described, response_type
from starloom_protocol.api.fleet import DeviceRow
from tests.arch.shape import untyped_routes
from tests.edge.world import World

UNTYPED_MOST = 11
"""Routes whose document promises JSON of no shape. The number only sinks."""


class Pair(TypedDict):
    """Two fields of a test."""

    name: str
    size: int


def test_a_type_reaches_the_document() -> None:
    async def pair() -> JsonReply[Pair]:
        return json_reply({"name": "a", "size": 1})

    app = Application()
    more = described(response_type(pair), {"responses": {"4XX": {"description": "Refused"}}})
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


async def test_untyped_routes_only_become_fewer(world: World) -> None:
    found = untyped_routes(world.app)
    assert len(found) <= UNTYPED_MOST, f"declare the answer as `-> JsonReply[...]`: {found}"
    assert len(found) >= UNTYPED_MOST, "there are fewer now: lower UNTYPED_MOST"


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
