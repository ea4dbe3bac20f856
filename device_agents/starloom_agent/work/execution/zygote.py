"""The zygote, from which every warm runner is forked: it has the code of all tools in memory, and no data of any call.

The agent executes `python -m starloom_agent.work.execution.zygote` with a clean environment; stdin is a socket of the
agent. Each message there brings the socket of one new runner. One thread, no event loop, no key, no secret, no network.
It also ends the processes that a killed runner leaves. The death of a zygote stops no call.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import mimetypes
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from starloom_agent.platforms import processes
from starloom_agent.sandbox import confinement, usage
from starloom_agent.toolkit.messages import ZYGOTE_READY, CallSpec, decode_spec, encode
from starloom_agent.work import registry
from starloom_agent.work.execution import remains, toolcall
from starloom_agent.work.execution.runner import Runner

_READ_BYTES: Final = 4096
_END_WITHIN_S: Final = 5.0
# Modules that calls load beside that of their tool: access to artifacts, and the confinement of file tools.
_BESIDE: Final = (
    "starloom_agent.wire.artifacts", "encodings.idna", "fcntl",
)  # fmt: skip


class NotSingle(Exception):
    """A library started a thread: a lock that it holds would never be released in a fork."""


class Zygote:
    """Forks runners until the agent closes the socket."""

    def __init__(self, agent: socket.socket) -> None:
        self._agent = agent
        self._runners: set[int] = set()
        self._spared: set[str] = set()

    def serve(self) -> None:
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write)
        try:
            self._agent.sendall(ZYGOTE_READY)
        except (BrokenPipeError, ConnectionResetError):
            return  # the agent ended while this process loaded
        while True:
            readable, _, _ = select.select([self._agent.fileno(), wake_read], [], [])
            if wake_read in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake_read, _READ_BYTES)
            if self._agent.fileno() in readable and not self._hear((wake_read, wake_write)):
                return
            self._look_after()

    def _hear(self, own_descriptors: tuple[int, ...]) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._agent, 1, 1)
        for descriptor in descriptors:
            pid = os.fork()
            if pid == 0:
                self._be_a_runner(descriptor, own_descriptors)
            os.close(descriptor)
            self._runners.add(pid)
        return bool(data)

    def _be_a_runner(self, descriptor: int, own_descriptors: tuple[int, ...]) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            for mine in own_descriptors:
                os.close(mine)
            self._agent.close()
            Runner(socket.socket(fileno=descriptor)).serve()
        finally:
            os._exit(0)

    def _look_after(self) -> None:
        for pid, status in processes.reap():
            if pid in self._runners:
                self._runners.discard(pid)
                if os.WIFSIGNALED(status):
                    self._end_strangers()
                else:
                    # What a runner leaves that ended in order is meant to stay.
                    self._spared |= {token for stranger in self._strangers() if (token := processes.token_of(stranger))}

    def _strangers(self) -> list[int]:
        """Return the children that are no runners: what came back here because its runner is gone."""
        return [pid for pid in usage.children(os.getpid()) if pid not in self._runners]

    def _end_strangers(self) -> None:
        deadline = time.monotonic() + _END_WITHIN_S
        while time.monotonic() < deadline:
            doomed = [pid for pid in self._strangers() if processes.token_of(pid) not in self._spared]
            if not doomed:
                return
            for pid in doomed:
                # Stopped first, so that nothing new is forked while what is below is counted.
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    for one in (pid, *usage.below(pid)):
                        with contextlib.suppress(ProcessLookupError, PermissionError):
                            os.kill(one, number)
            time.sleep(0.002)
            for pid, _ in processes.reap():
                self._runners.discard(pid)


def load() -> None:
    """Import what calls need, and put all of it aside, so that no collection touches its pages.

    Raises:
        NotSingle: a thread runs now.
    """
    for name in (*_BESIDE, *(f"starloom_agent.tools.{module}" for module in registry.MODULES)):
        importlib.import_module(name)
    for tool in registry.all_tools():
        # The first of each kind builds what reads it.
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert({}, tool.args)
    mimetypes.init()
    confinement.prepare()
    _rehearse()
    remains.remember_names()
    if (tasks := Path("/proc/self/task")).is_dir() and len(list(tasks.iterdir())) != 1:
        raise NotSingle("a library that the tools import started a thread")
    gc.collect()
    gc.disable()
    gc.freeze()


def _rehearse() -> None:
    """Carry out a call that only computes and one that looks at a file.

    Their steps load and build things once, which are there for all others then. Nothing is confined here.
    """
    for tool, args in (
        ("data.sort", '{"rows":[{"n":2},{"n":1}],"by":["n"]}'),
        ("fs.stat", f'{{"paths":["{os.devnull}"]}}'),
    ):
        spec = CallSpec(
            args=args,
            connection_file="",
            effectless=True,
            fence="0.0",
            module=registry.module_of()[tool],
            read=[str(Path(os.devnull).parent)],
            start_to_close_s=1.0,
            tool=tool,
            workdir="",
        )
        with Path(os.devnull).open("wb") as nowhere:
            out = toolcall.LineOut(nowhere.fileno())
            out.end(toolcall.carry_out(decode_spec(encode(spec)), out))


def main() -> int:
    agent = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    processes.die_with_parent(signal.SIGKILL, os.getppid())
    processes.adopt_orphans()
    processes.protect_memory(True)
    load()
    Zygote(agent).serve()
    return 0


if __name__ == "__main__":
    os._exit(main())
