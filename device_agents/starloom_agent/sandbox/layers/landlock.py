"""Landlock: the process gives up every file access but to named roots, all TCP, and signals to others. For good.

Needs no right and no package; restrictions that the kernel's version lacks are left out, and `abi` returns the version.
"""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

from starloom_agent.sandbox.layers import kernel

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# Highest access bit of each ABI of the kernel; later ones added other kinds of restriction.
_FILE_ACCESS: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_BIND_AND_CONNECT: Final = 0b11
_SCOPE_SOCKETS_AND_SIGNALS: Final = 0b11
_ABI_TCP: Final = 4
ABI_SCOPE: Final = 6
ABI_REFER: Final = 2
ABI_TRUNCATE: Final = 3
_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
READ: Final = _EXECUTE | _READ_FILE | _READ_DIR


@functools.cache
def abi() -> int:
    """Return the kernel's Landlock version, 0 where there is none. Asked by the call itself, never by a file."""
    try:
        return kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def restrict(
    *, read: Iterable[str], write: Iterable[str], files_alone: bool = False, signals_inside: bool = False
) -> int:
    """Allow only reads below `read` and everything below `write`; return the ABI that was used.

    Missing roots are left out. `no_new_privileges` must stand before. With `files_alone` TCP and signals stay free;
    `signals_inside` keeps signals among the processes that are restricted, where the kernel can (ABI 6).

    Raises:
        OSError: where the kernel has no Landlock, or refuses: nothing is restricted then.
    """
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    handled = _FILE_ACCESS[min(version, max(_FILE_ACCESS))]
    attributes = [handled]
    if version >= _ABI_TCP and not files_alone:
        attributes.append(_TCP_BIND_AND_CONNECT)
    if version >= ABI_SCOPE and not files_alone:
        attributes.append(_SCOPE_SOCKETS_AND_SIGNALS)
    if version >= ABI_SCOPE and files_alone and signals_inside:
        attributes += [0, _SCOPE_SOCKETS_AND_SIGNALS]
    packed = struct.pack(f"={len(attributes)}Q", *attributes)
    rules = kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, packed, ctypes.c_size_t(len(packed)), ctypes.c_uint32(0))
    try:
        for roots, access in ((read, READ), (write, handled)):
            for root in roots:
                _allow(rules, root, access & handled)
        kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)
    return version


def _allow(rules: int, root: str, access: int) -> None:
    try:
        descriptor = os.open(root, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = access if stat.S_ISDIR(os.fstat(descriptor).st_mode) else access & _OF_FILES
        packed = struct.pack("=Qi", allowed, descriptor)
        kernel.syscall(
            kernel.LANDLOCK_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_RULE_PATH_BENEATH), packed, ctypes.c_uint32(0)
        )
    finally:
        os.close(descriptor)
