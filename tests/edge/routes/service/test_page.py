"""The page: its files, its own addresses, nothing outside its folder, and what stands there before it is built."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.edge.world import a_world


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets" / "index-Ab3dEf9h.js").write_text("1")
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


async def test_files_and_addresses_of_the_page(tmp_path: Path, web: Path) -> None:
    async with a_world(tmp_path, web=web) as world, world.client("") as http:
        for path in ("/", "/constellations/c-1/t/send.3?lens=list", "/fleet"):
            found = await http.get(path)
            assert "<title>page" in found.text, path
            assert found.headers["cache-control"] == "no-cache"
        script = await http.get("/assets/index-Ab3dEf9h.js")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-type"].startswith("text/javascript")
        assert (await http.get("/favicon.svg")).headers["content-type"] == "image/svg+xml"
        assert (await http.head("/")).status_code == 200
        gone = await http.get("/assets/index-OldHash99.js")
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/%2e%2e/%2e%2e/x"]
)
async def test_nothing_outside_the_folder(tmp_path: Path, web: Path, path: str) -> None:
    async with a_world(tmp_path, web=web) as world, world.client("") as http:
        assert "secret" not in (await http.get(path)).text.replace("secret.txt", "")


@pytest.mark.parametrize("path", ["/assets/" + "a" * 300, "/" + "a" * 5_000, "/tab/" + "a" * 300])
async def test_a_name_longer_than_any_file_has_is_no_fault_of_the_hub(tmp_path: Path, web: Path, path: str) -> None:
    async with a_world(tmp_path, web=web) as world, world.client("") as http:
        assert (await http.get(path)).status_code in (200, 404)


async def test_unknown_addresses_of_the_api_are_no_pages(tmp_path: Path, web: Path) -> None:
    async with a_world(tmp_path, web=web) as world, world.client("") as http:
        for path in ("/api/v1/none", "/api/v2", "/agent/none", "/aip/v1/none"):
            found = await http.get(path)
            assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json"), path


async def test_before_it_is_built_the_page_says_how(tmp_path: Path) -> None:
    async with a_world(tmp_path, web=tmp_path / "none") as world, world.client("") as http:
        found = await http.get("/fleet")
    assert found.status_code == 200
    assert "npm --prefix frontend" in found.text


@pytest.fixture
def smaller(web: Path) -> Path:
    script = web / "assets" / "index-Ab3dEf9h.js"
    for ending in (".br", ".gz"):
        script.with_name(script.name + ending).write_bytes(ending.encode())
    (web / "index.html.gz").write_bytes(gzip.compress((web / "index.html").read_bytes()))
    return web


@pytest.mark.parametrize(
    ("accepts", "coding"),
    [
        ("gzip, deflate, br", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("*", "br"),
        ("*, br;q=0", "gzip"),
        ("BR", "br"),
        ("br;q=none", ""),
        ("identity", ""),
        ("*;q=0", ""),
        ("", ""),
    ],
)
async def test_page_sends_smallest_accepted_form(tmp_path: Path, smaller: Path, accepts: str, coding: str) -> None:
    async with a_world(tmp_path, web=smaller) as world, world.client("") as http:
        request = http.build_request("GET", "/assets/index-Ab3dEf9h.js", headers={"Accept-Encoding": accepts})
        found = await http.send(request, stream=True)
        raw = b"".join([part async for part in found.aiter_raw()])
    assert found.headers.get("content-encoding", "") == coding
    assert raw == {"br": b".br", "gzip": b".gz", "": b"1"}[coding]
    assert found.headers["content-type"].startswith("text/javascript")
    assert found.headers["vary"] == "Accept-Encoding"
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_page_has_one_etag_for_each_form(tmp_path: Path, smaller: Path) -> None:
    async with a_world(tmp_path, web=smaller) as world, world.client("") as http:
        plain = await http.get("/", headers={"Accept-Encoding": "identity"})
        packed = await http.get("/", headers={"Accept-Encoding": "gzip"})
        assert "<title>page" in packed.text
        assert packed.headers["content-encoding"] == "gzip"
        assert plain.headers["etag"] != packed.headers["etag"]
        again = {"Accept-Encoding": "gzip", "If-None-Match": f'"other", W/{packed.headers["etag"]}'}
        known = await http.get("/constellations", headers=again)
        assert (known.status_code, known.content) == (304, b"")
        assert known.headers["etag"] == packed.headers["etag"]
        assert known.headers["vary"] == "Accept-Encoding"
        other = await http.get("/", headers={"Accept-Encoding": "identity", "If-None-Match": packed.headers["etag"]})
        assert other.status_code == 200


async def test_compressed_files_have_no_address_of_their_own(tmp_path: Path, smaller: Path) -> None:
    async with a_world(tmp_path, web=smaller) as world, world.client("") as http:
        assert (await http.get("/assets/index-Ab3dEf9h.js.br")).status_code == 404
        assert "<title>page" in (await http.get("/index.html.gz")).text
