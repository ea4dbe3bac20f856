"""The files behind the standard streams: closed ones, and output that could not be written. Ends nothing."""

from __future__ import annotations

import errno
import os
import select
import sys
from contextlib import suppress
from io import UnsupportedOperation
from typing import Final, TextIO

_LOST: Final = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE})


def stand_in() -> None:
    """Put a file in the place of each standard stream that the caller closed, as with `>&-`.

    It refuses to be read or written as the closed one would. Without it the next file or connection that opens takes
    the number, and the interpreter has no stream there at all. Messages are dropped: nobody is there to read a fault.
    """
    for name, number, way in (("stdin", 0, os.O_WRONLY), ("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, way)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def lost_output(earlier: OSError | None = None) -> OSError | None:
    """Write out what was printed, and return the fault that this met; the rest of the output is dropped then.

    The interpreter writes it out at its own end otherwise, and reports the fault as one of the program. `earlier` is an
    earlier fault: one of writing a file without a name is one of the output, which does not always meet it again.
    """
    fault = earlier if earlier is not None and earlier.filename is None and earlier.errno in _LOST else None
    for stream in _streams():
        try:
            stream.flush()
        except OSError as error:
            fault = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return fault


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
