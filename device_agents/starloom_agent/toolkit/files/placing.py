"""The placing of a finished file in one step, so that a reader never sees half of it."""

from __future__ import annotations

import os
from pathlib import Path

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import ToolContext, ToolFailed


def place(context: ToolContext, source: Path, target: Path, *, mode: int | None = None) -> int:
    """Move `source` to `target` so that it is there whole or not at all, also after a power cut; return its size.

    Folders on the way are made. Neither two attempts nor two tasks that write equal bytes at once meet.

    Raises:
        ToolFailed: `no_space`, or `tool_failed` with the reason.
    """
    with plain(target, "writing"):
        return context.files.place(source, target, mode=mode)


def readable_as(context: ToolContext, shown: str, real: Path) -> str:
    """Return the path under which a later read finds the file: relative ones may start at another granted folder."""
    try:
        same = context.resolve_read(shown) == real
    except ToolFailed:
        same = False
    return shown if same else os.fspath(real)
