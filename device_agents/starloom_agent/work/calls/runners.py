"""The agent's runners: idle ones are kept, new ones are forked by the zygote, or executed where there is none.

One loop owns all of it. A zygote that dies, or does not answer, is replaced; calls go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from starloom_agent.home.directory import remove_if_empty
from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import (
    ZYGOTE_FORK,
    ZYGOTE_READY,
    Begin,
    CallSpec,
    Order,
    Over,
    Ready,
    RunnerLine,
    decode_runner_line,
    encode,
)

_READ_BYTES: Final = 64 * 1024
_CALLS_MOST: Final = 1000
"""A library that loses a little memory with each call starts afresh before it matters."""
_READY_WITHIN_S: Final = 60.0
"""A small computer with a busy disk imports the tools slowly, above all after an upgrade."""
_FORKED_WITHIN_S: Final = 10.0
"""A fork takes milliseconds; a machine that swaps takes seconds."""
_AGAIN_FIRST_S: Final = 0.5
"""A zygote that was killed once is there again soon; calls have executed runners meanwhile."""
_AGAIN_MOST_S: Final = 60.0
"""One that cannot be started costs a start of Python each time; calls go on without it."""
_REUSE_WITHIN_S: Final = 2.0
"""The calls of a constellation follow each other at once; a process that waits for longer only costs memory."""
_PASSED_ON: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SHELL",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "SSL_CERT_FILE", "SSL_CERT_DIR", "PREFIX",
)  # fmt: skip


def environment() -> dict[str, str]:
    """Only what programs need: the agent's own environment may hold its owner's secrets."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


class RunnerGone(Exception):
    """The runner is not there any more, or never came."""


@dataclass(frozen=True)
class _Kept:
    """A process that waits for another call: of which key, in which folder, with which variables."""

    reuse: str
    folder: str
    environment: dict[str, str]
    timer: asyncio.TimerHandle


