"""The emptying of the trashes of this device by its owner's bounds: at the start of the agent, and once a day.

It runs in a thread that ends with the process: an emptying may be cut at any step, and the next one finishes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from starloom_agent.policy.allowance import Allowance
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.emptying import DAY_S, Bounds, empty_by_bounds

EVERY_S: Final = DAY_S
_SAID_MOST: Final = 20
"""The log of the agent names some of thousands; `starloom-agent trash log` names the last thousand of each folder."""


class TrashKeeper:
    """Begins an emptying when one is due; `clock` runs while the computer sleeps."""

    def __init__(self, allowance: Allowance, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._allowance = allowance
        self._say = say
        self._clock = clock
        self._due_at: float | None = None
        self._thread: threading.Thread | None = None

    def sweep(self) -> None:
        """Begin an emptying if none was begun since the start, or in the last day."""
        now = self._clock()
        running = self._thread is not None and self._thread.is_alive()
        if running or (self._due_at is not None and now < self._due_at):
            return
        self._due_at = now + EVERY_S
        work = (self._allowance.folders().write, self._allowance.policy.trash.bounds, self._say, now)
        self._thread = threading.Thread(target=empty_all, args=work, daemon=True, name="trash")
        self._thread.start()


def empty_all(roots: Iterable[Path], bounds: Bounds, say: Callable[[str], None], clock_s: float) -> None:
    """Empty the trash of each folder by the bounds; one that cannot be emptied stops none of the others."""
    for root in roots:
        lines: list[str] = []
        try:
            empty_by_bounds(Beneath((), (root,)), root, bounds, lines.append, clock_s=clock_s)
        except Exception as error:
            lines.append(f"the trash of {root} could not be emptied: {error}")
        for line in lines[:_SAID_MOST]:
            say(line)
        if len(lines) > _SAID_MOST:
            say(f"the trash of {root}: {len(lines) - _SAID_MOST} more; starloom-agent trash log names them")
