"""One simulated device of this process: its agent, its link through a fault proxy, its clock. Breaks and heals it.

The faults are real: signals to the agent, a proxy in its link, a limit on the size of its files, a wrong clock.
Decides neither the time nor the choice of a fault; knows no hub.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from starloom.host.agents import OVER, LocalAgent
from starloom.host.processes import Child, Program
from starloom.lab.clock_skew import set_clock
from starloom.lab.injection import Impossible, break_link, sentence
from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom_protocol.records.lab import CAN, FaultKind, FaultTarget

RECONNECT_MOST_S: Final = 2.0
STOP_S: Final = 4.0


@dataclass
class InjectedFault:
    """A fault under way; `process` is the one that was stopped."""

    target: FaultTarget
    kind: FaultKind
    size_s: float
    process: psutil.Process | None = None


class DemoDevice:
    """`start` it once it has joined; `stop` ends it, also while it is broken."""

    def __init__(self, agent: LocalAgent, proxy: FaultProxy, folder: Path, say: Callable[[str], None]) -> None:
        self.agent = agent
        self.proxy = proxy
        self.told_next = ""
        self._clock = folder / "clocks" / agent.name
        argv = [sys.executable, "-P", "-m", "starloom.lab.clock_skew", str(self._clock), "starloom_agent", "run"]
        argv += ["--home", str(agent.home), "--lab", "--unattended", "--reconnect-most-s", f"{RECONNECT_MOST_S:g}"]
        log = folder / "logs" / f"agent-{agent.name}.log"
        self._child = Child(Program(f"agent {agent.name}", argv, log=log, piped=True, final_exits=OVER), say)
        self._faults: list[InjectedFault] = []

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def possible_faults(self) -> dict[str, list[str]]:
        """The faults that are possible on this machine: target -> kinds."""
        kinds_of = {target: list(CAN[target]) for target in (FaultTarget.DEVICE, FaultTarget.LINK)}
        if not hasattr(psutil.Process, "rlimit"):  # Linux alone limits another process
            kinds_of[FaultTarget.DEVICE].remove(FaultKind.DISK_FULL)
        return {str(target): [str(kind) for kind in kinds] for target, kinds in kinds_of.items()}

    async def start(self) -> None:
        set_clock(self._clock, 0.0)
        await self._child.start()

    async def stop(self) -> None:
        """End the agent and its link, also while they are broken."""
        for fault in self._faults:
            _go_on(fault)
        await self._child.stop(STOP_S)
        await self.proxy.stop()

    async def inject(
        self, target: FaultTarget, kind: FaultKind, size_s: float, for_s: float
    ) -> tuple[InjectedFault, str]:
        """Break it; return the fault, to be healed, and a sentence about it.

        Raises:
            Impossible: its agent is dead already, or ended at this moment.
        """
        fault = InjectedFault(target, kind, size_s)
        words = self.told_next or f"{sentence(target, kind, self.name, size_s)}, for {for_s:g} s"
        if target is FaultTarget.LINK:
            break_link(self.proxy, kind, size_s)
        else:
            try:
                await self._break_agent(fault)
            except psutil.NoSuchProcess as error:
                raise Impossible(f"the agent of {self.name} ended in this moment") from error
        self.told_next = ""
        self._faults.append(fault)
        return fault, words

    async def heal(self, fault: InjectedFault) -> str:
        """End a fault; others that last stay. Return the new state in words."""
        self._faults.remove(fault)
        if fault.target is FaultTarget.LINK:
            self._heal_link()
            return f"the link of {self.name} is whole again"
        if fault.kind is FaultKind.KILL:
            self._heal_link()
            await self.start()
            return f"the agent of {self.name} is started again"
        if fault.kind is FaultKind.FREEZE:
            _go_on(fault)
            return f"the agent of {self.name} goes on"
        if fault.kind is FaultKind.CLOCK_SKEW:
            set_clock(self._clock, 0.0)
            return f"the clock of {self.name} is right again"
        self._fill_disk(full=False)
        return f"the disk of {self.name} has room again"

    async def _break_agent(self, fault: InjectedFault) -> None:
        process = self._process()
        if process is None:
            raise Impossible(f"the agent of {self.name} is dead already")
        if fault.kind is FaultKind.KILL:
            # A connection that a proxy holds open would outlive its process.
            self.proxy.reset()
            await self._child.kill()
        elif fault.kind is FaultKind.FREEZE:
            process.send_signal(signal.SIGSTOP)
            fault.process = process
        elif fault.kind is FaultKind.CLOCK_SKEW:
            set_clock(self._clock, fault.size_s)
        else:
            self._fill_disk(full=True)

    def _heal_link(self) -> None:
        self.proxy.heal()
        for other in self._faults:
            if other.target is FaultTarget.LINK:
                break_link(self.proxy, other.kind, other.size_s)

    def _process(self) -> psutil.Process | None:
        return None if self._child.pid is None else psutil.Process(self._child.pid)

    def _fill_disk(self, *, full: bool) -> None:
        process = self._process()
        if process is not None:
            _, most = process.rlimit(psutil.RLIMIT_FSIZE)
            process.rlimit(psutil.RLIMIT_FSIZE, (0 if full else resource.RLIM_INFINITY, most))


def _go_on(fault: InjectedFault) -> None:
    if fault.process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            fault.process.send_signal(signal.SIGCONT)
