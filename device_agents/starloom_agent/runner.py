"""The small parent of one tool process: makes its group, holds its deadlines itself, ends all of it at the end.

`python -m starloom_agent.runner`: the `CallSpec` is the first line of stdin, `Order`s may follow; lines come out on
stdout, the last is `Ended`. Whatever happens to the agent, nothing of the call outlives its fence, its time, or the
pipe. Never blocks on the agent: what it cannot take is dropped, except how the call ended.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from starloom_agent.call_output import Output, ToAgent
from starloom_agent.calls import (
    CallSpec,
    Ended,
    Grouped,
    Order,
    Said,
    decode_line,
)
from starloom_agent.platforms import processes
from starloom_agent.sandbox import usage
from starloom_agent.sandbox.quota import Pace, memory_sentence
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome

TERM_GRACE_S: Final = 2.0
_READ_BYTES: Final = 64 * 1024
_KILL_AGAIN_S: Final = 0.1
_DRAIN_S: Final = 0.5
_LAST_LINE_S: Final = 5.0

_spec_decoder = msgspec.json.Decoder(CallSpec)
_order_decoder = msgspec.json.Decoder(Order)


class Runner:
    """One call from its spec to its end. All times are readings of the clock that runs during sleep."""

    def __init__(self, spec: CallSpec, agent_in: int, agent_out: int) -> None:
        self.spec = spec
        self.agent_in = agent_in
        self.agent = ToAgent(agent_out)
        self.output = Output(list(spec.secrets.values()))
        self.fence_at = spec.fence_at
        self.close_at = processes.awake_clock_s() + spec.start_to_close_s
        self.stopping = ""
        self.kill_at: float | None = None
        self.killing = False
        self.ended: Ended | None = None
        self.exit_status: int | None = None
        self.child = 0
        self.too_much = ""
        self._pace = Pace()
        self._lines: dict[int, bytearray] = {}

    # -- the child

    def start(self) -> None:
        """Fork the tool process into a group of its own; its pipes are `self.pipes`."""
        pairs = {name: os.pipe() for name in ("out", "err", "control")}
        parent = os.getpid()
        self.child = os.fork()
        if self.child == 0:
            self._be_the_tool(pairs, parent)
        # Both sides set the group, so that it stands whoever runs first.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.child, self.child)
        for _, write in pairs.values():
            os.close(write)
        self.pipes = {name: read for name, (read, _) in pairs.items()}
        for read in self.pipes.values():
            os.set_blocking(read, False)
        self.agent.put(Grouped(group=self.child, mark=processes.start_mark(self.child) or ""))

    def _be_the_tool(self, pairs: dict[str, tuple[int, int]], parent: int) -> None:
        status = 70
        try:
            os.setpgid(0, 0)
            processes.die_with_parent(signal.SIGKILL, parent)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(pairs["out"][1], 1)
            os.dup2(pairs["err"][1], 2)
            os.close(self.agent_in)
            os.environ["STARLOOM_FENCE"] = self.spec.fence
            os.chdir(self.spec.workdir)
            from starloom_agent.sandbox import limits
            from starloom_agent.toolcall import LineOut, carry_out

            limits.apply()
            out = LineOut(pairs["control"][1])
            out.line(carry_out(self.spec, out))
            sys.stdout.flush()
            sys.stderr.flush()
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    # -- the loop

    def run(self) -> Ended:
        """Watch pipes, clocks and the child until it and its group are gone; return how it ended."""
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.stop("terminated", at_once=True))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write)
        self.start()
        with selectors.DefaultSelector() as selector:
            selector.register(self.agent_in, selectors.EVENT_READ, "agent")
            selector.register(wake_read, selectors.EVENT_READ, "wake")
            for name, read in self.pipes.items():
                selector.register(read, selectors.EVENT_READ, name)
            while self.exit_status is None or self._has_time_left():
                for key, _ in selector.select(self._next_wait_s()):
                    self._readable(selector, key)
                self._reap()
                self._deadlines()
                self._measure()
                self.agent.pump()
            self._end_group()
            self._drain(selector)
        return self._judge()

    def _next_wait_s(self) -> float:
        now = processes.awake_clock_s()
        if self.killing:
            return max(0.0, (self.kill_at or now) - now)
        ends = (self.kill_at, self.fence_at) if self.stopping else (self.fence_at, self.close_at)
        due = [moment for moment in ends if moment is not None] or [now]
        wait_s = max(0.0, min(due) - now)
        if self._is_measured():
            wait_s = min(wait_s, self._pace.wait_s)
        # The selector's own clock may stand still during sleep; short waits make the deadlines hold after it.
        return min(wait_s, 0.05 if self.agent.waiting or self.stopping else 1.0)

    def _readable(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        name, descriptor = key.data, key.fd
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            selector.unregister(descriptor)
            if name == "agent":
                self.stop("agent_gone", at_once=True)
            return
        if name == "agent":
            for line in self._split(descriptor, data):
                self.order(line)
        elif name == "control":
            for line in self._split(descriptor, data):
                self._from_tool(line)
        elif name in ("out", "err"):
            for said in self.output.take(name, data):
                self.agent.put(said)

    def _split(self, descriptor: int, data: bytes) -> list[bytes]:
        held = self._lines.setdefault(descriptor, bytearray())
        held += data
        *lines, rest = bytes(held).split(b"\n") if b"\n" in data else (bytes(held),)
        if lines:
            self._lines[descriptor] = bytearray(rest)
        return lines

    def order(self, line: bytes) -> None:
        order = _order_decoder.decode(line)
        if order.stop:
            self.stop(order.stop)
        if order.fence_at is not None and self.fence_at is not None:
            self.fence_at = order.fence_at

    def _from_tool(self, line: bytes) -> None:
        said = decode_line(line)
        if isinstance(said, Ended):
            # A result made before the stop wins over it; what comes after it is no result any more.
            if not self.stopping:
                self.ended = self.output.clean_end(said)
        elif isinstance(said, Said) and said.stream:
            for part in self.output.take_text(said.stream, said.text):
                self.agent.put(part)
        elif isinstance(said, Said):
            self.agent.put(self.output.clean_note(said))
        else:
            self.agent.put(said)

    def stop(self, why: str, *, at_once: bool = False) -> None:
        """End the group: TERM, and KILL after 2 s; or KILL now."""
        now = processes.awake_clock_s()
        if not self.stopping:
            self.stopping = why
            self.kill_at = now + TERM_GRACE_S
            if not at_once and self.child:
                processes.send_group(self.child, signal.SIGTERM)
        if at_once and not self.killing:
            self.killing = True
            self.kill_at = now

    def _deadlines(self) -> None:
        now = processes.awake_clock_s()
        if self.fence_at is not None and now >= self.fence_at and self.exit_status is None:
            self.stop("fence", at_once=True)
        elif now >= self.close_at and not self.stopping:
            self.stop("timeout")
        if self.kill_at is not None and processes.awake_clock_s() >= self.kill_at:
            self.killing = True
            self._kill()
            # Again and again, for what was being forked meanwhile.
            self.kill_at = now + _KILL_AGAIN_S

    def _is_measured(self) -> bool:
        return bool(self.spec.memory_bytes_max) and processes.LINUX and not self.stopping

    def _measure(self) -> None:
        """End the group when it uses more memory than the call may: what is used counts, never what is reserved."""
        if not self._is_measured() or self.exit_status is not None or not self._pace.begin():
            return
        used = usage.memory_bytes(usage.below(os.getpid()), self.spec.memory_bytes_max)
        self._pace.end()
        if used > self.spec.memory_bytes_max:
            self.too_much = memory_sentence(used, self.spec.memory_bytes_max)
            self.stop("memory", at_once=True)

    def _has_time_left(self) -> bool:
        """Whether a group that was asked to end may still do so: its programs get the grace, not its leader alone."""
        return self.kill_at is not None and not self.killing and bool(processes.group_members(self.child))

    def _kill(self) -> None:
        if self.exit_status is None:
            processes.send_group(self.child, signal.SIGKILL)
        for pid in self._left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _left(self) -> list[int]:
        """Return what runs below this process, but for what a call that succeeded has left on purpose."""
        below = usage.below(os.getpid())
        if self.ended is None or not self.ended.detached:
            return below
        tokens = [item.token for item in self.ended.detached]
        return [pid for pid in below if not processes.has_token(pid, tokens)]

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child:
                self.exit_status = status

    def _end_group(self) -> None:
        """What the tool left running ends with it: its group, and what left the group but not this tree."""
        processes.send_group(self.child, signal.SIGKILL)
        deadline = time.monotonic() + TERM_GRACE_S
        while time.monotonic() < deadline:
            if not self._left():
                return
            self._kill()
            self._reap()
            time.sleep(0.005)

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Read what is still in the pipes; a process that escaped and holds one open is not waited for."""
        deadline = time.monotonic() + _DRAIN_S
        for name, descriptor in self.pipes.items():
            while time.monotonic() < deadline:
                try:
                    data = os.read(descriptor, _READ_BYTES)
                except OSError:
                    break
                if not data:
                    break
                if name == "control":
                    for line in self._split(descriptor, data):
                        self._from_tool(line)
                else:
                    for said in self.output.take(name, data):
                        self.agent.put(said)
        selector.close()
        for said in self.output.finish():
            self.agent.put(said)

    # -- the end

    def _judge(self) -> Ended:
        tail = self.output.tail_text()
        effect = EffectSeen.NONE if self.spec.effectless else EffectSeen.MAYBE
        if self.ended is not None:
            return msgspec.structs.replace(self.ended, tail=tail)
        if self.too_much:
            detail = f"{self.spec.tool} was ended: {self.too_much}"
            return Ended(outcome=Outcome.ERROR, code=Code.MEMORY_EXCEEDED, detail=detail, effect=effect, tail=tail)
        if self.stopping == "timeout":
            detail = f"{self.spec.tool} took longer than its {self.spec.start_to_close_s:g} s and was ended"
            return Ended(outcome=Outcome.TIMEOUT, code=Code.TIMED_OUT, detail=detail, effect=effect, tail=tail)
        if self.stopping:
            code = Code.FENCED if self.stopping == "fence" else Code.INTERRUPTED
            detail = f"{self.spec.tool} was ended: {self.stopping}"
            return Ended(
                outcome=Outcome.INTERRUPTED, code=code, detail=detail, effect=effect, tail=tail, stopped=self.stopping
            )
        how = _how_it_ended(self.exit_status or 0)
        detail = f"the process of {self.spec.tool} {how} without a result"
        return Ended(outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=detail, effect=effect, tail=tail)

    def say_the_end(self, ended: Ended) -> None:
        """Send the last line; wait for a slow agent, but not for ever."""
        self.agent.put(ended)
        deadline = time.monotonic() + _LAST_LINE_S
        while self.agent.waiting and time.monotonic() < deadline:
            time.sleep(0.005)
            self.agent.pump()


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was ended by signal {number} ({signal.Signals(number).name})"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"


def _first_line(descriptor: int) -> bytes:
    """Read up to the first newline and not one byte more than the pipe held; orders come later."""
    data = bytearray()
    while not data.endswith(b"\n"):
        part = os.read(descriptor, 1 if len(data) == 0 else _READ_BYTES)
        if not part:
            break
        data += part
    return bytes(data)


def main() -> int:
    """Read the spec, run the call, say how it ended. Orders may arrive in the same read as the spec."""
    agent_out = os.dup(1)
    os.dup2(2, 1)
    first, _, rest = _first_line(0).partition(b"\n")
    if not first:
        return 1
    spec = _spec_decoder.decode(first)
    parent = os.getppid()
    processes.adopt_orphans()
    processes.die_with_parent(signal.SIGTERM, parent)
    Path(spec.workdir).mkdir(parents=True, exist_ok=True, mode=0o700)
    runner = Runner(spec, 0, agent_out)
    for line in rest.splitlines():
        runner.order(line)
    runner.say_the_end(runner.run())
    return 0


if __name__ == "__main__":
    # Nothing is left to do; an orderly end of the interpreter takes as long as many a call.
    os._exit(main())
