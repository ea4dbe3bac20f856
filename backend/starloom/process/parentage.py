"""Makes a child process end when its parent does, so that no orphan survives a killed supervisor. Starts nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
"""`prctl(2)`: sets the signal that this process gets when its parent's thread ends."""

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def ends_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` for a child of this process, or None where the system has no death signal.

    The function runs between fork and exec, so it uses nothing that a lock of the parent could guard.
    """
    libc = _libc
    if libc is None:
        return None
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent ended before the order was given
            os._exit(1)

    return prepare
