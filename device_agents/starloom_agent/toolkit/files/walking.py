"""The walk through folders without following links, in a stable order; what cannot be read is named, not hidden."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.beneath import Beneath, is_trash
from starloom_agent.toolkit.results import LeftOut

MISSED_MOST: Final = 1_000
"""Paths that are named to a person, one by one."""
OF_THE_TRASH: Final = "it is the trash, which goes with no folder"
UNREADABLE: Final = f"it cannot be read: {os.strerror(errno.EACCES)}"
UNNAMED: Final = "its name is no text (UTF-8); rename it"


@dataclass(frozen=True)
class Missed:
    """An entry that a walk could not take, and why; bytes of its path that are no text stand as `\\xff`.

    A `file` is one for sure; something else may be a folder, with files in it.
    """

    below: str
    why: str
    file: bool = False


@dataclass(frozen=True)
class Found:
    """A regular file: its real path, its path below the root (with `/`), size, time of change, permission bits.

    `identity` is alike for two names of one file, and for two mounts of one folder.
    """

    path: Path
    below: str
    bytes: int
    mtime_s: int
    mode: int = 0
    identity: tuple[int, int] = (0, 0)


class Walk:
    """Yields the files below a root, folder by folder and by name; `unreadable` counts what was refused.

    A name that is not text counts as refused, too, unless `any_name` is wanted, and a folder that lies deeper than
    `depth`. `missed` are the first of all these. `links` and `empty` are the paths below the root of links, which are
    not followed, and of folders in which nothing is. `modes` are the permission bits of all folders below the root
    that could be read, by their paths. A trash below the root is left out, and its path is in `trashes`,
    unless every entry is wanted (`trash`).
    """

    def __init__(
        self,
        files: Beneath,
        root: Path,
        *,
        hidden: bool = False,
        depth: int = 64,
        trash: bool = False,
        any_name: bool = False,
    ) -> None:
        self._files = files
        self._root = root
        self._hidden = hidden
        self._depth = depth
        self._trash = trash
        self._any_name = any_name
        self.unreadable = 0
        self.folders = 0
        self.links: list[str] = []
        self.missed: list[Missed] = []
        self.empty: list[str] = []
        self.modes: dict[str, int] = {}
        self.trashes: list[str] = []

    def __iter__(self) -> Iterator[Found]:
        # A stack of folders still to visit; the last is next, so each list is pushed in reverse order.
        pending: list[tuple[Path, str, int]] = [(self._root, "", 0)]
        while pending:
            folder, below, depth = pending.pop()
            self.folders += 1
            plain_files, inner = self._look(folder, below)
            yield from plain_files
            if depth >= self._depth:
                for name in inner:
                    self.modes.pop(f"{below}/{name}")
                    self._miss(f"{below}/{name}", "it lies too deep")
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
                    name = f"{below}/{entry.name}" if below else entry.name
                    if not self._trash and is_trash(entry.name):
                        self.trashes.append(name)
                        continue
                    try:
                        about = entry.stat(follow_symlinks=False)
                    except OSError as error:
                        self._miss(name, _reason(error))
                        continue
                    if not (self._any_name or is_text(entry.name)):
                        self._miss(name, UNNAMED, file=stat.S_ISREG(about.st_mode))
                        continue
                    if stat.S_ISLNK(about.st_mode):
                        self.links.append(name)
                    elif stat.S_ISDIR(about.st_mode):
                        folders.append(entry.name)
                        self.modes[name] = stat.S_IMODE(about.st_mode)
                    elif stat.S_ISREG(about.st_mode):
                        mode, inode = stat.S_IMODE(about.st_mode), (about.st_dev, about.st_ino)
                        files.append(Found(folder / entry.name, name, about.st_size, int(about.st_mtime), mode, inode))
        except OSError as error:
            self.modes.pop(below, None)
            self._miss(below or ".", _reason(error))
            return [], []
        if not count and below:
            self.empty.append(below)
        return sorted(files, key=lambda file: file.path.name), sorted(folders)

    def _miss(self, name: str, why: str, *, file: bool = False) -> None:
        self.unreadable += 1
        if len(self.missed) < MISSED_MOST:
            self.missed.append(Missed(shown_name(name), why, file))


def left_out_trashes(root_path: str, trashes: Iterable[str]) -> list[LeftOut]:
    """Return the rows of a result for trashes that were left out below a folder that is shown so."""
    return [{"path": shown_name(os.path.normpath(f"{root_path}/{below}")), "why": OF_THE_TRASH} for below in trashes]


def _reason(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"


def shown_name(name: str) -> str:
    """Return a name or path as text; bytes that are no UTF-8 stand as `\\xff`, and no tool takes it so."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_text(name: str) -> bool:
    return not any(0xD800 <= ord(char) <= 0xDFFF for char in name)
