"""Failures of the store: classifies errors as a full disk, a corrupt history, or no answer.

Pure, except that it reads the free space of a folder. Retries nothing and writes nothing.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from starloom.store.port import Corrupt, DiskFull, Unavailable

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SQLITE_CORRUPT: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# SQLite also raises these for a file that cannot grow, above all its index of the WAL.
_SQLITE_PERHAPS_FULL: Final = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
_POSTGRES_FULL: Final = "53100"
_POSTGRES_CORRUPT: Final = frozenset({"XX001", "XX002"})
_REDIS_FULL: Final = "No space left on device"
_LEAST_BYTES: Final = 64 * 1024
"""With less free space than this, a file that could not be made or grown failed for lack of space."""

UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""The errors of decoding a record whose bytes have changed; one that nests too deep is a `RecursionError`."""


def unavailable(place: str, error: BaseException, folder: Path | None = None) -> Unavailable:
    """Return the error that names the failed database and the failure, in one line; `folder` has its files."""
    cause = getattr(error, "orig", None) or error
    text = (str(cause).strip() or "no detail").splitlines()[0]
    if _is_full(cause, folder):
        return full(folder, place)
    if _is_corrupt(cause):
        return corrupt(place, text)
    return Unavailable(f"{place} failed: {type(cause).__name__}: {text}")


def corrupt(place: str, damage: str) -> Corrupt:
    """Return the error for a history with corrupt content."""
    return Corrupt(f"the history in {place} is corrupt: {damage}")


def full(folder: Path | None, place: str = "") -> DiskFull:
    """Return the error for a full disk, with the free space of the folder if it can be read."""
    if folder is None:
        return DiskFull(f"the disk of {place} is full")
    return DiskFull(f"the disk of {folder} is full ({free_words(folder)})")


def free_words(folder: Path) -> str:
    """Return the free space of a folder's disk, in words."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return f"its free space cannot be read: {error.strerror}"
    return f"{usage.free / 1_000_000:.1f} MB of {usage.total / 1_000_000:.0f} MB free"


def has_no_room(error: BaseException) -> bool:
    """Tell whether a system call failed because the disk, or its user's quota, is full."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def redis_is_full(error: BaseException) -> bool:
    """Tell whether Redis refused a write because it can no longer write its append-only file."""
    return _REDIS_FULL in str(error)


def _is_full(cause: BaseException, folder: Path | None) -> bool:
    if has_no_room(cause) or getattr(cause, "sqlstate", None) == _POSTGRES_FULL:
        return True
    code = _sqlite_code(cause)
    if code == sqlite3.SQLITE_FULL:
        return True
    return code in _SQLITE_PERHAPS_FULL and folder is not None and is_short(folder)


def is_short(folder: Path) -> bool:
    """Tell whether a folder's disk has too little space to make or grow a file."""
    try:
        return shutil.disk_usage(folder).free < _LEAST_BYTES
    except OSError:
        return False


def _is_corrupt(cause: BaseException) -> bool:
    if isinstance(cause, UNREADABLE) or getattr(cause, "sqlstate", None) in _POSTGRES_CORRUPT:
        return True
    # SQLite's driver gives no code for an invalid text.
    return _sqlite_code(cause) in _SQLITE_CORRUPT or "Could not decode to UTF-8" in str(cause)


def _sqlite_code(cause: BaseException) -> int | None:
    code = getattr(cause, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
