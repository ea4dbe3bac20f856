"""The limits of one caged program, enforced by measuring: processes, memory and disk, and the sentences about them.

Measuring may cost a tenth of the time at most, so slow measurements are made less often. Standard library only: it is
imported in the cage's small process.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from starloom_agent.sandbox import usage
from starloom_agent.sandbox.cage import Cage

MEMORY_EXCEEDED: Final = "memory_exceeded"
DISK_EXCEEDED: Final = "disk_exceeded"
_EXIT_CODE: Final = "exit_code"
EVERY_S: Final = 0.2
"""A program can write a few hundred megabytes over its quota in this time, and measuring takes little of a core."""
FIRST_S: Final = 0.025
"""Most calls are over sooner, and are never measured."""
_WAIT_MOST_S: Final = 2.0
_SHARE: Final = 10
_MIB: Final = 1024 * 1024
# The room that must stay free on a disk while a caged program writes, whatever else fills it.
_FREE_BYTES: Final = 512 * _MIB
_FREE_SHARE: Final = 50
_IN_MEMORY: Final = ("tmpfs", "ramfs")


class Pace:
    """The times of measurements: soon at first, then every `EVERY_S`, less often where one measurement takes long."""

    def __init__(self) -> None:
        self.due_at = 0.0
        self._least_s = FIRST_S
        self._began = 0.0

    @property
    def wait_s(self) -> float:
        return max(0.001, self.due_at - time.monotonic())

    def begin(self) -> bool:
        """Whether it is time; if so, the measurement begins now."""
        self._began = time.monotonic()
        return self._began >= self.due_at

    def end(self) -> None:
        now = time.monotonic()
        self.due_at = now + min(_WAIT_MOST_S, max(self._least_s, (now - self._began) * _SHARE))
        self._least_s = min(EVERY_S, 2 * self._least_s)


def memory_sentence(used: int, limit: int) -> str:
    """Return the sentence about an exceeded limit of memory."""
    return f"it used {_mib(used)} MiB of memory; its limit is {limit // _MIB} MiB"


def _mib(size: int) -> int:
    """Round up, so that a value above a limit is shown above it."""
    return -(-size // _MIB)


class Quota:
    """The measured limits of a cage, for the process that is the parent of all in it."""

    def __init__(self, cage: Cage) -> None:
        self._cage = cage
        self._pace, self._folder_pace = Pace(), Pace()
        self._shared_least = usage.machine_shared_bytes()
        self._written_before = usage.written_bytes([os.getpid()])
        self._folder = usage.folder_bytes(cage.workdir, cage.files_max)
        kinds = _kinds_of_file_systems()
        self._folder_in_memory = _kind_of(cage.workdir, kinds) in _IN_MEMORY
        self._free_before = _free(cage.workdir)

    @property
    def wait_s(self) -> float:
        """How long to wait before `passed` is asked again."""
        return self._pace.wait_s

    def passed(self) -> list[tuple[str, str]]:
        """Return the code and the sentence of each limit that is passed; empty also where it is too soon to look."""
        if not self._pace.begin():
            return []
        pids = usage.below(os.getpid())
        if self._folder_pace.begin() and (self._cage.disk_bytes_max or self._folder_in_memory):
            self._folder = usage.folder_bytes(self._cage.workdir, self._cage.files_max)
            self._folder_pace.end()
        beyond = [*self._processes(pids), *self._memory(pids), *self._disk(pids)]
        self._pace.end()
        return beyond

    def _processes(self, pids: list[int]) -> Iterable[tuple[str, str]]:
        # The two of the cage itself do not count.
        if len(pids) - 2 > self._cage.processes_max:
            yield _EXIT_CODE, f"it had more than {self._cage.processes_max} processes"

    def _memory(self, pids: list[int]) -> Iterable[tuple[str, str]]:
        limit = self._cage.memory_bytes_max
        if not limit:
            return
        files = self._folder[0] if self._folder_in_memory else 0
        used = usage.memory_bytes(pids, limit) + files
        # Shared pages that were unmapped, or given back, stay until the last map is gone, and no process shows them:
        # while such a map is there, the growth of the machine's shared memory is taken for this program's.
        shared = usage.machine_shared_bytes()
        self._shared_least = min(self._shared_least, shared)
        if shared - self._shared_least > limit and usage.maps_shared_memory(pids):
            used = max(used, shared - self._shared_least)
        if used > limit:
            yield MEMORY_EXCEEDED, memory_sentence(used, limit)

    def _disk(self, pids: list[int]) -> Iterable[tuple[str, str]]:
        limit = self._cage.disk_bytes_max
        if not limit:
            return
        size, entries = self._folder
        written_bytes = usage.written_bytes([os.getpid(), *pids]) - self._written_before
        if max(size, written_bytes) > limit:
            yield DISK_EXCEEDED, f"it wrote {_mib(max(size, written_bytes))} MiB; its limit is {limit // _MIB} MiB"
        elif entries > self._cage.files_max:
            yield DISK_EXCEEDED, f"it made more than {self._cage.files_max} files in its own folder"
        path = self._cage.workdir
        free, least = _free(path), min(_FREE_BYTES, _size(path) // _FREE_SHARE)
        if free < least and self._free_before - free > min(_FREE_BYTES, limit):
            yield DISK_EXCEEDED, f"the disk of {path} has {free // _MIB} MiB left; {least // _MIB} MiB stay free"


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


def _free(path: str) -> int:
    with contextlib.suppress(OSError):
        about = os.statvfs(path)
        return about.f_bavail * about.f_frsize
    return 0


def _size(path: str) -> int:
    with contextlib.suppress(OSError):
        about = os.statvfs(path)
        return about.f_blocks * about.f_frsize
    return 0


def _kinds_of_file_systems() -> dict[str, str]:
    """Return the kind of each mounted file system by the number of its device."""
    kinds = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            kinds[before.split()[2]] = after.split()[0]
    return kinds


def _kind_of(path: str, kinds: dict[str, str]) -> str:
    about = _stat(path)
    return kinds.get(f"{os.major(about.st_dev)}:{os.minor(about.st_dev)}", "") if about else ""
