"""The built page: hashed files are cached for a year, all others revalidated; unknown paths get the page itself.

The build puts a compressed form beside each text file; a caller gets the smallest form that it accepts. Nothing is
compressed here. If the page was not built, a plain page says how. No path can lead outside the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.problems import Problem
from starloom_protocol.vocabulary import Code

_HASHED = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.(js|css|woff2|svg|png|wasm|map)$")
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Content codings by the ending of their files, the smallest first."""

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
        accepted = accepted_encodings(request.headers.get("accept-encoding", ""))
        page_file = await asyncio.to_thread(self._find, path, accepted)
        if page_file is None:
            return Response(
                self._here.html(request, _ABSENT), media_type="text/html", headers={"Cache-Control": "no-cache"}
            )
        if page_file.name == "index.html" and path.startswith("assets/"):
            raise Problem(Code.NOT_FOUND, f"the page has no file {path[:200]}", hint="Reload the page.")
        headers = {
            "Cache-Control": "public, max-age=31536000, immutable" if _HASHED.match(page_file.name) else "no-cache",
            "Vary": "Accept-Encoding",
        }
        if page_file.encoding:
            headers["Content-Encoding"] = page_file.encoding
        media = mimetypes.guess_type(page_file.name)[0] or "application/octet-stream"
        response = FileResponse(page_file.file, media_type=media, headers=headers, stat_result=page_file.stat)
        if _is_known(request.headers.get("if-none-match", ""), response.headers["etag"]):
            headers_kept = {name: response.headers[name] for name in ("cache-control", "etag", "vary")}
            return Response(status_code=304, headers=headers_kept)
        return response

    def _find(self, path: str, accepted: list[str]) -> _PageFile | None:
        """Return the file to serve; None if the page is not built."""
        if self._folder is None or not (self._folder / "index.html").is_file():
            return None
        root = self._folder.resolve()
        file = root / "index.html"
        if "\0" not in path and not path.endswith(tuple(_ENCODINGS.values())):
            # A name that is too long for the file system is none of ours.
            with contextlib.suppress(OSError):
                candidate = (root / path).resolve()
                if candidate.is_relative_to(root) and candidate.is_file():
                    file = candidate
        for encoding in accepted:
            smaller = file.with_name(file.name + _ENCODINGS[encoding])
            if smaller.is_file():
                return _PageFile(file.name, smaller, smaller.stat(), encoding)
        return _PageFile(file.name, file, file.stat(), "")


@dataclass(frozen=True)
class _PageFile:
    """A file to send: under which name it was found, and how its bytes are coded."""

    name: str
    file: Path
    stat: os.stat_result
    encoding: str


def accepted_encodings(header: str) -> list[str]:
    """Return the codings of `_ENCODINGS` that an Accept-Encoding header allows, the smallest first."""
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        coding, *parameters = [piece.strip() for piece in part.split(";")]
        weights[coding] = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                weights[coding] = _weight(value.strip())
    otherwise = weights.get("*", 0.0)
    return [coding for coding in _ENCODINGS if weights.get(coding, otherwise) > 0]


def _weight(text: str) -> float:
    """Return the weight that a caller gave; one that cannot be read counts as a refusal."""
    return float(text) if re.fullmatch(r"[01](\.\d{0,3})?", text) else 0.0


def _is_known(if_none_match: str, etag: str) -> bool:
    return etag in [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
