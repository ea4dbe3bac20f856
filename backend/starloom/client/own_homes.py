"""The data folders on which this user has started a hub, so that a command uses no `.starloom` of somebody else.

A clone or an archive may bring a whole data folder: settings that name a model and a key file, an agent that may run
everything, a history with schedules. A start by its name leaves a random mark in the folder, and the same in a list of
the user; a folder near a command counts with both alone. The mark is not in backups.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from starloom.process.private_files import write_private

LIST_FILE: Final = Path(".config") / "starloom" / "homes"
"""The marks of the user's data folders, one in a line, below the user's home."""
MARK_FILE: Final = "home.id"
NEAR_NAME: Final = ".starloom"
"""The name of a data folder that commands find in their folder or above it."""
_OF_A_HUB: Final = ("agents", "keys", "run", "starloom.db", "starloom.toml")
_MARK_BYTES: Final = 16
_LIST_BYTES_MOST: Final = 64 * 1024
_MARKS_MOST: Final = 500


def note(home: Path, user_home: Path) -> None:
    """Leave the mark in a data folder that commands may find near them, unless it has one of this user already.

    Raises:
        OSError: it cannot be written; commands near the folder have to name it then.
    """
    if home.name != NEAR_NAME or is_own(home, user_home):
        return
    # One that the folder brings along is not kept: another folder of its author may have the same.
    mark = secrets.token_hex(_MARK_BYTES)
    path = user_home / LIST_FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    marks = [*_marks(user_home), mark][-_MARKS_MOST:]
    write_private(path, "".join(f"{line}\n" for line in marks).encode("ascii"))
    write_private(home / MARK_FILE, f"{mark}\n".encode("ascii"))


def is_own(home: Path, user_home: Path) -> bool:
    """Return whether this user has started a hub on this data folder."""
    mark = _read_own(home / MARK_FILE, _MARK_BYTES * 2 + 1)
    return mark is not None and mark.strip() in _marks(user_home)


def has_data(home: Path) -> bool:
    """Return whether a folder holds what a hub keeps, of whichever user."""
    try:
        return any((home / name).exists() for name in _OF_A_HUB)
    except OSError:
        return True


def _marks(user_home: Path) -> list[str]:
    text = _read_own(user_home / LIST_FILE, _LIST_BYTES_MOST)
    return [line for line in (text or "").split() if len(line) == _MARK_BYTES * 2]


def _read_own(path: Path, most: int) -> str | None:
    """Return the text of a regular file of this user, None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            is_own_file = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            return file.read(most).decode("ascii", "replace") if is_own_file else None
    except OSError:
        return None
