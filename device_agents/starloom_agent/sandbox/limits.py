"""Level L1: resource limits of a tool process, set in it before any tool code is imported."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

FILE_BYTES_MAX = 16 * 1024**3
MEMORY_BYTES_MAX = 2 * 1024**3
"""Most that the processes of one call may use together."""
DISK_BYTES_MAX = 8 * 1024**3
"""Most that one caged call may write."""
_MORE_THREADS = 512
_OOM_SCORE = 700


def _threads_now() -> int | None:
    """Return how many threads the whole machine has, where that is cheap to know."""
    try:
        return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return None


def lower(kind: int, wanted: int) -> None:
    """Lower a limit of this process, and of what it starts, where it stands higher."""
    _, hard = resource.getrlimit(kind)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    # macOS refuses some of them; the level that holds is what the offer states
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (limit, limit))


def apply() -> None:
    """Limit this process and what it starts.

    Never its address space: programs reserve far more than they use. The runner watches the used memory.
    """
    with contextlib.suppress(OSError):
        # When memory runs out, the kernel ends a tool before the agent and before what people work with.
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE), encoding="ascii")
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, FILE_BYTES_MAX)
    threads = _threads_now()
    if threads is not None:
        # The limit counts all threads of this user, so it stands above what the machine has now.
        lower(resource.RLIMIT_NPROC, threads + _MORE_THREADS)
