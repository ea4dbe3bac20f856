"""The injection of faults into an installation, and their end. Decides neither their time nor the verdict."""

from __future__ import annotations

import contextlib
import random
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psutil

from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom.lab.proxy.socket_frames import MANGLING
from starloom_protocol.records.lab import ANY_DEVICE, BY_S
from starloom_protocol.records.lab import FaultKind as Kind
from starloom_protocol.records.lab import FaultTarget as Target

if TYPE_CHECKING:
    # The demo devices of `make run` need neither, and the plan language takes a third of a second to load.
    from starloom.lab.installation import Installation
    from starloom_protocol.plan.scenario import FaultDoc

SIGNS: Final = {Target.HUB: "starloom.app", Target.WORKER: "starloom.jobs.worker", Target.REDIS: "valkey-server"}
"""The signs in a command by which the supervisor's children are known."""


class Impossible(Exception):
    """The fault cannot happen now: its target is not there."""


@dataclass
class Broken:
    """One fault under way; `device` is the one it hit, `process` the one that was stopped."""

    fault: FaultDoc
    device: str = ""
    process: psutil.Process | None = None


class Breaker:
    """Breaks the parts of one installation, from the thread that started it."""

    def __init__(self, installation: Installation, seed: int) -> None:
        self._installation = installation
        self._draw = random.Random(seed)  # noqa: S311 - which device an announced fault hits
        self._active: list[Broken] = []

    def do(self, fault: FaultDoc, holder: str = "") -> Broken:
        """Carry out a fault; `holder` is the device that it hits if it names none.

        Raises:
            Impossible: its target is dead or gone.
        """
        broken = Broken(fault)
        if fault.target in (Target.DEVICE, Target.LINK):
            devices = self._installation.devices
            wish = fault.device or holder or devices[0]
            broken.device = self._draw.choice(devices) if wish == ANY_DEVICE else wish
        try:
            if fault.target is Target.LINK:
                self._break_link(broken)
            elif fault.target is Target.DEVICE:
                self._break_device(broken)
            else:
                self._break_service(broken)
        except psutil.NoSuchProcess as error:
            raise Impossible(f"{broken_words(broken)}: its process is gone") from error
        self._active.append(broken)
        return broken

    def heal(self, broken: Broken) -> None:
        """Take a fault back; others that last stay as they are."""
        self._active.remove(broken)
        fault = broken.fault
        if fault.target is Target.LINK:
            self._heal_link(broken.device)
        elif fault.kind is Kind.FREEZE:
            if broken.process is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    broken.process.send_signal(signal.SIGCONT)
        elif fault.target is not Target.DEVICE:
            if not any(self._holds_supervisor(other) for other in self._active):
                self._installation.hold_supervisor(held=False)
        elif fault.kind is Kind.KILL:
            self._installation.start_agent(broken.device)
        elif fault.kind is Kind.CLOCK_SKEW:
            self._installation.shift_clock(broken.device, 0.0)
        else:
            self._installation.fill_disk(broken.device, full=False)

    def heal_all(self) -> None:
        for broken in list(self._active):
            self.heal(broken)

    def _break_link(self, broken: Broken) -> None:
        proxy, fault = self._installation.proxies[broken.device], broken.fault
        proxy.do(lambda link: break_link(link, fault.kind, size_of(fault)))

    def _heal_link(self, device: str) -> None:
        proxy = self._installation.proxies[device]
        proxy.do(FaultProxy.heal)
        for other in self._active:
            if other.fault.target is Target.LINK and other.device == device:
                self._break_link(other)

    def _break_device(self, broken: Broken) -> None:
        installation, fault = self._installation, broken.fault
        process = installation.agent(broken.device)
        if process is None:
            raise Impossible(f"{broken_words(broken)}: its agent is dead already")
        if fault.kind is Kind.KILL:
            installation.kill_agent(broken.device)
        elif fault.kind is Kind.FREEZE:
            process.send_signal(signal.SIGSTOP)
            broken.process = process
        elif fault.kind is Kind.CLOCK_SKEW:
            installation.shift_clock(broken.device, size_of(fault))
        else:
            installation.fill_disk(broken.device, full=True)

    def _break_service(self, broken: Broken) -> None:
        fault = broken.fault
        process = self._installation.child(SIGNS[fault.target])
        if process is None:
            raise Impossible(f"{broken_words(broken)}: it is dead already")
        if fault.kind is Kind.FREEZE:
            process.send_signal(signal.SIGSTOP)
            broken.process = process
            return
        # Held, the supervisor cannot start it again before the fault is over.
        self._installation.hold_supervisor(held=True)
        process.send_signal(signal.SIGKILL)

    @staticmethod
    def _holds_supervisor(broken: Broken) -> bool:
        return broken.fault.target in SIGNS and broken.fault.kind is Kind.KILL


def break_link(link: FaultProxy, kind: Kind, size_s: float) -> None:
    """Break a link in one way, on the loop that it runs on; `heal` takes all of its faults back."""
    if kind is Kind.CUT:
        link.reset()
    elif kind is Kind.FREEZE:
        link.black_hole()
    elif kind is Kind.DELAY:
        link.delay(size_s)
    elif kind in MANGLING:
        link.mangle(kind)


def size_of(fault: FaultDoc) -> float:
    """Return the size of a fault in seconds; 0 for a kind that has none."""
    return BY_S.get(fault.kind, 0.0) if fault.by_s is None else fault.by_s


def broken_words(broken: Broken) -> str:
    """Return a fault as the beginning of a sentence: `the link of north is cut`."""
    fault = broken.fault
    return sentence(fault.target, fault.kind, broken.device, size_of(fault))


def sentence(target: Target, kind: Kind, device: str, size_s: float) -> str:
    """Return a fault in words: its target and its kind."""
    what = f"the {target}"
    if target is Target.DEVICE:
        what = f"the agent of {device}"
    elif target is Target.LINK:
        what = f"the link of {device}"
    match kind:
        case Kind.KILL:
            done = "is killed (SIGKILL)"
        case Kind.FREEZE:
            done = "passes nothing on" if target is Target.LINK else "is stopped (SIGSTOP)"
        case Kind.CUT:
            done = "is cut"
        case Kind.DELAY:
            done = f"is {size_s:g} s slow each way"
        case Kind.DROP:
            done = "loses messages"
        case Kind.DUPLICATE:
            done = "says messages twice"
        case Kind.REORDER:
            done = "swaps messages"
        case Kind.CORRUPT:
            done = "changes bytes of messages"
        case Kind.CLOCK_SKEW:
            done = f"has a clock that is {abs(size_s):g} s {'ahead' if size_s >= 0 else 'behind'}"
        case Kind.DISK_FULL:
            done = "has a full disk"
    return f"{what} {done}"
