"""The walk through folders without following links, in a stable order; unreadable entries are counted, not hidden."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.beneath import Beneath

UNNAMED_MOST: Final = 1_000
"""Paths that are named to a person, one by one."""


@dataclass(frozen=True)
class Found:
    """A regular file: its real path, its path below the root (with `/`), size, time of change, permission bits."""

    path: Path
    below: str
    bytes: int
    mtime_s: int
    mode: int = 0


class Walk:
    """Yields the files below a root, folder by folder and by name; `unreadable` counts what was refused.

    A name that is not text counts as refused, too, and a folder that lies deeper than `depth`. `links` and `empty` are
    the paths below the root of links, which are left out, and of folders in which nothing is. `unnamed` are the first
    paths whose last name is not text, with its other bytes as `\\xff`.
    """

    def __init__(self, files: Beneath, root: Path, *, hidden: bool = False, depth: int = 64) -> None:
        self._files = files
        self._root = root
        self._hidden = hidden
        self._depth = depth
        self.unreadable = 0
        self.folders = 0
        self.links: list[str] = []
        self.unnamed: list[str] = []
        self.empty: list[str] = []

    def __iter__(self) -> Iterator[Found]:
        # A stack of folders still to visit; the last is next, so each list is pushed in reverse order.
        pending: list[tuple[Path, str, int]] = [(self._root, "", 0)]
        while pending:
            folder, below, depth = pending.pop()
            self.folders += 1
            found, inner = self._look(folder, below)
            yield from found
            if depth >= self._depth:
                self.unreadable += len(inner)
            else:
                pending.extend((folder / name, f"{below}/{name}" if below else name, depth + 1) for name in inner[::-1])

    def _look(self, folder: Path, below: str) -> tuple[list[Found], list[str]]:
        """Return the files of one folder and the names of its folders."""
        files: list[Found] = []
        folders: list[str] = []
        count = 0
        try:
            with self._files.scan(folder) as entries:
                for entry in entries:
                    count += 1
                    if not self._hidden and entry.name.startswith("."):
                        continue
                    if not _is_text(entry.name):
                        self.unreadable += 1
                        if len(self.unnamed) < UNNAMED_MOST:
                            self.unnamed.append(f"{below}/{shown_name(entry.name)}".lstrip("/"))
                        continue
                    name = f"{below}/{entry.name}" if below else entry.name
                    try:
                        about = entry.stat(follow_symlinks=False)
                    except OSError:
                        self.unreadable += 1
                        continue
                    if stat.S_ISLNK(about.st_mode):
                        self.links.append(name)
                    elif stat.S_ISDIR(about.st_mode):
                        folders.append(entry.name)
                    elif stat.S_ISREG(about.st_mode):
                        mode = stat.S_IMODE(about.st_mode)
                        files.append(Found(folder / entry.name, name, about.st_size, int(about.st_mtime), mode))
        except OSError:
            self.unreadable += 1
            return [], []
        if not count and below:
            self.empty.append(below)
        return sorted(files, key=lambda found: found.path.name), sorted(folders)


def shown_name(name: str) -> str:
    """Return a name of the file system as text; bytes that are no UTF-8 stand as `\\xff`, and no tool takes it so."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_text(name: str) -> bool:
    return not any(0xD800 <= ord(char) <= 0xDFFF for char in name)
