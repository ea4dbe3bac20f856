"""Other people's agents that the owner of this device configured (`agents.toml`): read, checked, made into tools.

The file belongs to the owner alone, like the policy; the hub never sees its commands or variables. An entry that is
wrong is left out alone, and said. Nothing an agent says of itself widens what its entry allows. The command
`starloom-agent agents ls | check` shows the entries, and whether each agent answers.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.owner_files import OwnerFileFault, parsed_toml, read_owner_file
from starloom_agent.policy.file import read_policy
from starloom_agent.policy.policy import Policy, exposed_by, grant_line
from starloom_agent.toolkit.clients.a2a.card import read_card
from starloom_agent.toolkit.clients.acp import launch
from starloom_agent.toolkit.clients.acp.record import AcpRecord, one_line
from starloom_agent.toolkit.clients.acp.session import AcpSession, Bounds
from starloom_agent.toolkit.clients.acp.wire import AcpFault, AcpWire
from starloom_agent.toolkit.clients.http_streams import AddressFault, address_fault, header_fault
from starloom_agent.toolkit.interface import NO_PERMITS, Tool, ToolContext, refused_line
from starloom_agent.toolkit.result_schemas import result_schema
from starloom_agent.tools.agents import agent, remote_agent
from starloom_agent.tools.agents.agent import AgentSettings, WorkDone, ground_of, tool_of, why_not
from starloom_agent.tools.agents.remote_agent import RemoteAgentSettings, RemoteDone, RemoteWork
from starloom_protocol.text.scrubbing import Scrubber
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Effect

FILE: Final = "agents.toml"
AGENTS_MOST: Final = 16
_BYTES_MOST: Final = 256 * 1024
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,19}")
_TITLE_CHARS: Final = 200
_NO_SECRETS: Final = Scrubber(())

Silence = Annotated[float, msgspec.Meta(ge=1, le=86_400)]
AnyAgent = AgentSettings | RemoteAgentSettings


class AgentsFault(Exception):
    """The file, or one entry of it, is wrong. Says where, and the way out."""


class RemoteEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent that is reached by A2A: its address, headers for it alone, and what its work may do at most."""

    url: str
    effects: list[Effect] = msgspec.field(default_factory=lambda: [Effect.CHANGE])
    headers: dict[str, str] = {}
    silent_s: Silence = 300.0


class AgentEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent: its program, the folders in which it may work, and what it may do there at most.

    `reads` are further paths that its program needs, `state` those in which it keeps its settings and its sign-in; the
    first of them is its home. `confined` False gives it all rights of the owner's account.
    """

    command: list[str]
    folders: list[str]
    effects: list[Effect] = msgspec.field(default_factory=lambda: [Effect.READ, Effect.WRITE, Effect.CHANGE])
    env: dict[str, str] = {}
    reads: list[str] = []
    state: list[str] = []
    confined: bool = True
    silent_s: Silence = 300.0


def read_agents(home: Path) -> tuple[dict[str, AnyAgent], list[str]]:
    """Return the agents of a home by name, and a sentence for each entry that is left out.

    Raises:
        AgentsFault: if the file as a whole cannot be used; without a file there are none.
    """
    path = home / FILE
    try:
        data = read_owner_file(path, _BYTES_MOST)
        whole = parsed_toml(path, data) if data is not None else {}
    except OwnerFileFault as fault:
        raise AgentsFault(str(fault)) from fault
    entries = whole.get("agents", {})
    if not isinstance(entries, dict) or set(whole) - {"agents"}:
        raise AgentsFault(f"{path}: it has one table for each agent, [agents.NAME], and nothing else")
    if len(entries) > AGENTS_MOST:
        raise AgentsFault(f"{path}: {len(entries)} agents; at most {AGENTS_MOST} are taken")
    agents: dict[str, AnyAgent] = {}
    faults: list[str] = []
    for name, entry in entries.items():
        try:
            agents[name] = _settings_of(home, path, name, entry)
        except AgentsFault as fault:
            faults.append(str(fault))
    return agents, faults


def find_agents(home: Path, say: Callable[[str], None]) -> tuple[Tool, ...]:
    """Return a tool for each usable entry of a home; the others are said and left out. Starts no program."""
    try:
        agents, faults = read_agents(home)
    except AgentsFault as fault:
        say(f"{fault}; no agent of others is offered")
        return ()
    for fault_words in faults:
        say(f"{fault_words}; this agent is left out")
    return tuple(_tool_of(settings) for settings in agents.values())


def module_of(tool: Tool) -> str:
    """Return the module that makes a tool of this file in its process."""
    return remote_agent.MODULE if tool.args is RemoteWork else agent.MODULE


def _tool_of(settings: AnyAgent) -> Tool:
    return remote_agent.tool_of(settings) if isinstance(settings, RemoteAgentSettings) else tool_of(settings)


def greet(settings: AnyAgent) -> str:
    """Greet an agent and return what it says of itself. It is given no work; a program is ended again.

    Raises:
        AgentsFault: it cannot work here, or does not greet as the protocol wants.
    """
    if isinstance(settings, RemoteAgentSettings):
        try:
            return read_card(settings.url, settings.headers).name
        except AddressFault as fault:
            raise AgentsFault(f"{settings.name}: {fault}") from fault
    reason = why_not(settings)
    if reason is not None:
        raise AgentsFault(reason)
    with tempfile.TemporaryDirectory(prefix="starloom-agent-") as place:
        folder = Path(place)
        record = AcpRecord(lambda _: None, folder / "transcript", _NO_SECRETS)
        try:
            ground = ground_of(settings, folder, folder)
            wire = AcpWire(launch.start(settings.argv, ground, env=settings.env, cwd=folder, apart=True))
            try:
                return _words_of(_session(wire, ground, record, settings).greet())
            finally:
                wire.end(apart=True)
        except AcpFault as fault:
            raise AgentsFault(f"{settings.name}: {fault}") from fault
        finally:
            record.close()


def _session(wire: AcpWire, ground: launch.Ground, record: AcpRecord, settings: AgentSettings) -> AcpSession:
    context = ToolContext(ground.own, _Nowhere(), _Nowhere())
    bounds = Bounds(all_s=settings.silent_s, silent_s=settings.silent_s)
    return AcpSession(
        wire,
        context,
        record,
        name=settings.name,
        ground=ground,
        effects=settings.effects,
        permits=NO_PERMITS,
        bounds=bounds,
    )


def _words_of(greeting: Mapping[str, Any]) -> str:
    about = greeting.get("agentInfo")
    info = about if isinstance(about, dict) else {}
    name = one_line(info.get("title") or info.get("name") or "an agent without a name", 60)
    methods = greeting.get("authMethods")
    signs_in = " (it may want to be signed in with its own program first)" if methods else ""
    return f"{name} {one_line(info.get('version') or '', 30)}".strip() + signs_in


def _settings_of(home: Path, path: Path, name: str, plain: Any) -> AnyAgent:
    where = f"{path}: agents.{name}"
    if not _NAME.fullmatch(name):
        raise AgentsFault(f"{path}: agents.{quoted(name)}: a name has 1 to 20 of a-z 0-9 _ and begins with a letter")
    if isinstance(plain, dict) and "url" in plain:
        return _remote(where, name, plain)
    try:
        entry = msgspec.convert(plain, AgentEntry)
    except msgspec.ValidationError as error:
        raise AgentsFault(f"{where}: {error}") from error
    if not entry.command or not all(entry.command):
        raise AgentsFault(f"{where}.command: a program and its arguments are expected")
    if not entry.effects:
        raise AgentsFault(f"{where}.effects: name at least one of {', '.join(Effect)}")
    folders = _paths(where, "folders", entry.folders)
    if not folders:
        raise AgentsFault(f"{where}.folders: name a folder in which it may work")
    reads, state = _paths(where, "reads", entry.reads), _paths(where, "state", entry.state)
    exposed = exposed_by(Policy(read=(*folders, *reads, *state)), home.resolve())
    if exposed:
        raise AgentsFault(f"{where}: {exposed} would show it the key and the policy of this device; name another")
    effects = [effect for effect in Effect if effect in entry.effects] if entry.confined else list(Effect)
    return AgentSettings(
        name=name,
        title=_title(name, folders, effects, confined=entry.confined),
        argv=entry.command,
        env=entry.env,
        folders=folders,
        reads=reads,
        state=state,
        effects=effects,
        confined=entry.confined,
        silent_s=entry.silent_s,
        returns=result_schema(WorkDone),
    )


def _remote(where: str, name: str, plain: dict[str, Any]) -> RemoteAgentSettings:
    try:
        entry = msgspec.convert(plain, RemoteEntry)
    except msgspec.ValidationError as error:
        raise AgentsFault(f"{where}: {error}") from error
    if (fault := address_fault(entry.url)) is not None:
        raise AgentsFault(f"{where}.url: {fault}")
    for header, value in entry.headers.items():
        if (fault := header_fault(header, value)) is not None:
            raise AgentsFault(f"{where}.headers: {fault}")
    # The words of the work leave this device, whatever the agent does with them.
    effects = [effect for effect in Effect if effect in {*entry.effects, Effect.REACH}]
    host = urlsplit(entry.url).hostname or ""
    title = f"Hand work to the agent {name} at {host}; it may {', '.join(effects)}"
    return RemoteAgentSettings(
        name=name,
        title=title[:_TITLE_CHARS],
        url=entry.url,
        headers=entry.headers,
        effects=effects,
        silent_s=entry.silent_s,
        returns=result_schema(RemoteDone),
    )


def _paths(where: str, field: str, listed: list[str]) -> list[str]:
    """Return the real paths of a list; a link counts as the place that it leads to now."""
    paths = []
    for item in listed:
        path = Path(item).expanduser()
        if not path.is_absolute():
            raise AgentsFault(f"{where}.{field}: {quoted(item)} is not an absolute path")
        paths.append(str(path.resolve()))
    return paths


def _title(name: str, folders: list[str], effects: list[Effect], *, confined: bool) -> str:
    """Return in words what the agent may do; previews and questions show it."""
    if not confined:
        return f"Hand work to the agent {name}, which runs with all rights of this account"
    places = ", ".join(Path(folder).name or folder for folder in folders)
    return f"Hand work to the agent {name}, in {places}; it may {', '.join(effects)}"[:_TITLE_CHARS]


class _Nowhere:
    """The ports of a greeting, which has no files and no output."""

    def fetch(self, sha256: str, into: Path) -> Path:
        raise AgentsFault(f"a greeting has no artifacts ({sha256}, {into})")

    def put(self, file: Any, *, name: str, media: str, sent: Any = None) -> Any:
        raise AgentsFault(f"a greeting has no artifacts ({file}, {name}, {media}, {sent})")

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """A greeting has no progress."""

    def log(self, text: str) -> None:
        """A greeting has no log."""


Show = Callable[[str], None]
EXIT_FAILED = 1


def agents(home: AgentHome, options: argparse.Namespace, show: Show) -> int:
    """List the agents, or check them; return 1 if an entry is wrong or an agent does not answer."""
    chosen_agents, faults = read_agents(home.root)
    if options.name:
        if options.name not in chosen_agents:
            listed = ", ".join(chosen_agents) or "none"
            raise AgentsFault(f"{home.root / FILE} has no usable agent {options.name}; there are: {listed}")
        chosen_agents = {options.name: chosen_agents[options.name]}
    for fault in faults:
        show(f"left out: {fault}")
    if not chosen_agents and not faults:
        show(f"no agent is named in {home.root / FILE}")
    policy = read_policy(home.policy)
    failed = bool(faults)
    for settings in chosen_agents.values():
        show(f"{settings.name}  {settings.title}")
        for line in _lacking(home, policy, settings):
            show(f"  not allowed yet; type: {home.pasteable(line)}")
        if options.action == "check":
            failed = not _answers(settings, show) or failed
    return EXIT_FAILED if failed else 0


def _answers(settings: AnyAgent, show: Show) -> bool:
    try:
        show(f"  it answers: {greet(settings)}")
    except AgentsFault as fault:
        show(f"  it does not work: {fault}")
        return False
    return True


def _lacking(home: AgentHome, policy: Policy, settings: AnyAgent) -> list[str]:
    """Return the lines that the owner would type, so that work can be handed to it."""
    lines = [] if f"agent:{settings.name}" in policy.allowed else [grant_line(f"agent:{settings.name}")]
    if isinstance(settings, RemoteAgentSettings):
        return lines
    writes = Effect.WRITE in settings.effects
    allowed = policy.folders(home.workspace)
    roots = allowed.write if writes else allowed.read
    outside = [folder for folder in map(Path, settings.folders) if not any(map(folder.is_relative_to, roots))]
    return [*lines, *(refused_line("files:write" if writes else "files:read", folder) for folder in outside)]
