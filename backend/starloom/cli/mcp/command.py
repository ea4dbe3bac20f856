"""`starloom mcp`: the hub as tools for an assistant, by stdio or HTTP. Loads the MCP library only when it starts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.discovery import find
from starloom.client.problems import usage
from starloom.host import ports
from starloom.process.program import script
from starloom_protocol.stream.feed import Event

PORT = 8475
_MISSING: Final = "the MCP library is not installed here"
_INSTALL: Final = f"Install it: {sys.executable} -m pip install 'starloom[mcp]' (from a checkout: 'mcp>=2.3,<3')."


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    hub_command(app, "mcp")(mcp)


def mcp(
    run: Invocation,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP on this machine instead of stdio.")] = False,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="With --http.")] = PORT,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="With --http: its token; ~/.config/starloom/mcp-token.")
    ] = None,
    config: Annotated[
        bool, typer.Option("--config", help="Print what a program's configuration needs; it works from any folder.")
    ] = False,
) -> None:
    """Offer this hub to an assistant (Model Context Protocol). It may read and submit; it cannot approve."""
    missing = importlib.util.find_spec("mcp") is None
    if config:
        run.emit(configuration(run))
        if missing:
            sys.stderr.write(f"{_MISSING}, so no program can start it yet. {_INSTALL}\n")
        return
    if run.as_json:
        raise usage("this speaks MCP on its output", "Leave out --json.")
    if missing:
        raise usage(_MISSING, _INSTALL)
    find(run.hub)
    from starloom.cli.mcp.server import build, serve_stdio
    from starloom.cli.mcp.tools import Tools

    server = build(Tools(lambda: find(run.hub), describe))
    if not http:
        serve_stdio(server)
        return
    from starloom.cli.mcp.http import HOST, PATH, TOKEN_FILE, application, serve, token_in

    if not ports.is_free(HOST, port):
        raise usage(f"port {port} is used by {ports.owner(port)}", "Name another with --port.")
    path = token_file or Path.home() / TOKEN_FILE
    token = token_in(path)
    sys.stderr.write(
        f"MCP at http://{HOST}:{port}{PATH}; clients send `Authorization: Bearer` with the token in {path}\n"
    )
    serve(application(server, port, token), port)


def configuration(run: Invocation) -> dict[str, Any]:
    """Return the entry of a program that starts `starloom mcp`: paths of this installation and of its hub."""
    from starloom.host.supervisor import home_of

    address = find(run.hub)
    home = home_of(address)
    program = script()
    command = [str(program)] if program.exists() else [sys.executable, "-P", "-m", "starloom.cli"]
    words = [*command[1:], "mcp", "--hub", str(home.resolve()) if home is not None else address.url]
    return {"mcpServers": {"starloom": {"command": command[0], "args": words}}}


def describe(events: list[Event], devices: Mapping[str, str]) -> list[str]:
    """Return events as lines, like `starloom watch`."""
    from starloom.cli.text.constellation_text import Changes

    changes = Changes(dict(devices))
    return [line for event in events for line in changes.lines(event)]
