"""One call from its spec to its end: a runner carries it out, the agent hears it, and it ends exactly once.

It decides nothing about leases. The runner enforces the deadlines; the agent enforces them again, a little later, if
the runner does not.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from starloom_agent.home.directory import remove_if_empty
from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import (
    Asking,
    Begin,
    CallSpec,
    Ended,
    Grouped,
    Heard,
    Left,
    Listening,
    Order,
    Over,
    Permit,
    RunnerLine,
    Said,
    encode,
)
from starloom_agent.work.calls.faults import stopped_early
from starloom_agent.work.calls.runners import RunnerGone, RunnerLink, Runners, environment
from starloom_agent.work.calls.streams import CallStreams
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome

# How much later than its runner the agent ends a call: longer than the grace between TERM and KILL.
_BEHIND_S: Final = 10.0
_TRIES: Final = 3


def _nothing_asked(message: Asking | Listening) -> Permit | Heard:
    if isinstance(message, Listening):
        return Heard(last=message.after)
    return Permit(reason=f"{message.tool} cannot be asked about by this call")


class RunningCall:
    """A call from `run` to its `Ended`. `stop` and `move_fence` may be called at any time."""

    def __init__(
        self,
        spec: CallSpec,
        on_group: Callable[[Grouped], None],
        on_said: Callable[[Said], None],
        runners: Runners,
        on_asked: Callable[[Asking | Listening], Permit | Heard] = _nothing_asked,
    ) -> None:
        self.spec = spec
        self._on_group = on_group
        self._on_said = on_said
        self._on_asked = on_asked
        self._runners = runners
        self._link: RunnerLink | None = None
        self._streams: CallStreams | None = None
        self._group: Grouped | None = None
        self._orders: list[Order] = []
        self._over: asyncio.Future[Over | None] | None = None
        self._fence_at = spec.fence_at
        self._stopped_at: float | None = None
        self._fault = ""
        self._spec_begun = spec
        self._folder = spec.workdir
        self._watch: asyncio.TimerHandle | None = None

    @property
    def runner_pid(self) -> int:
        """The process of the runner; 0 while there is none."""
        return self._link.pid if self._link is not None else 0

    @property
    def left_folder(self) -> Path | None:
        """The folder of the call that is to be removed after its end; None if its process waits there for another."""
        return Path(self._folder) if self._folder else None

    def stop(self, why: str) -> None:
        """Ask the runner to end the group; the end shows whether a result was made before."""
        if self._stopped_at is None:
            self._stopped_at = processes.awake_clock_s()
        self._order(Order(stop=why))
        self._look_again()

    def move_fence(self, fence_at: float) -> None:
        if self._fence_at is not None:
            self._fence_at = fence_at
        self._order(Order(fence_at=fence_at))

    def _order(self, order: Order) -> None:
        if self._link is None:
            self._orders.append(order)
        else:
            self._link.order(order)

    async def run(self) -> Ended:
        """Run to the end. A cancelled `run` kills the whole call before it goes on."""
        over = None
        for _ in range(_TRIES):
            if any(order.stop for order in self._orders):
                return self._judged(Over(status=0, stopped=next(order.stop for order in self._orders if order.stop)))
            try:
                link = await self._runners.take(self.spec.reuse)
            except OSError as error:
                return self._never_started(str(error))
            try:
                over = await self._carry_out(link)
                break
            except RunnerGone:
                # It ended while it waited, and has not heard of the call: another one can have it.
                self._leave_folder()
                continue
            except BaseException:
                link.close()
                self._end_group()
                raise
            finally:
                if self._watch is not None:
                    self._watch.cancel()
                if self._streams is not None:
                    self._streams.close()
                if over is not None and over.kept:
                    self._keep_process(link)
                self._runners.give_back(link, over, secret=bool(self.spec.secrets))
        else:
            return self._never_started("no runner takes it")
        if over is None and self._group is not None:
            # The runner itself was killed: what it watched over is ended here.
            await asyncio.to_thread(self._end_group)
        return self._judged(over)

    def _keep_process(self, link: RunnerLink) -> None:
        """Leave the process to another call, with its folder, unless something is in that."""
        try:
            is_empty = not os.listdir(self._folder)  # noqa: PTH208 - a path object costs as much as the reading
        except OSError:
            is_empty = False
        if is_empty:
            link.keep(self._spec_begun)
            self._folder = ""
        else:
            link.order(Order(release=True))

    def _leave_folder(self) -> None:
        """Remove the folder of a process that has ended, and have the call's own again."""
        if self._folder != self.spec.workdir:
            remove_if_empty(Path(self._folder))
            self._folder = self.spec.workdir

    def _never_started(self, why: str) -> Ended:
        detail = f"the process of {self.spec.tool} could not be started: {why}"
        return Ended(outcome=Outcome.NEVER_STARTED, code=Code.TOOL_UNAVAILABLE, detail=detail)

    async def _carry_out(self, link: RunnerLink) -> Over | None:
        """Return how the tool's process ended, None where its runner is gone.

        Raises:
            RunnerGone: it was gone before it heard of the call.
        """
        self._over = asyncio.get_running_loop().create_future()
        secrets = list(self.spec.secrets.values())
        streams = self._streams = CallStreams(secrets, self._on_said, self._not_understood, self._on_asked)
        link.on_line = self._hear
        spec = msgspec.structs.replace(
            self.spec,
            environment=environment(),
            reuse=self.spec.reuse if link.origin is not None else "",
        )
        self._folder = link.take_kept(spec) or self._folder
        self._spec_begun = spec = msgspec.structs.replace(spec, workdir=self._folder)
        begin = Begin(
            start_to_close_s=spec.start_to_close_s,
            fence_at=self._fence_at,
            memory_bytes_max=spec.memory_bytes_max,
            reuse=spec.reuse,
        )
        link.begin(begin, streams.descriptors)
        self._link = link
        streams.open(encode(spec))
        for order in self._orders:
            link.order(order)
        self._close_at = processes.awake_clock_s() + self.spec.start_to_close_s
        self._look_again()
        over = await self._over
        streams.drain()
        return over

    def _hear(self, line: RunnerLine | None) -> None:
        if isinstance(line, Grouped):
            self._group = line
            self._on_group(line)
        elif isinstance(line, Left):
            self._say_what_stays()
        elif (line is None or isinstance(line, Over)) and self._over is not None and not self._over.done():
            self._over.set_result(line)

    def _say_what_stays(self) -> None:
        assert self._streams is not None  # noqa: S101 - made before the runner hears of the call
        self._streams.take_lines()
        ended = self._streams.ended
        self._order(Order(keep=[item.token for item in ended.detached] if ended is not None else []))

    def _not_understood(self, why: str) -> None:
        self._fault = self._fault or why
        self.stop("not_understood")

    # The agent's own hold on a runner that holds nothing.

    def _look_again(self) -> None:
        """Kill the runner and its group when a deadline is long over, and look again at the next."""
        if self._link is None or self._over is None or self._over.done():
            return
        due = [self._close_at, *(moment for moment in (self._fence_at, self._stopped_at) if moment is not None)]
        left_s = min(due) + _BEHIND_S - processes.awake_clock_s()
        if left_s <= 0:
            self._link.kill()
            if self._group is not None and processes.start_mark(self._group.group) in (None, self._group.mark):
                processes.send_group(self._group.group, signal.SIGKILL)
            left_s = _BEHIND_S
        if self._watch is not None:
            self._watch.cancel()
        self._watch = asyncio.get_running_loop().call_later(left_s, self._look_again)

    def _end_group(self) -> None:
        if self._group is not None:
            processes.end_groups([(self._group.group, self._group.mark)])

    def _judged(self, over: Over | None) -> Ended:
        """Return the end of the call, from the report of its process and the observation of its runner."""
        tool = self.spec.tool
        # All that its process said was read after its end. Without its runner that end is not sure.
        was_begun = over is None or (self._streams is not None and self._streams.begun)
        effect = EffectSeen.NONE if self.spec.effectless or not was_begun else EffectSeen.MAYBE
        tail = self._streams.output.tail_text() if self._streams is not None else ""
        ended = self._streams.ended if self._streams is not None else None
        # A result made before the stop takes precedence; one made after it does not count.
        if ended is not None and (over is None or not over.stopped or ended.made_at < over.stopped_at):
            return msgspec.structs.replace(ended, tail=tail)
        if over is None:
            detail = f"the runner of {tool} ended before it could say how the call went"
            return Ended(outcome=Outcome.INTERRUPTED, code=Code.INTERRUPTED, detail=detail, effect=effect, tail=tail)
        if over.too_much:
            detail = f"{tool} was ended: {over.too_much}"
            return Ended(outcome=Outcome.ERROR, code=Code.MEMORY_EXCEEDED, detail=detail, effect=effect, tail=tail)
        if over.stopped == "timeout":
            detail = f"{tool} took longer than its {self.spec.start_to_close_s:g} s and was ended"
            return Ended(outcome=Outcome.TIMEOUT, code=Code.TIMED_OUT, detail=detail, effect=effect, tail=tail)
        if self._fault:
            detail = f"{tool} was ended: {self._fault}"
            return Ended(outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=detail, effect=effect, tail=tail)
        if over.stopped:
            if not (was_begun or self.spec.effectless):
                return stopped_early(tool, over.stopped)
            code = Code.FENCED if over.stopped == "fence" else Code.INTERRUPTED
            detail = f"{tool} was ended: {over.stopped}"
            return Ended(
                outcome=Outcome.INTERRUPTED, code=code, detail=detail, effect=effect, tail=tail, stopped=over.stopped
            )
        detail = f"the process of {tool} {_how_it_ended(over.status)} without a result"
        return Ended(outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=detail, effect=effect, tail=tail)


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was ended by signal {number} ({signal.Signals(number).name})"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"
