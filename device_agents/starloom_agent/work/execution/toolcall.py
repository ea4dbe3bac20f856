"""The body of a tool process: inputs, the tool, its value as a result - and one `Ended` line at the end.

Runs after the runner has made the group, the limits and the pipes; imports only the module of its own tool.
"""

from __future__ import annotations

import errno
import functools
import importlib
import os
import select
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from starloom_agent.platforms import processes
from starloom_agent.sandbox import confinement
from starloom_agent.toolkit.beneath import outermost
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.comparing import hold_the_same
from starloom_agent.toolkit.files.placing import folders_on_way, missing_above, own_place, place, readable_as
from starloom_agent.toolkit.interface import (
    NO_PERMITS,
    ArtifactPort,
    Folders,
    OutputPort,
    PermissionPort,
    Sent,
    Tool,
    ToolContext,
    ToolFailed,
)
from starloom_agent.toolkit.messages import (
    Asking,
    Begun,
    CallSpec,
    Ended,
    Heard,
    Listening,
    Permit,
    Said,
    ToolLine,
    decode_heard,
    decode_permit,
    encode,
    sendable,
)
from starloom_agent.toolkit.results import Added, Stored, added_as
from starloom_agent.work.execution.journal import Journal, with_earlier, with_left
from starloom_agent.work.execution.outcomes import (
    arguments,
    canonical_value,
    facts_of,
    resolve_inputs,
    scrub,
    too_long,
)
from starloom_agent.work.execution.secret_args import filled_args
from starloom_protocol.records.entities import FileOut
from starloom_protocol.values import INLINE_VALUE_BYTES_MAX, MISSING, canonical, parse, point
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome

_PROGRESS_EVERY_S = 0.1
"""A person sees no faster; a tool may report each chunk of a file."""
_UPLOAD_MARGIN_S = 1.0
"""The failure of a transfer has to be reported before the call itself is ended at its time."""
_ANSWER_WITHIN_S = 30.0
_READ_BYTES = 64 * 1024
_DETAIL_CHARS_MAX = 2_000
"""A detail is some sentences for people; the log has the whole trace."""


class LineOut:
    """Writes lines to the agent; tools may call it from threads. Progress is thinned to ten a second."""

    def __init__(self, descriptor: int) -> None:
        self._out = open(descriptor, "wb", buffering=0, closefd=False)  # noqa: SIM115 - a descriptor
        self._lock = threading.Lock()
        self._progress_at = 0.0

    def end(self, ended: Ended) -> None:
        """Send the end of the call; it is the last line."""
        self.line(msgspec.structs.replace(ended, made_at=processes.awake_clock_s()))

    def line(self, line: ToolLine) -> None:
        data = encode(line) + b"\n"
        with self._lock:
            view = memoryview(data)
            while view:
                view = view[self._out.write(view) :]

    def log(self, text: str) -> None:
        self.line(Said(stream="log", text=sendable(text if text.endswith("\n") else text + "\n")))

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        now = time.monotonic()
        if now - self._progress_at < _PROGRESS_EVERY_S and (fraction is None or fraction < 1.0):
            return
        self._progress_at = now
        thousandths = -1 if fraction is None else max(0, min(1000, round(fraction * 1000)))
        self.line(Said(done_bytes=max(0, done_bytes), fraction_1000=thousandths, note=sendable(note[:200])))


class LinePermits:
    """The questions of a running call: a line to the agent, and its answer on the same socket."""

    def __init__(self, out: LineOut, descriptor: int) -> None:
        self._out = out
        self._descriptor = descriptor
        self._unread = bytearray()

    def permit(self, tool: str, args: Mapping[str, Any]) -> Permit:
        """Return the decision of the agent, which answers at once.

        Raises:
            ToolFailed: it does not.
        """
        return decode_permit(self._replied(Asking(tool=tool, args=canonical(args))))

    def hints(self, after: int) -> Heard:
        """Return the hints of people that came since."""
        return decode_heard(self._replied(Listening(after=after)))

    def _replied(self, question: Asking | Listening) -> bytes:
        self._out.line(question)
        deadline = time.monotonic() + _ANSWER_WITHIN_S
        while b"\n" not in self._unread:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._descriptor], [], [], left_s)[0]:
                raise ToolFailed(Code.TOOL_FAILED, "the agent of this device did not answer a question of this call")
            data = os.read(self._descriptor, _READ_BYTES)
            if not data:
                raise ToolFailed(Code.TOOL_FAILED, "the agent of this device is gone")
            self._unread += data
        line, _, rest = bytes(self._unread).partition(b"\n")
        self._unread = bytearray(rest)
        return line


