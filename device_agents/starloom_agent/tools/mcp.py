"""One call of a tool of an MCP server that the owner of this device has configured: started, asked, ended.

Owns the client's side of MCP over stdio (lines of JSON-RPC) as far as tools need it: initialize, tools/list,
tools/call. The server is a child of this call's process, so fence, time and cancel end it like every other program;
nothing of it is kept between calls. Its output is data: bounded, and never an instruction.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_agent.toolkit.running.programs import quiet_environment
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from starloom_protocol.wording import quoted

PROTOCOL: Final = "2025-06-18"
TOOLS_MOST: Final = 200
_LINE_BYTES_MOST: Final = 16 * 1024 * 1024
_TEXT_CHARS_MOST: Final = 512 * 1024
_FILES_MOST: Final = 20
_CALL_S: Final = 600.0
_END_S: Final = 1.0


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """All that the process of a call has to know; `schema` and `returns` are JSON schemas, of arguments and result."""

    name: str
    remote: str
    title: str
    argv: list[str]
    env: dict[str, str]
    schema: str
    effects: list[Effect]
    repeatability: Repeatability
    grant: str
    returns: str = ""
    stands_for: str = ""


class ServerFault(Exception):
    """The server cannot be used: what it did, in words."""


class Client:
    """A conversation with one server, each answer awaited until `deadline` (monotonic)."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._process = process
        self._deadline = deadline
        self._held = bytearray()
        self._number = 0

    def begin(self) -> None:
        """Say hello, as the protocol wants it before anything else."""
        us = {"name": "starloom-agent", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": us})
        self._send({"method": "notifications/initialized"})

    def tools(self) -> list[dict[str, Any]]:
        """Return what the server offers, at most `TOOLS_MOST`."""
        found: list[dict[str, Any]] = []
        cursor: Any = None
        for _ in range(TOOLS_MOST):
            page = self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise ServerFault("its list of tools is none")
            found += [tool for tool in listed if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if cursor is None or len(found) >= TOOLS_MOST:
                break
        return found[:TOOLS_MOST]

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and return the result.

        Raises:
            ServerFault: for an error, no answer in time, or an end.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            said = self._receive(method)
            if "method" in said:
                self._answer(said)
            elif said.get("id") == self._number:
                break
        if "error" in said:
            error = said["error"] if isinstance(said["error"], dict) else {}
            raise ServerFault(f"{method}: {str(error.get('message', 'an error without words'))[:500]}")
        result = said.get("result")
        if not isinstance(result, dict):
            raise ServerFault(f"{method}: the answer has no result")
        return result

    def _answer(self, said: Mapping[str, Any]) -> None:
        """Answer what the server asks: we have no roots, model or person to lend; notices need no answer."""
        if "id" not in said:
            return
        if said["method"] == "ping":
            self._send({"id": said["id"], "result": {}})
        else:
            self._send({"id": said["id"], "error": {"code": -32601, "message": "not offered by this client"}})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - made with PIPE
        data = msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError as error:
            raise ServerFault("it ended before it could be asked") from error

    def _receive(self, method: str) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - made with PIPE
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._held:
            left_s = self._deadline - time.monotonic()
            if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
                raise ServerFault(f"{method}: no answer in time")
            data = os.read(descriptor, 64 * 1024)
            if not data:
                raise ServerFault(f"{method}: it ended without an answer")
            self._held += data
            if len(self._held) > _LINE_BYTES_MOST:
                raise ServerFault(f"{method}: a message is larger than {_LINE_BYTES_MOST} bytes")
        line, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        try:
            said = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            raise ServerFault(f"{method}: it wrote what is no JSON: {quoted(line[:80])}") from error
        if not isinstance(said, dict):
            raise ServerFault(f"{method}: it wrote what is no message: {quoted(line[:80])}")
        return said


@contextlib.contextmanager
def talking(
    argv: Sequence[str], env: Mapping[str, str], *, cwd: Path, within_s: float, quiet: bool = False, apart: bool = False
) -> Iterator[Client]:
    """Start a server, yield the conversation after its beginning, and end it with all that it started.

    `apart`: in a process group of its own, for a caller that has no runner to end it.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**quiet_environment(), **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=apart,
        )
    except (OSError, ValueError) as error:
        raise ServerFault(f"{argv[0]} could not be started: {error}") from error
    try:
        client = Client(process, time.monotonic() + within_s)
        client.begin()
        yield client
    finally:
        _end(process, apart=apart)


def _end(process: subprocess.Popen[bytes], *, apart: bool) -> None:
    """Close its input, which tells it to end, and end it if it does not."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    if apart:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def arguments_of(schema: Mapping[str, Any]) -> type[msgspec.Struct]:
    """Return strict arguments made from a JSON schema: names and which are needed; the server judges the values."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    names = list(properties) if isinstance(properties, dict) else []
    # Needed ones first: a field without a default may not follow one that has one.
    ordered = [name for name in names if name in needed] + [name for name in names if name not in needed]
    own = {f"field_{number}": name for number, name in enumerate(ordered)}
    fields: list[Any] = [(mine, Any) if name in needed else (mine, Any, msgspec.UNSET) for mine, name in own.items()]
    return msgspec.defstruct("Arguments", fields, rename=own, forbid_unknown_fields=True, frozen=True, kw_only=True)


def tool_of(told: Told) -> Tool:
    """Return the tool as the agent offers it and as its process runs it."""
    return Tool(
        name=told.name,
        title=told.title,
        args=arguments_of(msgspec.json.decode(told.schema)),
        run=_runner(told),
        effects=tuple(told.effects),
        repeatability=told.repeatability,
        grant=told.grant,
        schema=told.schema,
        returns=told.returns,
        stands_for=told.stands_for,
        told=msgspec.json.encode(told).decode(),
    )


def tool_from(told: str) -> Tool:
    """Return the tool that `Tool.told` describes: what a tool process is given."""
    return tool_of(msgspec.json.decode(told, type=Told))


class McpAnswer(TypedDict):
    """`structured` is what the server gives beside its text, of the schema that it tells itself."""

    complete: bool
    files: list[Stored]
    structured: NotRequired[Any]
    text: str


def _runner(told: Told) -> Callable[[ToolContext, Any], Any]:
    def run(context: ToolContext, args: Any) -> McpAnswer:
        given = msgspec.to_builtins(args)
        try:
            with talking(told.argv, told.env, cwd=context.workdir, within_s=_CALL_S) as client:
                result = client.request("tools/call", {"name": told.remote, "arguments": given})
        except ServerFault as fault:
            raise ToolFailed(Code.TOOL_FAILED, f"the MCP server of {told.name}: {fault}") from fault
        return _value(context, told, result)

    return run


def _value(context: ToolContext, told: Told, result: Mapping[str, Any]) -> McpAnswer:
    content = result.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = "\n".join(words for part in parts if (words := _words(part)))
    if result.get("isError"):
        raise ToolFailed(Code.TOOL_FAILED, f"{told.name}: {text[:1000] or 'it failed without words'}")
    files = [_file(context, part, number) for number, part in enumerate(parts) if "data" in part or "blob" in part]
    shown: McpAnswer = {"text": text[:_TEXT_CHARS_MOST], "complete": len(text) <= _TEXT_CHARS_MOST, "files": files}
    structured = result.get("structuredContent")
    if structured is not None:
        shown["structured"] = structured
    return shown


def _words(part: Mapping[str, Any]) -> str:
    inner = part.get("resource")
    found = part.get("text") if "text" in part else inner.get("text") if isinstance(inner, dict) else None
    return str(found) if found is not None else str(part.get("uri") or "")


def _file(context: ToolContext, part: Mapping[str, Any], number: int) -> Stored:
    if number >= _FILES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"more than {_FILES_MOST} files came back")
    media = str(part.get("mimeType") or "application/octet-stream")[:100]
    try:
        data = base64.b64decode(str(part.get("data") or part.get("blob")), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolFailed(Code.TOOL_FAILED, f"part {number} of the answer is no base64") from error
    path = context.workdir / f"part-{number}"
    path.write_bytes(data)
    return context.put(path, name=f"{number}.{media.rpartition('/')[2][:20]}", media=media)


TOOLS: tuple[Tool, ...] = ()
"""None of its own: each tool is made from the data of a server (`tool_of`)."""
