"""The MCP servers that the owner of this device configured (`mcp.toml`): read, asked for their tools, made into tools.

The file belongs to the owner alone, like the policy; the hub never sees its commands or variables. The statements of a
server count for names, titles and schemas only: effects and repeatability are those that the owner wrote, else the
most careful ones (it may take control, it asks each time, it is never repeated). The list of the first start
with an entry is kept beside the file: a tool that is new or has changed since then gets the most careful ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from starloom_agent.home.directory import write_private
from starloom_agent.home.owner_files import OwnerFileFault, may_be_read_by_others, parsed_toml, read_owner_file
from starloom_agent.toolkit.clients.http_streams import address_fault, header_fault
from starloom_agent.toolkit.clients.mcp.conversation import ServerFault
from starloom_agent.toolkit.clients.mcp.keeping import Keep
from starloom_agent.toolkit.clients.mcp.reading import URI_CHARS_MOST, McpPrompts, McpResources
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.result_schemas import result_schema
from starloom_agent.tools.agents.mcp import MODULE, McpAnswer, McpToolSettings, talking, tool_of
from starloom_protocol.text.wording import quoted
from starloom_protocol.tools.results import SCHEMA_CHARS_MAX
from starloom_protocol.values import canonical, name_fault, parse
from starloom_protocol.vocabulary import REPEATABLE, RISKY_EFFECTS, Effect, Repeatability

FILE: Final = "mcp.toml"
KNOWN: Final = "mcp_known.json"
LIST_WITHIN_S: Final = 45.0
_SERVERS_MOST: Final = 16
_SCHEMA_BYTES_MOST: Final = 32 * 1024
_TITLE_CHARS: Final = 200
_SERVER_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,19}")
_NO_NAME: Final = re.compile(r"[\x00-\x1f\x7f\"\\]")
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_OF_URI: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"uri": {"type": "string", "minLength": 1, "maxLength": URI_CHARS_MOST}},
    "required": ["uri"],
}
_OF_PROMPT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    "required": ["name"],
}


class TextTool(NamedTuple):
    """A tool by which a server's resources or prompts are read."""

    method: str
    title: str
    arguments: dict[str, Any]
    result: Any


TEXTS: Final = {
    "get_prompt": TextTool("prompts/get", "Give a prompt", _OF_PROMPT, McpAnswer),
    "list_prompts": TextTool("prompts/list", "List the prompts", _NO_ARGUMENTS, McpPrompts),
    "list_resources": TextTool("resources/list", "List the resources", _NO_ARGUMENTS, McpResources),
    "read_resource": TextTool("resources/read", "Read a resource", _OF_URI, McpAnswer),
}
KINDS: Final = {"prompts": ("list_prompts", "get_prompt"), "resources": ("list_resources", "read_resource")}


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
    """One server: its program with arguments and variables for it alone, or its address with headers; and what its
    tools may do. A session that nobody uses for `keep_s` ends; with 0 each call has a session of its own. `resources`
    and `prompts` offer what it has of these as tools that only read."""

    command: list[str] = []
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    keep_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 300.0
    effects: list[Effect] = msgspec.field(default_factory=lambda: [Effect.CONTROL])
    prompts: bool = False
    repeatability: Repeatability = Repeatability.NEVER
    resources: bool = False
    tools: dict[str, OfTool] = {}


