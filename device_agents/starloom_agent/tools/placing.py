"""Puts a finished file in its place in one step: copied beside it, synced, renamed. A reader never sees half of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from starloom_agent.tools.faults import plain


def place(source: Path, target: Path, *, fence: str) -> int:
    """Move `source` to `target` so that it is there whole or not at all, also after a power cut; return its size.

    Folders on the way are made. The name of the half-written file carries the fence, so two attempts never share it.

    Raises:
        ToolFailed: `no_space`, or `tool_failed` with the reason.
    """
    half = target.with_name(f".{target.name[:80]}.{fence}.part")
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


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no such call; its rename is journalled
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
