"""How tests are shared out among the workers of pytest-xdist."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

SHARED_FOLDERS = ("tests/e2e", "tests/recipes")
"""Folders with one installation for all of their tests: one worker runs them."""


class ByFolder(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a file to one worker, as what it starts serves all of its tests, and a shared folder, too.

    Groups by mark would say the same, but pytest-xdist 3.8 does not hold them with pytest 9.2 (its issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = "/".join(nodeid.split("/")[:2])
        return folder if folder in SHARED_FOLDERS else str(super()._split_scope(nodeid))
