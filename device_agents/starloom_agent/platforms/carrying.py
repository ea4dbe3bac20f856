"""Files and folders carried to another file system or mount: copied, and removed only as they were copied.

Works by open folders and never follows a link. A copy on its way lies in a folder beside its place, whose name says so
(`PART`) and which its process holds by a lock; that of an ended process is swept. The source keeps its names until the
copy has its place, so no cut hides a file and no part is ever the only copy. Knows nothing of grants.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from starloom_agent.platforms import exchange

if sys.platform != "win32":
    import fcntl

PART: Final = ".starloom-part-"
"""Begins the name of a copy on its way. Any process that finds one without a lock may remove it."""
EMPTYING: Final = ".emptying-"
"""Begins the name of an entry that is being erased, beside its old place. Any emptying that finds one may erase it."""
_UNLOCKED_S: Final = 60
"""A part gets its lock just after its name; a younger one is left alone."""
_MARK_S: Final = 24 * 3600
"""An empty part says so long that its copy came to its place, and that the source is still to be removed."""
_ROUNDS: Final = 3
"""A folder that a program keeps writing to is looked through so often; what comes later stays where it is."""
_DEPTH_MOST: Final = 64
"""A folder below is erased beside the top one, so that no depth uses up the descriptors of the process."""
_TOKEN_BYTES: Final = 16
_CHUNK_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 512
"""The unit of `st_blocks` everywhere."""
# Windows has none of them, and no runner that would import more than the names of the tools.
_OWN: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _OWN
_LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _OWN
# Without O_NONBLOCK a named pipe in place of a file would block the call.
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _OWN
MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN
State = tuple[int, int, int]


def state_of(folder: int, name: str) -> State | None:
    """Return the kind of an entry, and of a file its size and time; None where nothing is.

    Its number is no part of it: FAT and many file systems of programs give a file another one after a while.
    """
    try:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    kind = stat.S_IFMT(about.st_mode)
    return (kind, 0, 0) if stat.S_ISDIR(kind) else (kind, about.st_size, about.st_mtime_ns)


def copy_bytes(source: BinaryIO, out: BinaryIO, seen: Callable[[bytes], object] = len) -> None:
    """Copy a file from where it is read to its end; holes stay holes, in steps of the size that is read at once."""
    about = os.fstat(source.fileno())
    has_holes = getattr(about, "st_blocks", about.st_size) * _BLOCK_BYTES < about.st_size
    while data := source.read(_CHUNK_BYTES):
        seen(data)
        if has_holes and data == bytes(len(data)):
            out.seek(len(data), os.SEEK_CUR)
        else:
            out.write(data)
    if has_holes:
        out.truncate()


def copy_file(before: int, name: str, after: int, new_name: str) -> None:
    """Copy a file, or a link as it is, and have it on the disk; time and mode come along."""
    about = os.stat(name, dir_fd=before, follow_symlinks=False)
    if stat.S_ISLNK(about.st_mode):
        os.symlink(os.readlink(name, dir_fd=before), new_name, dir_fd=after)
    elif stat.S_ISREG(about.st_mode):
        with (
            os.fdopen(os.open(name, _READ, dir_fd=before), "rb") as source,
            os.fdopen(os.open(new_name, MAKE, 0o600, dir_fd=after), "wb") as out,
        ):
            copy_bytes(source, out)
            out.flush()
            os.fchmod(out.fileno(), stat.S_IMODE(about.st_mode))
            os.utime(out.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))
            os.fsync(out.fileno())
    else:
        raise OSError(errno.EINVAL, "it is neither a file, a folder nor a link", name)


def carry(before: int, name: str, after: int, new_name: str, part: str) -> None:
    """Bring a file or folder to a free name in another open folder, and remove what was copied.

    `part` is the name of the copy on its way, the same for each attempt between the two places. If an attempt was cut
    when the copy had come to its place, only the removal is left: of what is in both places with the same contents.
    What was written meanwhile and did not come along stays at its old place.

    Raises:
        FileExistsError: something has that name.
        OSError: it cannot be copied, or could not be removed; nothing has changed.
    """
    with _shelf_in(after, part) as (shelf, is_known):
        carried = _Carried()
        if is_known and not _names(shelf) and state_of(after, new_name) is not None:
            carried.find_alike(before, name, after, new_name, ".")
        else:
            for left in _names(shelf):
                erase(shelf, left)
            _require_removal(before, name, os.stat(name, dir_fd=before, follow_symlinks=False))
            for _ in range(_ROUNDS):
                if not carried.copy_changed(before, name, shelf, new_name, "."):
                    break
            carried.finish_folders(shelf, new_name)
            exchange.rename_free(shelf, new_name, after, new_name)
            os.fsync(after)
        carried.let_go(before, name, ".")


@dataclass
class _Carried:
    """The entries that were copied, each with its state at that time, by their paths below the top one (`.`)."""

    states: dict[str, State] = field(default_factory=dict)
    folders: dict[str, os.stat_result] = field(default_factory=dict)

    def copy_changed(self, before: int, name: str, after: int, new_name: str, at: str) -> bool:
        """Copy what is not copied as it is now, and tell whether there was any; folders get their modes later.

        Raises:
            OSError: something cannot be copied, or could not be removed.
        """
        state = state_of(before, name)
        if state is None:
            return False
        changed = state != self.states.get(at)
        if changed:
            self._forget(after, new_name, at)
        if not stat.S_ISDIR(state[0]):
            if changed:
                copy_file(before, name, after, new_name)
                self.states[at] = state
            return changed
        if changed:
            os.mkdir(new_name, 0o700, dir_fd=after)
        with _opened(before, name, _FOLDER) as old, _opened(after, new_name, _LOOK) as new:
            self.states[at], self.folders[at] = state, os.fstat(old)
            names = _names(old)
            if names and self.folders[at].st_uid != os.geteuid():
                _require_removal(old, names[0], self.folders[at])
            for one in names:
                changed |= self.copy_changed(old, one, new, one, f"{at}/{one}")
        return changed

    def _forget(self, after: int, new_name: str, at: str) -> None:
        discard(after, new_name)
        for one in [one for one in self.states if one == at or one.startswith(f"{at}/")]:
            del self.states[one]
            self.folders.pop(one, None)

    def finish_folders(self, after: int, new_name: str) -> None:
        """Give the copied folders their modes and times: the inner ones first, as no outer one may bar the way."""
        for at in sorted(self.folders, key=lambda at: -at.count("/")):
            about = self.folders[at]
            with _opened(after, "/".join([new_name, *at.split("/")[1:]]), _FOLDER) as folder:
                os.fchmod(folder, stat.S_IMODE(about.st_mode))
                os.utime(folder, ns=(about.st_atime_ns, about.st_mtime_ns))
                os.fsync(folder)

    def find_alike(self, before: int, name: str, after: int, new_name: str, at: str) -> None:
        """Note as copied what is in both places with the same contents."""
        state, state_there = state_of(before, name), state_of(after, new_name)
        if state is None or state_there is None or state[0] != state_there[0]:
            return
        if stat.S_ISDIR(state[0]):
            with _opened(before, name, _FOLDER) as old, _opened(after, new_name, _LOOK) as new:
                for one in _names(old):
                    self.find_alike(old, one, new, one, f"{at}/{one}")
        elif not _hold_the_same(before, name, after, new_name, stat.S_ISLNK(state[0])):
            return
        self.states[at] = state

    def let_go(self, folder: int, name: str, at: str) -> None:
        """Remove what is as it was copied; all else stays, with the folders on the way to it."""
        with contextlib.suppress(OSError):
            state = state_of(folder, name)
            if state is None or state != self.states.get(at):
                return
            if not stat.S_ISDIR(state[0]):
                os.unlink(name, dir_fd=folder)
                return
            mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
            with _let_in(folder, name) as inner:
                for one in _names(inner):
                    self.let_go(inner, one, f"{at}/{one}")
                try:
                    os.rmdir(name, dir_fd=folder)
                except OSError:
                    os.fchmod(inner, mode)


def _require_removal(folder: int, name: str, about: os.stat_result) -> None:
    """Refuse a copy of what this user may not remove from an open folder afterwards: it would be there twice.

    Raises:
        PermissionError: it may not.
    """
    above, me = os.fstat(folder), os.geteuid()
    is_others = bool(above.st_mode & stat.S_ISVTX) and me not in (0, about.st_uid, above.st_uid)
    if is_others or not os.access(".", os.W_OK | os.X_OK, dir_fd=folder, effective_ids=_BY_EFFECTIVE_IDS):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


_BY_EFFECTIVE_IDS: Final = os.access in os.supports_effective_ids


def _hold_the_same(before: int, name: str, after: int, new_name: str, is_link: bool) -> bool:
    if is_link:
        return os.readlink(name, dir_fd=before) == os.readlink(new_name, dir_fd=after)
    with (
        os.fdopen(os.open(name, _READ, dir_fd=before), "rb") as old,
        os.fdopen(os.open(new_name, _READ, dir_fd=after), "rb") as new,
    ):
        while data := old.read(_CHUNK_BYTES):
            if data != new.read(_CHUNK_BYTES):
                return False
        return not new.read(1)


@contextmanager
def _shelf_in(folder: int, name: str) -> Iterator[tuple[int, bool]]:
    """Yield a folder for a copy that is this process's alone, and whether an attempt that was cut had left it."""
    is_known = False
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        is_known = True
    with _opened(folder, name, _FOLDER) as shelf:
        try:
            lock(shelf)
        except BlockingIOError:
            raise OSError(errno.EBUSY, "another call is moving it at this moment", name) from None
        except OSError:
            pass  # a file system without locks: only the other attempt at the same move could be in the way
        try:
            yield shelf, is_known
        finally:
            with contextlib.suppress(OSError):
                erase(folder, name)


