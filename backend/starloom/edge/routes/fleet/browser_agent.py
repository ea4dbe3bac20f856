"""The browser agent (`device_agents/browser`) as files: one page, its assets, and Python for its worker.

The hub's own page may not run WebAssembly; the tab's Python worker may, and nothing else there: it has no network at
all, because a worker is held by the policy of its own script. Where the tab was not built, a plain page says how.
"""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import re
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from starloom.edge.listeners.local_network import LanState
from starloom.edge.routes.fleet.join_lines import qr
from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.problems import Problem
from starloom.process.settings import is_loopback
from starloom_protocol.api.fleet import PageAddress
from starloom_protocol.vocabulary import Code

PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
WORKER_CSP = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
"""For everything under `python/`: the worker and what it imports. No `connect-src`: programs reach nothing."""

_PERMISSIONS = "camera=(self), microphone=(), geolocation=(self), clipboard-read=(self), clipboard-write=(self)"
_FOR_EVER = re.compile(r"(assets|python)/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+|python/pyodide-[0-9.]+/[^/]+")
# Not in the tables of every system, and a browser takes neither a module nor a program of another type.
_MEDIA = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".zip": "application/zip",
}
_ABSENT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Starloom</title>
<h1>The hub runs; the page for phones is not built</h1>
<p>On the hub's computer, run <code>make run</code> in the checkout, then reload. Meanwhile,
<code>starloom enroll</code> prints the line by which other devices join.</p>
</html>
"""


def open_again(url: str, lan: LanState) -> PageAddress:
    """Return where a person opens the page of a tab that is asleep, and the QR code of it for a phone."""
    parts = urlsplit(url)
    has_own_name = parts.scheme == "https" and not is_loopback(parts.hostname or "")
    page = f"{lan.url if lan.leaf is not None and not has_own_name else url}/tab/"
    return {"url": page, "qr": qr(page)}


class Tab:
    """Everything under `/tab/`; `folder` is the built browser agent."""

    def __init__(self, folder: Path | None, here: TypedHere) -> None:
        self._folder = folder
        self._here = here

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/tab", self.to_page, methods=["GET", "HEAD"], include_in_schema=False)
        router.add_api_route("/tab/{path:path}", self.get, methods=["GET", "HEAD"], include_in_schema=False)

    async def to_page(self) -> Response:
        """Redirect to the page's own address; a browser keeps the fragment with the code."""
        return RedirectResponse("tab/", 308, {"Cache-Control": "no-cache"})

    async def get(self, request: Request, path: str) -> Response:
        """Serve the page or one of its files, with the policy of what it is."""
        file = await asyncio.to_thread(self._find, path)
        headers = {
            "Content-Security-Policy": WORKER_CSP if path.startswith("python/") else PAGE_CSP,
            "Permissions-Policy": _PERMISSIONS,
            "Cache-Control": "public, max-age=31536000, immutable" if _FOR_EVER.fullmatch(path) else "no-cache",
        }
        if file is not None:
            media = _MEDIA.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            return FileResponse(file, media_type=media, headers=headers)
        if path not in ("", "index.html"):
            raise Problem(Code.NOT_FOUND, f"the browser agent has no file {path[:200]}", hint="Reload the page.")
        return Response(self._here.html(request, _ABSENT), media_type="text/html", headers=headers)

    def _find(self, path: str) -> Path | None:
        if self._folder is None or "\0" in path:
            return None
        root = self._folder.resolve()
        # A name that is too long for the file system is none of ours.
        with contextlib.suppress(OSError):
            file = (root / (path or "index.html")).resolve()
            if file.is_relative_to(root) and file.is_file():
                return file
        return None
