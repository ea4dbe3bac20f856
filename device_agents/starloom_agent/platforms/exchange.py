"""The exchange of two names of one file system in one step, even if one of them is a folder.

`os.replace` cannot put a link in the place of a folder. Linux has `renameat2` for it, macOS `renameatx_np`. On failure
nothing has changed.
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
_AT_FDCWD: Final = {"linux": -100, "darwin": -2}


def exchange(one: Path, other: Path) -> None:
    """Exchange the files or folders of two existing names.

    Raises:
        OSError: ENOTSUP if the system has no such call, else as the system says; both are as before.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), _CALLS.get(sys.platform, ""), None)
    if call is None:
        raise OSError(errno.ENOTSUP, "this system exchanges no two names in one step", str(one))
    here = _AT_FDCWD[sys.platform]
    if call(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))
