"""The kept sessions of this agent: one keeper for a server and a constellation, its socket, and its end.

A session ends with its constellation, after a time without a call, with the agent, and when it uses too much memory.
The agent reads from a keeper only which tools there are now; no answer of a server passes through the agent. Where no
session can be kept, a call starts the server for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from starloom_agent.platforms import processes
from starloom_agent.sandbox import usage
from starloom_agent.sandbox.limits import MEMORY_BYTES_MAX
from starloom_agent.toolkit.clients.mcp.keeping import Broke, decode_report, encode
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.messages import Detached
from starloom_agent.tools.agents.mcp import McpToolSettings, keep_of
from starloom_agent.work.calls.leftovers import Leftovers
from starloom_agent.work.calls.runners import environment

SESSIONS_MOST: Final = 8
"""A server takes tens of megabytes, and a small device has room for about eight."""
_RECORD_S: Final = 10 * 365 * 86_400
"""The record serves the next process of the agent after a crash; it ends no session, however long one is in use."""
_GRACE_S: Final = 5.0
"""Longer than a keeper waits for its server to end."""
_WAITING_CALLS: Final = 64
"""More than the slots of most devices (4), for a keeper that starts; one call more waits for its connection."""
_SPEC_BYTES_MOST: Final = 64 * 1024
"""Less than an empty socket takes at once, so the agent sends it without waiting for the keeper."""
_REPORT_BYTES_MOST: Final = 16 * 1024 * 1024
"""More than a list of the most tools of the largest size that a keeper passes on."""
_PATH_BYTES_MOST: Final = 100
"""The address of a Unix socket holds 108 bytes on Linux and 104 on macOS, the closing zero among them."""
_READ_BYTES: Final = 256 * 1024

Key = tuple[str, str]


@dataclass(eq=False)
class _Session:
    """One keeper. `used_at` is the time of the last end of a call."""

    key: Key
    keep_s: float
    folder: Path
    pid: int
    mark: str
    control: socket.socket
    keeper: subprocess.Popen[bytes]
    used_at: float
    calls: int = 0
    unread: bytearray = field(default_factory=bytearray)

    @property
    def path(self) -> str:
        return str(self.folder / "calls")

    @property
    def kind(self) -> str:
        return " ".join(self.key)


class KeptSessions:
    """All sessions. `on_tools` hears the tools of a server that has changed its list."""

    def __init__(
        self,
        run: Path,
        say: Callable[[str], None],
        on_tools: Callable[[str, list[dict[str, Any]]], None],
        clock: Callable[[], float] = processes.awake_clock_s,
    ) -> None:
        self._root = run / "mcp"
        self._say = say
        self._on_tools = on_tools
        self._clock = clock
        self._record = Leftovers(run / "mcp.json", say, clock)
        self._sessions: dict[Key, _Session] = {}
        self._number = 0
        self._said_short = False
        self._ending: set[asyncio.Future[None]] = set()

    def recover(self) -> None:
        """End the sessions that an earlier process of this agent left."""
        self._record.recover()
        shutil.rmtree(self._root, ignore_errors=True)

    def take(self, tool: Tool, constellation: str) -> str:
        """Return the socket for one call of a tool; empty where its server is started for this call alone."""
        if not tool.kept_by:
            return ""
        key = (tool.kept_by, constellation)
        session = self._sessions.get(key)
        if session is None:
            if len(self._sessions) >= SESSIONS_MOST and not self._end_idle():
                return ""
            session = self._started(key, msgspec.json.decode(tool.settings, type=McpToolSettings))
        if session is None:
            return ""
        session.calls += 1
        return session.path

    def give_back(self, path: str) -> None:
        """End one call of the session with this socket."""
        for session in self._sessions.values():
            if path and session.path == path:
                session.calls = max(0, session.calls - 1)
                session.used_at = self._clock()

    def over(self, constellation: str) -> None:
        """End the sessions of a constellation that has ended."""
        self._end([session for key, session in self._sessions.items() if key[1] == constellation])

    def sweep(self) -> None:
        """End the sessions that nobody has used for their time."""
        now = self._clock()
        idle = [one for one in self._sessions.values() if not one.calls and now - one.used_at >= one.keep_s]
        self._end(idle)

    async def watch_memory(self) -> None:
        """End each session whose processes use more memory than a call may."""
        pids = {session.pid: session for session in self._sessions.values()}
        if not pids:
            return
        for pid in await asyncio.to_thread(_too_large, list(pids)):
            session = pids[pid]
            if session.key in self._sessions:
                self._say(f"the session with the MCP server {session.key[0]} used too much memory and was ended")
                self._end([session])

    async def close(self) -> None:
        """End all sessions, and wait until nothing of them runs."""
        self._end(list(self._sessions.values()))
        if self._ending:
            await asyncio.wait(set(self._ending))

    @property
    def count(self) -> int:
        return len(self._sessions)

    def _end_idle(self) -> bool:
        """End the session that has been without a call for the longest; False if all of them have one."""
        idle = sorted((one for one in self._sessions.values() if not one.calls), key=lambda one: one.used_at)
        self._end(idle[:1])
        return bool(idle)

    def _started(self, key: Key, settings: McpToolSettings) -> _Session | None:
        self._number += 1
        folder = self._root / str(self._number)
        path, workdir = folder / "calls", folder / "work"
        spec = encode(keep_of(settings, str(workdir))) + b"\n"
        if len(str(path).encode()) > _PATH_BYTES_MOST or len(spec) > _SPEC_BYTES_MOST:
            if not self._said_short:
                self._said_short = True
                self._say(f"no session is kept with {key[0]}: its folder or its entry in mcp.toml is too long")
            return None
        try:
            ours, keeper = _start_keeper(path, workdir)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            self._say(f"no session is kept with {key[0]} ({error}); the call starts the server for itself")
            return None
        # A socket takes this much at once, so the agent does not wait for the keeper.
        ours.sendall(spec)
        ours.setblocking(False)
        mark = processes.start_mark(keeper.pid) or ""
        session = _Session(key, settings.keep_s, folder, keeper.pid, mark, ours, keeper, self._clock())
        self._sessions[key] = session
        self._record.take([Detached(pid=session.pid, mark=mark, token="", kind=session.kind, keep_s=_RECORD_S)])
        asyncio.get_running_loop().add_reader(ours, self._read, session)
        self._say(f"a session with the MCP server {key[0]} begins for {key[1]}")
        return session

    def _read(self, session: _Session) -> None:
        try:
            data = session.control.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        session.unread += data
        if not data or len(session.unread) > _REPORT_BYTES_MOST:
            self._end([session])
            return
        if b"\n" not in data:
            return
        *lines, rest = bytes(session.unread).split(b"\n")
        session.unread = bytearray(rest)
        for line in lines:
            self._report(session, line)

    def _report(self, session: _Session, line: bytes) -> None:
        try:
            report = decode_report(line)
        except msgspec.DecodeError:
            self._end([session])
            return
        if isinstance(report, Broke):
            self._say(f"the session with the MCP server {session.key[0]} is over: {report.why}")
            self._end([session])
        else:
            self._on_tools(session.key[0], report.tools)

    def _end(self, sessions: list[_Session]) -> None:
        """Close the sockets of these sessions: their keepers end what they started, and this looks after it."""
        if not sessions:
            return
        loop = asyncio.get_running_loop()
        for session in sessions:
            if self._sessions.pop(session.key, None) is None:
                continue
            loop.remove_reader(session.control)
            session.control.close()
            ending = loop.run_in_executor(None, _finish, session)
            self._ending.add(ending)
            ending.add_done_callback(self._ended)

    def _ended(self, ending: asyncio.Future[None]) -> None:
        self._ending.discard(ending)
        self._record.sweep()


def _start_keeper(path: Path, workdir: Path) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start a keeper that listens at `path` for calls; return the agent's end of its control socket, and its process.

    Raises:
        OSError: the disk is full, or the system has no process or descriptor left.
    """
    workdir.mkdir(mode=0o700, parents=True)
    ours, theirs = socket.socketpair()
    try:
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as calls:
            calls.bind(str(path))
            path.chmod(0o600)
            calls.listen(_WAITING_CALLS)
            numbers = (theirs.fileno(), calls.fileno())
            keeper = subprocess.Popen(
                [sys.executable, "-P", "-m", "starloom_agent.work.sessions.keeper", *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=numbers,
                start_new_session=True,
                env=environment(),
            )
    except OSError:
        ours.close()
        raise
    return ours, keeper


def _finish(session: _Session) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        session.keeper.wait(_GRACE_S)
    processes.end_groups([(session.pid, session.mark)])
    session.keeper.wait()
    shutil.rmtree(session.folder, ignore_errors=True)


def _too_large(pids: list[int]) -> list[int]:
    return [pid for pid in pids if usage.memory_bytes([pid, *usage.below(pid)], MEMORY_BYTES_MAX) > MEMORY_BYTES_MAX]
