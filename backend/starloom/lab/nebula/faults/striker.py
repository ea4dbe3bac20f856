"""The striker of one run: breaks what its strikes say when their time has come, and makes all whole again afterwards.

The lab carries a fault out (`lab.injection`); which fault, when and where is drawn by `faults`. Judges nothing. A call
of the model comes on another thread and waits there until the fault has struck, so that it strikes while it is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.client.view import View
from starloom.lab.injection import Breaker, Broken, Impossible, broken_words
from starloom.lab.nebula.faults.profiles import Strike
from starloom.lab.nebula.world.nebula_world import NebulaWorld
from starloom_protocol.plan.scenario import FaultDoc
from starloom_protocol.vocabulary import FINAL_TASK_STATES, TaskState

AT_WORK: Final = (TaskState.LEASED, TaskState.RUNNING)
AFTER_S: Final = 1.0
"""How long the world is left alone after all is whole again: what comes late comes then."""
STRUCK_WITHIN_S: Final = 10.0
"""How long a call of the model waits for the fault."""


@dataclass
class _Due:
    strike: Strike
    may_strike: bool = False
    broken: Broken | None = None
    over_at: float = 0.0
    done: bool = False


class Striker:
    """`turn` it again and again while the task runs, then make it `whole`. `struck` are its faults in words.

    `beside` is a device with work that was under way before the plan: the hub's own tasks are at no device, and a fault
    of theirs strikes there.
    """

    def __init__(
        self,
        world: NebulaWorld,
        strikes: Sequence[Strike],
        seed: int,
        change: Callable[[], str],
        *,
        beside: str = "",
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._world = world
        self._now = now
        self._sleep = sleep
        self._breaker = Breaker(world, seed)
        self._change = change
        self._beside = beside
        self._dues = [_Due(strike) for strike in strikes]
        self._names = world.device_names() if strikes else {}
        self._struck = threading.Event()
        self._began: float | None = None
        self.struck: list[str] = []
        self.lost = ""
        """The id of the device that is lost for good."""

    def note_stage(self, stage: str) -> None:
        """Let a fault of this stage strike before the model answers. Called by the thread of the call."""
        for due in self._dues:
            if due.strike.stage == stage and not due.may_strike:
                due.may_strike = True
                self._struck.wait(STRUCK_WITHIN_S)

    def turn(self, view: View) -> None:
        """Do what is due, and take back what is over."""
        now = self._now()
        for due in self._dues:
            if due.broken is not None and not due.done and not due.strike.for_good and now >= due.over_at:
                self._heal(due)
            elif due.broken is None and not due.done:
                self._strike_if_due(due, view, now)

    def whole(self) -> None:
        """Take every fault back, wait until hub and devices are there, and a moment longer for what comes late.

        Raises:
            Problem: one of them did not come back.
        """
        hit = any(due.broken is not None for due in self._dues)
        for due in self._dues:
            if due.broken is not None and not due.done:
                self._heal(due)
        if hit:
            self._world.wait_until_whole()
            self._sleep(AFTER_S)

    def _strike_if_due(self, due: _Due, view: View, now: float) -> None:
        tasks = view.tasks
        ended = sum(task.state in FINAL_TASK_STATES for task in tasks.values())
        at_work = [task.device for task in tasks.values() if task.state in AT_WORK and task.device]
        at_work += [identity for identity, name in self._names.items() if name == self._beside]
        stage = due.strike.stage
        if due.strike.after_s:
            self._strike_later(due, ended + len(at_work), now)
            return
        if not (due.may_strike if stage else due.strike.due(ended, len(tasks), len(at_work))):
            return
        of_all = f"while the model is asked ({stage})" if stage else f"at {ended} of {len(tasks)} tasks"
        fault = due.strike.fault
        if fault is None:
            due.done = True
            self.struck.append(f"{self._change()}, {of_all}")
            return
        if stage:  # those that have worked for the plan, before it any
            at_work = [task.device for task in tasks.values() if task.device] or list(self._names)
        name = due.strike.device({self._names[one] for one in at_work}) if due.strike.needs_device else ""
        self._break(due, fault, name, of_all, now)

    def _strike_later(self, due: _Due, at_work: int, now: float) -> None:
        """Strike so long after the first task began."""
        if self._began is None and at_work:
            self._began = now
        fault = due.strike.fault
        if fault is not None and self._began is not None and now - self._began >= due.strike.after_s:
            self._break(due, fault, due.strike.order[0], f"after {due.strike.after_s:g} s", now)

    def _break(self, due: _Due, fault: FaultDoc, name: str, when: str, now: float) -> None:
        try:
            due.broken = self._breaker.do(fault, name)
        except Impossible as impossible:
            due.done = True
            self.struck.append(f"not broken: {impossible}")
            self._struck.set()
            return
        due.over_at = now + fault.for_s
        lasts = "for good" if due.strike.for_good else f"for {fault.for_s:g} s"
        self.struck.append(f"{broken_words(due.broken)} {lasts}, {when}")
        self._struck.set()
        if due.strike.for_good:
            self.lost = next(identity for identity, one in self._names.items() if one == name)

    def _heal(self, due: _Due) -> None:
        if due.broken is not None:
            if due.strike.for_good:
                self._world.join_again(due.broken.device)
            self._breaker.heal(due.broken)
        due.done = True
