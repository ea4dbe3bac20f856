"""Artifacts over HTTP: devices move them in resumable chunks, people upload and download them. Named by hash only.

The store verifies the hash before an artifact counts. What a person downloads can never run as the hub's own page.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from starloom.access.guard import V1
from starloom.edge.admission import caller_of
from starloom.edge.hub import Hub
from starloom.edge.problems import Problem
from starloom.edge.replies import json_reply
from starloom_protocol.vocabulary import Code

CHUNK_BYTES = 256 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_SHOWN = frozenset(
    {
        "application/json",
        "application/pdf",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/webp",
        "text/csv",
        "text/html",
        "text/markdown",
        "text/plain",
    }
)
_CAGE = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_PDF = "application/pdf"
_PDF_CAGE = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
"""A browser does not start its PDF viewer in a sandbox. With its type fixed (nosniff) the file can be nothing else."""


class Artifacts:
    """Routes of both doors."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def add_to(self, router: APIRouter) -> None:
        path = "/aip/v1/artifacts/{sha256}"
        router.add_api_route(path, self.device_head, methods=["HEAD"], include_in_schema=False)
        router.add_api_route(path, self.device_get, methods=["GET"], include_in_schema=False)
        router.add_api_route(path, self.device_patch, methods=["PATCH"], include_in_schema=False)
        router.add_api_route(V1 + "/artifacts", self.upload, methods=["POST"])
        router.add_api_route(V1 + "/artifacts/{sha256}", self.get, methods=["GET"])
        router.add_api_route(V1 + "/artifacts/{sha256}", self.head, methods=["HEAD"])

    # -- devices

    async def device_head(self, sha256: str) -> Response:
        """Say whether the artifact is complete; else 404 with where an upload goes on."""
        size = await asyncio.to_thread(self._hub.artifacts.claim, _hash(sha256))
        if size is not None:
            return Response(None, 200, {"Content-Length": str(size), "Upload-Offset": str(size)})
        offset = await asyncio.to_thread(self._hub.artifacts.offset, sha256)
        return Response(None, 404, {"Upload-Offset": str(offset)})

    async def device_patch(self, request: Request, sha256: str) -> Response:
        """Add a chunk at `Upload-Offset` of an artifact of `Upload-Length` bytes."""
        offset, total = _number(request, "upload-offset"), _number(request, "upload-length")
        chunk = await request.body()
        add = partial(self._hub.artifacts.append, owner=f"device:{request.state.device}")
        complete = await asyncio.to_thread(add, _hash(sha256), offset, total, chunk)
        after = total if complete else offset + len(chunk)
        return Response(None, 204, {"Upload-Offset": str(after)})

    async def device_get(self, request: Request, sha256: str) -> Response:
        """Give the bytes, or a range of them."""
        return await self._give(request, _hash(sha256), {"Content-Type": "application/octet-stream"})

    # -- people

    async def upload(self, request: Request) -> Response:
        """Keep the body as an artifact and return its hash; larger files are put by a device (`artifact.put`)."""
        raw = await request.body()
        put = partial(self._hub.artifacts.put_bytes, owner=f"person:{caller_of(request).principal}")
        sha256 = await asyncio.to_thread(put, raw)
        return json_reply({"artifact": sha256, "bytes": len(raw)}, 201)

    async def head(self, request: Request, sha256: str) -> Response:
        """Say how large an artifact is."""
        size = await asyncio.to_thread(self._hub.artifacts.size, _hash(sha256))
        if size is None:
            raise Problem(Code.NOT_FOUND, "there are no bytes of this hash", hint="")
        return Response(None, 200, self._headers(request) | {"Content-Length": str(size)})

    async def get(self, request: Request, sha256: str) -> Response:
        """Give an artifact; `name` and `media` say how it is saved or, with `show`, shown in a cage."""
        return await self._give(request, _hash(sha256), self._headers(request))

    def _headers(self, request: Request) -> dict[str, str]:
        media = request.query_params.get("media", "application/octet-stream").split(";")[0].strip().lower()
        name = "".join(char for char in request.query_params.get("name", "artifact") if char.isprintable())[:128]
        shown = "show" in request.query_params and media in _SHOWN
        kind = "inline" if shown else "attachment"
        charset = "; charset=utf-8" if media.startswith("text/") else ""
        pdf = shown and media == _PDF
        return {
            "Content-Type": (media if media in _SHOWN else "application/octet-stream") + charset,
            "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(name, safe='')}",
            "Content-Security-Policy": _PDF_CAGE if pdf else _CAGE,
            "X-Frame-Options": "SAMEORIGIN" if pdf else "DENY",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, max-age=31536000, immutable",
        }

    async def _give(self, request: Request, sha256: str, headers: dict[str, str]) -> Response:
        size = await asyncio.to_thread(self._hub.artifacts.size, sha256)
        if size is None:
            raise Problem(Code.NOT_FOUND, "there are no bytes of this hash here", hint="They may not have arrived yet.")
        start, end, status = 0, size, 200
        wanted = request.headers.get("range")
        if wanted is not None and size:  # nothing has no part: it is given whole
            start, end = _range(wanted, size)
            status = 206
            headers |= {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
        headers |= {"Accept-Ranges": "bytes", "Content-Length": str(end - start), "ETag": f'"{sha256}"'}
        file = await asyncio.to_thread(self._hub.artifacts.open, sha256)
        return StreamingResponse(_chunks(file, start, end), status, headers, headers["Content-Type"])


async def _chunks(file: BinaryIO, start: int, end: int) -> AsyncIterator[bytes]:
    try:
        await asyncio.to_thread(file.seek, start)
        left = end - start
        while left > 0:
            chunk = await asyncio.to_thread(file.read, min(CHUNK_BYTES, left))
            if not chunk:
                raise OSError("an artifact became shorter while it was read")
            left -= len(chunk)
            yield chunk
    finally:
        await asyncio.to_thread(file.close)


def _hash(sha256: str) -> str:
    if not _SHA256.fullmatch(sha256):
        raise Problem(Code.BAD_REQUEST, "an artifact is named by its SHA-256: 64 hexadecimal digits in lower case")
    return sha256


def _number(request: Request, header: str) -> int:
    value = request.headers.get(header, "")
    if not value.isdecimal() or len(value) > 16:
        raise Problem(Code.BAD_REQUEST, f"the header {header} must be a number of bytes")
    return int(value)


def _range(text: str, size: int) -> tuple[int, int]:
    """Return [start, end) of one byte range.

    Raises:
        Problem: 416, if it is not one inside the artifact.
    """
    match = _RANGE.fullmatch(text.strip())
    first, last = match.groups() if match else ("", "")
    if first:
        start, end = int(first), min(size, int(last) + 1) if last else size
    elif last:
        start, end = max(0, size - int(last)), size
    else:
        start, end = size, size
    if start >= end:
        raise Problem(Code.BAD_REQUEST, f"{text[:64]} is no range inside {size} bytes", status=416)
    return start, end
