"""The paths of an installation's Unix sockets: in its own folder, or in a short private one if that path is too long.

Opens no socket. A folder that belongs to another user is refused.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

SOCKET_PATH_BYTES_MAX: Final = 100  # the kernel's limit is 108 with the closing zero, 104 on macOS


class NoPlace(OSError):
    """There is no path for a socket that is both short and private."""


def socket_path(folder: Path, name: str) -> Path:
    """Return the path of a socket of this folder; always the same one.

    Raises:
        NoPlace: every path is too long.
    """
    beside = folder / name
    if len(os.fsencode(beside)) <= SOCKET_PATH_BYTES_MAX:
        return beside
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and len(runtime) <= 60 and Path(runtime).is_dir():
        return Path(runtime) / f"starloom-{digest}" / name
    uid = os.getuid() if hasattr(os, "getuid") else 0
    for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - private by mode and owner, see `make_private`
        path = Path(place) / f"starloom-{uid}-{digest}" / name
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
            return path
    raise NoPlace(f"no path for a socket of {folder} is short enough")


def make_private(folder: Path) -> None:
    """Make a directory that only this user can use.

    Raises:
        NoPlace: the directory belongs to another user.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.lstat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise NoPlace(f"{folder} belongs to another user; remove it or set STARLOOM_HOME to a shorter path")
    folder.chmod(0o700)
