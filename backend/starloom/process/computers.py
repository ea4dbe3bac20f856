"""The devices of a hub that are computers which keep it, or kept it before: read from the marks in its data folder.

`starloom up` leaves a mark where it has joined its own computer. Writes nothing.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Final, Literal

MARKER: Final = "joined-by-up"
Keeping = Literal["own", "former", ""]
"""Of a device: it keeps the hub, it kept the hub before, or it never did."""


def computer_name() -> str:
    """Return this computer's name as a device name."""
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-").lower()
    return plain[:48] or "this-computer"


def computers_of(home: Path) -> dict[str, Keeping]:
    """Return the devices whose identities a data folder keeps, by id: `own` is this computer by its present name.

    A former one is the computer of a backup that was restored here, or this one by an earlier name.
    """
    name = computer_name()
    return {
        marker.read_text(encoding="utf-8", errors="replace").strip(): "own" if marker.parent.name == name else "former"
        for marker in sorted((home / "agents").glob(f"*/{MARKER}"))
        if marker.is_file()
    }
