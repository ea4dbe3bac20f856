"""The link by which `starloom-agent` is typed without a path: in `~/.local/bin`, where that is on the PATH.

Replaces no file, and no link to another program. Windows has none: there the line with the absolute path is shown.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAME = "starloom-agent"


def link_program() -> Path | None:
    """Make the link to this environment's program if the PATH has none, and return it; None where none is made."""
    program, folder = Path(sys.executable).with_name(NAME), _folder()
    if os.name == "nt" or shutil.which(NAME) is not None or not program.exists() or not _is_on_path(folder):
        return None
    link = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and not link.exists():
            link.unlink()  # it led to an agent that is gone
        link.symlink_to(program)
    except OSError:
        return None  # the line with the absolute path is shown then
    return link


def unlink_program(home: Path) -> None:
    """Remove the link if it leads into this home."""
    link = _folder() / NAME
    if link.is_symlink() and link.readlink().is_relative_to(home):
        link.unlink()


def _folder() -> Path:
    return Path.home() / ".local" / "bin"


def _is_on_path(folder: Path) -> bool:
    parts = os.environ.get("PATH", "").split(os.pathsep)
    return any(part and Path(part).expanduser() == folder for part in parts)
