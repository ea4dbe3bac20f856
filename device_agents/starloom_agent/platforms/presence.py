"""The presence of the owner at this device: a session of this user at its screen that is neither locked nor idle.

Read from systemd-logind, which desktops inform about idle time, on macOS from the time of the last input (`ioreg`), on
Windows likewise (`GetLastInputInfo`). A device that has none of these (a server, a container) does not know, reports
nothing, and gets work like any other. A remote session does not count.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_USERS: Final = Path("/run/systemd/users")
_WITHIN_S: Final = 2.0
IDLE_AFTER_S: Final = 300.0
"""Without input for so long nobody counts as sitting there, as desktops of Linux have it by default."""
_HERE: Final = {"Active": "yes", "IdleHint": "no", "LockedHint": "no", "Remote": "no"}


def owner_is_here(users: Path = _USERS) -> bool | None:
    """Return whether the owner is at this device, or None where this cannot be known. Blocks for 2 s at most."""
    if sys.platform == "darwin":
        return _is_recent(idle_s_of_ioreg(_said_by(["ioreg", "-c", "IOHIDSystem", "-d", "4"])))
    if sys.platform == "win32":
        return _is_recent(_idle_s_of_windows())
    if not sys.platform.startswith("linux"):
        return None
    try:
        text = (users / str(os.getuid())).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # `DISPLAY` is the session at the screen; a user who is signed in by ssh alone has none.
    session = _fields(text).get("DISPLAY")
    if not session or shutil.which("loginctl") is None:
        return None
    properties = [part for name in _HERE for part in ("--property", name)]
    answers = _fields(_said_by(["loginctl", "show-session", session, *properties]))
    return all(answers[name] == word for name, word in _HERE.items()) if answers.keys() >= _HERE.keys() else None


def idle_s_of_ioreg(text: str) -> float | None:
    """Return the seconds since the last input, from what `ioreg` of macOS prints; None if they are not in it."""
    match = re.search(r'"HIDIdleTime"\s*=\s*([0-9]{1,19})', text)
    return int(match[1]) / 1_000_000_000 if match else None


def _idle_s_of_windows() -> float | None:
    class LastInput(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint32), ("at_ms", ctypes.c_uint32))

    libraries = getattr(ctypes, "windll", None)
    last = LastInput(ctypes.sizeof(LastInput), 0)
    if libraries is None or not libraries.user32.GetLastInputInfo(ctypes.byref(last)):
        return None
    # Both count milliseconds since the start of the system in 32 bits.
    now_ms = int(libraries.kernel32.GetTickCount())
    return ((now_ms - int(last.at_ms)) & 0xFFFFFFFF) / 1000


def _is_recent(idle_s: float | None) -> bool | None:
    return None if idle_s is None else idle_s < IDLE_AFTER_S


def _said_by(argv: list[str]) -> str:
    """Return what a program of the system prints; nothing if it fails or takes too long."""
    try:
        ran = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout if ran.returncode == 0 else ""


def _fields(text: str) -> dict[str, str]:
    return {name: value for name, sep, value in (line.partition("=") for line in text.splitlines()) if sep}
