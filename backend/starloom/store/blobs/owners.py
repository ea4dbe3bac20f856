"""The owners of artifacts, so that one device or person cannot fill the store alone.

Each artifact has an empty file on disk (`owners/OWNER/HASH`); all its bytes count for the first owner who sent any.
Artifacts without an owner, as values that the hub stores, count for the hub alone. Not safe for several threads at
once: `FileBlobs` calls it under its lock.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote


class Owners:
    """The marks under one folder, and the bytes of each owner."""

    def __init__(self, folder: Path) -> None:
        """Read the marks; `count` must then be called with the size of each artifact."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._owner = {mark.name: unquote(mark.parent.name) for mark in folder.glob("*/*")}
        self._used: dict[str, int] = {}

    def used(self, owner: str) -> int:
        return self._used.get(owner, 0)

    def owner_of(self, sha256: str, otherwise: str) -> str:
        """Return the owner of an artifact, or `otherwise` if it has none yet."""
        return self._owner.get(sha256, otherwise)

    def count(self, sha256: str, owner: str, size: int) -> None:
        """Add bytes (negative: subtract) to the artifact's owner; without one, `owner` becomes it."""
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
        """Remove the mark of an artifact whose bytes are gone."""
        owner = self._owner.pop(sha256, "")
        if owner:
            self._mark(sha256, owner).unlink(missing_ok=True)

    def _mark(self, sha256: str, owner: str) -> Path:
        return self._folder / quote(owner, safe="") / sha256
