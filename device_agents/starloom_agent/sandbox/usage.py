"""The memory that a group of processes uses and the bytes that it has written, by the kernel. Decides nothing.

Memory means used memory, never reserved memory: pages of each process's own once, shared ones once for all, and memory
files (memfd) that no process maps. Standard library only: it is imported in the cage's small process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

from starloom_agent.sandbox import kernel_files

_KIB: Final = 1024
_BLOCK_BYTES: Final = 512
_STAT_PARENT: Final = 1
_MEMFD: Final = "/memfd:"
# How maps of shared memory without a file of a folder are named in /proc/PID/maps.
_SHARED_NAMES: Final = (_MEMFD, "/dev/zero (deleted)", "/SYSV")


def below(root: int) -> list[int]:
    """Return the processes below this one, parents first; costs what the tree has, not the machine."""
    if not _listed(root):
        return _searched(root)
    pids: list[int] = []
    queue = [root]
    while queue:
        child_pids = children(queue.pop(0))
        pids += child_pids
        queue += child_pids
    return pids


def children(parent: int) -> list[int]:
    """Return the children of a process, as the kernel lists them; none where it keeps no list."""
    pids: list[int] = []
    with contextlib.suppress(OSError):  # it ended meanwhile
        for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - a path object costs as much as the reading
            pids += map(int, kernel_files.read(f"/proc/{parent}/task/{task}/children").split())
    return pids


def _listed(root: int) -> bool:
    """Whether the kernel lists the children of a process: some are built without (`CONFIG_PROC_CHILDREN`)."""
    return os.path.exists(f"/proc/{root}/task/{root}/children")  # noqa: PTH110 - as above


def _searched(root: int) -> list[int]:
    """Return the processes below this one from the parents of all processes of the machine."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    text = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                    parent = int(text.rpartition(")")[2].split()[_STAT_PARENT])
                    children.setdefault(parent, []).append(int(entry.name))
    pids: list[int] = []
    queue = [root]
    while queue:
        layer = children.get(queue.pop(0), [])
        pids += layer
        queue += layer
    return pids


def memory_bytes(pids: Iterable[int], enough: int) -> int:
    """Return the memory of these processes together; exact only if a cheap upper bound exceeds `enough`."""
    pids = list(pids)
    files = _memory_files(pids)
    private = shared = tables = 0
    for pid in pids:
        anonymous, mapped = _resident(pid)
        private, shared = private + anonymous, shared + mapped
        tables += _fields(f"/proc/{pid}/status").get("VmPTE", 0)
    if private + shared + tables + files <= enough:
        return private + shared + tables + files
    # Above, a page that several processes share was counted for each of them, and a mapped memory file twice.
    private = shared = in_files = 0
    for pid in pids:
        rollup = _fields(f"/proc/{pid}/smaps_rollup")
        if "Pss_Anon" in rollup:
            private += rollup["Pss_Anon"] + rollup.get("SwapPss", 0)
            mapped = _mapped_files(pid)
            shared, in_files = shared + rollup.get("Pss_Shmem", 0) - mapped, in_files + mapped
        else:
            # It has ended, or it may not be read (a program that hides itself): then all of it counts.
            anonymous, mapped = _resident(pid)
            private, shared = private + anonymous, shared + mapped
    return private + max(0, shared) + tables + max(files, in_files)


def maps_shared_memory(pids: Iterable[int]) -> bool:
    """Return whether any of these maps shared memory of which no folder shows a file."""
    for pid in pids:
        with contextlib.suppress(OSError), _text(f"/proc/{pid}/maps") as lines:
            if any(name in line for line in lines for name in _SHARED_NAMES):
                return True
    return False


def machine_shared_bytes() -> int:
    """Return the shared memory of the whole machine, tmpfs included."""
    return _fields("/proc/meminfo").get("Shmem", 0)


def written_bytes(pids: Iterable[int]) -> int:
    """Return what these processes, and those that they have waited for, have given to file systems on disks.

    Rewriting counts each time. A file system in memory (tmpfs) is not counted by the kernel.
    """
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines():
                if line.startswith("write_bytes:"):
                    total += int(line.split()[1])
    return total


def folder_bytes(root: str, entries_max: int) -> tuple[int, int]:
    """Return the bytes below a folder, and the number of entries; above `entries_max` the rest is not counted."""
    total = entries = 0
    queue = [root]
    while queue and entries <= entries_max:
        with contextlib.suppress(OSError), os.scandir(queue.pop()) as listing:
            for entry in listing:
                entries += 1
                if entries > entries_max:
                    break
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
    return total, entries


def _fields(path: str) -> dict[str, int]:
    """Return the sizes of a file with lines of `Name: number kB`, in bytes; empty for a process that has ended."""
    fields: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.endswith(" kB"):
                name, _, value = line.partition(":")
                fields[name] = int(value.split()[0]) * _KIB
    return fields


def _text(path: str) -> TextIO:
    return Path(path).open(encoding="utf-8", errors="replace")


def _resident(pid: int) -> tuple[int, int]:
    """Return a process's private and shared memory, each page of it counted whole. Everybody may read this."""
    status = _fields(f"/proc/{pid}/status")
    return status.get("RssAnon", 0) + status.get("VmSwap", 0), status.get("RssShmem", 0)


def _memory_files(pids: Iterable[int]) -> int:
    """Return the sizes of the memory files that these processes hold open, mapped or not, each once."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for entry in descriptors:
                with contextlib.suppress(OSError):
                    if Path(entry.path).readlink().as_posix().startswith(_MEMFD):
                        seen = Path(entry.path).stat()
                        sizes[seen.st_dev, seen.st_ino] = seen.st_blocks * _BLOCK_BYTES
    return sum(sizes.values())


def _mapped_files(pid: int) -> int:
    """Return the process's part of the memory files that it maps."""
    total = 0
    inside = False
    with contextlib.suppress(OSError), _text(f"/proc/{pid}/smaps") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if " " in name:  # the first line of a map; its sizes follow
                inside = _MEMFD in line
            elif inside and name == "Pss":
                total += int(rest.split()[0]) * _KIB
    return total
