"""The parent of tool processes, for one slot: one call at a time, in a group of its own, ended whole at its end.

A runner is forked by the zygote and carries out many calls, or is executed for one
(`python -m starloom_agent.work.execution.runner`).
It enforces deadlines, fence and memory, and kills; it never sees the arguments or the output of a call, because the
next call is forked from it. It keeps at most one process between calls (`tool_process`). Even if the agent dies, no
process of a call outlives its fence, its time, or the socket.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from typing import Final

from starloom_agent.platforms import processes
from starloom_agent.sandbox import usage
from starloom_agent.sandbox.quota import FIRST_S, Pace, memory_sentence
from starloom_agent.toolkit.messages import (
    KEEPS_STATUS,
    Begin,
    Grouped,
    Left,
    Order,
    Over,
    Ready,
    RunnerLine,
    decode_agent_line,
    encode,
)
from starloom_agent.work.execution.tool_process import ToolProcess, resident_pages

TERM_GRACE_S: Final = 2.0
"""A program removes its temporary files in this time; a person who cancelled still sees it end at once."""
_READ_BYTES: Final = 64 * 1024
_KILL_AGAIN_S: Final = 0.1
"""A program that forks without pause makes new processes between two rounds of signals."""
_KEEP_WITHIN_S: Final = 5.0
_BETWEEN_PROGRAMS_S: Final = 0.5
_DESCRIPTORS: Final = 3


class Runner:
    """Serves calls until the agent closes the socket. Times are readings of the clock that runs during sleep."""

    def __init__(self, agent: socket.socket) -> None:
        agent.setblocking(False)
        self._agent = agent
        self._agent_gone = False
        self._terminated = False
        self._unread = bytearray()
        self._descriptors: list[int] = []
        self._call: _Call | None = None
        self._kept_process: ToolProcess | None = None
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        self._wake = wake_read
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._terminate())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write)
        self._selector = selectors.DefaultSelector()
        self._selector.register(agent, selectors.EVENT_READ)
        self._selector.register(wake_read, selectors.EVENT_READ)

    def serve(self, *, calls: int = 0) -> None:
        """Carry out calls until the agent is gone, or `calls` of them."""
        # From here on what leaves the tree of a tool comes back to this process, which ends it.
        processes.adopt_orphans()
        processes.protect_memory(True)
        self._say(Ready(pid=os.getpid(), mark=processes.start_mark(os.getpid()) or ""))
        self._pages = resident_pages(os.getpid()) if processes.LINUX else 0
        done = 0
        while not self._agent_gone and not self._terminated and (not calls or done < calls):
            self._wait(None)
            if self._call is not None:
                self._say(self._carry(self._call))
                self._call = None
                done += 1
        self._release()

    def _release(self) -> None:
        """End the process that is kept for another call."""
        process, self._kept_process = self._kept_process, None
        if process is not None:
            process.end()

    def _terminate(self) -> None:
        self._terminated = True
        if self._call is not None:
            self._call.stop("terminated", at_once=True)

    def _say(self, line: RunnerLine) -> None:
        # Few and short lines: a socket that takes no more of them belongs to nobody.
        try:
            self._agent.sendall(encode(line) + b"\n")
        except OSError:
            self._agent_gone = True

    def _wait(self, wait_s: float | None) -> None:
        for key, _ in self._selector.select(wait_s):
            if key.fd == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, _READ_BYTES)
            elif key.fileobj is self._agent:
                self._hear()
            elif self._call is not None and not self._call.process.hear():
                self._selector.unregister(key.fileobj)

    def _hear(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._agent, _READ_BYTES, _DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._descriptors += descriptors
        if not data:
            self._agent_gone = True
            self._selector.unregister(self._agent)
            if self._call is not None:
                self._call.stop("agent_gone", at_once=True)
            return
        self._unread += data
        *lines, rest = bytes(self._unread).split(b"\n")
        self._unread = bytearray(rest)
        for line in lines:
            message = decode_agent_line(line)
            if isinstance(message, Begin):
                self._call = _Call(message, self._descriptors)
                self._descriptors = []
            elif self._call is not None:
                # Without a call it is about one that has ended.
                self._call.order(message)
            elif message.release:
                self._release()

    def _carry(self, call: _Call) -> Over:
        """Start the tool, watch it until no process of the call is left, and report how its process ended."""
        if call.stopping:
            return call.not_begun()
        self._see_through(call, self._kept_for(call))
        if call.process.settled and not call.stopping and call.process.is_quiet(self._pages):
            self._kept_process = call.process
            return call.over(0, strays=False, kept=True)
        status = call.reap()
        strays = bool(usage.below(os.getpid()))
        if strays and not call.stopping and os.waitstatus_to_exitcode(status) == KEEPS_STATUS:
            self._ask_what_stays(call)
        call.end_rest()
        return call.over(status, strays=strays)

    def _kept_for(self, call: _Call) -> ToolProcess | None:
        """Return the process that waits for this call; one that waits for another is ended."""
        process = self._kept_process
        if process is None or process.reuse != call.reuse or process.has_ended():
            self._release()
            return None
        self._kept_process = None
        return process

    def _see_through(self, call: _Call, kept_process: ToolProcess | None) -> None:
        """Watch a call until its process has ended, or is ready for another one."""
        self._say(call.start(kept_process))
        link = call.process.link
        if link is not None:
            self._selector.register(link, selectors.EVENT_READ)
        call.let_begin()
        while not call.ended or call.has_time_left():
            self._wait(call.next_wait_s())
            call.look()
        if link is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(link)
        if kept_process is not None and call.was_not_begun():
            # It ended while it waited, and has not heard of the call: another one can have it.
            call.reap()
            self._see_through(call, None)

    def _ask_what_stays(self, call: _Call) -> None:
        self._say(Left())
        deadline = time.monotonic() + _KEEP_WITHIN_S
        while call.keep is None and not self._agent_gone and (left_s := deadline - time.monotonic()) > 0:
            self._wait(left_s)


class _Call:
    """The call that a runner carries out: its limits and deadlines, and the control of its processes."""

    def __init__(self, begin: Begin, descriptors: list[int]) -> None:
        self._descriptors = descriptors
        self._fence_at = begin.fence_at
        self._close_at = processes.awake_clock_s() + begin.start_to_close_s
        self._memory_bytes_max = begin.memory_bytes_max
        self._pace = Pace()
        # Most calls end before the first measurement.
        self._pace.due_at = time.monotonic() + FIRST_S
        self._stopped_at = 0.0
        self._kill_at: float | None = None
        self._killing = False
        self._too_much = ""
        self._process: ToolProcess | None = None
        self._gate: tuple[int, int] = (-1, -1)
        self.reuse = begin.reuse
        self.stopping = ""
        self.ended = False
        self.keep: list[str] | None = None

    @property
    def process(self) -> ToolProcess:
        assert self._process is not None  # noqa: S101 - it has been started
        return self._process

    def start(self, kept_process: ToolProcess | None = None) -> Grouped:
        """Have a process for the call, which waits for `let_begin`."""
        self.ended = False
        self._process = kept_process
        if kept_process is None:
            self._gate = os.pipe()
            self._process = ToolProcess.fork(self._descriptors, self._gate, self.reuse)
            self._close_descriptors()
        return Grouped(group=self.process.pid, mark=self.process.mark)

    def let_begin(self) -> None:
        """Let the tool begin. The agent knows its group by now, and ends it even if the tool ends the runner."""
        if self._descriptors:
            # The process has them not from its fork: it has served a call before.
            self.process.hand_over(self._descriptors)
            return
        # Both ends are open here, so the write fails for no state of the tool's process.
        os.write(self._gate[1], b"\n")
        for descriptor in self._gate:
            os.close(descriptor)

    def was_not_begun(self) -> bool:
        """Whether a kept process ended of itself before it took the call."""
        if self.process.settled or self.stopping or self.process.has_begun():
            self._close_descriptors()
            return False
        return True

    def _close_descriptors(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    def not_begun(self) -> Over:
        """Return the end of a call that was stopped before it began."""
        self._close_descriptors()
        return self.over(0, strays=False)

    def order(self, order: Order) -> None:
        if order.keep is not None:
            self.keep = order.keep
        if order.stop:
            self.stop(order.stop)
        if order.fence_at is not None and self._fence_at is not None:
            self._fence_at = order.fence_at

    def stop(self, why: str, *, at_once: bool = False) -> None:
        """End the group: TERM, and KILL after 2 s; or KILL now."""
        now = processes.awake_clock_s()
        if not self.stopping:
            self.stopping = why
            self._stopped_at = now
            self._kill_at = now + TERM_GRACE_S
            child = self._process.pid if self._process is not None else 0
            if not at_once and child and not processes.send_group(child, signal.SIGTERM):
                # It has no group yet.
                self._signal(child, signal.SIGTERM)
        if at_once and not self._killing:
            self._killing = True
            self._kill_at = now

    def next_wait_s(self) -> float:
        now = processes.awake_clock_s()
        if self._killing:
            return max(0.0, (self._kill_at or now) - now)
        ends = (self._kill_at, self._fence_at) if self.stopping else (self._fence_at, self._close_at)
        due = [moment for moment in ends if moment is not None] or [now]
        wait_s = max(0.0, min(due) - now)
        if self._is_measured():
            wait_s = min(wait_s, self._pace.wait_s)
        # The selector's own clock may stand still during sleep; short waits make the deadlines hold after it.
        return min(wait_s, 0.05 if self.stopping else 1.0)

    def look(self) -> None:
        """Notice the end of the tool's process, and enforce due limits."""
        self.ended = self.ended or self.process.settled or self.process.has_ended()
        self._deadlines()
        self._measure()

    def _deadlines(self) -> None:
        now = processes.awake_clock_s()
        if self._fence_at is not None and now >= self._fence_at and not self.ended:
            self.stop("fence", at_once=True)
        elif now >= self._close_at and not self.stopping and not self.ended:
            self.stop("timeout")
        if self._kill_at is not None and processes.awake_clock_s() >= self._kill_at:
            self._killing = True
            self._kill()
            # Again and again, for what was being forked meanwhile.
            self._kill_at = now + _KILL_AGAIN_S

    def _is_measured(self) -> bool:
        return bool(self._memory_bytes_max) and processes.LINUX and not self.stopping

    def _measure(self) -> None:
        """End the group when it uses more memory than the call may: used memory counts, never reserved memory."""
        if not self._is_measured() or self.ended or not self._pace.begin():
            return
        used = usage.memory_bytes(usage.below(os.getpid()), self._memory_bytes_max)
        self._pace.end()
        if used > self._memory_bytes_max:
            self._too_much = memory_sentence(used, self._memory_bytes_max)
            self.stop("memory", at_once=True)

    def has_time_left(self) -> bool:
        """Whether a group that was asked to end may still do so: its programs get the grace, not its leader alone."""
        return self._kill_at is not None and not self._killing and bool(processes.group_members(self.process.pid))

    def _kill(self) -> None:
        processes.send_group(self.process.pid, signal.SIGKILL)
        for pid in usage.below(os.getpid()):
            self._signal(pid, signal.SIGKILL)

    def _signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def reap(self) -> int:
        """End the group of the tool's process, which has ended, and take its status."""
        # Until it is waited for, its number means its group and no other.
        processes.send_group(self.process.pid, signal.SIGKILL)
        _, status = os.waitpid(self.process.pid, 0)
        self.process.let_go()
        processes.reap()
        return status

    def end_rest(self) -> None:
        """End the processes that the tool left running, except those that a successful call left on purpose."""
        now = time.monotonic()
        deadline, decide_at = now + TERM_GRACE_S, now + _BETWEEN_PROGRAMS_S
        while (now := time.monotonic()) < deadline:
            left = usage.below(os.getpid())
            tokens = {pid: processes.token_of(pid) for pid in left} if self.keep else {}
            left = [pid for pid in left if not tokens or tokens[pid] not in (self.keep or ())]
            if not left:
                return
            for pid in left:
                if tokens and tokens[pid] is None and now < decide_at:
                    # It may be one that stays, just becoming another program: then its environment is empty.
                    continue
                self._signal(pid, signal.SIGKILL)
            time.sleep(0.002)
            processes.reap()

    def over(self, status: int, *, strays: bool, kept: bool = False) -> Over:
        return Over(
            status=status,
            kept=kept,
            stopped=self.stopping,
            stopped_at=self._stopped_at,
            too_much=self._too_much,
            strays=strays,
        )


def main() -> int:
    """Be an executed runner: the socket is stdin, one call is carried out."""
    agent = socket.socket(fileno=os.dup(0))
    os.dup2(2, 1)
    Runner(agent).serve(calls=1)
    return 0


if __name__ == "__main__":
    # Nothing is left to do, and an orderly end of the interpreter takes as long as many a call.
    os._exit(main())
