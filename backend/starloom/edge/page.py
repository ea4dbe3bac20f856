"""Serves the built page: files with a hash in their name for ever, all else fresh, unknown paths the page itself.

Where the page was not built, a plain one says how. Nothing outside the folder can be named.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from starloom.edge.problems import Problem
from starloom.edge.typed_here import TypedHere
from starloom_protocol.vocabulary import Code

_HASHED = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.(js|css|woff2|svg|png|wasm|map)$")
_NOT_PAGES = ("api/", "agent/", "aip/", "metrics", "healthz", "readyz")
_ABSENT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Starloom</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}
code{background:#8882;padding:.1em .3em;border-radius:.2em}</style>
<h1>The hub runs; its page is not built</h1>
<p>The command line and the API work. To build the page, run <code>make run</code> or
<code>npm --prefix frontend ci --omit=dev &amp;&amp; npm --prefix frontend run build</code>
in the checkout, then reload.</p>
<p>Until then: <code>starloom submit "how are my machines" --wait</code>.</p>
</html>
"""


class Page:
    """The catch-all route; it is added last."""

    def __init__(self, folder: Path | None, here: TypedHere) -> None:
        self._folder = folder
        self._here = here

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route("/{path:path}", self.get, methods=["GET", "HEAD"], include_in_schema=False)

    async def get(self, request: Request, path: str) -> Response:
        """Serve a file of the page, or the page for any of its own addresses."""
        if path.startswith(_NOT_PAGES):
            raise Problem(Code.NOT_FOUND, f"there is nothing at /{path[:200]}", hint="See the API's document.")
        found = await asyncio.to_thread(self._find, path)
        if found is None:
            return Response(
                self._here.html(request, _ABSENT), media_type="text/html", headers={"Cache-Control": "no-cache"}
            )
        if found.name == "index.html" and path.startswith("assets/"):
            raise Problem(Code.NOT_FOUND, f"the page has no file {path[:200]}", hint="Reload the page.")
        cache = "public, max-age=31536000, immutable" if _HASHED.match(found.name) else "no-cache"
        media = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
        return FileResponse(found, media_type=media, headers={"Cache-Control": cache})

    def _find(self, path: str) -> Path | None:
        """Return the file to serve; None if the page is not built."""
        if self._folder is None or not (self._folder / "index.html").is_file():
            return None
        root = self._folder.resolve()
        index = root / "index.html"
        if "\0" in path:
            return index
        file = (root / path).resolve()
        return file if file.is_relative_to(root) and file.is_file() else index
