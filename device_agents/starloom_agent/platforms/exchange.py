"""Renames that lose nothing: the exchange of two names in one step, and a rename that takes no name away.

`os.replace` cannot put a link in the place of a folder, and it removes the file that had the name. Linux has
`renameat2` for both, macOS `renameatx_np`. On failure nothing has changed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Final

_CALLS: Final = {"linux": "renameat2", "darwin": "renameatx_np"}
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS have the same value."""
_TO_A_FREE_NAME: Final = {"linux": 1, "darwin": 4}
"""RENAME_NOREPLACE of Linux, RENAME_EXCL of macOS."""
_AT_FDCWD: Final = {"linux": -100, "darwin": -2}
LACKING: Final = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
"""Errors of a system or a file system that has no such call."""
_NO_LINKS: Final = LACKING | {errno.EPERM, errno.EMLINK}


def exchange(one: Path, other: Path) -> None:
    """Exchange the files or folders of two existing names.

    Raises:
        OSError: ENOTSUP if the system has no such call, else as the system says; both are as before.
    """
    here = _AT_FDCWD.get(sys.platform, 0)
    _rename(here, os.fspath(one), here, os.fspath(other), _EXCHANGE)


def exchange_at(folder: int, name: str, other_folder: int, other: str) -> None:
    """As `exchange`, for names in two open folders."""
    _rename(folder, name, other_folder, other, _EXCHANGE)


def rename_free(folder: int, name: str, other_folder: int, new_name: str) -> None:
    """Give a file or folder another name that nothing has; both folders are open.

    Raises:
        FileExistsError: something has the name.
        OSError: as the system says.
    """
    try:
        _rename(folder, name, other_folder, new_name, _TO_A_FREE_NAME.get(sys.platform, 0))
    except OSError as error:
        if error.errno not in LACKING:
            raise
        _rename_free_in_steps(folder, name, other_folder, new_name)


def _rename_free_in_steps(folder: int, name: str, other_folder: int, new_name: str) -> None:
    try:
        # A second name is given in one step, or not where the name is taken.
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=other_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        os.unlink(name, dir_fd=folder)
        return
    # Neither this file system nor a folder has a way in one step: a look, then the rename.
    if _is_taken(other_folder, new_name):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new_name)
    os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=other_folder)


def _is_taken(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _rename(folder: int, name: str, other_folder: int, other: str, flags: int) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), _CALLS[sys.platform], None) if sys.platform in _CALLS else None
    if call is None:
        raise OSError(errno.ENOTSUP, "this system exchanges no two names in one step", name)
    if call(folder, os.fsencode(name), other_folder, os.fsencode(other), ctypes.c_uint(flags)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
