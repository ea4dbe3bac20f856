"""The MCP servers that the owner of this device configured (`mcp.toml`): read, asked for their tools, made into tools.

The file belongs to the owner alone, like the policy; the hub never sees its commands or variables. The statements of a
server count for names, titles and schemas only: effects and repeatability are those that the owner wrote, else the
most careful ones (it may take control, it asks each time, it is never repeated).
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.result_schemas import result_schema
from starloom_agent.tools.mcp import McpAnswer, ServerFault, Told, talking, tool_of
from starloom_protocol.tool_results import SCHEMA_CHARS_MAX
from starloom_protocol.values import canonical, name_fault, parse
from starloom_protocol.vocabulary import REPEATABLE, RISKY_EFFECTS, Effect, Repeatability
from starloom_protocol.wording import quoted

FILE: Final = "mcp.toml"
MODULE: Final = "mcp"
LIST_WITHIN_S: Final = 45.0
_SERVERS_MOST: Final = 16
_SCHEMA_BYTES_MOST: Final = 32 * 1024
_TITLE_CHARS: Final = 200
_SERVER_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,19}")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class McpFault(Exception):
    """The file is wrong: none of it is used. Says where."""


class OfTool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The owner's settings for one tool; absent ones are those of the server.

    `stands_for` is a tool that takes the same arguments and whose results this one gives, too.
    """

    effects: list[Effect] | None = None
    repeatability: Repeatability | None = None
    stands_for: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server: its program with arguments, variables for it alone, and what its tools may do."""

    command: list[str]
    env: dict[str, str] = {}
    effects: list[Effect] = msgspec.field(default_factory=lambda: [Effect.CONTROL])
    repeatability: Repeatability = Repeatability.NEVER
    tools: dict[str, OfTool] = {}


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    servers: dict[str, Server] = {}


def read_servers(path: Path) -> dict[str, Server]:
    """Return the servers by name; none without a file.

    Raises:
        McpFault: if it cannot be read, is wrong, or others may write it.
    """
    try:
        mode = path.stat().st_mode
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise McpFault(f"{path} cannot be read: {error}") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise McpFault(f"{path} may be written by others; type: chmod 600 {path}")
    try:
        servers = msgspec.convert(tomllib.loads(data.decode()), _File).servers
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise McpFault(f"{path} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise McpFault(f"{path}: {error}") from error
    if len(servers) > _SERVERS_MOST:
        raise McpFault(f"{path}: {len(servers)} servers; at most {_SERVERS_MOST} are taken")
    for name, server in servers.items():
        _check(path, name, server)
    return servers


def _check(path: Path, name: str, server: Server) -> None:
    where = f"{path}: servers.{name}"
    if not _SERVER_NAME.fullmatch(name):
        raise McpFault(f"{where}: a name has 1 to 20 of a-z 0-9 _ and begins with a letter")
    if not server.command or not all(server.command):
        raise McpFault(f"{where}.command: a program and its arguments are expected")
    for tool, own in (("", OfTool()), *server.tools.items()):
        effects, repeatability = _declared(server, own)
        place = f"{where}.tools.{tool}" if tool else where
        if not effects:
            raise McpFault(f"{place}.effects: name at least one of {', '.join(Effect)}")
        if repeatability in REPEATABLE and RISKY_EFFECTS & set(effects):
            raise McpFault(f"{place}: what may {', '.join(effects)} is not {repeatability}")
        if own.stands_for and not _TOOL_NAME.fullmatch(own.stands_for):
            raise McpFault(f"{place}.stands_for: {quoted(own.stands_for[:80])} is no name of a tool")
        if repeatability is Repeatability.PURE and not set(effects) <= {Effect.READ, Effect.REACH}:
            raise McpFault(f"{place}: what may {', '.join(effects)} is not pure")


def _declared(server: Server, own: OfTool) -> tuple[list[Effect], Repeatability]:
    effects = own.effects if own.effects is not None else server.effects
    return effects, own.repeatability if own.repeatability is not None else server.repeatability


def find_tools(home: Path, workspace: Path, say: Callable[[str], None]) -> tuple[Tool, ...]:
    """Ask every configured server for its tools, all at the same time; faulty ones are reported and left out."""
    try:
        servers = read_servers(home / FILE)
    except McpFault as fault:
        say(f"{fault}; no tool of an MCP server is offered")
        return ()
    if not servers:
        return ()
    with ThreadPoolExecutor(max_workers=len(servers)) as pool:
        asked = {name: pool.submit(_listed, server, workspace) for name, server in servers.items()}
    tools: list[Tool] = []
    for name, server in servers.items():
        try:
            listed = asked[name].result()
        except ServerFault as fault:
            say(f"the MCP server {name} is left out: {fault}")
            continue
        made = [tool for one in listed if (tool := _made(name, server, one, say)) is not None]
        unknown = sorted(set(server.tools) - {str(one.get("name")) for one in listed})
        if unknown:
            say(f"the MCP server {name} has no tool {', '.join(unknown)}, which {FILE} speaks of")
        say(f"the MCP server {name} has {len(made)} tools")
        tools += made
    return tuple(tools)


def _listed(server: Server, workspace: Path) -> list[dict[str, Any]]:
    with talking(server.command, server.env, cwd=workspace, within_s=LIST_WITHIN_S, quiet=True, apart=True) as client:
        return client.tools()


def _made(server_name: str, server: Server, listed: Mapping[str, Any], say: Callable[[str], None]) -> Tool | None:
    remote = str(listed.get("name") or "")
    name = f"mcp.{server_name}.{remote}"
    schema = listed.get("inputSchema")
    text = canonical(schema) if isinstance(schema, dict) else ""
    if not _TOOL_NAME.fullmatch(name) or not text or len(text.encode()) > _SCHEMA_BYTES_MOST:
        why = "its arguments have no usable schema" if _TOOL_NAME.fullmatch(name) else "its name cannot stand in a plan"
        say(f"the tool {quoted(remote[:80])} of the MCP server {server_name} is left out: {why}")
        return None
    effects, repeatability = _declared(server, server.tools.get(remote, OfTool()))
    return tool_of(
        Told(
            name=name,
            remote=remote,
            title=_title(listed) or remote,
            argv=server.command,
            env=server.env,
            schema=text,
            effects=effects,
            repeatability=repeatability,
            grant=f"{MODULE}:{server_name}",
            returns=_returns(listed.get("outputSchema")),
            stands_for=server.tools.get(remote, OfTool()).stands_for,
        )
    )


def _returns(output: Any) -> str:
    """Return the text of the schema of a result: our own fields, and what the server says of its `structured` one.

    A schema that is too large is left out: of that part nothing is known then.
    """
    structured = output if isinstance(output, dict) else True
    text = result_schema(McpAnswer)
    whole = parse(text)
    answer = whole["$defs"]["McpAnswer"]["properties"]
    known = canonical(_moved(structured, "#/$defs/McpAnswer/properties/structured"))
    answer["structured"] = parse(known) if len(known) <= SCHEMA_CHARS_MAX - len(text) else {}
    return canonical(whole)


def _moved(node: Any, place: str) -> Any:
    """Return a schema whose references lead to where it stands now."""
    if isinstance(node, list):
        return [_moved(item, place) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        name: place + item[1:] if name == "$ref" and isinstance(item, str) and item[:1] == "#" else _moved(item, place)
        for name, item in node.items()
    }


def _title(listed: Mapping[str, Any]) -> str:
    """Return the first line of what the server says of a tool, as far as it can stand in a line."""
    said = str(listed.get("title") or listed.get("description") or "").strip()
    line = said.splitlines()[0].strip()[:_TITLE_CHARS] if said else ""
    return "" if name_fault(line, most=_TITLE_CHARS) else line
