"""Locks of a home: one agent, one upgrade, one writer of a folder. The system drops them when the process dies."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from starloom_agent.home.directory import AgentHome

if sys.platform != "win32":
    import fcntl


_TRIES: Final = 10
_TRY_AGAIN_S: Final = 0.01
"""`running_pid` holds the lock for a few calls of the system; an agent holds it for its life."""


class AlreadyRunning(Exception):
    """Another process holds the lock; the text names it."""


@contextlib.contextmanager
def hold_home(home: AgentHome) -> Iterator[None]:
    """Hold the home while the block runs.

    Raises:
        AlreadyRunning: if another process holds it.
    """
    words = f"runs with {home.root}; stop it first: starloom-agent stop"
    with _hold(home.run / "agent.pid", lambda pid: f"another agent (process {pid}) {words}"):
        yield


@contextlib.contextmanager
def hold_upgrade(home: AgentHome) -> Iterator[None]:
    """Be the one upgrade of this home while the block runs.

    Raises:
        AlreadyRunning: if another process upgrades it.
    """
    words = f"upgrades the agent of {home.root}; wait for its end"
    with _hold(home.run / "upgrade.pid", lambda pid: f"another process ({pid}) {words}"):
        yield


@contextlib.contextmanager
def _hold(path: Path, words_for: Callable[[str], str]) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_TRY_AGAIN_S)
        else:
            pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise AlreadyRunning(words_for(pid))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Hold a folder while a file of it is read and written again; other processes wait for their turn."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
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
