"""How often a process of this machine looks for garbage. Decides nothing about memory that is in use.

Python's own threshold of 700 objects makes a start look through its modules again and again, and a process that ends
looks through all of them once more before it drops them. Together that was a third of a short command.
"""

from __future__ import annotations

import atexit
import gc
from typing import Final

THRESHOLDS: Final = (50_000, 20, 20)
"""Some megabytes of garbage at the most, between two searches."""


def begin() -> None:
    """Look for garbage less often from now on, and not at all when the process ends. Call it before other imports."""
    gc.set_threshold(*THRESHOLDS)
    atexit.register(gc.freeze)  # what is frozen, no search looks at