class _Snapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tools that a server offered when the agent first started with its `entry`, both as hashes."""

    entry: str
    tools: dict[str, str]


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    servers: dict[str, Server] = {}


def read_servers(path: Path) -> dict[str, Server]:
    """Return the servers by name; none without a file.

    Raises:
        McpFault: if it cannot be read, is wrong, or others may write it.
    """
    try:
        data = read_owner_file(path)
        servers = msgspec.convert(parsed_toml(path, data), _File).servers if data is not None else {}
    except OwnerFileFault as fault:
        raise McpFault(str(fault)) from fault
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
    if server.url:
        _check_address(where, server)
    elif not server.command or not all(server.command):
        raise McpFault(f"{where}.command: a program and its arguments are expected, or `url` for a server of the web")
    elif server.headers:
        raise McpFault(f"{where}.headers: they belong to a server with `url`; a program takes `env`")
    for tool, settings in (("", OfTool()), *server.tools.items()):
        effects, repeatability = _effects_and_repeatability(server, settings)
        place = f"{where}.tools.{tool}" if tool else where
        if not effects:
            raise McpFault(f"{place}.effects: name at least one of {', '.join(Effect)}")
        if repeatability in REPEATABLE and RISKY_EFFECTS & set(effects):
            raise McpFault(f"{place}: what may {', '.join(effects)} is not {repeatability}")
        if settings.stands_for and not _TOOL_NAME.fullmatch(settings.stands_for):
            raise McpFault(f"{place}.stands_for: {quoted(settings.stands_for[:80])} is no name of a tool")
        if repeatability is Repeatability.PURE and not set(effects) <= {Effect.READ, Effect.REACH}:
            raise McpFault(f"{place}: what may {', '.join(effects)} is not pure")


def _check_address(where: str, server: Server) -> None:
    if server.command or server.env:
        raise McpFault(f"{where}: a server has `url` with `headers`, or `command` with `env`, not both")
    if (fault := address_fault(server.url)) is not None:
        raise McpFault(f"{where}.url: {fault}")
    for name, value in server.headers.items():
        if (fault := header_fault(name, value)) is not None:
            raise McpFault(f"{where}.headers: {fault}")


def _effects_and_repeatability(server: Server, settings: OfTool) -> tuple[list[Effect], Repeatability]:
    effects = settings.effects if settings.effects is not None else server.effects
    return effects, settings.repeatability if settings.repeatability is not None else server.repeatability


def find_tools(home: Path, workspace: Path, say: Callable[[str], None]) -> tuple[Tool, ...]:
    """Ask every configured server for its tools, all at the same time; faulty ones are reported and left out."""
    try:
        servers = read_servers(home / FILE)
        before = _read_snapshots(home / KNOWN)
    except McpFault as fault:
        say(f"{fault}; no tool of an MCP server is offered")
        return ()
    if not servers:
        return ()
    if may_be_read_by_others(home / FILE):
        say(f"{home / FILE} may be read by others, and `env` and `headers` hold keys; type: chmod 600 {home / FILE}")
    with ThreadPoolExecutor(max_workers=len(servers)) as pool:
        lists = {name: pool.submit(_list_tools, server, workspace) for name, server in servers.items()}
    tools: list[Tool] = []
    snapshots = {
        name: one for name, one in before.items() if name in servers and one.entry == _entry_hash(servers[name])
    }
    for name, server in servers.items():
        try:
            listed, has = lists[name].result()
        except ServerFault as fault:
            say(f"the MCP server {name} is left out: {fault}")
            continue
        offered = [tool for one in listed if (tool := _tool(name, server, one, say)) is not None]
        snapshot = snapshots.setdefault(
            name, _Snapshot(entry=_entry_hash(server), tools={tool.name: _tool_hash(tool) for tool in offered})
        )
        offered = [
            tool for one in listed if (tool := _careful_tool(name, server, one, snapshot, lambda _: None)) is not None
        ]
        if changed := sorted(tool.name for tool in offered if _has_changed(tool, server, snapshot)):
            say(
                f"{', '.join(changed)}: new or changed since {FILE} named the server, so each call asks you; name it"
                f" there, or remove {home / KNOWN} to take all as they are now"
            )
        offered += texts_of(name, server, has, {tool.name for tool in offered}, say)
        unknown = sorted(set(server.tools) - {str(one.get("name")) for one in listed} - set(TEXTS))
        if unknown:
            say(f"the MCP server {name} has no tool {', '.join(unknown)}, which {FILE} speaks of")
        say(f"the MCP server {name} has {len(offered)} tools")
        tools += offered
    if snapshots != before:
        write_private(home / KNOWN, msgspec.json.encode(snapshots))
    return tuple(tools)


def _read_snapshots(path: Path) -> dict[str, _Snapshot]:
    """Return what each server offered when the agent first started with its entry.

    Raises:
        McpFault: it cannot be read, so nobody knows what was there before.
    """
    try:
        data = read_owner_file(path)
        return msgspec.json.decode(data, type=dict[str, _Snapshot]) if data is not None else {}
    except OwnerFileFault as fault:
        raise McpFault(str(fault)) from fault
    except msgspec.MsgspecError as error:
        raise McpFault(f"{path}: {error}; remove it to take the tools of all servers as they are now") from error


def _entry_hash(server: Server) -> str:
    return hashlib.sha256(msgspec.json.encode(server, order="deterministic")).hexdigest()


def _list_tools(server: Server, workspace: Path) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """Ask a server for its tools, and which of resources and prompts it has."""
    keep = Keep(argv=server.command, env=server.env, folder=str(workspace), headers=server.headers, url=server.url)
    with talking(keep, within_s=LIST_WITHIN_S, quiet=True, apart=True) as talk:
        has = frozenset(KINDS) & set(talk.capabilities)
        # One that says what it has, and names no tools, is not asked for them.
        return ([] if has and "tools" not in talk.capabilities else talk.tools(LIST_WITHIN_S)), has


def texts_of(
    name: str, server: Server, has: Collection[str], used_names: Collection[str], say: Callable[[str], None]
) -> list[Tool]:
    """Return the tools that read what the server has of resources and prompts, where the owner wants them.

    They read, by the protocol and by the owner's word. A tool of the server with the same name takes the place.
    """
    tools: list[Tool] = []
    for kind, names in KINDS.items():
        is_wanted = server.resources if kind == "resources" else server.prompts
        if kind in has and not is_wanted:
            say(f"the MCP server {name} has {kind}; `{kind} = true` in {FILE} offers them to plans")
        elif is_wanted and kind not in has:
            say(f"the MCP server {name} has no {kind}, which {FILE} speaks of")
        elif is_wanted:
            tools += [_text_tool(name, server, one) for one in names if f"mcp.{name}.{one}" not in used_names]
    return tools


def _text_tool(server_name: str, server: Server, name: str) -> Tool:
    text = TEXTS[name]
    settings = server.tools.get(name, OfTool())
    # A server of the web learns which text is read.
    reads = [Effect.READ, *([Effect.REACH] if server.url else [])]
    return tool_of(
        McpToolSettings(
            name=f"mcp.{server_name}.{name}",
            remote=name,
            method=text.method,
            title=f"{text.title} of the MCP server {server_name}",
            argv=server.command,
            env=server.env,
            schema=canonical(text.arguments),
            effects=settings.effects if settings.effects is not None else reads,
            repeatability=settings.repeatability if settings.repeatability is not None else Repeatability.PURE,
            grant=f"mcp:{server_name}",
            headers=server.headers,
            keep_s=server.keep_s,
            server=server_name,
            url=server.url,
            returns=result_schema(text.result),
        )
    )


class LaterTools:
    """The tools of servers that change their lists while the agent runs, beside those of its start.

    A tool that is new or has changed since the snapshot of the server asks its owner each time and is never repeated,
    unless the owner names it in `mcp.toml`: the grant was given for what the server offered then.
    """

    def __init__(self, home: Path, started: Iterable[Tool], say: Callable[[str], None]) -> None:
        self._file = home / FILE
        self._snapshots = home / KNOWN
        self._started = {tool.name: tool for tool in started}
        self._say = say

    def of(self, name: str, listed: list[dict[str, Any]]) -> tuple[str, list[Tool]]:
        """Return the module and the tools of this list; no module where the file no longer names the server."""
        try:
            server = read_servers(self._file).get(name)
            snapshot = _read_snapshots(self._snapshots).get(name, _Snapshot(entry="", tools={}))
        except McpFault as fault:
            self._say(f"{fault}; the tools of {name} stay as they were")
            return "", []
        if server is None:
            return "", []
        tools = [tool for one in listed if (tool := _careful_tool(name, server, one, snapshot, self._say)) is not None]
        # A notice is about its tools alone: it reads as it did at the start.
        has = {kind for kind, names in KINDS.items() if any(f"mcp.{name}.{one}" in self._started for one in names)}
        tools += texts_of(name, server, has, {tool.name for tool in tools}, lambda _: None)
        return MODULE, tools


def _careful_tool(
    name: str, server: Server, one: Mapping[str, Any], snapshot: _Snapshot, say: Callable[[str], None]
) -> Tool | None:
    """Return a tool as the owner declared it, or a most careful one if it is new or has changed since the snapshot."""
    tool = _tool(name, server, one, say)
    if tool is None or not _has_changed(tool, server, snapshot):
        return tool
    careful = OfTool(effects=sorted({*server.effects, Effect.CONTROL}), repeatability=Repeatability.NEVER)
    return _tool(name, replace(server, tools={**server.tools, str(one.get("name")): careful}), one, say)


def _has_changed(tool: Tool, server: Server, snapshot: _Snapshot) -> bool:
    """Tell whether a tool is new or has changed since the snapshot of its server, and its owner does not name it."""
    remote = tool.name.split(".", 2)[2]
    return remote not in server.tools and snapshot.tools.get(tool.name) != _tool_hash(tool)


def _tool_hash(tool: Tool) -> str:
    return hashlib.sha256(canonical([tool.title, tool.schema, tool.returns]).encode()).hexdigest()


def _tool(server_name: str, server: Server, listed: Mapping[str, Any], say: Callable[[str], None]) -> Tool | None:
    remote = str(listed.get("name") or "")
    name = f"mcp.{server_name}.{remote}"
    schema = listed.get("inputSchema")
    text = canonical(schema) if isinstance(schema, dict) else ""
    why = ""
    if not _TOOL_NAME.fullmatch(name):
        why = "its name cannot stand in a plan"
    elif not text or len(text.encode()) > _SCHEMA_BYTES_MOST or not _are_names(schema):
        why = "its arguments have no usable schema"
    if why:
        say(f"the tool {quoted(remote[:80])} of the MCP server {server_name} is left out: {why}")
        return None
    effects, repeatability = _effects_and_repeatability(server, server.tools.get(remote, OfTool()))
    return tool_of(
        McpToolSettings(
            name=name,
            remote=remote,
            title=_title(listed) or remote,
            argv=server.command,
            env=server.env,
            schema=text,
            effects=effects,
            repeatability=repeatability,
            grant=f"mcp:{server_name}",
            headers=server.headers,
            keep_s=server.keep_s,
            owes=_needed_names(listed.get("outputSchema")),
            server=server_name,
            url=server.url,
            returns=_returns(listed.get("outputSchema")),
            stands_for=server.tools.get(remote, OfTool()).stands_for,
        )
    )


def _are_names(schema: Any) -> bool:
    """Tell whether each argument has a name that can be one."""
    properties = schema.get("properties")
    return not isinstance(properties, dict) or not any(_NO_NAME.search(name) for name in properties)


def _returns(output: Any) -> str:
    """Return the text of the schema of a result: our own fields, and what the server says of its `structured` one.

    A schema that is too large is left out: of that part nothing is known then.
    """
    structured = output if isinstance(output, dict) else True
    text = result_schema(McpAnswer)
    whole = parse(text)
    answer = whole["$defs"]["McpAnswer"]["properties"]
    schema = canonical(_moved(structured, "#/$defs/McpAnswer/properties/structured"))
    answer["structured"] = parse(schema) if len(schema) <= SCHEMA_CHARS_MAX - len(text) else {}
    return canonical(whole)


def _needed_names(output: Any) -> list[str] | None:
    """Return the names that a schema of results needs; None where there is no schema."""
    if not isinstance(output, dict):
        return None
    needed = output.get("required")
    return [name for name in needed if isinstance(name, str)] if isinstance(needed, list) else []


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
    text = str(listed.get("title") or listed.get("description") or "").strip()
    line = text.splitlines()[0].strip()[:_TITLE_CHARS] if text else ""
    return "" if name_fault(line, most=_TITLE_CHARS) else line
