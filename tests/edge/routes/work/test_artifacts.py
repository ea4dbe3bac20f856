"""Artifacts over both doors: resumed uploads, wrong bytes, ranges, and downloads that cannot run as the page."""

from __future__ import annotations

import hashlib

import httpx
import pytest

from tests.edge.world import World

BYTES = bytes(range(256)) * 4096
SHA = hashlib.sha256(BYTES).hexdigest()
CHUNK = 256 * 1024


async def device_client(world: World) -> httpx.AsyncClient:
    agent = await world.join("one")
    return agent.http(world, await agent.connect(world))


async def patch(http: httpx.AsyncClient, sha: str, offset: int, chunk: bytes, total: int) -> httpx.Response:
    headers = {"Upload-Offset": str(offset), "Upload-Length": str(total)}
    return await http.patch(f"/aip/v1/artifacts/{sha}", content=chunk, headers=headers)


async def test_an_upload_is_resumed_where_it_was_cut(world: World) -> None:
    async with await device_client(world) as http:
        path = f"/aip/v1/artifacts/{SHA}"
        absent = await http.head(path)
        assert (absent.status_code, absent.headers["upload-offset"]) == (404, "0")
        first = await patch(http, SHA, 0, BYTES[:CHUNK], len(BYTES))
        assert (first.status_code, first.headers["upload-offset"]) == (204, str(CHUNK))
        resumed = int((await http.head(path)).headers["upload-offset"])
        assert resumed == CHUNK
        for start in range(resumed, len(BYTES), CHUNK):
            assert (await patch(http, SHA, start, BYTES[start : start + CHUNK], len(BYTES))).status_code == 204
        assert (await http.head(path)).status_code == 200
        assert (await http.get(path)).content == BYTES
        part = await http.get(path, headers={"Range": "bytes=1000-1009"})
        assert (part.status_code, part.content) == (206, BYTES[1000:1010])
        assert part.headers["content-range"] == f"bytes 1000-1009/{len(BYTES)}"
        assert (await http.get(path, headers={"Range": "bytes=-5"})).content == BYTES[-5:]
        assert (await http.get(path, headers={"Range": "bytes=1000-"})).content == BYTES[1000:]
        for beyond in (f"{len(BYTES)}-", "9999999999-", "-0"):
            outside = await http.get(path, headers={"Range": f"bytes={beyond}"})
            assert (outside.status_code, outside.headers["content-range"]) == (416, f"bytes */{len(BYTES)}")
        for ignored in (f"{'9' * 5_000}-", f"-{'9' * 5_000}", "0-1,2-3", "5-2", "-", "a-b"):
            whole = await http.get(path, headers={"Range": f"bytes={ignored}"})
            assert (whole.status_code, whole.content) == (200, BYTES)
        part_of = {"Range": "bytes=0-9", "If-Range": f'"{SHA}"'}
        assert (await http.get(path, headers=part_of)).status_code == 206
        assert (await http.get(path, headers=part_of | {"If-Range": '"another"'})).content == BYTES


async def test_a_chunk_at_the_wrong_place_is_told_where_to_go_on(world: World) -> None:
    async with await device_client(world) as http:
        await patch(http, SHA, 0, BYTES[:100], len(BYTES))
        wrong = await patch(http, SHA, 50, BYTES[50:150], len(BYTES))
    assert (wrong.status_code, wrong.headers["upload-offset"]) == (409, "100")
    assert wrong.json()["code"] == "conflict"


async def test_one_wrong_byte_is_found_and_nothing_is_kept(world: World) -> None:
    async with await device_client(world) as http:
        raw = bytearray(BYTES[:CHUNK])
        raw[77] ^= 1
        sha = hashlib.sha256(BYTES[:CHUNK]).hexdigest()
        wrong = await patch(http, sha, 0, bytes(raw), CHUNK)
        assert (wrong.status_code, wrong.json()["code"]) == (422, "artifact_corrupt")
        assert (await http.head(f"/aip/v1/artifacts/{sha}")).headers["upload-offset"] == "0"
        assert (await patch(http, sha, 0, BYTES[:CHUNK], CHUNK)).status_code == 204


