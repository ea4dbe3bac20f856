"""The time that `starloom up` waits for its hub: three minutes, and as long as an older history is being migrated."""

from __future__ import annotations

from typing import Final

READY_S: Final = 180.0
TOLD_AFTER_S: Final = 3.0
OPENING_WORDS: Final = "  the history is brought up to date; after an update that can take minutes, once"


class StartDeadline:
    """The patience of one start; callers report the time in seconds and whether the history is being opened."""

    def __init__(self, began_s: float) -> None:
        self._since_s = began_s
        self._opening_since_s: float | None = None
        self._told = False

    def lasts(self, now_s: float, *, opening: bool) -> bool:
        """Whether to keep waiting; the time starts again when the history is open."""
        if opening:
            self._since_s = now_s
            if self._opening_since_s is None:
                self._opening_since_s = now_s
        else:
            self._opening_since_s = None
        return now_s - self._since_s < READY_S

    def words(self, now_s: float) -> str | None:
        """Return the sentence for the person once the opening takes long; None otherwise, and after the first time."""
        since_s = self._opening_since_s
        if self._told or since_s is None or now_s - since_s < TOLD_AFTER_S:
            return None
        self._told = True
        return OPENING_WORDS
