"""The presence of the owner at this device: a session of this user at its screen that is neither locked nor idle.

Read from systemd-logind, which desktops inform about idle time. A device without it (a server, a container, macOS,
Windows) does not know, reports nothing, and gets work like any other. A remote session does not count.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

_USERS: Final = Path("/run/systemd/users")
_WITHIN_S: Final = 2.0
_HERE: Final = {"Active": "yes", "IdleHint": "no", "LockedHint": "no", "Remote": "no"}


def owner_is_here(users: Path = _USERS) -> bool | None:
    """Return whether the owner is at this device, or None where this cannot be known. Blocks for 2 s at most."""
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
    asked = [part for name in _HERE for part in ("--property", name)]
    try:
        ran = subprocess.run(
            ["loginctl", "show-session", session, *asked],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = _fields(ran.stdout) if ran.returncode == 0 else {}
    return all(told[name] == word for name, word in _HERE.items()) if told.keys() >= _HERE.keys() else None


def _fields(text: str) -> dict[str, str]:
    return {name: value for name, sep, value in (line.partition("=") for line in text.splitlines()) if sep}