def lock(handle: int) -> None:
    """Take the lock on a part, which ends with the process.

    Raises:
        BlockingIOError: another process has it.
        OSError: the file system has no locks.
    """
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sweep(folder: int) -> None:
    """Remove the parts in an open folder whose processes have ended."""
    for name in _names(folder):
        if not name.startswith(PART):
            continue
        with contextlib.suppress(OSError), _opened(folder, name, _READ) as part:
            about = os.fstat(part)
            is_mark = stat.S_ISDIR(about.st_mode) and not _names(part)
            if time.time() - about.st_ctime > (_MARK_S if is_mark else _UNLOCKED_S):
                lock(part)
                erase(folder, name)


def erase(folder: int, name: str) -> None:
    """Remove an entry of any kind, also where a folder is protected, but never into a mounted file system.

    Raises:
        OSError: as the system says; what is not there is no fault.
    """
    pending = [name]
    while pending:
        _erase(folder, pending.pop(), folder, 0, pending)


def _erase(folder: int, name: str, top: int, depth: int, pending: list[str]) -> None:
    try:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(about.st_mode):
            os.unlink(name, dir_fd=folder)
        elif about.st_dev != os.fstat(top).st_dev:
            raise OSError(errno.EBUSY, "another file system is mounted there", name)
        elif depth >= _DEPTH_MOST:
            pending.append(f"{EMPTYING}{os.urandom(_TOKEN_BYTES).hex()}")
            os.rename(name, pending[-1], src_dir_fd=folder, dst_dir_fd=top)
        else:
            with _let_in(folder, name) as inner:
                for one in _names(inner):
                    _erase(inner, one, top, depth + 1, pending)
            os.rmdir(name, dir_fd=folder)


@contextmanager
def _let_in(folder: int, name: str) -> Iterator[int]:
    """Open a folder to remove what is in it, whatever its permissions are."""
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        with _opened(folder, name, _LOOK) as folder_fd:
            Path(f"/proc/self/fd/{folder_fd}").chmod(0o700)
        inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        if stat.S_IMODE(os.fstat(inner).st_mode) & 0o300 != 0o300:
            os.fchmod(inner, 0o700)
        yield inner
    finally:
        os.close(inner)


def discard(folder: int, name: str) -> None:
    """Remove a file, a link or a folder with all in it; what is not there is no fault."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


@contextmanager
def _opened(folder: int, name: str, flags: int) -> Iterator[int]:
    handle = os.open(name, flags, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]
