"""The places that a relative path may name in the granted folders of a device.

Owns the order in which folders are looked through. Decides no permission: the caller judges the real path that it gets.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

WORKSPACE: Final = "workspace"
"""The name of the agent's own folder, which is the last of the roots."""


def typed_path(text: str) -> Path:
    """Return the path that a text means: `~` and `~/...` begin in the home folder, and any other name is a name.

    A file may be called `~$letter.docx`, which asks for no person of that name.
    """
    return Path(text).expanduser() if text == "~" or text.startswith("~/") else Path(text)


def placed(wanted: Path, roots: Sequence[Path], start: Path) -> Path:
    """Return a path that may be relative as a whole one: below the granted folder of its first part's name, or below
    `start` where there is something of that name or no such folder."""
    if wanted.is_absolute() or not wanted.parts or os.path.lexists(start / wanted.parts[0]):
        return start / wanted
    named = _named(wanted, roots)
    return start / wanted if named is None else named


def existing_places(wanted: Path, roots: Sequence[Path], start: Path) -> list[Path]:
    """Return the places of a relative path where something is, in the order of the granted folders, each once.

    A path that goes up by `..` starts at `start` alone, and a place outside of the granted folders is none.
    """
    if wanted.is_absolute() or not wanted.parts or ".." in wanted.parts:
        return []
    named = _named(wanted, [root for root in roots if root != start or not os.path.lexists(start / wanted.parts[0])])
    found: dict[Path, Path] = {}
    for place in (start / wanted, *((named,) if named else ()), *(root / wanted for root in roots)):
        real = _real(place)
        if real is not None and any(map(real.is_relative_to, roots)):
            found.setdefault(real, place)
    return list(found.values())


def place_to_write(wanted: Path, roots: Sequence[Path], start: Path) -> Path:
    """Return the place for something to make: that of `placed`, unless its folder exists in one other root alone."""
    usual = placed(wanted, roots, start)
    if wanted.is_absolute() or len(wanted.parts) < 2 or os.path.lexists(usual.parent):
        return usual
    others = existing_places(wanted.parent, _without_workspace(roots), start)
    return others[0] / wanted.name if len(others) == 1 else usual


def _real(place: Path) -> Path | None:
    """Return the real path of a place; None where nothing is, or links in a circle."""
    try:
        return place.resolve() if os.path.lexists(place) else None
    except (OSError, RuntimeError):
        return None


def _named(wanted: Path, roots: Sequence[Path]) -> Path | None:
    """Return the place of a path whose first part is the name of a granted folder."""
    found = next((root for root in _without_workspace(roots) if root.name == wanted.parts[0]), None)
    return None if found is None else found.joinpath(*wanted.parts[1:])


def _without_workspace(roots: Sequence[Path]) -> list[Path]:
    """Return the folders that the owner granted: a folder called like the workspace is one to make or to miss."""
    return [root for at, root in enumerate(roots) if at != len(roots) - 1 or root.name != WORKSPACE]
