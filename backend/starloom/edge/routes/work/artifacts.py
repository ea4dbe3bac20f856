"""Artifacts over HTTP: devices move them in resumable chunks, people upload and download them. Named by hash only.

The store verifies the hash before an artifact counts. A downloaded file can never run as the hub's own page.
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

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, json_reply
from starloom_protocol.api.history import Uploaded
from starloom_protocol.vocabulary import Code

CHUNK_BYTES = 256 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes=([0-9]{0,16})-([0-9]{0,16})")
_SHOWN = frozenset(
    {
        "application/json",
        "application/pdf",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/svg+xml",
        "image/webp",
        "text/csv",
        "text/html",
        "text/markdown",
        "text/plain",
    }
)
_CAGE = (
    "sandbox; default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)
BYTES = "application/octet-stream"
_HTML = "text/html"
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
        router.add_api_route(V1 + "/artifacts", self.upload, methods=["POST"], status_code=201)
        router.add_api_route(V1 + "/artifacts/{sha256}", self.get, methods=["GET"], response_class=StreamingResponse)
        router.add_api_route(V1 + "/artifacts/{sha256}", self.head, methods=["HEAD"], response_class=Response)

    async def device_head(self, request: Request, sha256: str) -> Response:
        """Say whether the artifact is complete; else 404 with the offset at which the device's upload continues.

        A device without an attempt that names the artifact gets 404, too: it sends the bytes, and learns nothing.
        """
        device = request.state.device
        size = await self._claim(device, _hash(sha256))
        if size is not None:
            return Response(None, 200, {"Content-Length": str(size), "Upload-Offset": str(size)})
        offset = await asyncio.to_thread(self._hub.artifacts.offset, sha256, _owner(device))
        return Response(None, 404, {"Upload-Offset": str(offset)})

    async def device_patch(self, request: Request, sha256: str) -> Response:
        """Add a chunk at `Upload-Offset` of an artifact of `Upload-Length` bytes.

        The device that has sent all of them may fetch the artifact; its last chunk may come again.
        """
        offset, total = _number(request, "upload-offset"), _number(request, "upload-length")
        chunk = await request.body()
        device = request.state.device
        size = await self._claim(device, _hash(sha256))
        if size is not None:
            return Response(None, 204, {"Upload-Offset": str(size)})
        add = partial(self._hub.artifacts.append, owner=_owner(device))
        complete = await asyncio.to_thread(add, sha256, offset, total, chunk)
        if complete:
            self._hub.links.rights.put(device, sha256)
        new_offset = total if complete else offset + len(chunk)
        return Response(None, 204, {"Upload-Offset": str(new_offset)})

    async def _claim(self, device: str, sha256: str) -> int | None:
        """Return the size of a complete artifact that a device may fetch, and keep it from collection for a while."""
        if not await self._may_fetch(device, sha256):
            return None
        return await asyncio.to_thread(self._hub.artifacts.claim, sha256)

    async def _may_fetch(self, device: str, sha256: str) -> bool:
        return await self._hub.links.rights.may_fetch(device, sha256, self._hub.reads, self._hub.artifacts)

    async def device_get(self, request: Request, sha256: str) -> Response:
        """Give the bytes, or a range of them, to a device whose attempts name them."""
        device = request.state.device
        if not await self._may_fetch(device, _hash(sha256)):
            if await asyncio.to_thread(self._hub.artifacts.has, sha256):
                reason = f"no attempt of this device names the artifact {sha256[:12]}"
                self._hub.refusals.of_device(self._hub.now_ms(), device, "artifact", reason)
            raise _absent()
        return await self._give(request, _hash(sha256), {"Content-Type": BYTES})

    async def upload(self, request: Request) -> JsonReply[Uploaded]:
        """Keep the body as an artifact and return its hash; larger files are put by a device (`artifact.put`)."""
        raw = await request.body()
        put_bytes = partial(self._hub.artifacts.put_bytes, owner=f"person:{caller_of(request).principal}")
        sha256 = await asyncio.to_thread(put_bytes, raw)
        return json_reply({"artifact": sha256, "bytes": len(raw)}, 201)

    async def head(self, sha256: str, name: str = "artifact", media: str = BYTES, show: str | None = None) -> Response:
        """Say how large an artifact is, with the headers of `get`."""
        size = await asyncio.to_thread(self._hub.artifacts.size, _hash(sha256))
        if size is None:
            raise Problem(Code.NOT_FOUND, "there are no bytes of this hash", hint="")
        return Response(None, 200, _headers(name, media, show) | {"Content-Length": str(size)})

    async def get(
        self, request: Request, sha256: str, name: str = "artifact", media: str = BYTES, show: str | None = None
    ) -> Response:
        """Give an artifact; `name` and `media` say how it is saved or, with `show` of any value, shown in a cage."""
        return await self._give(request, _hash(sha256), _headers(name, media, show))

    async def _give(self, request: Request, sha256: str, headers: dict[str, str]) -> Response:
        size = await asyncio.to_thread(self._hub.artifacts.size, sha256)
        if size is None:
            raise _absent()
        if f'"{sha256}"' in request.headers.get("if-none-match", ""):
            fields = {name: value for name, value in headers.items() if name != "Content-Type"}
            return Response(None, 304, fields | {"ETag": f'"{sha256}"'})
        start, end, status = 0, size, 200
        span = _range(request.headers.get("range", ""), size)
        if span is not None and request.headers.get("if-range", f'"{sha256}"') == f'"{sha256}"':
            (start, end), status = span, 206
            headers |= {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
        headers |= {"Accept-Ranges": "bytes", "Content-Length": str(end - start), "ETag": f'"{sha256}"'}
        file = await asyncio.to_thread(self._hub.artifacts.open, sha256)
        return StreamingResponse(_chunks(file, start, end), status, headers, headers["Content-Type"])


def _headers(name: str, media: str, show: str | None) -> dict[str, str]:
    media = media.split(";")[0].strip().lower()
    name = "".join(char for char in name if char.isprintable())[:128]
    is_shown = show is not None and media in _SHOWN
    kind = "inline" if is_shown else "attachment"
    charset = "; charset=utf-8" if media.startswith("text/") else ""
    framed = is_shown and media in (_HTML, _PDF)
    cage = _PDF_CAGE if is_shown and media == _PDF else _CAGE.format(ancestors="'self'" if framed else "'none'")
    return {
        "Content-Type": (media if media in _SHOWN else BYTES) + charset,
        "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": cage,
        "X-Frame-Options": "SAMEORIGIN" if framed else "DENY",
        "X-DNS-Prefetch-Control": "off",  # a name that is looked up is a message, too
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",  # shown to nobody who has signed out since
    }


def _owner(device: str) -> str:
    return f"device:{device}"


def _absent() -> Problem:
    return Problem(Code.NOT_FOUND, "there are no bytes of this hash here", hint="They may not have arrived yet.")


async def _chunks(file: BinaryIO, start: int, end: int) -> AsyncIterator[bytes]:
    try:
        await asyncio.to_thread(file.seek, start)
        remaining = end - start
        while remaining > 0:
            chunk = await asyncio.to_thread(file.read, min(CHUNK_BYTES, remaining))
            if not chunk:
                raise OSError("an artifact became shorter while it was read")
            remaining -= len(chunk)
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


def _range(text: str, size: int) -> tuple[int, int] | None:
    """Return [start, end) of one byte range; None where there is none, and the whole is given (RFC 9110, 14.2).

    That is so for several ranges, for one that is malformed, and of an artifact without bytes.

    Raises:
        Problem: 416, if it lies outside the artifact.
    """
    match = _RANGE.fullmatch(text.strip())
    first, last = match.groups() if match else ("", "")
    if not size or not (first or last) or (first and last and int(last) < int(first)):
        return None
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= end:
        reason = f"{text[:64]} is no range inside {size} bytes"
        raise Problem(Code.BAD_REQUEST, reason, status=416, headers={"Content-Range": f"bytes */{size}"})
    return start, end
