"""The judgement of a call before it begins: permission, instant answers, the spec of its process, and its reuse.

Tools that run inside the agent are carried out here: pure and instant ones only, without files, artifacts or a process.
Starts nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.policy import NET_REACH, SHELL_RUN
from starloom_agent.sandbox.limits import MEMORY_BYTES_MAX
from starloom_agent.toolkit.interface import Folders, Sent, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.messages import CallSpec, Ended, encode, without_work
from starloom_agent.toolkit.results import Stored
from starloom_agent.work.execution.journal import journal_file
from starloom_agent.work.execution.outcomes import arguments, canonical_value, facts_of, resolve_inputs
from starloom_agent.work.execution.secret_args import misplaced, shown_args
from starloom_agent.work.ledger import DecisionRow
from starloom_protocol.tools.ways_back import OF_TOOLS, UNDOING
from starloom_protocol.values import INLINE_VALUE_BYTES_MAX
from starloom_protocol.vocabulary import Code, Effect, Outcome, Repeatability
from starloom_protocol.wire.frames import Dispatch, DispatchInput, LeaseRef

_KEY_BYTES: Final = 16


class _Nothing:
    """The ports of such a tool: it has no files and no output."""

    def fetch(self, sha256: str, into: Path) -> Path:
        raise ToolFailed(Code.TOOL_FAILED, f"a tool inside the agent has no artifacts ({sha256}, {into})", effect=False)

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        raise ToolFailed(
            Code.TOOL_FAILED, f"a tool inside the agent has no artifacts ({file}, {name}, {media}, {sent})"
        )

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """Instant tools have no progress."""

    def log(self, text: str) -> None:
        """Instant tools have no log."""


_NOWHERE: Final = ToolContext(Path("/nonexistent"), _Nothing(), _Nothing(), Folders())


def run_here(tool: Tool, dispatch: Dispatch, args: Mapping[str, Any], inputs: Mapping[str, Any]) -> Ended | None:
    """Run the tool now; None if its value is too big to stay here: then it needs a process that can upload it.

    Raises:
        ToolFailed: as the tool says, or for wrong arguments.
    """
    filled = arguments(tool.args, args, inputs)
    try:
        value = tool.run(_NOWHERE, filled)
    except ToolFailed:
        raise
    except Exception as error:  # whatever a tool raises is an end of this call, never of the agent
        raise ToolFailed(Code.TOOL_FAILED, f"{type(error).__name__}: {error}", effect=False) from error
    text = canonical_value(value)
    size = len(text.encode())
    if size > INLINE_VALUE_BYTES_MAX:
        return None
    facts, too_big = facts_of(value, dispatch.wants) if dispatch.wants else ({}, {})
    return Ended(outcome=Outcome.OK, value=text, bytes=size, facts=facts, facts_too_big=too_big)


_HARMLESS: Final = frozenset({Effect.READ})


def lease_name(at: LeaseRef) -> str:
    """Return the name of a lease in the log and in decision records."""
    return f"{at.constellation}/{at.task}/{at.incarnation}.{at.attempt}"


def leaves_no_trace(tool: Tool, dispatch: Dispatch) -> bool:
    """Whether an interrupted call cannot have changed anything: its tool only reads, and no file is saved."""
    return set(tool.effects) <= _HARMLESS and not dispatch.files_out


def judge(allowance: Allowance, dispatch: Dispatch, tool: Tool, note: Callable[[DecisionRow], None]) -> Ended | None:
    """Decide a call and `note` the decision; return its end if it is refused, or already done in this process.

    Raises:
        ToolFailed: inputs that cannot be put together, or what an instant tool says.
    """
    wrong = misplaced(tool, dispatch.args, dispatch.secrets)
    if wrong is not None:
        return Ended(outcome=Outcome.REFUSED, code=Code.SECRET_NOT_TAKEN, detail=wrong)
    args = shown_args(dispatch.args, dispatch.secrets)
    here = _here(dispatch)
    inputs: dict[str, Any] = resolve_inputs(here)
    if tool.grant == SHELL_RUN and any(item.name == "argv" for item in dispatch.inputs if item not in here):
        detail = "a command may not come out of an artifact: its words could not be judged before it runs"
        return Ended(outcome=Outcome.REFUSED, code=Code.POLICY_REFUSED, detail=detail)
    visible_args = {**args, **inputs}
    if tool.asks_first:
        # The owner is asked about the content of an artifact by its hash.
        stored = [item for item in dispatch.inputs if item not in here]
        visible_args |= {item.name: [part.artifact or part.value for part in item.parts] for item in stored}
    task = f"{dispatch.at.constellation}/{dispatch.at.task}"
    refused = allowance.refusal()
    if refused:
        note(DecisionRow(time.time(), lease_name(dispatch.at), tool.name, False, refused, allowance.policy.profile))
        return Ended(outcome=Outcome.REFUSED, code=Code.POLICY_REFUSED, detail=refused)
    decision = allowance.decide(tool, visible_args, writes=_writes(dispatch), task=task, hide=dispatch.secrets.values())
    profile = allowance.policy.profile
    name = lease_name(dispatch.at)
    note(DecisionRow(time.time(), name, tool.name, decision.allowed, decision.reason, profile, decision.asks))
    if not decision.allowed:
        return Ended(outcome=Outcome.REFUSED, code=decision.code, detail=decision.detail)
    if tool.in_process and not dispatch.secrets and len(here) == len(dispatch.inputs) and not dispatch.files_out:
        return run_here(tool, dispatch, args, inputs)
    return None


def _here(dispatch: Dispatch) -> list[DispatchInput]:
    """Return the inputs that came with the call; the others are files of the hub."""
    return [item for item in dispatch.inputs if all(part.artifact is None for part in item.parts)]


def _writes(dispatch: Dispatch) -> str | None:
    return dispatch.files_out[0].to if dispatch.files_out else None


def is_taken_back(allowance: Allowance, dispatch: Dispatch, tool: Tool, spec: CallSpec) -> bool:
    """Tell whether the owner has taken back what a call that runs was given; what they answered to it stays."""
    visible_args = {**shown_args(dispatch.args, dispatch.secrets), **resolve_inputs(_here(dispatch))}
    if not allowance.permits(tool, visible_args, writes=_writes(dispatch)):
        return True
    folders, hosts = allowance.folders(), allowance.policy.hosts
    if tool.grant == NET_REACH and "*" not in hosts and not set(spec.hosts) <= set(hosts):
        return True
    here = {*map(str, folders.read)}, {*map(str, folders.write)}
    return (tool.confined or tool.caged) and not (set(spec.read) <= here[0] and set(spec.write) <= here[1])


def spec_of(
    allowance: Allowance,
    dispatch: Dispatch,
    tool: Tool,
    *,
    module: str,
    fence_at: float | None,
    workdir: Path,
    connection_file: Path,
    clock_ahead_s: int = 0,
    unattended: bool = False,
    session: str = "",
) -> CallSpec:
    """Return the specification for the process of an allowed call."""
    folders = allowance.folders()
    if not tool.effects:
        # It only computes: it has no folder, whatever its arguments name, but where the plan writes its result.
        folders = Folders(write=folders.write if dispatch.files_out else ())
    hosts = list(allowance.policy.hosts)
    spec = CallSpec(
        args=dispatch.args,
        cage=allowance.cage(tool),
        clock_ahead_s=clock_ahead_s,
        confined=tool.confined,
        connection_file=str(connection_file),
        effectless=leaves_no_trace(tool, dispatch),
        fence=f"{dispatch.at.incarnation}.{dispatch.at.attempt}",
        fence_at=fence_at,
        files_out=dispatch.files_out,
        hosts=hosts,
        inputs=dispatch.inputs,
        journal=_journal(allowance, dispatch),
        memory_bytes_max=MEMORY_BYTES_MAX,
        module=module,
        network=bool(hosts),
        notes=str(allowance.notes),
        read=[str(path) for path in folders.read],
        reads=list(tool.reads),
        secrets=dispatch.secrets,
        session=session,
        start_to_close_s=dispatch.start_to_close_s,
        settings=tool.settings,
        tool=tool.name,
        trash_most_gib=allowance.policy.trash.most_gib,
        unattended=unattended,
        wants=dispatch.wants,
        workdir=str(workdir),
        write=[str(path) for path in folders.write],
    )
    if may_reuse(tool, dispatch):
        return msgspec.structs.replace(spec, reuse=reuse_key(spec, dispatch.at.constellation))
    return spec


def _journal(allowance: Allowance, dispatch: Dispatch) -> str:
    """Return the file for the changes of a task whose work has a way back; empty where it has none."""
    if not (dispatch.files_out or dispatch.tool in OF_TOOLS or dispatch.tool in UNDOING):
        return ""
    return str(journal_file(allowance.notes, dispatch.at.constellation, dispatch.at.task))


def may_reuse(tool: Tool, dispatch: Dispatch) -> bool:
    """Whether this call may run in the process of an earlier one, and leave its own to a later one.

    A process of its own costs a call more than all its work where the work is small. So the calls of one constellation
    to one tool may share one, if the tool is ours, declares it (`Tool.reusable`), only computes or reads, and gives up
    all files but the granted ones. A call with a secret, a stored file or a session has a process of its own.
    """
    declared = tool.reusable and tool.confined and not tool.caged and not tool.reads
    ours = not (tool.settings or tool.kept_by or tool.asks_within or tool.hears)
    only_reads = tool.repeatability is Repeatability.PURE and set(tool.effects) <= {Effect.READ}
    stored = any(part.artifact is not None for item in dispatch.inputs for part in item.parts)
    return declared and ours and only_reads and not (stored or dispatch.secrets or dispatch.files_out)


def reuse_key(spec: CallSpec, constellation: str) -> str:
    """Return the key of a call: equal for calls of a constellation that differ in their work and times alone.

    Any change of folders, hosts or the tool makes another key.
    """
    alike = msgspec.structs.replace(without_work(spec), workdir="")
    return hashlib.blake2b(encode([constellation, alike]), digest_size=_KEY_BYTES).hexdigest()
