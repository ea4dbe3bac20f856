"""Who brought which bytes, so that one device or person cannot fill the store alone.

A mark on disk for each artifact (`owners/OWNER/HASH`, empty): the first who sends bytes of it answers for all of them.
What nobody brought, as values that the hub itself puts aside, counts for the hub alone. Not safe for several threads
at once: `FileBlobs` calls it under its lock.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote


class Owners:
    """The marks under one folder, and how many bytes stand behind those of each owner."""

    def __init__(self, folder: Path) -> None:
        """Reads the marks; `count` then says how many bytes each has."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._owner = {mark.name: unquote(mark.parent.name) for mark in folder.glob("*/*")}
        self._used: dict[str, int] = {}

    def used(self, owner: str) -> int:
        return self._used.get(owner, 0)

    def owner_of(self, sha256: str, otherwise: str) -> str:
        """Return who brought it, or who would if nobody has yet."""
        return self._owner.get(sha256, otherwise)

    def count(self, sha256: str, owner: str, size: int) -> None:
        """Add bytes (or take them back, negative) to the one who brought this; `owner` does if nobody has yet."""
        if sha256 not in self._owner:
            if not owner:
                return
            mark = self._mark(sha256, owner)
            mark.parent.mkdir(exist_ok=True, mode=0o700)
            mark.touch(mode=0o600)
            self._owner[sha256] = owner
        known = self._owner[sha256]
        self._used[known] = self._used.get(known, 0) + size

    def forget(self, sha256: str) -> None:
        """The bytes are gone."""
        owner = self._owner.pop(sha256, "")
        if owner:
            self._mark(sha256, owner).unlink(missing_ok=True)

    def _mark(self, sha256: str, owner: str) -> Path:
        return self._folder / quote(owner, safe="") / sha256
