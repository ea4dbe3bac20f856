"""Ctrl-C and SIGTERM of a command that runs processes of its own: both stop it, and neither breaks off its tidying."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
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
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
