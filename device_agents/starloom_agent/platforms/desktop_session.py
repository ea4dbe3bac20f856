"""The desktop of this user: the variables by which programs find it, also for an agent that began before it.

An agent that starts with the computer has none of them in its environment. They are looked for at each call: in its
own environment, then in that of the user's service manager, into which desktops put them, then as sockets.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

NAMES: Final = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
_WITHIN_S: Final = 2.0


def variables() -> dict[str, str]:
    """Return the variables of `NAMES` that are known here."""
    ours = {name: os.environ[name] for name in NAMES if os.environ.get(name)}
    if ours.get("DISPLAY") or ours.get("WAYLAND_DISPLAY") or not sys.platform.startswith("linux"):
        return ours
    runtime = ours.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    placed = _sockets(Path(runtime)) | ours
    return {**placed, **_of_manager(placed)} if placed.get("XDG_RUNTIME_DIR") else placed


def _sockets(runtime: Path) -> dict[str, str]:
    """Return the variables that the sockets in the user's runtime folder show; none if the user has not signed in."""
    places: dict[str, str] = {}
    if not _is_own(runtime, stat.S_IFDIR):
        return places
    places["XDG_RUNTIME_DIR"] = str(runtime)
    if _is_own(runtime / "bus", stat.S_IFSOCK):
        places["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={runtime / 'bus'}"
    for path in sorted(runtime.glob("wayland-?")):
        if _is_own(path, stat.S_IFSOCK):
            places["WAYLAND_DISPLAY"] = path.name
            break
    return places


def _is_own(path: Path, kind: int) -> bool:
    """Whether it is of this kind and of this user: another user's socket would see all screens and keys."""
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_IFMT(about.st_mode) == kind and about.st_uid == os.getuid()


def _of_manager(around: dict[str, str]) -> dict[str, str]:
    """Return the variables that the desktop has put into the environment of the user's service manager."""
    if shutil.which("systemctl") is None:
        return {}
    try:
        ran = subprocess.run(
            ["systemctl", "--user", "show-environment"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **around},
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    settings = {}
    for line in ran.stdout.splitlines() if ran.returncode == 0 else ():
        name, _, value = line.partition("=")
        if name in NAMES and value:
            # A value with special characters is written as a shell would read it, $'...' among them.
            words = shlex.split(value.removeprefix("$"))
            settings[name] = words[0] if words else ""
    return settings