class _Artifacts:
    """The artifact store of the hub; its libraries (TLS, HTTP, certificates) are loaded by the first file alone."""

    def __init__(self, connection_file: Path, output: OutputPort, deadline: float) -> None:
        self._connection_file = connection_file
        self._output = output
        self._deadline = deadline

    @functools.cached_property
    def _store(self) -> ArtifactPort:
        from starloom_agent.wire.artifacts import HubArtifacts

        return HubArtifacts(self._connection_file, self._output, deadline=self._deadline)

    def fetch(self, sha256: str, into: Path) -> Path:
        return self._store.fetch(sha256, into)

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        return self._store.put(file, name=name, media=media, sent=sent)


def find_tool(module: str, name: str, settings: str = "") -> Tool:
    """Import the module of a tool and return the tool; with `settings`, the one that the module makes of them.

    Raises:
        LookupError: if the module has no such tool.
    """
    imported = importlib.import_module(f"starloom_agent.tools.{module}")
    if settings:
        from_settings: Tool = imported.tool_from(settings)
        return from_settings
    for tool in imported.TOOLS:
        if tool.name == name:
            named_tool: Tool = tool
            return named_tool
    raise LookupError(f"{module} has no tool {name}")


class _Beginning:
    """The part of a call in which it can have changed nothing; the agent hears of its end before the next part."""

    def __init__(self, spec: CallSpec, out: LineOut) -> None:
        self._is_told = not spec.effectless
        self._out = out
        self.is_over = False

    def report(self) -> None:
        if self._is_told and not self.is_over:
            self._out.line(Begun())
        self.is_over = True


def carry_out(spec: CallSpec, out: LineOut, permits: PermissionPort = NO_PERMITS, *, free: bool = True) -> Ended:
    """Run the call and return its end; an expected failure is an end as well. `permits` answers its questions.

    `free` False: an earlier call of this process has given up what is given up for calls like this one.
    """
    deadline = time.monotonic() + spec.start_to_close_s - _UPLOAD_MARGIN_S
    workdir = Path(spec.workdir)
    beginning = _Beginning(spec, out)
    context = ToolContext(
        workdir=workdir,
        artifacts=_Artifacts(Path(spec.connection_file), out, deadline),
        output=out,
        folders=Folders.of(spec.read, spec.write),
        fence=spec.fence,
        secrets=spec.secrets,
        hosts=tuple(spec.hosts),
        network=spec.network,
        cage=spec.cage,
        notes=Path(spec.notes) if spec.notes else None,
        clock_ahead_s=spec.clock_ahead_s,
        unattended=spec.unattended,
        confine=(lambda: _confine(spec)) if free else _stay_confined,
        begin=beginning.report,
        permits=permits,
        session=spec.session,
        trash_most_gib=spec.trash_most_gib,
        witness=Journal(Path(spec.journal), workdir) if spec.journal else None,
    )
    if isinstance(context.witness, Journal):
        context.witness.files = context.files
    ran = False
    try:
        tool = find_tool(spec.module, spec.tool, spec.settings)
        inputs = resolve_inputs(spec.inputs, lambda sha256: parse(context.fetch(sha256).read_text(encoding="utf-8")))
        args = arguments(tool.args, filled_args(spec.args, spec.secrets), inputs)
        for item in spec.files_out:
            context.resolve_write(item.to)
        args = with_left(context, args)
        if not tool.fetches:
            beginning.report()
        if spec.confined:
            context.confine()
        value = msgspec.to_builtins(tool.run(context, args))
        ran = True
        return msgspec.structs.replace(_close(spec, context, value), detached=context.detached)
    except ToolFailed as failed:
        detail = context.with_folders(failed.detail) if failed.code is Code.FILE_NOT_FOUND else failed.detail
        # A call whose result cannot be saved has run, whatever that says of itself.
        return _failure(spec, failed.code, detail, was_begun=beginning.is_over and (ran or failed.effect is not False))
    except OSError as error:
        code = {errno.ENOSPC: Code.NO_SPACE, errno.EDQUOT: Code.NO_SPACE, errno.ENOENT: Code.FILE_NOT_FOUND}
        out.log(scrub(traceback.format_exc(), spec.secrets.values()))
        return _failure(spec, code.get(error.errno or 0, Code.TOOL_FAILED), str(error), was_begun=beginning.is_over)
    except MemoryError:
        detail = f"{spec.tool} asked for more memory at a time than this device can give"
        return _failure(spec, Code.MEMORY_EXCEEDED, detail, was_begun=beginning.is_over)
    except Exception as error:  # whatever a tool raises is an end of this call, never of the agent
        out.log(scrub(traceback.format_exc(), spec.secrets.values()))
        return _failure(spec, Code.TOOL_FAILED, f"{type(error).__name__}: {error}", was_begun=beginning.is_over)


