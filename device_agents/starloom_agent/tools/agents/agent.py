"""`agent.NAME`: work for another agent of this device, such as a coding agent, by the Agent Client Protocol.

Each tool is made from an entry of the owner's `agents.toml`. Owns one call: the folder, the start, the session, the
files that changed, the transcript. The program ends with the call. Its words are data and never an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, NotRequired

import msgspec

from starloom_agent.sandbox import confinement
from starloom_agent.toolkit.clients.acp import files, launch
from starloom_agent.toolkit.clients.acp.record import AcpRecord
from starloom_agent.toolkit.clients.acp.session import COMMANDS, AcpSession, Bounds, Turn
from starloom_agent.toolkit.clients.acp.wire import AcpFault, AcpWire
from starloom_agent.toolkit.interface import Args, Folders, Tool, ToolContext, ToolFailed, typed_path, way_out
from starloom_agent.toolkit.results import Added, Named, Stored
from starloom_protocol.vocabulary import Code, Effect, Repeatability

MODULE: Final = __name__.partition(".tools.")[2]
"""The name by which the process of a call finds this module among the tools."""
_OWN: Final = "own"
_TRANSCRIPT: Final = "transcript.jsonl"
_MEDIA: Final = "application/x-ndjson"


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that the process of a call has to know of an agent; the paths are whole ones, `returns` a JSON schema."""

    name: str
    title: str
    argv: list[str]
    env: dict[str, str]
    folders: list[str]
    reads: list[str]
    state: list[str]
    effects: list[Effect]
    confined: bool
    silent_s: float
    returns: str


