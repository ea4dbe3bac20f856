"""The command line of the hub's own program, for callers who are not signed in on the hub's own computer.

It names no folder, which often has a person's name, and not where the hub keeps its data: other users of that computer
are strangers, too. Elsewhere a caller sees the name that documents use.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from starloom.process.program import with_program
from starloom.process.settings import is_loopback

_OF_PROXIES: Final = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers that a program between the caller and the hub adds."""


class TypedHere:
    """The words that run the program, given to requests that come from this computer."""

    def __init__(self, program: str) -> None:
        self._program = program

    def more(self, request: Request) -> Mapping[str, str]:
        """Return the member that a refusal carries for a page on this computer."""
        return {"program": self._program} if _near(request) else {}

    def html(self, request: Request, page: str) -> str:
        """Return a plain page whose commands can be pasted where it is read."""
        program = self.more(request).get("program")
        return page if program is None else with_program(page, lambda: escape(program))


def _near(request: Request) -> bool:
    """Tell whether the caller is on this computer.

    A reverse proxy or the end of a tunnel on this computer connects from a loopback address for callers elsewhere. So
    the address that the caller typed must be one of this computer, too, and no proxy may have passed the request on.
    """
    if request.client is None or not is_loopback(request.client.host):
        return False
    if any(name in request.headers for name in _OF_PROXIES):
        return False
    try:
        typed = urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return False
    return typed is not None and is_loopback(typed)
