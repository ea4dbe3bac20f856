"""A foreign Host or Origin is refused on every route, method and socket; nothing leaves without its headers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from starloom.edge.access.guard import ROUTES
from tests.edge.test_guard import concrete
from tests.edge.world import URL, World, a_world

FOREIGN_HOSTS = (
    *("evil.example", "evil.example:8470", "127.0.0.1:8471", "127.0.0.1", "localhost.evil.example:8470", ""),
    *("localhost.:8470", "127.1:8470", "[::ffff:127.0.0.1]:8470", "127.0.0.1:8470@evil.example", "127.0.0.1%00:8470"),
)
FOREIGN_ORIGINS = ("http://evil.example", "null", "https://127.0.0.1:8470", "http://127.0.0.1:8471", "file://")


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_a_foreign_host_is_refused_everywhere(world: World, host: str) -> None:
    async with world.client() as http:
        for method, path in ROUTES:
            if method == "WS":
                socket = await world.socket(path, {"host": host}).open()
                assert socket.status == 421, path
                assert json.loads(socket.body)["code"] == "bad_host"
                continue
            response = await http.request(method, concrete(path), headers={"host": host})
            assert response.status_code == 421, (method, path)
            assert method == "HEAD" or response.json()["code"] == "bad_host"


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_a_foreign_origin_is_refused_everywhere(world: World, origin: str) -> None:
    async with world.client() as http:
        for method, path in ROUTES:
            if method == "WS":
                socket = await world.socket(path, {"origin": origin}).open()
                assert socket.status == 403, path
                continue
            response = await http.request(method, concrete(path), headers={"origin": origin})
            assert response.status_code == 403, (method, path)
            assert method == "HEAD" or response.json()["code"] == "bad_origin"


async def test_the_hubs_own_names_are_let_in(world: World) -> None:
    for url in (URL, "http://localhost:8470"):
        async with world.client(url=url) as http:
            assert (await http.get("/api/v1/devices", headers={"origin": url})).status_code == 200
    socket = await world.socket("/api/v1/live", {"origin": URL}).open()
    assert socket.status == 101
    await socket.leave()


async def test_a_foreign_page_cannot_embed_but_a_link_may_lead_here(world: World) -> None:
    async with world.client("") as http:
        cross = {"sec-fetch-site": "cross-site"}
        assert (await http.get("/", headers={**cross, "sec-fetch-mode": "no-cors"})).status_code == 403
        assert (await http.get("/", headers={**cross, "sec-fetch-mode": "navigate"})).status_code == 200
        posted = await http.post("/api/v1/sign-in", headers={**cross, "sec-fetch-mode": "navigate"}, json={})
        assert posted.status_code == 403


async def test_every_answer_carries_the_security_headers(world: World) -> None:
    async with world.client() as http:
        for path in ("/", "/healthz", "/api/v1/devices", "/api/v1/none", "/agent/join.py"):
            headers = (await http.get(path)).headers
            assert "default-src 'none'" in headers["content-security-policy"], path
            assert "unsafe-eval" not in headers["content-security-policy"].replace("wasm-unsafe-eval", "")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert len(headers["x-request-id"]) >= 8
            assert "access-control-allow-origin" not in headers


async def test_a_given_request_id_is_kept_only_if_it_is_harmless(world: World) -> None:
    async with world.client() as http:
        kept = await http.get("/healthz", headers={"x-request-id": "abc-12345"})
        assert kept.headers["x-request-id"] == "abc-12345"
        made = await http.get("/healthz", headers={"x-request-id": "<script>alert(1)"})
        assert "<" not in made.headers["x-request-id"]


async def test_a_public_url_behind_a_trusted_proxy(tmp_path: Path) -> None:
    proxied = {"host": "star.example", "x-forwarded-proto": "https", "x-forwarded-for": "9.9.9.9, 203.0.113.7"}
    opened = a_world(tmp_path, public_url="https://star.example", trusted_proxies="127.0.0.1")
    async with opened as world, world.client() as http:
        seen = await http.get("/healthz", headers={**proxied, "origin": "https://star.example"})
        assert seen.status_code == 200
        assert "strict-transport-security" in seen.headers
        plain = await http.get("/healthz", headers={"host": "star.example"})
        assert plain.status_code == 421


async def test_forwarded_headers_of_a_stranger_count_for_nothing(tmp_path: Path) -> None:
    async with a_world(tmp_path, public_url="https://star.example") as world, world.client() as http:
        headers = {"host": "star.example", "x-forwarded-proto": "https"}
        refused = await http.get("/healthz", headers=headers)
        assert refused.status_code == 421
        assert refused.json()["reason"] == "star.example is an address by https, and this came by http"
        assert "STARLOOM_TRUSTED_PROXIES" in refused.json()["hint"]
        other = await http.get("/healthz", headers={"host": "other.example"})
        assert "STARLOOM_TRUSTED_PROXIES" not in other.json()["hint"]


@pytest.mark.parametrize(
    "target",
    ["/api/v1/constellations/c-%00", "/api/v1/constellations?q=a%00", "/%00", "/api/v1/devices/d%00/rename?x=%00"],
)
async def test_an_address_with_nul_is_refused_before_anything_is_asked_for_it(world: World, target: str) -> None:
    async with world.client() as http:
        answer = await http.get(target)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "NUL" in answer.json()["reason"]
