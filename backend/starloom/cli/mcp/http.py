"""The MCP server over HTTP: on a loopback address only, for bearers of its token, with its own Host and Origin.

The token is not the hub's: it opens these tools and nothing else, and is kept in a file of the owner (0600).
"""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from starloom.client.problems import usage

HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN_FILE = Path(".config") / "starloom" / "mcp-token"
_BODY_BYTES_MAX = 2 * 1024 * 1024
_SESSIONS_MAX = 64
"""Programs of one person at a time; an idle one is forgotten after half an hour."""
_TOKEN_BYTES = 32


class Bearer:
    """Refuses every request without the token, all in the same words."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(headers) != 1 or not hmac.compare_digest(headers[0], self._expected):
                refusal = PlainTextResponse(
                    "This needs the token that `starloom mcp --http` names.\n", 401, {"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def application(server: Server[Any], port: int, token: str) -> ASGIApp:
    """Return the ASGI application for exactly this address."""
    names = (HOST, "localhost")
    return Bearer(
        server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=_BODY_BYTES_MAX,
            max_sessions=_SESSIONS_MAX,
            transport_security=TransportSecuritySettings(
                allowed_hosts=[f"{name}:{port}" for name in names],
                allowed_origins=[f"http://{name}:{port}" for name in names],
            ),
            host=HOST,
        ),
        token,
    )


def token_in(path: Path) -> str:
    """Return the token of a file; one that is not there is made, readable by its owner only.

    Raises:
        Problem: the file cannot be used, or others may read it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token = path.read_text(encoding="ascii").strip()
        else:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            with os.fdopen(descriptor, "w", encoding="ascii") as out:
                out.write(token + "\n")
        open_to_others = os.name == "posix" and path.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"the token file {path} cannot be used: {error}", "Name another with --token-file.") from error
    if open_to_others:
        raise usage(f"others may read {path}", f"Remove it and start again for a new token, or chmod 600 {path}.")
    if len(token) < _TOKEN_BYTES:
        raise usage(f"{path} holds no token that is long enough", "Remove it; a new one is made.")
    return token


def serve(app: ASGIApp, port: int) -> None:
    """Serve until Ctrl-C."""
    uvicorn.run(app, host=HOST, port=port, log_level="warning", access_log=False, server_header=False)