class RunnerLink:
    """The agent's end of one runner. `on_line` gets its lines during a call, and None once it is gone.

    `origin` is the zygote that it was forked from, None for one that was executed.
    """

    def __init__(self, agent: socket.socket, origin: _ZygoteLink | None) -> None:
        agent.setblocking(False)
        self._socket = agent
        self._loop = asyncio.get_running_loop()
        self._unread = bytearray()
        self._ready = self._loop.create_future()
        self.origin = origin
        self.calls = 0
        self.gone = False
        self._kept_process: _Kept | None = None
        self.on_line: Callable[[RunnerLine | None], None] = lambda _: None
        self._loop.add_reader(agent, self._read)

    @property
    def pid(self) -> int:
        """The runner's process; 0 until it has reported it."""
        return self._ready.result().pid if self._ready.done() and not self._ready.cancelled() else 0

    async def ready(self, within_s: float) -> None:
        """Wait for the first line of the runner.

        Raises:
            RunnerGone: it ended, or was silent for so long.
        """
        await asyncio.wait([self._ready], timeout=within_s)
        if self.gone or not self.pid:
            raise RunnerGone("the runner did not begin")

    def begin(self, call: Begin, descriptors: list[int]) -> None:
        """Hand over a call with its descriptors.

        Raises:
            RunnerGone: it is not there any more.
        """
        self.calls += 1
        try:
            socket.send_fds(self._socket, [encode(call) + b"\n"], descriptors)
        except OSError as error:
            raise RunnerGone(f"the runner is gone: {error}") from error

    def order(self, order: Order) -> None:
        """Send an order to the runner; one that reads so little that its socket is full is killed."""
        if self.gone:
            return
        try:
            self._socket.send(encode(order) + b"\n")
        except BlockingIOError:
            self.kill()
        except OSError:
            pass  # its end is about to be read

    @property
    def reuse(self) -> str:
        """The key of the calls for which a process waits here; empty: none waits."""
        return self._kept_process.reuse if self._kept_process is not None else ""

    def keep(self, spec: CallSpec) -> None:
        """Note that the process of this call waits in its folder for another call, and for so long alone."""
        timer = self._loop.call_later(_REUSE_WITHIN_S, self.release)
        self._kept_process = _Kept(spec.reuse, spec.workdir, spec.environment, timer)

    def take_kept(self, spec: CallSpec) -> str:
        """Return the folder of the process that waits for this call, which is the call's from now on; empty: none."""
        process = self._kept_process
        if process is None or (process.reuse, process.environment) != (spec.reuse, spec.environment):
            self.release()
            return ""
        self._kept_process = None
        process.timer.cancel()
        return process.folder

    def release(self) -> None:
        """Have the process ended that waits for another call, and remove its folder."""
        process, self._kept_process = self._kept_process, None
        if process is not None:
            process.timer.cancel()
            self.order(Order(release=True))
            # Nothing is in it: else it would not be kept.
            remove_if_empty(Path(process.folder))

    def kill(self) -> None:
        """Kill the runner alone; the zygote or the caller ends the processes that it leaves."""
        ready = self._ready.result() if self.pid else None
        if not self.gone and ready is not None and processes.start_mark(ready.pid) == ready.mark:
            with contextlib.suppress(ProcessLookupError):
                os.kill(ready.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let it go: the runner ends its call, if it has one, and itself."""
        if not self.gone:
            self.release()
            self.gone = True
            self._loop.remove_reader(self._socket)
            self._socket.close()
            if not self._ready.done():
                self._ready.cancel()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self.on_line(None)
            return
        self._unread += data
        *lines, rest = bytes(self._unread).split(b"\n")
        self._unread = bytearray(rest)
        for text in lines:
            try:
                line = decode_runner_line(text)
            except msgspec.DecodeError:
                # No runner of ours says such a thing.
                self.kill()
                continue
            if isinstance(line, Ready):
                if not self._ready.done():
                    self._ready.set_result(line)
            else:
                self.on_line(line)


class _ZygoteLink:
    """The agent's end of one zygote process."""

    def __init__(self, process: asyncio.subprocess.Process, agent: socket.socket) -> None:
        self.process = process
        self._socket = agent

    @classmethod
    async def start(cls) -> _ZygoteLink:
        """Execute a zygote and wait until it has loaded all tools.

        Raises:
            RunnerGone: it ended, or was not ready in time.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process = None
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "starloom_agent.work.execution.zygote",
                    stdin=theirs.fileno(), stdout=asyncio.subprocess.DEVNULL, start_new_session=True, env=environment(),
                )  # fmt: skip
            async with asyncio.timeout(_READY_WITHIN_S):
                ready = await asyncio.get_running_loop().sock_recv(ours, len(ZYGOTE_READY))
        except (OSError, TimeoutError) as error:
            await _end(process, ours)
            raise RunnerGone(f"the zygote could not be started: {error or type(error).__name__}") from error
        except BaseException:
            await _end(process, ours)
            raise
        if ready != ZYGOTE_READY:
            status = await process.wait()
            ours.close()
            raise RunnerGone(f"the zygote ended with status {status} at its start")
        return cls(process, ours)

    def fork(self, theirs: socket.socket) -> None:
        """Have a runner forked that has this socket.

        Raises:
            OSError: the zygote is gone, or reads nothing.
        """
        socket.send_fds(self._socket, [ZYGOTE_FORK], [theirs.fileno()])

    async def end(self) -> None:
        await _end(self.process, self._socket)


async def _end(process: asyncio.subprocess.Process | None, ours: socket.socket) -> None:
    ours.close()
    if process is not None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Runners:
    """All runners of an agent with so many slots. `warm` False: each call has an executed one."""

    def __init__(
        self, slots: int = 4, say: Callable[[str], None] = lambda _: None, *, warm: bool = processes.LINUX
    ) -> None:
        self._slots = slots
        self._say = say
        self._warm = warm
        self._idle: list[RunnerLink] = []
        self._zygote: _ZygoteLink | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._warmed = asyncio.Event()

    def start(self) -> None:
        """Begin to warm up, in the background; calls have executed runners until then."""
        if self._warm and self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep_zygote())

    async def warmed(self) -> None:
        """Wait until runners are forked."""
        await self._warmed.wait()

    @property
    def zygote_pid(self) -> int:
        """The zygote's process, 0 where there is none now."""
        return self._zygote.process.pid if self._zygote is not None else 0

    async def close(self) -> None:
        """End the zygote and all idle runners; a runner with a call belongs to that call."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
            self._keeping = None
        for link in self._idle:
            link.close()
        self._idle.clear()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_FORKED_WITHIN_S)

    async def take(self, reuse: str = "") -> RunnerLink:
        """Return a runner without a call; if it can be, one with a process that waits for a call of this key.

        Raises:
            OSError: none can be made.
        """
        self._idle = [link for link in self._idle if not link.gone]
        if self._idle:
            return self._idle.pop(self._best_for(reuse))
        zygote = self._zygote
        if zygote is not None:
            try:
                return await self._forked(zygote)
            except (OSError, RunnerGone) as error:
                self._say(f"the zygote forks no runner ({error}); it is replaced")
                with contextlib.suppress(ProcessLookupError):
                    zygote.process.kill()
        return await self._executed()

    def _best_for(self, reuse: str) -> int:
        """Return the place of the idle runner to use: its process waits for this call, or none does, or the oldest."""
        for fitting in (reuse, ""):
            for place in reversed(range(len(self._idle))):
                if self._idle[place].reuse == fitting:
                    return place
        return 0

    def release(self) -> None:
        """End all processes that wait for another call: what they may do has changed."""
        for link in self._idle:
            link.release()

    def give_back(self, link: RunnerLink, over: Over | None, *, secret: bool) -> None:
        """Take back a runner whose call is over: kept for the next one, unless data of the call may be left in it."""
        clean = over is not None and not over.strays and not secret and link.calls < _CALLS_MOST
        is_kept = link.origin is not None and link.origin is self._zygote and len(self._idle) < self._slots
        if clean and is_kept:
            link.on_line = lambda _: None
            self._idle.append(link)
        else:
            link.close()

    async def _forked(self, zygote: _ZygoteLink) -> RunnerLink:
        ours, theirs = socket.socketpair()
        with theirs:
            link = RunnerLink(ours, zygote)
            try:
                zygote.fork(theirs)
            except OSError:
                link.close()
                raise
        try:
            await link.ready(_FORKED_WITHIN_S)
        except BaseException:
            link.close()
            raise
        return link

    async def _executed(self) -> RunnerLink:
        ours, theirs = socket.socketpair()
        with theirs:
            link = RunnerLink(ours, None)
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "starloom_agent.work.execution.runner",
                    stdin=theirs.fileno(), stdout=asyncio.subprocess.DEVNULL, start_new_session=True, env=environment(),
                )  # fmt: skip
            except BaseException:
                link.close()
                raise
        waiting = asyncio.get_running_loop().create_task(process.wait())
        self._tasks.add(waiting)
        waiting.add_done_callback(self._tasks.discard)
        return link

    async def _keep_zygote(self) -> None:
        """Keep a zygote running: start another one when it ends, with pauses if it ends repeatedly."""
        clock = asyncio.get_running_loop().time
        wait_s = _AGAIN_FIRST_S
        while True:
            began = clock()
            try:
                zygote = await _ZygoteLink.start()
                try:
                    await self._serve_with(zygote)
                finally:
                    self._zygote = None
                    self._warmed.clear()
                    await zygote.end()
                self._say("the zygote ended; another one is started")
            except (OSError, RunnerGone) as error:
                self._say(f"no runner can be forked here ({error}); calls start processes of their own")
            if clock() - began > _AGAIN_MOST_S:
                wait_s = _AGAIN_FIRST_S
            await asyncio.sleep(wait_s)
            wait_s = min(_AGAIN_MOST_S, 2 * wait_s)

    async def _serve_with(self, zygote: _ZygoteLink) -> None:
        """Fork from this zygote until it ends.

        Raises:
            OSError, RunnerGone: it ended, or it forks nothing.
        """
        # The trial: one that begins. The list may be another one by then.
        trial = await self._forked(zygote)
        self._idle.append(trial)
        self._zygote = zygote
        self._warmed.set()
        await zygote.process.wait()
        # Its runners go when their calls are over: nobody would end what is left of one that is killed.
        idle, self._idle = self._idle, []
        for one in idle:
            one.close()
