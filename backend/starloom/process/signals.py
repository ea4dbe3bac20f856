"""Signals that end processes: Ctrl-C and SIGTERM to a command with processes of its own, and the end of a parent.

A signal stops such a command, and breaks off none of its tidying. A child ends when its parent does, so that no orphan
survives a killed supervisor. Starts nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

AGAIN_S: Final = 1.0
"""For so long after a signal another one is the same wish to stop."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def stop_at_a_signal() -> None:
    """Raise `KeyboardInterrupt` at Ctrl-C or SIGTERM, once for the signals within `AGAIN_S`."""
    last_s = -AGAIN_S

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal last_s
        try:
            now_s = time.monotonic()
        except SystemError:
            # The interpreter runs a handler also while the interruption of an earlier signal is on its way through an
            # extension module. Every call of C fails then; the exception of this handler takes the place of the first.
            raise KeyboardInterrupt from None
        if now_s - last_s >= AGAIN_S:
            last_s = now_s
            raise KeyboardInterrupt

    for number in _SIGNALS:
        signal.signal(number, stop)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let no signal keep processes from being ended in order; signals reach the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


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
