"""The process of a tool: what its runner knows of it, and what it does itself from its fork to its end.

Most calls have a process of their own. The process of a call that only computes or reads (`Begin.reuse`) waits after it
for another call of the same key. Calls of one constellation, tool, set of folders and grants have one key.

Nothing of a call is there in the next one. After a call the runner looks at the process from outside, and ends it when
anything still runs or is open. Before the next call the process compares itself with what it was at first (`remains`)
and the granted folders with those that it confined itself to; if anything differs it ends, and the runner forks another
one for that call, which had not begun. It also ends after an error, and instead of a call whose spec is not alike.
Deadlines and memory are those of the running call; memory that is kept from calls before counts, and is bounded.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import mmap
import os
import signal
import socket
import sys
from typing import Final, NoReturn

from starloom_agent.platforms import processes
from starloom_agent.sandbox import kernel_files, limits, usage
from starloom_agent.toolkit.messages import KEEPS_STATUS, CallSpec, decode_spec, without_work
from starloom_protocol.vocabulary import Outcome

MORE_PAGES_MOST: Final = 32 * 1024 * 1024 // mmap.PAGESIZE
"""Memory that a call needed and that Python keeps counts as memory of the next call."""
_READ_BYTES: Final = 64 * 1024
_TOOL_SOCKET: Final = 3
_LINK: Final = 4
_DESCRIPTORS: Final = 3
_ABOVE: Final = 10
_DESCRIPTORS_MOST: Final = 1 << 16
_WAITING_HAS: Final = {"0", "1", "2", str(_LINK)}
_COLLECT_AFTER: Final = 10_000
"""The interpreter looks for garbage after so many new objects. Most calls make fewer, and a look costs 0.2 ms."""
_OWN_ENVIRONMENT: Final = dict(os.environ)
"""The environment that a tool has from its runner. A plain copy: `os.environ` decodes a name at each reading."""
_SETTLED: Final = b"s"
_NEXT: Final = b"n"


class ToolProcess:
    """A tool's process, as its runner knows it. `link` and `begun` are for processes that may serve several calls."""

    def __init__(self, pid: int, reuse: str, link: socket.socket | None, begun_mark: mmap.mmap | None) -> None:
        self.pid = pid
        self.mark = processes.start_mark(pid) or ""
        self.reuse = reuse
        self.link = link
        self.settled = False
        self._begun_mark = begun_mark

    @classmethod
    def fork(cls, descriptors: list[int], gate: tuple[int, int], reuse: str) -> ToolProcess:
        """Fork it into a session and group of its own; it waits for a byte from the gate."""
        parent = os.getpid()
        ours = theirs = begun_mark = None
        if reuse:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            begun_mark = mmap.mmap(-1, 1)
        pid = os.fork()
        if pid == 0:
            _be_the_tool(descriptors, parent, gate, theirs, begun_mark)
        if theirs is not None:
            theirs.close()
        return cls(pid, reuse, ours, begun_mark)

    def hand_over(self, descriptors: list[int]) -> None:
        """Give it another call. If it has ended, its end is seen like any other."""
        assert self.link is not None and self._begun_mark is not None  # noqa: S101, PT018 - it waits for calls
        self.settled = False
        self._begun_mark[0] = 0
        with contextlib.suppress(OSError):
            socket.send_fds(self.link, [_NEXT], descriptors)

    def has_begun(self) -> bool:
        """Whether it has taken the call that was handed over."""
        return self._begun_mark is None or bool(self._begun_mark[0])

    def has_ended(self) -> bool:
        return processes.has_ended(self.pid)

    def hear(self) -> bool:
        """Read whether its call is over and it waits for another: `settled`. False once it reports nothing more."""
        assert self.link is not None  # noqa: S101 - it waits for calls
        try:
            message = self.link.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            message = b""
        self.settled = self.settled or message == _SETTLED
        return bool(message)

    def is_quiet(self, pages: int) -> bool:
        """Whether only this process is left of its call: one thread, its own descriptors, and few pages above these."""
        runner = os.getpid()
        try:
            return (
                usage.children(runner) == [self.pid]
                and not usage.children(self.pid)
                and len(os.listdir(f"/proc/{self.pid}/task")) == 1  # noqa: PTH208 - a path object costs as much
                and set(os.listdir(f"/proc/{self.pid}/fd")) == _WAITING_HAS  # noqa: PTH208
                and resident_pages(self.pid) <= pages + MORE_PAGES_MOST
            )
        except OSError:
            return False

    def end(self) -> None:
        """End it and its group while it waits."""
        processes.send_group(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.let_go()

    def let_go(self) -> None:
        if self.link is not None:
            self.link.close()
        if self._begun_mark is not None:
            self._begun_mark.close()


def resident_pages(pid: int) -> int:
    return int(kernel_files.read(f"/proc/{pid}/statm").split()[1])


def _be_the_tool(
    descriptors: list[int],
    parent: int,
    gate: tuple[int, int],
    link: socket.socket | None,
    begun_mark: mmap.mmap | None,
) -> NoReturn:
    status = 70
    try:
        os.setsid()
        processes.die_with_parent(signal.SIGKILL, parent)
        os.close(gate[1])
        if not os.read(gate[0], 1):
            # The runner ended before it told the group: nobody would end the children of this tool.
            os._exit(status)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # A connection that is cut while a file is sent is an error that is tried again; it must not end the process.
        # Programs that the tool starts have the default, as `subprocess` gives it to them.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        _take(descriptors, None if link is None else link.detach())
        # The runner measures what it uses, and may look into it for that.
        processes.protect_memory(False)
        gc.set_threshold(_COLLECT_AFTER)
        gc.enable()
        body = _Body()
        status = body.carry_out()
        if begun_mark is not None:
            waiting = socket.socket(fileno=_LINK)
            while status == 0 and body.is_good and _next_is_there(waiting) and body.is_as_before():
                begun_mark[0] = 1
                status = body.carry_out()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def _take(descriptors: list[int], link: int | None) -> None:
    """Have the call's descriptors and no other: nothing of the runner, the zygote or another call."""
    import fcntl

    numbers = [*descriptors, *([] if link is None else [link])]
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for descriptor in numbers]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor, number in zip(high, (_TOOL_SOCKET, 1, 2, _LINK), strict=False):
        os.dup2(descriptor, number, inheritable=number in (1, 2))
    os.closerange(_TOOL_SOCKET + len(numbers) - _DESCRIPTORS + 1, min(os.sysconf("SC_OPEN_MAX"), _DESCRIPTORS_MOST))


