"""The browser agent as it is served: its page, its files, and what each of them may do in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from httpx import AsyncClient

from starloom.edge.listeners.local_network import LanState
from starloom.edge.routes.fleet.browser_agent import Tab, open_again
from starloom.edge.web.own_command import TypedHere
from tests.edge.world import a_world


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "tab"
    (folder / "assets").mkdir(parents=True)
    (folder / "python" / "pyodide-314.0.7").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>tab</title>")
    (folder / "sw.js").write_text("1")
    (folder / "manifest.webmanifest").write_text("{}")
    (folder / "assets" / "index-Ab3dEf9h.js").write_text("1")
    (folder / "python" / "worker-Ab3dEf9h.js").write_text("1")
    (folder / "python" / "pyodide-314.0.7" / "pyodide.mjs").write_text("1")
    (folder / "python" / "pyodide-314.0.7" / "pyodide.asm.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def directives(policy: str) -> dict[str, list[str]]:
    return {name: values for name, *values in (part.split() for part in policy.split(";"))}


async def csp(http: AsyncClient, path: str) -> dict[str, list[str]]:
    answer = await http.get(path)
    assert answer.status_code == 200, path
    return directives(answer.headers["content-security-policy"])


@pytest.mark.usefixtures("built")
async def test_the_page_and_its_files(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client("") as http:
        page = await http.get("/tab/")
        assert "<title>tab" in page.text
        assert page.headers["cache-control"] == "no-cache"
        assert "camera=(self)" in page.headers["permissions-policy"]
        for path, media in {
            "/tab/manifest.webmanifest": "application/manifest+json",
            "/tab/python/pyodide-314.0.7/pyodide.mjs": "text/javascript; charset=utf-8",
            "/tab/python/pyodide-314.0.7/pyodide.asm.wasm": "application/wasm",
        }.items():
            assert (await http.get(path)).headers["content-type"] == media
        for path in ("/tab/assets/index-Ab3dEf9h.js", "/tab/python/worker-Ab3dEf9h.js"):
            assert "immutable" in (await http.get(path)).headers["cache-control"]
        # A service worker that stays for ever could never be replaced.
        assert (await http.get("/tab/sw.js")).headers["cache-control"] == "no-cache"
        assert (await http.head("/tab/")).status_code == 200


@pytest.mark.usefixtures("built")
async def test_without_the_slash_it_leads_to_the_page(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client("") as http:
        moved = await http.get("/tab")
        assert (moved.status_code, moved.headers["location"]) == (308, "tab/")


@pytest.mark.usefixtures("built")
async def test_only_the_python_worker_may_run_webassembly_and_it_reaches_nothing(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client("") as http:
        page = await csp(http, "/tab/")
        worker = await csp(http, "/tab/python/worker-Ab3dEf9h.js")
        hubs = directives((await http.get("/healthz")).headers["content-security-policy"])
    assert worker["script-src"] == ["'self'", "'wasm-unsafe-eval'"]
    assert worker["default-src"] == ["'none'"]
    assert not {"connect-src", "worker-src", "img-src"} & set(worker)
    for policy in (page, hubs):
        assert not any("unsafe-eval" in value for values in policy.values() for value in values)
    allowed = {"'self'", "'none'", "data:", "blob:"}
    assert {value for values in page.values() for value in values} <= allowed, "an origin that is not the hub"


@pytest.mark.parametrize(
    "path", ["/tab/../secret.txt", "/tab/%2e%2e/secret.txt", "/tab/..%2fsecret.txt", "/tab/none.js"]
)
@pytest.mark.usefixtures("built")
async def test_nothing_else_is_served(tmp_path: Path, path: str) -> None:
    async with a_world(tmp_path) as world, world.client("") as http:
        answer = await http.get(path)
    assert answer.text != "secret"
    assert answer.status_code in (200, 404)


async def test_before_it_is_built_it_says_how(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client("") as http:
        found = await http.get("/tab/")
        gone = await http.get("/tab/assets/index-Ab3dEf9h.js")
    assert "make run" in found.text
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


def test_a_name_with_a_nul_is_no_file(built: Path) -> None:
    assert Tab(built, TypedHere("starloom"))._find("index.html\0.js") is None


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("http://127.0.0.1:8470", "http://127.0.0.1:8470/tab/"),
        ("https://star.example", "https://star.example/tab/"),
    ],
)
def test_a_sleeping_tab_is_opened_where_it_can_be_reached(url: str, page: str) -> None:
    again = open_again(url, LanState())
    assert again["url"] == page
    assert again["qr"]["size"] > 20
    assert again["qr"]["path"].startswith("M")
