"""Files that only their owner may read, each written whole: a reader sees the old bytes or the new ones, never a part.

A link in the place of a file is replaced and not written through. Makes no folder and decides no name.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Put these bytes in the place of a file."""
    with _new_file(path, data) as part:
        part.replace(path)


def create_private(path: Path, data: bytes) -> bool:
    """Make a file unless there is one: of several processes at the same moment, the first one makes it."""
    with _new_file(path, data) as part:
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        return True


@contextlib.contextmanager
def _new_file(path: Path, data: bytes) -> Iterator[Path]:
    """Yield a new file beside `path` whose bytes are on disk. It is gone afterwards, unless it took the name."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    part.unlink(missing_ok=True)  # of an earlier process with the same number
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        part.unlink(missing_ok=True)