def _next_is_there(link: socket.socket) -> bool:
    """Let go of the descriptors of the call, report that it is over, and wait for those of another one."""
    for number in (1, 2):
        os.dup2(0, number)
    os.close(_TOOL_SOCKET)
    link.send(_SETTLED)
    message, descriptors, _, _ = socket.recv_fds(link, 1, _DESCRIPTORS)
    if message != _NEXT:
        return False
    for descriptor, number in zip(descriptors, (_TOOL_SOCKET, 1, 2), strict=True):
        if descriptor != number:
            os.dup2(descriptor, number, inheritable=number != _TOOL_SOCKET)
            os.close(descriptor)
    return True


class _Body:
    """The work of the process: its calls, one after the other."""

    def __init__(self) -> None:
        self._first: CallSpec | None = None
        self.is_good = False

    def carry_out(self) -> int:
        from starloom_agent.work.execution.toolcall import LineOut, LinePermits, carry_out

        text = bytearray()
        while not text.endswith(b"\n") and (part := os.read(_TOOL_SOCKET, _READ_BYTES)):
            text += part
        spec = decode_spec(bytes(text))
        if self._first is None:
            self._prepare(spec)
        elif without_work(self._first) != without_work(spec):
            raise ValueError("this call may not follow the one before it")
        os.environ["STARLOOM_FENCE"] = spec.fence
        out = LineOut(_TOOL_SOCKET)
        permits = LinePermits(out, _TOOL_SOCKET)
        before_first = self._first is None
        # What a call sets for its own context (the precision of decimals) ends with it.
        ended = contextvars.copy_context().run(carry_out, spec, out, permits, free=before_first)
        # Output in the buffers was written before the end.
        sys.stdout.flush()
        sys.stderr.flush()
        out.end(ended)
        self._first = self._first or spec
        # A value that was stored as an artifact leaves a connection behind.
        self.is_good = ended.outcome is Outcome.OK and ended.artifact is None
        return KEEPS_STATUS if ended.detached else 0

    def _prepare(self, spec: CallSpec) -> None:
        if spec.environment != _OWN_ENVIRONMENT:
            # Nearly always they are equal, and each variable that is written copies pages of this process.
            os.environ.clear()
            os.environ.update(spec.environment)
        with contextlib.suppress(FileExistsError):
            # The agent keeps its parent. A path object costs more than the folder.
            os.mkdir(spec.workdir, mode=0o700)  # noqa: PTH102
        os.chdir(spec.workdir)
        limits.apply()
        if spec.reuse:
            from starloom_agent.work.execution.remains import Before

            os.environ["STARLOOM_FENCE"] = spec.fence
            if spec.confined:
                os.environ["TMPDIR"] = spec.workdir
            self._before = Before(spec.module)
            self._folders = _identities(spec)

    def is_as_before(self) -> bool:
        """Whether the next call may begin: those before it left nothing here, and its folders are still the same.

        This is asked once there is a next call: most processes never get one.
        """
        assert self._first is not None  # noqa: S101 - a call was carried out
        os.environ["STARLOOM_FENCE"] = self._first.fence
        return _identities(self._first) == self._folders and self._before.is_now()


def _identities(spec: CallSpec) -> list[tuple[int, int] | None]:
    """Return which folders stand behind the granted paths now: a confinement is for these, not for their names."""
    identities: list[tuple[int, int] | None] = []
    for path in (*spec.read, *spec.write):
        try:
            seen = os.lstat(path)
        except OSError:
            identities.append(None)
        else:
            identities.append((seen.st_dev, seen.st_ino))
    return identities
