"""The comparison of files by their contents, read from the disk each time."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import ToolContext

_CHUNK_BYTES: Final = 1024 * 1024


def sha256_of(files: Beneath, path: Path) -> tuple[str, int]:
    """Return the hash and the size of a file.

    Raises:
        ToolFailed: if it cannot be read to its end.
    """
    digest = hashlib.sha256()
    size = 0
    with plain(path, "reading"), files.open(path) as file:
        while data := file.read(_CHUNK_BYTES):
            digest.update(data)
            size += len(data)
    return digest.hexdigest(), size


def has_hash(files: Beneath, path: Path, digest: str) -> bool:
    """Tell whether a file has these contents; one that this user may not read counts as another one."""
    return files.is_readable(path) and sha256_of(files, path)[0] == digest


def hold_the_same(context: ToolContext, one: Path, other: Path) -> bool:
    """Tell whether two paths are files with the same contents."""
    abouts = [context.files.status(path) for path in (one, other)]
    sizes = {about.st_size if about is not None and stat.S_ISREG(about.st_mode) else -1 for about in abouts}
    if len(sizes) > 1 or sizes == {-1}:
        return False
    with context.files.open(one) as first, context.files.open(other) as second:
        while data := first.read(_CHUNK_BYTES):
            if data != second.read(_CHUNK_BYTES):
                return False
        return not second.read(1)