async def test_an_empty_artifact(world: World) -> None:
    sha = hashlib.sha256(b"").hexdigest()
    async with await device_client(world) as http:
        assert (await patch(http, sha, 0, b"", 0)).status_code == 204
        assert (await http.get(f"/aip/v1/artifacts/{sha}")).content == b""
        part = await http.get(f"/aip/v1/artifacts/{sha}", headers={"Range": "bytes=0-99"})
        assert (part.status_code, part.content) == (200, b"")


@pytest.mark.parametrize("sha", ["x", "A" * 64, "a" * 63, "..%2F..%2Fkeys"])
async def test_only_hashes_name_artifacts(world: World, sha: str) -> None:
    async with world.client() as http:
        refused = await http.get(f"/api/v1/artifacts/{sha}")
    assert refused.status_code in (404, 422)


async def test_a_chunk_that_is_too_large_and_bad_headers(world: World) -> None:
    async with await device_client(world) as http:
        big = await patch(http, SHA, 0, b"x" * (1024 * 1024 + 1), 2 * 1024 * 1024)
        assert (big.status_code, big.json()["code"]) == (413, "too_large")
        path = f"/aip/v1/artifacts/{SHA}"
        assert (await http.patch(path, content=b"x")).status_code == 422
        bad = {"Upload-Offset": "-1", "Upload-Length": "5"}
        assert (await http.patch(path, content=b"x", headers=bad)).status_code == 422


async def test_the_token_of_a_session_ends_with_it(world: World) -> None:
    agent = await world.join("one")
    welcome = await agent.connect(world)
    assert agent.ws is not None
    await agent.ws.leave()
    async with world.client(welcome.http_token) as http:
        assert (await http.head(f"/aip/v1/artifacts/{SHA}")).status_code == 401


async def test_a_person_uploads_and_downloads(world: World) -> None:
    async with world.client() as http:
        made = await http.post("/api/v1/artifacts", content=b"<script>alert(1)</script>")
        assert made.status_code == 201
        path = f"/api/v1/artifacts/{made.json()['artifact']}"
        got = await http.get(path, params={"name": 'a"b\r\n.html', "media": "text/html"})
        assert got.content == b"<script>alert(1)</script>"
        assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''a%22b.html"
        shown = await http.get(path, params={"media": "text/html", "show": "1"})
        assert shown.headers["content-disposition"].startswith("inline")
        assert shown.headers["content-security-policy"] == (
            "sandbox; default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )
        assert shown.headers["x-frame-options"] == "SAMEORIGIN"
        assert shown.headers["x-content-type-options"] == "nosniff"
        assert shown.headers["x-dns-prefetch-control"] == "off"
        text = await http.get(path, params={"media": "text/plain", "show": "1"})
        assert text.headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert text.headers["x-frame-options"] == "DENY"
        pdf = await http.get(path, params={"media": "application/pdf", "show": "1"})
        assert pdf.headers["content-type"] == "application/pdf"
        assert pdf.headers["x-content-type-options"] == "nosniff"
        assert pdf.headers["x-frame-options"] == "SAMEORIGIN"
        assert pdf.headers["content-security-policy"].startswith("default-src 'none'; object-src 'self'")
        saved = await http.get(path, params={"media": "application/pdf"})
        assert saved.headers["content-disposition"].startswith("attachment")
        assert saved.headers["content-security-policy"].startswith("sandbox")
        drawing = await http.get(path, params={"media": "image/svg+xml", "show": "1"})
        assert drawing.headers["content-type"] == "image/svg+xml"
        assert drawing.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert drawing.headers["x-frame-options"] == "DENY"
        strange = await http.get(path, params={"media": "application/x-evil", "show": "1"})
        assert strange.headers["content-type"] == "application/octet-stream"
        assert strange.headers["content-disposition"].startswith("attachment")
        assert (await http.head(path)).headers["content-length"] == "25"
        assert (await http.get("/api/v1/artifacts/" + "b" * 64)).status_code == 404
