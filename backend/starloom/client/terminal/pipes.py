"""The pipe behind standard output: whether its reader is there. Ends nothing; the caller does."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from io import UnsupportedOperation
from typing import TextIO


def reader_is_gone() -> bool:
    """Write out what was printed, and tell whether that met a closed pipe; the rest of the output is dropped then.

    The interpreter writes it out at its own end otherwise, and reports the closed pipe as a fault of the program.
    """
    gone = False
    for stream in _streams():
        try:
            stream.flush()
        except BrokenPipeError:
            gone = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return gone


def has_no_reader() -> bool:
    """Tell whether nobody could read any more, for output that was lost without a word; False where it is unknown."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    for stream in _streams():
        with suppress(UnsupportedOperation):
            poll.register(stream.fileno(), select.POLLOUT)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _streams() -> list[TextIO]:
    return [stream for stream in (sys.__stdout__, sys.__stderr__) if stream is not None]