class Work(Args, frozen=True, kw_only=True):
    """`text` is the work in words. `folder` is one of the owner's folders for this agent, or one below; without it the
    first. After `timeout_s` the turn is ended and the call fails."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=32_768)]
    folder: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 1800
    device_name: str = ""


class WorkDone(Named):
    """`text` holds the messages of the agent. `changed` are the files that are new, other or gone below the folder, by
    the disk and not by its words; folders such as `.git` and `node_modules` are not looked into. `stop` is its reason
    to end. `refused` counts what this device or its owner did not allow. `added` is what `fs.trash` takes to undo the
    files that it wrote through this device; those that its own program wrote are not among them."""

    added: Added
    changed: list[str]
    changed_complete: bool
    complete: bool
    folder: str
    refused: int
    stop: str
    text: str
    tokens: NotRequired[dict[str, int]]
    transcript: Stored


def tool_of(settings: AgentSettings) -> Tool:
    """Return the tool as the agent of this device offers it and as its process runs it."""
    name = f"agent.{settings.name}"
    return Tool(
        name=name,
        title=settings.title,
        args=Work,
        run=_runner(settings),
        effects=tuple(settings.effects),
        repeatability=Repeatability.NEVER,
        grant=f"agent:{settings.name}",
        probe=lambda: why_not(settings),
        returns=settings.returns,
        settings=msgspec.json.encode(settings).decode(),
        asks_within=(name, COMMANDS),
        hears=True,
    )


def tool_from(settings: str) -> Tool:
    """Return the tool that `Tool.settings` describes: the form that a tool process is given."""
    return tool_of(msgspec.json.decode(settings, type=AgentSettings))


def why_not(settings: AgentSettings) -> str | None:
    """Return why the agent cannot work here, or None."""
    if launch.program_of(settings.argv[0]) is None:
        return f"there is no program {settings.argv[0]} on this device; install it, or mend command in agents.toml"
    if settings.confined and not confinement.can_confine(foreign=True):
        return (
            f"this device cannot confine {settings.name} to its folders; with `confined = false` in agents.toml it "
            "runs with all rights of your account"
        )
    missing = [folder for folder in settings.folders if not Path(folder).is_dir()]
    return f"{missing[0]} is not a folder; make it, or mend folders in agents.toml" if missing else None


def ground_of(settings: AgentSettings, call_folder: Path, folder: Path, write: Iterable[str] = ()) -> launch.Ground:
    """Return the ground of a session in a folder; without state of its own, the agent has an empty home."""
    return launch.Ground(
        own=call_folder,
        home=Path(settings.state[0]) if settings.state else call_folder,
        read=(*settings.reads, str(folder)),
        write=(*settings.state, *write),
        confined=settings.confined,
    )


def _runner(settings: AgentSettings) -> Callable[[ToolContext, Any], Any]:
    def run(context: ToolContext, args: Work) -> WorkDone:
        folder, inside = _place(context, settings, args.folder)
        record = AcpRecord(context.log, context.workdir / _TRANSCRIPT, context.hidden)
        before, saw_before = files.state_of(inside, folder)
        try:
            turn, session = _turn(inside, context, settings, args, folder, record)
        except AcpFault as fault:
            raise ToolFailed(Code.TOOL_FAILED, f"the agent {settings.name}: {fault}") from fault
        finally:
            record.close()
        after, saw_after = files.state_of(inside, folder)
        changed = files.changed_between(before, after)
        done: WorkDone = {
            "added": session.added,
            "changed": changed[: files.CHANGED_MOST],
            "changed_complete": saw_before and saw_after and len(changed) <= files.CHANGED_MOST,
            "complete": record.is_complete,
            "folder": str(folder),
            "refused": session.refused,
            "stop": turn.stop,
            "text": record.text,
            "transcript": context.put(context.workdir / _TRANSCRIPT, name=f"{settings.name}.jsonl", media=_MEDIA),
        }
        if turn.tokens:
            done["tokens"] = turn.tokens
        if args.device_name:
            done["device"] = args.device_name
        return done

    return run


def _turn(
    context: ToolContext, granted: ToolContext, settings: AgentSettings, args: Work, folder: Path, record: AcpRecord
) -> tuple[Turn, AcpSession]:
    """Start the agent, have it do the work, and end it; return the end of its turn and its session."""
    ground = ground_of(settings, context.workdir, folder, map(str, context.folders.write))
    wire = AcpWire(launch.start(settings.argv, ground, env=settings.env, cwd=folder))
    session = AcpSession(
        wire,
        context,
        record,
        name=f"agent.{settings.name}",
        ground=ground,
        effects=settings.effects,
        permits=context.permits,
        bounds=Bounds(all_s=args.timeout_s, silent_s=settings.silent_s),
        granted=granted,
    )
    try:
        session.greet()
        session.begin(folder)
        return session.work(args.text), session
    finally:
        session.close()
        wire.end()


def _place(context: ToolContext, settings: AgentSettings, typed: str) -> tuple[Path, ToolContext]:
    """Return the folder of the session, and a context in which it is the only folder.

    It must lie in a folder that the owner names for this agent and in one that the policy grants: to be read at least,
    and to be written where the agent may write.
    """
    folder = _granted_folder(settings, typed)
    writable = any(map(folder.is_relative_to, context.folders.write)) and Effect.WRITE in settings.effects
    if not writable and (Effect.WRITE in settings.effects or not any(map(folder.is_relative_to, context.folders.read))):
        grant = "files:write" if Effect.WRITE in settings.effects else "files:read"
        raise ToolFailed(
            Code.POLICY_REFUSED,
            f"{folder} is outside the folders of {grant}, so {settings.name} may not work there. "
            f"{way_out(grant, folder)}",
            effect=False,
        )
    call_folder = context.workdir / _OWN
    call_folder.mkdir(mode=0o700)
    granted = Folders.of([] if writable else [str(folder)], [str(folder)] if writable else [])
    inside = replace(context, workdir=call_folder, folders=granted)
    if not inside.files.is_folder(folder):
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{folder} is not a folder on this device", effect=False)
    return folder, inside


def _granted_folder(settings: AgentSettings, typed: str) -> Path:
    """Return the real path of the folder that a call names.

    Raises:
        ToolFailed: the owner named no such folder for this agent.
    """
    roots = [Path(folder) for folder in settings.folders]
    if "\x00" in typed:
        raise ToolFailed(Code.BAD_ARGUMENTS, "a path may not contain NUL", effect=False)
    granted = next((root for root in roots if root.name == typed), None)
    real = granted or (roots[0] / typed_path(typed)).resolve()
    if not any(map(real.is_relative_to, roots)):
        listed = ", ".join(settings.folders)
        raise ToolFailed(
            Code.POLICY_REFUSED,
            f"{real} is outside the folders of the agent {settings.name} ({listed}). To allow it, add it to "
            f"agents.{settings.name}.folders in agents.toml on the device",
            effect=False,
        )
    return real


TOOLS: tuple[Tool, ...] = ()
"""None of its own: each tool is made from an entry of `agents.toml` (`tool_of`)."""
