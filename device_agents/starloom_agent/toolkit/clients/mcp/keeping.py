"""The messages of a keeper: lines of JSON with the agent that started it, and with each process of a call.

The agent sends one `Keep` over the keeper's control socket; `Changed` and `Broke` come back. The process of a call
connects to the keeper's own socket, sends one `Ask`, and reads any number of `Went` and one `Answered`. A caller
that closes its end gives the call up.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.clients.mcp.conversation import MESSAGE_BYTES_MOST

CALL: Final = "tools/call"
METHODS: Final = frozenset(
    {CALL, "prompts/get", "prompts/list", "resources/list", "resources/read", "resources/templates/list"}
)
"""The requests that the process of a call may make of a server."""
_READ_BYTES: Final = 256 * 1024
# A message of the server within a line of ours: escaped text may take more room.
LINE_BYTES_MOST: Final = 2 * MESSAGE_BYTES_MOST


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """A server: its program with variables, or its address with headers; `folder` is where a program works."""

    argv: list[str] = []
    env: dict[str, str] = {}
    folder: str = "/"
    headers: dict[str, str] = {}
    url: str = ""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a method of `METHODS`; `reads`: by its owner's word it changes nothing, so the session outlives a
    call that was given up."""

    method: str
    params: dict[str, Any]
    reads: bool
    within_s: float


class Went(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="went"):
    """The progress of a call, as the server tells it."""

    done: float = 0.0
    note: str = ""
    total: float = 0.0


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="answered"):
    """The end of a call: a result, or why there is none."""

    fault: str = ""
    result: dict[str, Any] | None = None


class Changed(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="changed"):
    """The server says that its tools have changed: these are the ones that it lists now."""

    tools: list[dict[str, Any]]


class Broke(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="broke"):
    """The session is over: why."""

    why: str


encode = msgspec.json.Encoder().encode
decode_keep = msgspec.json.Decoder(Keep).decode
decode_ask = msgspec.json.Decoder(Ask).decode
decode_told = msgspec.json.Decoder(Went | Answered).decode
decode_report = msgspec.json.Decoder(Changed | Broke).decode


def lines_of(link: socket.socket) -> Iterator[bytes]:
    """Yield whole lines until the other side closes; a line that is too long ends it, too."""
    unread = bytearray()
    while data := link.recv(_READ_BYTES):
        unread += data
        if b"\n" in data:
            *lines, rest = bytes(unread).split(b"\n")
            unread = bytearray(rest)
            yield from lines
        if len(unread) > LINE_BYTES_MOST:
            return
