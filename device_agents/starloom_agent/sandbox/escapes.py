"""The program of the trial: run in a cage as `python -c`, it tries each way out and prints those that are open.

`argv`: a file outside, a port that listens outside, the agent's process, the numbers of system calls as JSON. The
agent sees outside whether that file or port was reached. At its end the program uses more memory than a trial allows,
and waits. Without arguments it only uses more disk than allowed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

if sys.platform != "win32":
    import resource

CLOSED = (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.ESRCH)
NEW_USER = 0x1000_0000
SIGCHLD = 17
MEMORY_BYTES = 64 * 1024 * 1024
DISK_BYTES = 9 * 1024 * 1024
_AF_VSOCK, _AF_NETLINK = 40, 16
_SET_FLAGS = 0x4008_6602


def calls_open(numbers: dict[str, int], agent: int) -> dict[str, Callable[[], bool]]:
    """Return, for each sentence about a system call, the attempt that is true where the kernel would carry it out."""
    libc = ctypes.CDLL(None, use_errno=True)

    def opens(name: str, *arguments: int) -> bool:
        """Whether the call gets as far as the kernel's own checks; the arguments make it do nothing there."""
        if name not in numbers:
            return False
        ctypes.set_errno(0)
        long = [ctypes.c_long(argument) for argument in arguments]
        return libc.syscall(numbers[name], *long) >= 0 or ctypes.get_errno() not in CLOSED

    def apart(name: str, *arguments: int) -> bool:
        """The same in a child, for what would change the caller."""
        child = os.fork()
        if child == 0:
            os._exit(opens(name, *arguments))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1

    def cloned() -> bool:
        pid = libc.syscall(numbers.get("clone", -1), *map(ctypes.c_long, (NEW_USER | SIGCHLD, 0, 0, 0, 0)))
        if pid == 0:
            os._exit(0)
        return bool(pid > 0 and os.waitpid(pid, 0))

    return {
        "uses the agent's keys": lambda: opens("keyctl", 0, -3, 0) or opens("add_key", 0, 0, 0, 0, 0),
        "uses io_uring": lambda: opens("io_uring_setup", 0, 0),
        "makes user namespaces": lambda: apart("unshare", NEW_USER) or opens("clone3", 0, 0) or cloned(),
        "enters other namespaces": lambda: opens("setns", -1, 0),
        "mounts": lambda: opens("mount", 0, 0, 0, 0, 0) or opens("fsopen", 0, 0) or opens("open_tree", -1, 0, 0),
        "traces processes": lambda: (
            apart("ptrace", 0, 0, 0, 0) or opens("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0)
        ),
        "takes descriptors of processes": lambda: opens("pidfd_getfd", -1, 0, 0),
        "changes limits and priorities of processes outside": lambda: (
            opens("prlimit64", agent, resource.RLIMIT_CORE, 0, 0)
            or opens("setpriority", os.PRIO_PROCESS, agent, os.getpriority(os.PRIO_PROCESS, 0))
        ),
        "loads programs into the kernel": lambda: opens("bpf", 0, 0, 0) or opens("perf_event_open", 0, -1, -1, -1, 0),
        "makes memory that no limit sees": lambda: opens("memfd_create", 0, 0) or opens("shmget", 0, 0, 0),
        "changes the flags of files": lambda: opens("ioctl", 0, _SET_FLAGS, 0),
    }


def sockets_open() -> dict[str, Callable[[], bool]]:
    """Return the same for the families of sockets that lead out of an empty network namespace."""

    def can_make(family: int, kind: int) -> bool:
        try:
            socket.socket(family, kind).close()
        except OSError:
            return False
        return True

    return {
        "reaches the host of this virtual machine": lambda: can_make(_AF_VSOCK, socket.SOCK_STREAM),
        "speaks to the kernel by netlink": lambda: can_make(_AF_NETLINK, socket.SOCK_RAW),
    }


def changes(canary: Path, port: int) -> list[Callable[[], object]]:
    """Return the attempts whose effect is looked for outside."""
    return [
        lambda: print(canary.read_text()),
        lambda: socket.create_connection(("127.0.0.1", port), 2).close(),
        lambda: canary.open("a").write("x"),
        lambda: Path(f"{canary}.new").touch(),
        lambda: os.truncate(canary, 1),
        lambda: canary.chmod(0o777),
        lambda: os.utime(canary, (1, 1)),
        lambda: os.setxattr(canary, "user.starloom", b"x"),
        lambda: canary.rename(f"{canary}.moved"),
    ]


def use_memory() -> object:
    shared = mmap.mmap(-1, MEMORY_BYTES)
    shared.write(bytes(MEMORY_BYTES))
    return shared


def use_disk() -> None:
    for name in ("inside", "inside.2", "inside.3"):  # each of them below the limit of one file
        Path(name).write_bytes(bytes(DISK_BYTES // 3))


def main(canary: str, port: int, agent: int, numbers: dict[str, int]) -> None:
    """Try every way out, and print the calls of the kernel that are open."""
    for attempt in changes(Path(canary), port):
        with contextlib.suppress(OSError):
            attempt()
    Path("inside").touch()
    for sentence, is_open in {**calls_open(numbers, agent), **sockets_open()}.items():
        if is_open():
            print(f"open: {sentence}")
    print("tried", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
        filled_bytes = use_memory()
    else:
        use_disk()
    time.sleep(60)
