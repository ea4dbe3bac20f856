"""Level L1: resource limits of a tool process, set in it before any tool code is imported."""

from __future__ import annotations

import contextlib
import sys

from starloom_agent.sandbox import kernel_files

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
        return int(kernel_files.read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return None


def lower(kind: int, most: int) -> None:
    """Lower a limit of this process, and of what it starts, where it stands higher."""
    _, hard = resource.getrlimit(kind)
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    # macOS refuses some of them; the level that holds is what the offer states
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (limit, limit))


def apply() -> None:
    """Limit this process and what it starts.

    Never its address space: programs reserve far more than they use. The runner watches the used memory.
    """
    with contextlib.suppress(OSError):
        # When memory runs out, the kernel ends a tool before the agent and before what people work with.
        kernel_files.write("/proc/self/oom_score_adj", b"%d" % _OOM_SCORE)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, FILE_BYTES_MAX)
    threads = _threads_now()
    if threads is not None:
        # The limit counts all threads of this user, so it stands above what the machine has now.
        lower(resource.RLIMIT_NPROC, threads + _MORE_THREADS)
