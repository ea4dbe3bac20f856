"""The filter of system calls: it refuses those that bypass namespaces, Landlock and the watch of a cage.

One list for all layers and for file tools. A layer without a network namespace also loses all sockets; one without
mounts of its own loses every change of a file's metadata, since Landlock does not restrict that. Pipes, socket pairs
and inherited descriptors go on working. Other ABIs of the same processor (32 bit, x32) end the program.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
import sys
from typing import Final

from starloom_agent.sandbox.layers import kernel
from starloom_agent.sandbox.layers.call_numbers import ARCHITECTURES, numbers

_MODE_FILTER: Final = 2
_LINE: Final = "=HBBI"
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_X32: Final = 0x4000_0000
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

Instruction = tuple[int, int, int, int]
# Programs that use these go on without them when the kernel does not have them. A memory file (memfd) may be held
# where the watch cannot see it; io_uring carries out calls that no filter sees.
_ABSENT: Final = (
    "clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "memfd_create", "memfd_secret", "userfaultfd",
)  # fmt: skip
_REFUSED: Final = (
    # keys of the agent's session, other processes, the kernel's own programs
    "add_key", "keyctl", "request_key", "bpf", "kcmp", "perf_event_open", "pidfd_getfd", "process_madvise",
    "process_mrelease", "process_vm_readv", "process_vm_writev", "ptrace", "ioprio_set", "migrate_pages", "move_pages",
    # namespaces and mounts
    "chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_by_handle_at",
    "open_tree", "open_tree_attr", "pivot_root", "setns", "umount2", "unshare",
    # memory and messages that outlive the program, and news of files outside
    "fanotify_init", "mq_open", "msgget", "semget", "shmget",
)  # fmt: skip
_METADATA: Final = (
    "chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "file_setattr", "fremovexattr",
    "fsetxattr", "futimesat", "inotify_add_watch", "lchown", "lremovexattr", "lsetxattr", "removexattr",
    "removexattrat", "setxattr", "setxattrat", "utime", "utimensat", "utimes",
)  # fmt: skip
_SIGNALS: Final = ("kill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill")
# All namespaces that `clone` may begin, and the requests that change a file's flags or put input into a terminal.
_NEW_NAMESPACES: Final = 0x7E02_0000
_REQUESTS: Final = (0x4008_6602, 0x4004_6602, 0x401C_5820, 0x5412, 0x541C)
# Calls whose first argument is the process that they are about; 0 is the caller.
_SELF_FIRST: Final = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_UNIX, _INET, _INET6 = 1, 2, 10
_F_SETOWN, _F_SETOWN_EX = 8, 15


def is_known() -> bool:
    """Return whether there is a filter for programs like this one: a 32-bit program uses other numbers of calls."""
    return os.uname().machine in ARCHITECTURES and sys.maxsize > 1 << 32


def restrict(*, network: bool, metadata: bool, signals: bool = True, truncate: bool = True, local: bool = True) -> None:
    """Put the filter on this process and all that it starts; `no_new_privileges` must stand before.

    Args:
        network: sockets of the local and the internet families may be made (they lead into an empty namespace).
        metadata: modes, owners, times and attributes of files may be changed (mounts protect those outside).
        signals: processes may be signalled (something else limits whom that reaches).
        truncate: files may be cut by name (something else limits which).
        local: with `network`, sockets of the local family may be made; a service behind one may act outside.

    Raises:
        OSError: on another processor, or where the kernel has no filters.
    """
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(f"there is no filter of system calls for {machine}")
    program, _ = _program(machine, network, metadata, signals, truncate, local)
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program))


def prepare(*, network: bool, metadata: bool, signals: bool = True, truncate: bool = True, local: bool = True) -> None:
    """Build the filter that `restrict` puts in force with these arguments, for processes that are forked from this."""
    _program(os.uname().machine, network, metadata, signals, truncate, local)


@functools.cache
def _program(
    machine: str, network: bool, metadata: bool, signals: bool, truncate: bool, local: bool
) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """Return the filter as the kernel reads it, and its instructions, to which it points."""
    lines = filter_of(machine, network=network, metadata=metadata, signals=signals, truncate=truncate, local=local)
    code = ctypes.create_string_buffer(b"".join(struct.pack(_LINE, *line) for line in lines))
    return ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code))), code


def filter_of(
    machine: str, *, network: bool, metadata: bool, signals: bool, truncate: bool, local: bool = True
) -> list[Instruction]:
    """Return the instructions of the filter, for one processor; the arguments are those of `restrict`."""
    call_numbers = numbers(machine)
    lines: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    denied = dict.fromkeys(_REFUSED, errno.EPERM) | dict.fromkeys(_ABSENT, errno.ENOSYS)
    if not metadata:
        denied |= dict.fromkeys(_METADATA, errno.EPERM)
    if not signals:
        denied |= dict.fromkeys(_SIGNALS, errno.EPERM)
    if not truncate:
        denied["truncate"] = errno.EPERM
    if not network:
        denied["socket"] = errno.EACCES
    checks = [
        ("clone", _if_bits(0, _NEW_NAMESPACES)),
        ("ioctl", _if_second_is(_REQUESTS)),
        # Of itself a program may change limits and priority, of no other process.
        *((name, _unless_one_of(0, (0,))) for name in _SELF_FIRST),
        ("setpriority", _unless_one_of(1, (0,))),
    ]
    if network:
        families = (_UNIX, _INET, _INET6) if local else (_INET, _INET6)
        checks.append(("socket", _unless_one_of(0, families, errno.EAFNOSUPPORT)))
    if not signals:
        checks.append(("fcntl", _if_second_is((_F_SETOWN, _F_SETOWN_EX))))
    for name, number in denied.items():
        if name in call_numbers:
            checks.append((name, [(_RETURN, 0, 0, _ERRNO | number)]))
    for name, then in checks:
        lines += [(_EQUAL, 0, len(then), call_numbers[name]), *then]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return lines


def _if_bits(argument: int, bits: int) -> list[Instruction]:
    """Refuse where the argument has one of these bits; the low half of it is all that the kernel reads here."""
    return [
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
        (_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _if_second_is(values: tuple[int, ...]) -> list[Instruction]:
    """Refuse where the second argument is one of these."""
    return [
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8),
        *((_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]


def _unless_one_of(argument: int, values: tuple[int, ...], number: int = errno.EPERM) -> list[Instruction]:
    """Refuse where the argument is none of these."""
    return [
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
        *((_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)),
        (_RETURN, 0, 0, _ERRNO | number),
        (_RETURN, 0, 0, _ALLOW),
    ]
