"""The home that a command means which names none: so that a line of a document works on this device as it stands.

Looks at folders, changes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "STARLOOM_AGENT_HOME"
_RECORD = "hub.json"
_DEMO = "demo-"
"""The names of the demo devices that a hub runs beside its own agent."""


def named_home(path: str | None) -> Path | None:
    """Return the home that a person chose, by an option or by the variable."""
    chosen = path or os.environ.get(VARIABLE)
    return _whole(Path(chosen)) if chosen else None


def usual_home() -> Path:
    """Return the home in whose environment this program lies if it has joined, else `~/.starloom-agent`."""
    environment = Path(sys.prefix)
    if environment.name.startswith("venv") and (environment.parent / _RECORD).exists():
        return _whole(environment.parent)
    return _whole(Path("~/.starloom-agent"))


def home_of_owner() -> Path:
    """Return the usual home; where nothing has joined there, that of the agent which the hub of this computer runs.

    For commands that say or change what the owner allows: the hub starts and ends that agent itself.
    """
    usual = usual_home()
    if (usual / _RECORD).exists():
        return usual
    for hub in _hubs():
        found = [path.parent for path in sorted((hub / "agents").glob(f"*/{_RECORD}"))]
        own = [home for home in found if not home.name.startswith(_DEMO)]
        if own:
            return _whole(own[0]) if len(own) == 1 else usual
    return usual


def _hubs() -> Iterator[Path]:
    """Yield the places where the hub's data may lie, none of which depends on the folder that a person is in."""
    named = os.environ.get("STARLOOM_HOME")
    if named:
        yield Path(named).expanduser()
    yield Path(sys.prefix).parent / ".starloom"
    yield Path.home() / ".local" / "share" / "starloom"


def _whole(path: Path) -> Path:
    return path.expanduser().resolve()
