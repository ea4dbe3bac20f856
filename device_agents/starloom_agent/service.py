"""Starts the agent with the computer: writes the file of a systemd user unit or a launchd agent, and says which."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from starloom_agent.home import AgentHome

UNIT = "starloom-agent.service"
LABEL = "starloom.agent"


def command(home: AgentHome, slots: int) -> list[str]:
    """Return the argument list that the service runs."""
    return [sys.executable, "-m", "starloom_agent", "run", "--home", str(home.root), "--slots", str(slots)]


def unit_text(home: AgentHome, slots: int) -> str:
    """Return the systemd unit. Exit code 3 means that the hub refuses this device: it is not started again."""
    # In a unit, % and $ are special even inside quotes.
    line = shlex.join(command(home, slots)).replace("%", "%%").replace("$", "$$")
    return (
        "[Unit]\nDescription=Starloom agent\nAfter=network-online.target\n\n"
        f"[Service]\nExecStart={line}\nRestart=always\nRestartSec=2\nRestartPreventExitStatus=3\n"
        "KillMode=mixed\nTimeoutStopSec=20\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def plist_bytes(home: AgentHome, slots: int) -> bytes:
    """Return the launchd property list."""
    log = str(home.run / "agent.log")
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": command(home, slots),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )


def _unit_path() -> Path:
    return Path("~/.config/systemd/user").expanduser() / UNIT


def _plist_path() -> Path:
    return Path("~/Library/LaunchAgents").expanduser() / f"{LABEL}.plist"


def install(home: AgentHome, say: Callable[[str], None], *, slots: int) -> None:
    """Write the file and start the service where the system's own tool is there; else say what to type."""
    if sys.platform == "darwin":
        path, data, start = _plist_path(), plist_bytes(home, slots), ["launchctl", "load", "-w", str(_plist_path())]
    else:
        path, data = _unit_path(), unit_text(home, slots).encode()
        start = ["systemctl", "--user", "enable", "--now", UNIT]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    say(f"wrote {path}")
    _try(start, say)
    if sys.platform != "darwin":
        say("To keep it when nobody is signed in, type: loginctl enable-linger")


def remove(home: AgentHome, say: Callable[[str], None]) -> None:
    """Undo `install` for this home; does nothing where no service was installed."""
    for path, end in (
        (_unit_path(), ["systemctl", "--user", "disable", "--now", UNIT]),
        (_plist_path(), ["launchctl", "unload", "-w", str(_plist_path())]),
    ):
        if path.exists() and str(home.root) in path.read_text(encoding="utf-8", errors="replace"):
            _try(end, say)
            path.unlink()
            say(f"removed {path}")


def _try(argv: list[str], say: Callable[[str], None]) -> None:
    if shutil.which(argv[0]) is None:
        say(f"{argv[0]} is not there; when it is, type: {shlex.join(argv)}")
        return
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode:
        say(f"{shlex.join(argv)} ended with {done.returncode}: {done.stderr.strip()}")
    else:
        say(f"done: {shlex.join(argv)}")
