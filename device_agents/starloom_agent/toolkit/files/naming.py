"""The names under which files of other devices are stored here: as they are, unless this system cannot store them.

None of them is the name of the trash, in which no file belongs but those that a call removed or replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import Final

from starloom_agent.toolkit.beneath import is_trash

RENAMES_MOST: Final = 1000
"""Each number is looked for on the disk; a folder with more files of one name is one to clear up."""
NAME_BYTES_MOST: Final = 255
"""The longest name of a file on every usual file system."""
_SUFFIX_BYTES_MOST: Final = 32
"""A suffix that is longer is a part of the name."""
_NOT_PORTABLE: Final = '<>:"|?*\\'
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
)

REFUSED_NAME: Final = frozenset({errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG})
"""The words of a file system for a name that it cannot store."""


def stored_name(name: str) -> str:
    """Return one part of a path as this system can store it: the same, wherever it can."""
    return portable_name(name) if os.name == "nt" else _short(name.replace("\0", "").replace("/", ""))


def portable_name(name: str) -> str:
    """Return one part of a path as every file system can store it."""
    clean = "".join(char for char in name if ord(char) >= 32 and char not in _NOT_PORTABLE).rstrip(" .")
    return _short(f"_{clean}" if clean.partition(".")[0].casefold() in _DEVICES else clean)


def stored_path(path: str) -> str:
    """Return a relative path, part by part, as this system can store it."""
    return "/".join(map(stored_name, PurePosixPath(path).parts))


def portable_path(path: str) -> str:
    """Return a relative path, part by part, as every file system can store it."""
    return "/".join(map(portable_name, PurePosixPath(path).parts))


def numbered(path: Path, number: int) -> Path:
    """Return a path with a number behind its name, which is cut to make room; number 1 is the path itself."""
    if number == 1:
        return path
    name = f"{path.stem} ({number}){path.suffix}"
    if len(os.fsencode(name)) > NAME_BYTES_MOST:
        end = f" ({number}){path.suffix if len(os.fsencode(path.suffix)) <= _SUFFIX_BYTES_MOST else ''}"
        room = NAME_BYTES_MOST - len(os.fsencode(end))
        name = os.fsencode(path.stem)[:room].decode("utf-8", "ignore") + end
    return path.with_name(name)


def kept_mode(mode: int) -> int | None:
    """Return the permission bits that a copy gets, None where those of the original are not known.

    It gives nobody more than a file that its user makes here, and its owner can always read it back.
    """
    if not mode or os.name == "nt":
        return None
    mask = os.umask(0)
    os.umask(mask)
    return mode & 0o777 & ~mask | stat.S_IRUSR


def mode_fits(about: os.stat_result, mode: int) -> bool:
    """Whether a file here has the mode that a copy would get."""
    return kept_mode(mode) in (None, stat.S_IMODE(about.st_mode))


def _short(name: str) -> str:
    if name in ("", ".", ".."):
        return "file"
    if is_trash(name):
        return f"_{name}"
    raw = name.encode("utf-8", "replace")
    if len(raw) <= NAME_BYTES_MOST:
        return name
    suffix = PurePosixPath(name).suffix.encode("utf-8", "replace")
    suffix = suffix if len(suffix) <= _SUFFIX_BYTES_MOST else b""
    return raw[: NAME_BYTES_MOST - len(suffix)].decode("utf-8", "ignore") + suffix.decode("utf-8", "replace")
