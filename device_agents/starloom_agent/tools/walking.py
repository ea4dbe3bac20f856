"""Walks folders without following links, in a stable order, counting what could not be read instead of hiding it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """A regular file: its real path, its path below the root (with `/`), size and time of change."""

    path: Path
    below: str
    bytes: int
    mtime_s: int


class Walk:
    """Yields the files below a root, folder by folder and by name; `unreadable` counts what was refused."""

    def __init__(self, root: Path, *, hidden: bool = False, depth: int = 64) -> None:
        self._root = root
        self._hidden = hidden
        self._depth = depth
        self.unreadable = 0
        self.folders = 0

    def __iter__(self) -> Iterator[Found]:
        # A stack of folders still to visit; the last is next, so each list is pushed in reverse order.
        pending: list[tuple[str, str, int]] = [(os.fspath(self._root), "", 0)]
        while pending:
            folder, below, depth = pending.pop()
            self.folders += 1
            try:
                with os.scandir(folder) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError:
                self.unreadable += 1
                continue
            inner: list[tuple[str, str, int]] = []
            for entry in entries:
                if not self._hidden and entry.name.startswith("."):
                    continue
                name = f"{below}/{entry.name}" if below else entry.name
                try:
                    if entry.is_symlink():
                        continue
                    if entry.is_dir():
                        if depth < self._depth:
                            inner.append((entry.path, name, depth + 1))
                    elif entry.is_file():
                        about = entry.stat()
                        yield Found(Path(entry.path), name, about.st_size, int(about.st_mtime))
                except OSError:
                    self.unreadable += 1
            pending.extend(reversed(inner))
