"""One agent for one home: a lock that the operating system drops when the process dies, with the pid inside."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from starloom_agent.home import AgentHome

if sys.platform != "win32":
    import fcntl


class AlreadyRunning(Exception):
    """Another agent has this home; the text names its process."""


@contextlib.contextmanager
def hold_home(home: AgentHome) -> Iterator[None]:
    """Hold the home while the block runs.

    Raises:
        AlreadyRunning: if another process holds it.
    """
    descriptor = os.open(home.run / "agent.pid", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise AlreadyRunning(
                f"another agent (process {pid}) runs with {home.root}; stop it first: starloom-agent stop"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def running_pid(home: AgentHome) -> int | None:
    """Return the pid of the agent that holds this home, or None."""
    try:
        descriptor = os.open(home.run / "agent.pid", os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdecimal() else None
    else:
        return None
    finally:
        os.close(descriptor)
