"""Puts a finished file in its place in one step: copied beside it, synced, renamed. A reader never sees half of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from starloom_agent.tools.faults import plain
from starloom_agent.tools.interface import ToolContext, ToolFailed


def place(source: Path, target: Path, *, fence: str) -> int:
    """Move `source` to `target` so that it is there whole or not at all, also after a power cut; return its size.

    Folders on the way are made. The name of the half-written file carries the fence and the process: neither two
    attempts nor two tasks that write equal bytes at once ever share it.

    Raises:
        ToolFailed: `no_space`, or `tool_failed` with the reason.
    """
    half = target.with_name(f".{target.name[:80]}.{fence}-{os.getpid()}.part")
    with plain(target, "writing"):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with source.open("rb") as taken, half.open("wb") as made:
                shutil.copyfileobj(taken, made, 1024 * 1024)
                made.flush()
                os.fsync(made.fileno())
            size = half.stat().st_size
            half.replace(target)
        finally:
            half.unlink(missing_ok=True)
        _sync_folder(target.parent)
    source.unlink(missing_ok=True)
    return size


def readable_as(context: ToolContext, shown: str, real: Path) -> str:
    """Return the path under which a later read finds the file: relative ones may start at another granted folder."""
    try:
        same = context.resolve_read(shown) == real
    except ToolFailed:
        same = False
    return shown if same else os.fspath(real)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no such call; its rename is journalled
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
