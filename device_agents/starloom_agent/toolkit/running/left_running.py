"""Programs that a command started in the background: they end with the call, and its result says so.

Not a tool. It names them; the runner around the call ends them. A program is known by its parents, or by its group
where it has let go of these.
"""

from __future__ import annotations

import os
import time
from collections.abc import Container
from pathlib import Path
from typing import Final

from starloom_agent.platforms import processes
from starloom_agent.sandbox import usage
from starloom_protocol.text.wording import few

_NAMED_MOST: Final = 3
_CHARS_MOST: Final = 60
_SETTLED_S: Final = 0.1
"""The last processes of a command that ends take a moment to end."""


def present() -> frozenset[int]:
    """Return the processes of this call, and those beside it, as they are now."""
    return frozenset({*usage.below(os.getppid()), *processes.group_members(os.getpgrp())}) - {os.getpid()}


def sentence_of(before: Container[int]) -> str:
    """Return what becomes of the programs that were started since and run now; empty where there are none."""
    if not _since(before):
        return ""
    time.sleep(_SETTLED_S)
    names = [name for pid in _since(before) if (name := _name(pid))]
    if not names:
        return ""
    many = len(names) != 1
    return (
        f"{len(names)} program{'s' if many else ''} that it left in the background ({few(names, _NAMED_MOST)}) "
        f"{'were' if many else 'was'} ended with the call. Start what is to stay as a service of the machine, "
        "with systemctl or docker."
    )


def _since(before: Container[int]) -> list[int]:
    return sorted(pid for pid in present() if pid not in before)


def _name(pid: int) -> str:
    """Return the words of a program; empty for one that has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()[:4096].replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""
    # The words come from the program: they stay one line, and short.
    name = "".join(sign if sign.isprintable() else "?" for sign in words)
    return name if len(name) <= _CHARS_MOST else name[: _CHARS_MOST - 1] + "…"
