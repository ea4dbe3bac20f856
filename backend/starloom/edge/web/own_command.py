"""The command line of the hub's own program, for callers who are not signed in: shown on the hub's own computer only.

A path names a folder and often a person; a stranger in the network sees the name that documents use.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from fastapi import Request

from starloom.process.program import written
from starloom.process.settings import is_loopback


class TypedHere:
    """The words that run the program, given to requests that come from this computer."""

    def __init__(self, program: str) -> None:
        self._program = program

    def more(self, request: Request) -> Mapping[str, str]:
        """Return the member that a refusal carries for a page on this computer."""
        near = request.client is not None and is_loopback(request.client.host)
        return {"program": self._program} if near else {}

    def html(self, request: Request, page: str) -> str:
        """Return a plain page whose commands can be pasted where it is read."""
        program = self.more(request).get("program")
        return page if program is None else written(page, lambda: escape(program))