def _failure(spec: CallSpec, code: Code, detail: str, *, was_begun: bool) -> Ended:
    effect = EffectSeen.MAYBE if was_begun and not spec.effectless else EffectSeen.NONE
    text = sendable(scrub(detail, spec.secrets.values()))[:_DETAIL_CHARS_MAX]
    refused = code in (Code.POLICY_REFUSED, Code.MISSING_GRANT) and effect is EffectSeen.NONE
    outcome = Outcome.REFUSED if refused else Outcome.ERROR
    return Ended(outcome=outcome, code=code, detail=text, effect=effect)


def _close(spec: CallSpec, context: ToolContext, value: Any) -> Ended:
    """Store the result files and the value of a finished call, and return its end."""
    if spec.files_out:
        context.confine()
        value = {**value, "added": [*value.get("added", []), *_files_out(context, value, spec.files_out)]}
    value = with_earlier(context, value)
    text = canonical_value(value)
    if spec.secrets:
        value = context.hidden.value(parse(text))
        text = canonical(value)
    facts, too_big = facts_of(value, spec.wants)
    size = len(text.encode())
    detail = too_long(value, too_big)
    if size <= INLINE_VALUE_BYTES_MAX:
        return Ended(outcome=Outcome.OK, value=text, bytes=size, facts=facts, facts_too_big=too_big, detail=detail)
    path = context.workdir / "value.json"
    with context.files.create(path) as out:
        out.write(text.encode())
    stored = context.put(path, name="value.json", media="application/json")
    return Ended(
        outcome=Outcome.OK,
        artifact=stored["artifact"],
        bytes=size,
        detail=detail,
        facts=facts,
        facts_too_big=too_big,
    )


def _files_out(context: ToolContext, value: Any, files: Iterable[FileOut]) -> Added:
    """Save files that a result names; return what undoes it, as the tools that write files do in their results."""
    added: Added = []
    for item in files:
        added += _file_out(context, value, item.output, item.to)
    return added


def _file_out(context: ToolContext, value: Any, pointer: str, to: str) -> Added:
    ref = point(value, pointer)
    sha256 = ref.get("artifact") if isinstance(ref, dict) else ref
    if ref is MISSING or not isinstance(sha256, str):
        raise ToolFailed(Code.NO_VALUE, f"files_out: {pointer} names no artifact in the result")
    fetched = context.fetch(sha256)
    with plain(to, "writing"):
        to = own_place(context, to, str((isinstance(ref, dict) and ref.get("name")) or sha256))
    target = context.resolve_write(to)
    with plain(target, "writing"):
        if hold_the_same(context, fetched, target):
            return []
        missing = missing_above(context, target)
        ticket = place(context, fetched, target).ticket
    if ticket:
        # A later file of the call may fail it, and then there is no result that tells.
        context.log(f"the file that was at {to} is in the trash; fs.restore brings it back by its ticket {ticket}")
    path = readable_as(context, to, target)
    return [*folders_on_way(path, missing), added_as(path, sha256, ticket)]


def _stay_confined() -> None:
    """A process gives up files once, for good."""


def _confine(spec: CallSpec) -> None:
    """Leave this process the granted folders, its own directory, and the folder of the connection to the hub."""
    # Room for what a library puts aside, a database that sorts for one: the usual places are out of reach.
    os.environ["TMPDIR"] = spec.workdir
    # A root inside another one adds nothing, and somebody may have put a link in its place.
    write = outermost(map(Path, spec.write))
    read = outermost([*map(Path, spec.read), *write])
    connection = str(Path(spec.connection_file).parent)
    try:
        confinement.confine(read=[*map(str, read), connection, *spec.reads], write=[spec.workdir, *map(str, write)])
    except OSError as error:
        raise ToolFailed(
            Code.TOOL_UNAVAILABLE, f"this device could not confine {spec.tool} to its folders: {error}", effect=False
        ) from error
