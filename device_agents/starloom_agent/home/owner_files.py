"""The files of a home that its owner writes: policy, servers, agents. Each is read whole, in bounded size, or refused.

Mode and contents are those of one open file, so nothing can be exchanged between the look and the reading.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any, Final

BYTES_MOST: Final = 4 * 1024 * 1024
"""A policy keeps each answer *always*; some thousands of them are a megabyte."""
# Without O_NONBLOCK a named pipe in place of the file would stop the agent.
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class OwnerFileFault(Exception):
    """The file cannot be used as a whole. Says why, and the way out."""


def read_owner_file(path: Path, most_bytes: int = BYTES_MOST) -> bytes | None:
    """Return the bytes of a file that its owner alone may write; None if there is none.

    Raises:
        OwnerFileFault: it cannot be read, is no regular file, is too large, or others may write it.
    """
    try:
        handle = os.open(path, _READ)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(most_bytes + 1) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        mode, data = stat.S_IFDIR, b""
    except OSError as error:
        raise OwnerFileFault(f"{path} cannot be read: {error}") from error
    if not stat.S_ISREG(mode):
        raise OwnerFileFault(f"{path} cannot be read: it is not a regular file")
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OwnerFileFault(f"{path} may be written by others; type: chmod 600 {path}")
    if len(data) > most_bytes:
        raise OwnerFileFault(f"{path} is larger than {most_bytes} bytes")
    return data


def may_be_read_by_others(path: Path) -> bool:
    """Return whether accounts other than the owner's may read a file that is there."""
    return os.name != "nt" and bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def parsed_toml(path: Path, data: bytes) -> dict[str, Any]:
    """Return what a file of the owner says.

    Raises:
        OwnerFileFault: it is not TOML.
    """
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OwnerFileFault(f"{path} is not TOML: {error}") from error
