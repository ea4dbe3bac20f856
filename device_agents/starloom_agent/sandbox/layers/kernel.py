"""The few Linux calls that a cage is made of, by ctypes: each raises OSError with the kernel's own reason.

Decides nothing. Imported by the cage's small process only, which has no third-party package at hand.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITIES: Final = 64

ATTR_RDONLY: Final = 1
ATTR_NOSUID: Final = 2
ATTR_NODEV: Final = 4
ATTR_QUIET: Final = ATTR_NOSUID | ATTR_NODEV
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_MOUNT_SETATTR: Final = 442

_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _checked(result, f"mount {source or kind} on {target}")


def restrict_mount(target: str, attributes: int) -> None:
    """Take rights away from a mount and all mounts below it at once (Linux 5.12 and later)."""
    packed = struct.pack("=4Q", attributes, 0, 0, 0)
    size = ctypes.c_size_t(len(packed))
    _checked(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, packed, size), f"seal {target}")


def detach(target: str) -> None:
    """Take a mount out of sight; what is in use of it goes with its last user."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root, with the old one at `old`.

    Raises:
        OSError: also on a machine whose call number is not known here.
    """
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"pivot_root is not known on {os.uname().machine}")
    _checked(_libc.syscall(number, new.encode(), old.encode()), "pivot_root")


def prctl(option: int, value: int, more: int = 0) -> None:
    arguments = (ctypes.c_ulong(value), ctypes.c_ulong(more), ctypes.c_ulong(0), ctypes.c_ulong(0))
    _checked(_libc.prctl(option, *arguments), f"prctl {option}")


def syscall(number: int, *arguments: object) -> int:
    return _checked(_libc.syscall(number, *arguments), f"system call {number}")


def no_new_privileges() -> None:
    """From here on no program gains rights by being started: no set-user-id, no file capabilities."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drop all capabilities, so that a started program gets none; needs CAP_SETPCAP if there is any to drop."""
    for number in range(_CAPABILITIES):
        try:
            prctl(PR_CAPBSET_DROP, number)
        except OSError:
            # beyond the last capability of this kernel, or without the right: then there is none to pass on
            return
