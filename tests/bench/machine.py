"""Processes of one measurement: started with an end of their own, their CPU time and memory read, all ended by pid.

Knows nothing of hubs or graphs. CPU time is user + system of every thread, from the kernel's nanosecond account where
there is one, else in ticks of 10 ms.
"""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.programs import bare_environment

STOP_WITHIN_S = 10.0
QUIET_CPUS = 0.4
QUIET_LOOK_S = 0.15
ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Program:
    """One process of the measurement."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def alive(self) -> bool:
        return self.process.poll() is None

    def tail(self, lines: int = 12) -> str:
        """Return the end of its log, to quote in a fault."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def start(name: str, argv: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Program:
    """Start a Python module of this repository (`argv` follows `python`), its output in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    known = bare_environment()
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=ROOT,
            env={**known, **(environment or {})},
            start_new_session=True,
        )
    return Program(name, process, log)


def stop(programs: Sequence[Program], within_s: float = STOP_WITHIN_S) -> None:
    """End processes with SIGTERM, those that stay with SIGKILL, and what they had started with them; idempotent."""
    children = [child for program in programs for child in _descendants(program.pid)]
    for program in programs:
        if program.alive():
            program.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + within_s
    for program in programs:
        try:
            program.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            program.process.kill()
            program.process.wait()
    _, left = psutil.wait_procs(children, timeout=1.0)
    for child in left:
        child.kill()


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used, of all its threads."""
    exact = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            exact += int((thread / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        exact = 0
    times = psutil.Process(pid).cpu_times()
    ticks = times.user + times.system
    # Threads that have ended are in the ticks alone; where both tell nearly the same the exact one is better.
    return exact / 1e9 if exact and abs(exact / 1e9 - ticks) < 0.05 + ticks * 0.02 else float(ticks)


def rss_bytes(pid: int) -> int:
    """Return the memory that a process has resident."""
    return int(psutil.Process(pid).memory_info().rss)


def children_named(pid: int, part: str) -> list[int]:
    """Return the pids of a process's children whose command contains `part`."""
    found = []
    for child in _descendants(pid):
        try:
            if part in " ".join(child.cmdline()):
                found.append(child.pid)
        except psutil.Error:
            continue
    return found


@dataclass(frozen=True, slots=True)
class Busy:
    """What the whole machine did between two moments, in CPU seconds."""

    at: float
    used_s: float

    @classmethod
    def now(cls) -> Busy:
        times = psutil.cpu_times()
        return cls(time.monotonic(), times.user + times.system + times.nice + getattr(times, "steal", 0.0))


@contextmanager
def on_cpus(pid: int, *, apart: bool) -> Iterator[None]:
    """Keep a process and the calling thread on a CPU each, or both on one, and let go of them afterwards.

    Where the kernel takes no such wish (macOS), or there is one CPU only, they run wherever it puts them.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    mine, its = os.sched_getaffinity(0), os.sched_getaffinity(pid)
    cpus = sorted(mine & its)
    os.sched_setaffinity(0, cpus[:1])
    os.sched_setaffinity(pid, cpus[-1:] if apart else cpus[:1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
        os.sched_setaffinity(pid, its)


class Quiet:
    """Waits, before something is measured, until other work leaves the machine; `budget_s` in all, then no more."""

    def __init__(self, budget_s: float) -> None:
        self.left_s = budget_s

    async def wait(self) -> None:
        """Return when less than `QUIET_CPUS` were busy over `QUIET_LOOK_S`, or the budget is used up."""
        while self.left_s > 0:
            before = Busy.now()
            await asyncio.sleep(QUIET_LOOK_S)
            after = Busy.now()
            if (after.used_s - before.used_s) / (after.at - before.at) < QUIET_CPUS:
                return
            self.left_s -= QUIET_LOOK_S


def describe() -> str:
    """Return the machine and the versions in one line."""
    model = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{psutil.cpu_count()} CPUs ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
