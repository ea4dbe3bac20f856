"""Moves this process's heap, and only the heap, into pages of two megabytes where Linux allows a process to ask for it.

The loop of a hub walks over some hundred megabytes of small objects: with pages of 4 KiB it waits for the address of
each, in a virtual machine twice (docs/decisions/commits-and-speed.md). An optimisation only: a failure is ignored.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HUGE_BYTES: Final = 2 * 1024 * 1024
EVERY_S: Final = 10.0
GROWN_BYTES: Final = 16 * 1024 * 1024
"""The heap is moved again when the process has grown by so much; less is not worth the walk over its regions."""
_MADV_COLLAPSE: Final = 25
"""`madvise(2)`, Linux 6.1: copy small pages into a large one at once, without waiting for `khugepaged`."""
_PAGE_BYTES: Final = 4096
_SELF: Final = Path("/proc/self")
_SETTINGS: Final = Path("/sys/kernel/mm/transparent_hugepage")
_log = logging.getLogger("starloom.process.huge_pages")
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
if _libc is not None:
    _libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def are_allowed() -> bool:
    """Tell whether large pages may be used; an administrator may have set `never`."""
    if _libc is None or os.sysconf("SC_PAGE_SIZE") != _PAGE_BYTES:
        return False
    try:
        large = int((_SETTINGS / "hpage_pmd_size").read_text())
        return large == HUGE_BYTES and "[never]" not in (_SETTINGS / "enabled").read_text()
    except OSError:  # a kernel without them
        return False


def gather(laid: set[int]) -> None:
    """Move the heap into large pages; `laid` holds the addresses of those that are large already, and is updated.

    Other threads keep running; a page takes about a millisecond. A region of which less than half is used is left
    alone, so that memory hardly grows.
    """
    if _libc is None:
        return
    gathered: set[int] = set()
    resident = ctypes.create_string_buffer(HUGE_BYTES // _PAGE_BYTES)
    for at in _places():
        if _libc.mincore(at, HUGE_BYTES, resident) != 0 or 2 * resident.raw.count(1) < len(resident):
            continue
        if at in laid or _libc.madvise(at, HUGE_BYTES, _MADV_COLLAPSE) == 0:
            gathered.add(at)
    laid.clear()
    laid.update(gathered)


async def keep_gathered() -> None:
    """Move the heap into large pages now and whenever the process has grown, while that is allowed."""
    laid: set[int] = set()
    gathered_bytes = -GROWN_BYTES
    while are_allowed():
        if (size := _resident_bytes()) >= gathered_bytes + GROWN_BYTES:
            gathered_bytes = size
            await asyncio.to_thread(gather, laid)
            _log.debug("event=heap_gathered bytes=%d", len(laid) * HUGE_BYTES)
        await asyncio.sleep(EVERY_S)


def _places() -> Iterator[int]:
    """Yield the address of each region of the heap that one large page could cover."""
    for line in (_SELF / "maps").read_text().splitlines():
        # ADDRESS-END MODE OFFSET DEVICE INODE [NAME]; a region without a name was mapped by an allocator.
        span, mode, _, _, inode, *name = line.split(maxsplit=5)
        if mode != "rw-p" or inode != "0" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(text, 16) for text in span.split("-"))
        yield from range(-(-start // HUGE_BYTES) * HUGE_BYTES, end - HUGE_BYTES + 1, HUGE_BYTES)


def _resident_bytes() -> int:
    return int((_SELF / "statm").read_text().split()[1]) * _PAGE_BYTES
