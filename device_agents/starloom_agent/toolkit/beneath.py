"""The file access of tools: files below granted folders, reached by descriptor and never through a link.

A path is checked and used in one step: the kernel resolves it below the descriptor of its root (`openat2`), or each
part is opened without following links where that call is missing. So a folder that is exchanged for a link while a
tool runs fails the tool and never opens a way out. Paths are absolute and real, as
`ToolContext.resolve_read` returns them. Decides nothing about grants beyond its roots; no tool opens a file elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import stat
import struct
import sys
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from starloom_agent.platforms import exchange
from starloom_agent.platforms.carrying import (
    MAKE,
    PART,
    carry,
    copy_bytes,
    copy_file,
    discard,
    erase,
    lock,
    sweep,
)

_OPENAT2: Final = 437
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08
_AT_FDCWD: Final = -100
_TRIES_MOST: Final = 16
_CHUNK_BYTES: Final = 1024 * 1024
_TOKEN_BYTES: Final = 16
# Windows has neither of them, and no runner that would import more than the names of the tools.
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER
_FILE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK a named pipe in place of a file would block the call.
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FILE
TRASH: Final = ".starloom-trash"
_DEFAULT_ACL: Final = "system.posix_acl_default"
_State = tuple[int, int, int]


class Witness(Protocol):
    """Hears of each change below the folders just before it appears there, so that a cut leaves none unnoted."""

    def placing(self, target: Path, about: os.stat_result, kept: Path | None) -> None:
        """A finished file comes to its place; the one that is there goes to `kept`."""

    def making(self, folder: Path) -> None:
        """A folder is made."""

    def moving(self, source: Path, target: Path) -> None:
        """A file or folder gets another place."""


class Beneath:
    """Folders that may be read and folders that may be changed. Each method raises OSError as the system does.

    ELOOP means that a link is part of the path. `private` is a folder that no other process uses. One instance serves
    one call; its descriptors end with it. `witness` hears of what appears in the folders.
    """

    def __init__(
        self,
        read: Iterable[Path],
        write: Iterable[Path] = (),
        *,
        private: Path | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._witness = witness
        self._write = outermost((*write, *([] if private is None else [private])))
        self._read = outermost((*read, *self._write))
        self._private = private
        self._opened: dict[Path, int] = {}
        self._swept: set[tuple[int, int]] = set()
        weakref.finalize(self, _close, self._opened)

    def status(self, path: Path) -> os.stat_result | None:
        """Return the status of a path itself, never of a link's target; None if nothing is there."""
        try:
            root, parts = self._below(path, self._read)
            if not parts:
                return os.fstat(root)
            with _opened(root, parts[:-1], _LOOK) as folder:
                return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, path: Path) -> bool:
        return self.status(path) is not None

    def is_file(self, path: Path) -> bool:
        about = self.status(path)
        return about is not None and stat.S_ISREG(about.st_mode)

    def is_folder(self, path: Path) -> bool:
        about = self.status(path)
        return about is not None and stat.S_ISDIR(about.st_mode)

    def is_readable(self, path: Path) -> bool:
        """Whether this user may read a file, as its permissions say; it is not opened, which can fetch it from afar."""
        root, parts = self._below(path, self._read)
        with _opened(root, parts[:-1], _LOOK) as folder:
            return os.access(parts[-1], os.R_OK, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids)

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for reading; the caller closes it. The file stays the same whatever its name becomes."""
        root, parts = self._below(path, self._read)
        handle = _open(root, parts, _READ)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            folder = stat.S_ISDIR(os.fstat(handle).st_mode)
            os.close(handle)
            if folder:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return os.fdopen(handle, "rb")

    def target(self, path: Path) -> str:
        """Return the target of a link, without following it."""
        root, parts = self._below(path, self._read)
        with _opened(root, parts[:-1], _LOOK) as folder:
            return os.readlink(parts[-1], dir_fd=folder)

    @contextmanager
    def scan(self, path: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        """Yield the entries of a folder; query them with `follow_symlinks=False` alone."""
        root, parts = self._below(path, self._read)
        with _opened(root, parts, os.O_RDONLY | _FOLDER) as folder, os.scandir(folder) as entries:
            yield entries

    def make_folder(self, path: Path) -> None:
        """Make a folder and those on the way to it; one that is there stays."""
        root, parts = self._below(path, self._write)
        current = _open(root, [], _LOOK)
        try:
            for part, folder in zip(parts, [path, *path.parents][: len(parts)][::-1], strict=True):
                try:
                    inner = _open(current, [part], _LOOK)
                except FileNotFoundError:
                    if self._witness is not None:
                        self._witness.making(folder)
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=current)
                    inner = _open(current, [part], _LOOK)
                os.close(current)
                current = inner
        finally:
            os.close(current)

    def create(self, path: Path) -> BinaryIO:
        """Make a file that is not there yet and open it for writing."""
        with self._parent(path) as (folder, name):
            return os.fdopen(os.open(name, MAKE, 0o666, dir_fd=folder), "wb")

    def remove(self, path: Path) -> None:
        """Remove a file or a link itself."""
        with self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_tree(self, path: Path) -> None:
        """Remove a folder with all that is in it; what is not there is no fault."""
        with self._parent(path) as (folder, name), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(name, dir_fd=folder)

    def erase(self, path: Path) -> None:
        """As `remove_tree`, of any kind and also where a folder is protected, but never into a mounted file system."""
        with self._parent(path) as (folder, name):
            erase(folder, name)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file or folder another name in one step.

        Raises:
            FileExistsError: something has that name.
        """
        with self._parent(source) as (before, name), self._parent(target) as (after, new_name):
            exchange.rename_free(before, name, after, new_name)

    def replace(self, source: Path, target: Path) -> None:
        """As `rename`, over a file that has the name."""
        with self._parent(source) as (before, name), self._parent(target) as (after, new_name):
            os.replace(name, new_name, src_dir_fd=before, dst_dir_fd=after)

    def move(self, source: Path, target: Path) -> None:
        """As `rename`, also to another file system or mount: there it is copied beside its place first.

        An entry is removed only as it was copied: what was written meanwhile is copied again, and stays where it was if
        it changes once more. An attempt that was cut is finished by the next one between these places.
        """
        if self._witness is not None:
            self._witness.moving(source, target)
        if self.is_recased(source, target):
            with self._parent(source) as (folder, name):
                os.rename(name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        try:
            self.rename(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            parent_of_target = self._parent(target, os.O_RDONLY | _FOLDER)
            with self._parent(source) as (before, name), parent_of_target as (after, new_name):
                self._sweep_once(after)
                carry(before, name, after, new_name, _moving_name(source, target))

    def is_recased(self, source: Path, target: Path) -> bool:
        """Tell whether two names of one folder are the same one on its disk, which tells no letter cases apart."""
        if source.parent != target.parent or source.name == target.name or folded(source.name) != folded(target.name):
            return False
        about, about_target = self.status(source), self.status(target)
        if about is None or about_target is None or not os.path.samestat(about, about_target):
            return False
        # Two names of one file, on a disk that tells them apart, are both in the list.
        with self.scan(source.parent) as entries:
            return all(entry.name != target.name for entry in entries)

    def is_begun(self, source: Path, target: Path) -> bool:
        """Tell whether an attempt at a move to another file system was cut, so that `move` can finish it."""
        return self.is_folder(target.parent / _moving_name(source, target))

    def sweep(self, path: Path) -> None:
        """Remove the copies that ended processes left in a folder."""
        root, parts = self._below(path, self._write)
        with _opened(root, parts, os.O_RDONLY | _FOLDER) as folder:
            sweep(folder)

    def _sweep_once(self, folder: int) -> None:
        about = os.fstat(folder)
        if (about.st_dev, about.st_ino) not in self._swept:
            self._swept.add((about.st_dev, about.st_ino))
            sweep(folder)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name in one step, over a file that has it."""
        with (
            self._parent(source) as (before, name),
            self._parent(target) as (after, new_name),
            _part_in(after, part_name()) as part,
        ):
            os.link(name, part, src_dir_fd=before, dst_dir_fd=after, follow_symlinks=False)
            os.replace(part, new_name, src_dir_fd=after, dst_dir_fd=after)
            # A rename between two names of one file does nothing.
            discard(after, part)

    def set_mode(self, path: Path, mode: int) -> None:
        with self._below_writable(path) as file:
            os.fchmod(file.fileno(), mode)

    def set_folder_mode(self, path: Path, mode: int) -> None:
        """As `set_mode`; whether files take their group from the folder stays as it is."""
        root, parts = self._below(path, self._write)
        with _opened(root, parts, os.O_RDONLY | _FOLDER) as folder:
            os.fchmod(folder, mode | os.fstat(folder).st_mode & stat.S_ISGID)

    def set_mtime(self, path: Path, mtime_s: int) -> None:
        with self._below_writable(path) as file:
            os.utime(file.fileno(), (mtime_s, mtime_s))

    def place(self, source: Path, target: Path, *, mode: int | None = None, mtime_s: int = 0) -> int:
        """Move a finished file to a free place: it is there whole or not at all, also after a power cut.

        Return its size. On one file system that is a rename out of the private folder. Elsewhere, and where files take
        their group or rights from the folder they are made in, it is copied under a name that nobody can guess and
        then renamed.

        Raises:
            FileExistsError: something is there; it and `source` are as before.
        """
        self.make_folder(target.parent)
        with self._parent(target, os.O_RDONLY | _FOLDER) as (folder, name):
            look = _Look(mode, mtime_s)

            def bring(at: int, part: str, _: bool) -> None:
                self._tell(at, part, target)
                exchange.rename_free(at, part, folder, name)

            size = self._bring(source, folder, look, bring)
            os.fsync(folder)
        return size

    def place_over(self, source: Path, target: Path, aside: Path, *, mode: int | None = None, mtime_s: int = 0) -> int:
        """As `place`, where a file is: that one is at the free place `aside` afterwards, whoever wrote it last.

        Without a mode the file that was there gives its own, and its owner as far as the system lets this user.
        The two are exchanged in one step, so that neither a reader nor a cut finds the place empty. Where the file
        system has no such step the old one is taken away first. If nothing is there any more, nothing is at `aside`.

        Raises:
            IsADirectoryError: a folder is there.
            FileExistsError: another file came to the place when the old one had just gone to `aside`.
        """
        self.make_folder(target.parent)
        with (
            self._parent(target, os.O_RDONLY | _FOLDER) as (folder, name),
            self._parent(aside, os.O_RDONLY | _FOLDER) as (shelf, old),
        ):
            if _is_folder(folder, name):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))

            look = replace(_look_of(folder, name, mode), mtime_s=mtime_s)

            def bring(at: int, part: str, copied: bool) -> None:
                self._tell(at, part, target, aside)
                try:
                    _exchange_by_shelf(at, part, folder, name, shelf, old)
                except OSError as error:
                    if error.errno != errno.EXDEV or not copied:
                        raise
                    _exchange_by_copy(part, folder, name, shelf, old)

            size = self._bring(source, folder, look, bring)
            os.fsync(folder)
            os.fsync(shelf)
        return size

    def _tell(self, at: int, own: str, target: Path, kept: Path | None = None) -> None:
        if self._witness is not None:
            self._witness.placing(target, os.stat(own, dir_fd=at, follow_symlinks=False), kept)

    def building_place(self, target: Path) -> Path:
        """Return a new, empty folder from which `move` brings a whole folder to `target` in one step.

        It lies in the private folder where that is on the same file system, else beside the target.
        """
        self.make_folder(target.parent)
        with self._parent(target) as (folder, _):
            private = self._private
            if private is not None and not _made_alike(private.stat(), folder):
                private = None
        place = (private or target.parent) / part_name()
        with self._parent(place) as (folder, name):
            os.mkdir(name, dir_fd=folder)
        return place

    def _bring(self, source: Path, folder: int, look: _Look, bring: Callable[[int, str, bool], None]) -> int:
        """Let `bring` rename a finished file to its place in a folder; return its size.

        `bring` is given an open folder and the name of the file there: its own, or, if that is on another file system,
        the name of a copy in the folder of its place.
        """
        with self.open(source) as file, self._parent(source) as (private, private_name):
            look.give(file.fileno())
            os.fsync(file.fileno())
            about = os.fstat(file.fileno())
            if _made_alike(about, folder):
                try:
                    bring(private, private_name, False)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                else:
                    return about.st_size
            self._sweep_once(folder)
            with _part_in(folder, part_name(PART)) as part:
                _copy_under(file, folder, part, look)
                bring(folder, part, True)
            os.unlink(private_name, dir_fd=private)
        return about.st_size

    @contextmanager
    def _below_writable(self, path: Path) -> Iterator[BinaryIO]:
        self._below(path, self._write)
        with self.open(path) as file:
            yield file

    @contextmanager
    def _parent(self, path: Path, flags: int = _LOOK) -> Iterator[tuple[int, str]]:
        root, parts = self._below(path, self._write)
        if not parts:
            raise OSError(errno.EBUSY, "it is a granted folder itself", os.fspath(path))
        with _opened(root, parts[:-1], flags) as folder:
            yield folder, parts[-1]

    def _below(self, path: Path, roots: tuple[Path, ...]) -> tuple[int, list[str]]:
        """Return the descriptor of a path's root and the parts below it."""
        for root in roots:
            if path == root or root in path.parents:
                parts = list(path.relative_to(root).parts)
                if ".." not in parts:
                    return self._root(root), parts
        raise PermissionError(errno.EACCES, "it lies outside the granted folders", os.fspath(path))

    def _root(self, root: Path) -> int:
        if root not in self._opened:
            # From the top and without links too: a root that lies in another one may have been exchanged.
            top = os.open(root.anchor, _LOOK)
            try:
                self._opened[root] = _open(top, list(root.relative_to(root.anchor).parts), _LOOK)
            finally:
                os.close(top)
        return self._opened[root]


def _close(opened: dict[Path, int]) -> None:
    for handle in opened.values():
        os.close(handle)


def outermost(roots: Iterable[Path]) -> tuple[Path, ...]:
    """Return the roots without those that lie in another one, which somebody could exchange for a link."""
    distinct = tuple(dict.fromkeys(roots))
    return tuple(root for root in distinct if not any(other in root.parents for other in distinct))


def folded(name: str) -> str:
    """Return a text that is alike for names that are one on a disk without letter cases, or of one form of accents."""
    return composed(composed(name).casefold())


def composed(text: str) -> str:
    """Return a text that is alike for all forms of accents."""
    return unicodedata.normalize("NFC", text)


def _moving_name(source: Path, target: Path) -> str:
    """Return the name of a copy on its way from `source`, beside `target`: the same for each attempt."""
    token = hashlib.sha256(os.fsencode(f"{source}\0{target.name}")).hexdigest()[: 2 * _TOKEN_BYTES]
    return f"{PART}{token}.part"


def part_name(prefix: str = ".") -> str:
    """Return the name of a file that is not finished; nobody can guess it, so nobody has taken it."""
    return f"{prefix}{os.urandom(_TOKEN_BYTES).hex()}.part"


@contextmanager
def _part_in(folder: int, part: str) -> Iterator[str]:
    """Yield the name of an unfinished file in an open folder; a fault removes it."""
    try:
        yield part
    except BaseException:
        discard(folder, part)
        raise


@contextmanager
def _opened(folder: int, parts: list[str], flags: int) -> Iterator[int]:
    handle = _open(folder, parts, flags)
    try:
        yield handle
    finally:
        os.close(handle)


def _open(folder: int, parts: list[str], flags: int) -> int:
    """Open a path below a folder without following any link on the way."""
    if kernel_resolves():
        return _openat2(folder, "/".join(parts) or ".", flags, _BENEATH | _NO_LINKS | _NO_MAGIC_LINKS)
    current = os.open(".", _LOOK, dir_fd=folder)
    for part in parts[:-1]:
        current = _inner(current, part, _LOOK)
    return _inner(current, parts[-1] if parts else ".", flags)


def _inner(folder: int, name: str, flags: int) -> int:
    """Open one entry of a folder, whose descriptor ends here."""
    try:
        return os.open(name, flags | _FILE, dir_fd=folder)
    except NotADirectoryError:
        # A link opened with O_DIRECTORY gives this error.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
    finally:
        os.close(folder)


@functools.cache
def kernel_resolves() -> bool:
    """Whether this kernel resolves a path below a folder (Linux 5.6 and later, where no filter forbids it)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(_openat2(_AT_FDCWD, "/", _LOOK, _NO_LINKS))
    except OSError:
        return False
    return True


def _openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    import ctypes  # not on Windows, where its library has no system calls

    from starloom_agent.sandbox.layers import kernel

    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("embedded null byte")
    how = struct.pack("=3Q", flags, 0, resolve)
    for _ in range(_TRIES_MOST):
        try:
            return kernel.syscall(_OPENAT2, ctypes.c_int(folder), name, how, ctypes.c_size_t(len(how)))
        except BlockingIOError:
            continue  # the kernel saw a rename on the way and asks for another try
        except OSError as error:
            number = error.errno or errno.EIO
            # One word for a link on the way, whichever rule it broke.
            number = errno.ELOOP if number == errno.EXDEV else number
            raise OSError(number, os.strerror(number), path) from None
    raise OSError(errno.EAGAIN, "the folders on the way are being renamed", path)


def _made_alike(source: os.stat_result, folder: int) -> bool:
    """Whether a file that is moved into this folder is as if it had been made there."""
    about = os.fstat(folder)
    if source.st_dev != about.st_dev or about.st_mode & stat.S_ISGID:
        return False
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError):
            return not os.getxattr(f"/proc/self/fd/{folder}", _DEFAULT_ACL)
    return True


@dataclass(frozen=True)
class _Look:
    """The mode, the time of change and the owner that a new file gets; None or 0: as the system gives them."""

    mode: int | None
    mtime_s: int = 0
    owner: tuple[int, int] | None = None

    def give(self, handle: int) -> None:
        if self.owner is not None:
            # Only an agent of the system may give files away; another one could not have kept the owner by writing.
            with contextlib.suppress(PermissionError):
                os.fchown(handle, *self.owner)
        if self.mode is not None:
            os.fchmod(handle, self.mode)
        if self.mtime_s:
            # A row may name a time that no system can store. The file is worth more than its time.
            with contextlib.suppress(OSError, OverflowError):
                os.utime(handle, (self.mtime_s, self.mtime_s))


def _look_of(folder: int, name: str, mode: int | None) -> _Look:
    """Return the look of a file that takes the place of another one.

    One with a mode of its own may be more private than the file before, so it is not given to that one's owner.
    """
    if mode is not None:
        return _Look(mode)
    try:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return _Look(None)
    if not stat.S_ISREG(about.st_mode):
        return _Look(None)
    return _Look(stat.S_IMODE(about.st_mode) & ~(stat.S_ISUID | stat.S_ISGID), owner=(about.st_uid, about.st_gid))


def _copy_under(file: BinaryIO, folder: int, part: str, look: _Look) -> None:
    about = os.fstat(file.fileno())
    file.seek(0)
    with os.fdopen(os.open(part, MAKE, 0o666, dir_fd=folder), "wb") as out:
        with contextlib.suppress(OSError):
            lock(out.fileno())
        copy_bytes(file, out)
        out.flush()
        look.give(out.fileno())
        os.utime(out.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))
        os.fsync(out.fileno())


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _exchange_by_shelf(at: int, part: str, folder: int, name: str, shelf: int, old: str) -> None:
    """Bring a file to a place by way of the shelf, where the file of that place is afterwards.

    On failure the new file is where it was.
    """
    exchange.rename_free(at, part, shelf, old)
    try:
        try:
            exchange.exchange_at(shelf, old, folder, name)
        except FileNotFoundError:
            exchange.rename_free(shelf, old, folder, name)
    except OSError as error:
        exchange.rename_free(shelf, old, at, part)
        if error.errno not in exchange.LACKING:
            raise
        _take_away(folder, name, shelf, old)
        _bring_or_put_back(at, part, folder, name, shelf, old)


def _take_away(folder: int, name: str, shelf: int, old: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        exchange.rename_free(folder, name, shelf, old)


def _bring_or_put_back(at: int, part: str, folder: int, name: str, shelf: int, old: str) -> None:
    try:
        exchange.rename_free(at, part, folder, name)
    except FileExistsError:
        raise  # another call was quicker: its file stays, and the older one is on the shelf
    except OSError:
        with contextlib.suppress(OSError):
            exchange.rename_free(shelf, old, folder, name)
        raise


def _exchange_by_copy(part: str, folder: int, name: str, shelf: int, old: str) -> None:
    """As `_exchange_by_shelf`, for a shelf on another file system and a new file that lies beside its place.

    The old file is on the shelf before its place changes; if another call has changed it meanwhile, then again.
    """
    before = _copied(folder, name, shelf, old)
    # The caller discards `part` if this fails; the old file must not lie under that name.
    swap_name = part_name()
    os.rename(part, swap_name, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        exchange.exchange_at(folder, swap_name, folder, name)
    except OSError as error:
        os.rename(swap_name, part, src_dir_fd=folder, dst_dir_fd=folder)
        if not (isinstance(error, FileNotFoundError) or error.errno in exchange.LACKING):
            discard(shelf, old)
            raise
        _take_away(folder, name, folder, swap_name)
        try:
            _bring_or_put_back(folder, part, folder, name, folder, swap_name)
        except OSError:
            _settle(before, folder, swap_name, shelf, old)
            raise
    _settle(before, folder, swap_name, shelf, old)


def _settle(before: _State | None, folder: int, swap_name: str, shelf: int, old: str) -> None:
    """Leave on the shelf what was taken from the place, and nothing beside it."""
    state = _state(folder, swap_name)
    if state != before:
        discard(shelf, old)
        _copied(folder, swap_name, shelf, old)
    discard(folder, swap_name)


def _copied(folder: int, name: str, shelf: int, old: str) -> _State | None:
    """Copy a file to a shelf on another file system; return its state, None where nothing is."""
    before = _state(folder, name)
    if before is not None:
        try:
            copy_file(folder, name, shelf, old)
            os.fsync(shelf)
        except BaseException:
            discard(shelf, old)
            raise
    return before


def _state(folder: int, name: str) -> _State | None:
    try:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def is_trash(name: str) -> bool:
    """Tell whether an entry of this name is the trash of its folder, on a disk that tells no letter cases apart too."""
    return name.casefold() == TRASH
