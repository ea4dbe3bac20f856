"""The carrier of one session with an MCP server: its program, or its address of the web, as the owner named it."""

from __future__ import annotations

from pathlib import Path

from starloom_agent.toolkit.clients.mcp.conversation import Carrier, Conversation
from starloom_agent.toolkit.clients.mcp.keeping import Keep
from starloom_agent.toolkit.clients.mcp.program import ProgramCarrier
from starloom_agent.toolkit.clients.mcp.web import WebCarrier


def carrier_of(conversation: Conversation, keep: Keep, *, quiet: bool, apart: bool = False) -> Carrier:
    """Start the server, or make ready to reach it.

    `quiet`: of what a program writes to stderr, only its last words are kept, for the fault of its end. `apart`: it is
    in a process group of its own, for a caller that has no runner to end it.

    Raises:
        ServerFault: it cannot be started.
    """
    if keep.url:
        return WebCarrier(conversation, keep.url, keep.headers)
    return ProgramCarrier(conversation, keep.argv, keep.env, cwd=Path(keep.folder), quiet=quiet, apart=apart)
