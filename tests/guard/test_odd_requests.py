"""T182: headers that stand twice or name another place, and methods that no route has, get nothing from any route."""

from __future__ import annotations

import re

import pytest

from starloom.edge.access.guard import ROUTES, Door
from tests.edge.world import World
from tests.guard import api

Headers = list[tuple[str, str]]
METHODS = ("OPTIONS", "TRACE", "PROPFIND")


def _refused(world: World, viewer: str) -> dict[str, Headers]:
    owner, here = ("authorization", f"Bearer {world.token}"), f"127.0.0.1:{world.hub.settings.port}"
    return {
        "the weaker token first": [("authorization", f"Bearer {viewer}"), owner],
        "a false token first": [("authorization", "Bearer x"), owner],
        "two tokens in one": [("authorization", f"Bearer {world.token} x")],
        "another origin": [owner, ("origin", "http://evil.example")],
        "no origin": [owner, ("origin", "null")],
        "an empty origin": [owner, ("origin", "")],
        "an origin that begins as ours": [owner, ("origin", f"http://{here}.evil.example")],
        "two origins": [owner, ("origin", f"http://{here}"), ("origin", "http://evil.example")],
        "another host": [owner, ("host", "evil.example")],
        "two hosts": [owner, ("host", here), ("host", "evil.example")],
        "another site": [owner, ("sec-fetch-site", "cross-site")],
    }


async def test_t182_no_header_that_is_odd_opens_a_route(world: World) -> None:
    _id, viewer = await world.new_token("viewer")
    async with world.client(token="") as http:
        for how, headers in _refused(world, viewer).items():
            answer = await http.get("/api/v1/secrets", headers=headers)
            assert answer.status_code in (401, 403, 421), how
        sound = await http.get("/api/v1/secrets", headers=[("authorization", f"Bearer {world.token}")])
        assert sound.status_code == 200


@pytest.mark.test
async def test_t182_no_other_method_gets_anything(world: World) -> None:
    real = await api.real_things(world)
    urls = {
        re.sub(r"\{(\w+)(:path)?\}", lambda found: str(real.get(found[1], "x")), path)
        for (method, path), row in ROUTES.items()
        if method != "WS" and row.door is not Door.ANYONE
    }
    assert len(urls) > 80
    async with world.client() as owner, world.client(token="") as nobody:
        for url in sorted(urls):
            for method in METHODS:
                answer = await owner.request(method, url)
                assert answer.status_code == 405, (method, url)
                assert answer.headers["allow"], url
                assert "access-control-allow-origin" not in answer.headers
            if url.startswith("/api"):
                assert (await nobody.head(url)).status_code in (401, 404), url
