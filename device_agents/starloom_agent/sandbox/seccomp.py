"""A filter that takes sockets away from a process and all that it starts, where no network namespace can be made.

Pipes and inherited descriptors go on working. Another ABI of the same processor (32 bit, x32) and io_uring, which
would go around the filter, are refused with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

from starloom_agent.sandbox import kernel

_MODE_FILTER: Final = 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_X32: Final = 0x4000_0000
_NUMBER_AT, _ARCH_AT = 0, 4
# the audit number; socket, io_uring_setup, ptrace, process_vm_*, keys, perf_event_open; then all that sends signals
_CALLS: Final = {
    "x86_64": (
        0xC000_003E,
        (41, 425, 101, 310, 311, 248, 249, 250, 298),
        (62, 200, 234, 129, 297, 424),
    ),
    "aarch64": (
        0xC000_00B7,
        (198, 425, 117, 270, 271, 217, 218, 219, 241),
        (129, 130, 131, 138, 240, 424),
    ),
}


def forbid_sockets(*, signals_too: bool) -> None:
    """Take `socket` and what goes around it away; `no_new_privileges` must stand before.

    `signals_too` also takes away every way to signal a process, for kernels that cannot limit whom it reaches.

    Raises:
        OSError: on another processor, or where the kernel has no filters.
    """
    machine = os.uname().machine
    if machine not in _CALLS:
        raise OSError(f"there is no socket filter for {machine}")
    architecture, sockets, signals = _CALLS[machine]
    refuse = _ERRNO | errno.EACCES
    lines = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in (*sockets, *(signals if signals_too else ())):
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program))
