"""Processes as the operating system sees them: identity that survives reuse of a pid, groups, death with a parent.

A pid alone never names a process here: it is always a pid with its start time. Imported by every tool process, so
it stays small; `ctypes` is loaded only where prctl is used.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LINUX = sys.platform.startswith("linux")
END_WAIT_S = 5.0
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_STAT_STATE, _STAT_PGRP, _STAT_START = 0, 2, 19
_STAT_BYTES_MAX = 4096


def awake_clock_s() -> float:
    """Return seconds on a clock that goes on while the machine sleeps, where there is one."""
    if LINUX:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        # CLOCK_MONOTONIC counts sleep on macOS; Python's time.monotonic() does not.
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.monotonic()


def os_name() -> str:
    """Return linux, macos, windows or the platform's own word."""
    return {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


def _stat_fields(pid: int) -> list[str] | None:
    # Read without a text layer: this is a part of each call, and of each look at a group.
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(descriptor, _STAT_BYTES_MAX)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").rpartition(")")[2].split() or None


def start_mark(pid: int) -> str | None:
    """Return a text that differs between two processes that had the same pid, or None if there is none such now."""
    if LINUX:
        fields = _stat_fields(pid)
        if fields is None or fields[_STAT_STATE] == "Z":
            return None
        return fields[_STAT_START]
    # The words of the date follow the language and the zone, which may change while the process runs.
    plain = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    words = ["ps", "-o", "lstart=", "-p", str(pid)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=plain)
    return ran.stdout.strip() or None


def boot_mark() -> str:
    """Return a text that differs between two boots: start times of processes compare only within one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def machine_mark() -> str:
    """Return a text that differs between two machines, or "" where the system has none that anyone may read."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _prctl(option: int, value: int) -> bool:
    return LINUX and bool(_libc().prctl(option, value, 0, 0, 0) == 0)


@functools.cache
def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int, parent: int) -> bool:
    """Ask for a signal at the parent's death; False where there is none. Ends at once if `parent` is dead already."""
    done = _prctl(_PR_SET_PDEATHSIG, number)
    if done and os.getppid() != parent:
        os.kill(os.getpid(), number)
    return done


def adopt_orphans() -> bool:
    """Make processes that leave this one's tree come back to it, so that they can be ended with it."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def protect_memory(on: bool) -> bool:
    """Keep other processes of this user out of this one's memory and descriptors, or let them in again.

    A forked child inherits this; a started program does not. Nothing holds back root.
    """
    return _prctl(_PR_SET_DUMPABLE, 0 if on else 1)


def has_ended(child: int) -> bool:
    """Whether a child has ended; it is not waited for, so that its number, and its group's, is still its own."""
    if LINUX:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    ran = subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True, check=False)
    return ran.stdout.strip().startswith("Z")


def reap() -> list[tuple[int, int]]:
    """Wait for every child that has ended; return its pid and wait status."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


TOKEN_NAME = "STARLOOM_DETACHED"


def token_of(pid: int) -> str | None:
    """Return the token with which a process was started, by whatever steps; empty where there is none.

    None where its environment cannot be read now: it has ended, or is between two programs.
    """
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    if not raw:
        return None
    words = raw.split(b"\0")
    mark = f"{TOKEN_NAME}=".encode()
    return next((word.removeprefix(mark).decode(errors="replace") for word in words if word.startswith(mark)), "")


def send_group(group: int, number: int) -> bool:
    """Signal a whole group; False if nobody is in it any more."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS answers so for a group of zombies only
        return False
    return True


def group_members(group: int) -> list[int]:
    """Return the living members of a group (zombies do not count); on systems without /proc, the group itself."""
    if not LINUX:
        return [group] if send_group(group, 0) else []
    members = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            fields = _stat_fields(int(entry.name))
            if fields is not None and fields[_STAT_STATE] != "Z" and int(fields[_STAT_PGRP]) == group:
                members.append(int(entry.name))
    return members


def end_groups(groups: Iterable[tuple[int, str]]) -> list[int]:
    """Kill each (group leader, start mark) whose leader is still the same process, or whose group has members left.

    A group lives on without its leader; its number cannot be reused as long as it has a member, so a group whose
    leader is gone but that has members is still the same. A leader with another start mark is a stranger: left
    alone. Returns the groups that still had members after five seconds.
    """
    doomed = []
    for group, mark in groups:
        now = start_mark(group)
        if (now is None or now == mark) and send_group(group, signal.SIGKILL):
            doomed.append(group)
    deadline = time.monotonic() + END_WAIT_S
    while doomed and time.monotonic() < deadline:
        doomed = [group for group in doomed if group_members(group)]
        if doomed:
            time.sleep(0.01)
    return doomed
