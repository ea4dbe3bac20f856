"""Files kept by their SHA-256, under one directory, and the owners for whom their bytes count.

Owns completeness: a hash names either nothing or all of its bytes, verified and on disk. Uploads arrive in order, may
stop anywhere and continue at `offset`. Each owner has an upload of its own, so nobody completes, spoils or learns what
another sends. Only `collect` deletes complete artifacts, one at a time, and only those that
were not used since a given moment. Every function is synchronous and uses the disk: run the larger ones (`append`,
`put_bytes`, reading) in a thread.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol
from urllib.parse import quote, unquote

from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import ARTIFACT_BYTES_MOST, CODES, Code


class BlobRefused(Exception):
    """A refusal. Nothing was changed, but wrong bytes were discarded. An upload continues at `offset`."""

    def __init__(self, code: Code, reason: str, *, place: str, hint: str = "", offset: int = 0) -> None:
        hint = hint or CODES[code].hint
        super().__init__(f"{place}: {reason}. {hint}")
        self.fault = Fault(code=code, hint=hint, place=place, reason=reason)
        self.offset = offset


QUOTA_BYTES: Final = 20 * 1024**3
OWNER_BYTES_MOST: Final = 10 * 1024**3

_SHA256 = re.compile(r"[0-9a-f]{64}")
_UPLOAD = re.compile(r"([0-9a-f]{64})(?:\.[0-9a-f]{16})?")


class Blobs(Protocol):
    """The port: artifacts by hash."""

    def has(self, sha256: str) -> bool: ...

    def size(self, sha256: str) -> int | None:
        """Return the size of a complete artifact in bytes, None if there is none."""
        ...

    def offset(self, sha256: str, owner: str = "") -> int:
        """Return how many bytes of an owner's upload have arrived: the offset at which it continues."""
        ...

    def claim(self, sha256: str) -> int | None:
        """Return the size of a complete artifact and protect it from collection for a while: it will be named soon."""
        ...

    def append(self, sha256: str, offset: int, total: int, chunk: bytes, *, owner: str = "") -> bool:
        """Add the next bytes of an owner's upload; True when it is complete, verified and on disk.

        An artifact that is complete already is not looked at: its bytes have to be sent whole, too. An upload with
        nothing left to send ends with an empty chunk. The bytes of an artifact count for the owner that sent it first.

        Raises:
            BlobRefused: `conflict` if `offset` is not the upload's offset (the fault carries the right one),
                `artifact_corrupt` if the bytes do not have this hash (they are discarded), `too_large`, `no_space`.
        """
        ...

    def put_bytes(self, raw: bytes, *, owner: str = "") -> str:
        """Keep bytes and return their hash; they are on disk when it returns. Idempotent."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open a complete artifact for reading.

        Raises:
            BlobRefused: `not_found`.
        """
        ...


class FileBlobs:
    """`Blobs` as files `artifacts/ab/abcd...` with unfinished uploads in `partial/`. Safe for several threads."""

    def __init__(
        self,
        root: Path,
        *,
        quota_bytes: int = QUOTA_BYTES,
        owner_bytes_most: int = OWNER_BYTES_MOST,
        artifact_bytes_most: int = ARTIFACT_BYTES_MOST,
    ) -> None:
        """Read the directory once to know its size, in all and for each owner."""
        self._complete = root / "artifacts"
        self._partial = root / "partial"
        self._quota_bytes = quota_bytes
        self._owner_bytes_most = owner_bytes_most
        self._artifact_bytes_most = artifact_bytes_most
        for folder in (self._complete, self._partial):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root = root
        self._locks: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()
        self.recount()

    def recount(self) -> None:
        """Measure the folder again: another hub that shares it may have written to it."""
        with self._guard:
            self._owners = Owners(self._root / "owners")
            self._used = 0
            for file in (*self._complete.glob("*/*"), *self._partial.iterdir()):
                if (size := _size(file)) is not None:  # the other hub may finish or collect it meanwhile
                    self._count(file.name, "", size)

    @property
    def used_bytes(self) -> int:
        return self._used

    def has(self, sha256: str) -> bool:
        return self.size(sha256) is not None

    def size(self, sha256: str) -> int | None:
        return _size(self._path(sha256))

    def claim(self, sha256: str) -> int | None:
        path = self._path(sha256)
        with self._alone(sha256):
            size = _size(path)
            if size is not None:
                os.utime(path)
            return size

    def offset(self, sha256: str, owner: str = "") -> int:
        return _size(self._upload(sha256, owner)) or 0

    def append(self, sha256: str, offset: int, total: int, chunk: bytes, *, owner: str = "") -> bool:
        partial = self._upload(sha256, owner)
        with self._alone(sha256), _disk(sha256):
            have = _size(partial) or 0
            if offset != have:
                raise BlobRefused(
                    Code.CONFLICT,
                    f"the upload stands at byte {have}, not at {offset}",
                    place=f"artifact {sha256}",
                    hint=f"Send the bytes from offset {have} on.",
                    offset=have,
                )
            self._check_size(sha256, total, have + len(chunk))
            is_complete = have + len(chunk) == total
            self._write(sha256, partial, owner, total - have, chunk, last=is_complete)
            if not is_complete:
                return False
            with partial.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != sha256:
                self._drop(partial)
                raise BlobRefused(
                    Code.ARTIFACT_CORRUPT,
                    f"the bytes that arrived have the hash {digest}; they were discarded",
                    place=f"artifact {sha256}",
                    hint="Send the file again from its beginning; look at the disk if it repeats.",
                )
            self._finish(sha256, partial)
            return True

    def put_bytes(self, raw: bytes, *, owner: str = "") -> str:
        sha256 = hashlib.sha256(raw).hexdigest()
        path = self._path(sha256)
        with self._alone(sha256), _disk(sha256):
            if path.exists():
                os.utime(path)
                return sha256
            self._check_size(sha256, len(raw), len(raw))
            partial = self._upload(sha256, owner)
            self._drop(partial)
            self._write(sha256, partial, owner, len(raw), raw, last=True)
            self._finish(sha256, partial)
            return sha256

    def open(self, sha256: str) -> BinaryIO:
        try:
            return self._path(sha256).open("rb")
        except FileNotFoundError as error:
            is_partial = any(self._partial.glob(f"{sha256}*"))
            reason = "not all bytes of this hash have arrived" if is_partial else "there are no bytes of this hash"
            raise BlobRefused(Code.NOT_FOUND, reason, place=f"artifact {sha256}") from error

    def older_than(self, before_s: float) -> set[str]:
        """Return the artifacts, complete or begun, last sent or read before a moment (seconds since the epoch)."""
        names: set[str] = set()
        for file in (*self._complete.glob("*/*"), *self._partial.iterdir()):
            with suppress(FileNotFoundError):
                if (name := _UPLOAD.fullmatch(file.name)) and file.stat().st_mtime < before_s:
                    names.add(name[1])
        return names

    def collect(self, sha256: str, before_s: float) -> int:
        """Delete an artifact and its unfinished uploads unless they were sent or read since; return the bytes freed.

        A reader that has opened it can read it to its end.
        """
        path = self._path(sha256)
        freed = 0
        with self._alone(sha256):
            for file in (path, *self._partial.glob(f"{sha256}*")):
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < before_s:
                        freed += self._drop(file)
        return freed

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise BlobRefused(
                Code.BAD_REQUEST,
                "an artifact is named by its SHA-256: 64 hexadecimal digits in lower case",
                place=f"artifact {quoted(sha256[:80])}",
            )
        return self._complete / sha256[:2] / sha256

    def _upload(self, sha256: str, owner: str) -> Path:
        """Return the file of an owner's unfinished upload; its name is also the name that its bytes count under."""
        name = self._path(sha256).name
        return self._partial / (f"{name}.{hashlib.sha256(owner.encode()).hexdigest()[:16]}" if owner else name)

    def _check_size(self, sha256: str, total: int, size: int) -> None:
        if total > self._artifact_bytes_most:
            raise BlobRefused(
                Code.TOO_LARGE,
                f"{total} bytes; an artifact has at most {self._artifact_bytes_most}",
                place=f"artifact {sha256}",
            )
        if size > total:
            raise BlobRefused(
                Code.BAD_REQUEST, f"{size} bytes would be more than the {total} announced", place=f"artifact {sha256}"
            )

    def _write(self, sha256: str, partial: Path, owner: str, missing: int, chunk: bytes, *, last: bool) -> None:
        """Add bytes to an upload and count them; a disk that refuses them leaves the upload and the count as before."""
        self._reserve(sha256, partial.name, owner, missing, len(chunk))
        try:
            with partial.open("ab") as file:
                have = file.tell()
                try:
                    file.write(chunk)
                    file.flush()
                    if last:
                        os.fsync(file.fileno())
                except OSError:
                    file.truncate(have)
                    raise
        except OSError:
            with self._guard:
                self._count(partial.name, "", -len(chunk))
                if _size(partial) is None:
                    self._owners.forget(partial.name)
            raise

    def _reserve(self, sha256: str, name: str, owner: str, missing: int, count: int) -> None:
        """Refuse an upload that will not fit; count the bytes that are written now, under the name of its file."""
        with self._guard:
            if self._used + missing > self._quota_bytes:
                raise BlobRefused(
                    Code.NO_SPACE,
                    f"the hub keeps {self._used} of at most {self._quota_bytes} bytes of artifacts and {missing} more "
                    "do not fit",
                    place=f"artifact {sha256}",
                    hint="Raise artifacts_bytes_most, or lower artifacts_keep_s so that old ones go sooner.",
                )
            payer = self._owners.owner_of(name, owner)
            if payer and self._owners.used(payer) + missing > self._owner_bytes_most:
                raise BlobRefused(
                    Code.NO_SPACE,
                    f"{payer} has brought {self._owners.used(payer)} of at most {self._owner_bytes_most} bytes and "
                    f"{missing} more do not fit",
                    place=f"artifact {sha256}",
                    hint="Raise artifacts_bytes_each, or lower artifacts_keep_s so that old ones go sooner.",
                )
            self._count(name, owner, count)

    def _count(self, name: str, owner: str, size: int) -> None:
        self._owners.count(name, owner, size)  # first: a disk without room for its mark leaves both counts as before
        self._used += size

    def _finish(self, sha256: str, partial: Path) -> None:
        """Make a verified upload the artifact; if that is complete already, it stays, and the upload goes."""
        path = self._path(sha256)
        if path.exists():
            os.utime(path)
            self._drop(partial)
            return
        _move(partial, path)
        with self._guard:
            self._owners.rename(partial.name, sha256)

    def _drop(self, file: Path) -> int:
        """Delete an artifact or an upload, if it is there; return its bytes."""
        size = _size(file)
        if size is None:
            return 0
        file.unlink()
        with self._guard:
            self._count(file.name, "", -size)
            self._owners.forget(file.name)
        return size

    @contextmanager
    def _alone(self, sha256: str) -> Iterator[None]:
        """Admit one thread at a time for each hash; unused locks are dropped."""
        with self._guard:
            lock, count = self._locks.get(sha256, (threading.Lock(), 0))
            self._locks[sha256] = (lock, count + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, count = self._locks[sha256]
                if count == 1:
                    del self._locks[sha256]
                else:
                    self._locks[sha256] = (lock, count - 1)


@contextmanager
def _disk(sha256: str) -> Iterator[None]:
    """Turn a full disk of the hub into `no_space`; other failures of the disk are raised unchanged."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise BlobRefused(
            Code.NO_SPACE,
            f"the disk of the hub is full ({error.strerror})",
            place=f"artifact {sha256}",
            hint="Free some space on the disk of STARLOOM_HOME.",
        ) from error


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _move(partial: Path, path: Path) -> None:
    """Rename a file into place so that it survives a power cut."""
    path.parent.mkdir(exist_ok=True, mode=0o700)
    partial.replace(path)
    for folder in (path.parent, path.parent.parent):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Owners:
    """The owners of artifacts, so that one device or person cannot fill the store alone.

    Each artifact and each upload has an empty file on disk (`owners/OWNER/NAME`); the bytes of an artifact count for
    the owner who sent it first. Artifacts without an owner, as values that the hub stores, count for the hub alone. Not
    safe for several threads at once: `FileBlobs` calls it under its lock.
    """

    def __init__(self, folder: Path) -> None:
        """Read the marks; `count` must then be called with the size of each artifact."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._owner = {mark.name: unquote(mark.parent.name) for mark in folder.glob("*/*")}
        self._used: dict[str, int] = {}

    def used(self, owner: str) -> int:
        return self._used.get(owner, 0)

    def owner_of(self, name: str, otherwise: str) -> str:
        """Return the owner of an artifact or an upload, or `otherwise` if it has none yet."""
        return self._owner.get(name, otherwise)

    def count(self, name: str, owner: str, size: int) -> None:
        """Add bytes (negative: subtract) to the owner of what has this name; without one, `owner` becomes it."""
        if name not in self._owner:
            if not owner:
                return
            mark = self._mark(name, owner)
            mark.parent.mkdir(exist_ok=True, mode=0o700)
            mark.touch(mode=0o600)
            self._owner[name] = owner
        payer = self._owner[name]
        self._used[payer] = self._used.get(payer, 0) + size

    def rename(self, name: str, new: str) -> None:
        """Count the bytes of an upload under the name of the artifact that it has become; needs no room on the disk."""
        owner = self._owner.get(name, "")
        if owner and name != new:
            self.forget(new)
            self._mark(name, owner).replace(self._mark(new, owner))
            self._owner[new] = self._owner.pop(name)

    def forget(self, name: str) -> None:
        """Remove the mark of what is gone."""
        owner = self._owner.pop(name, "")
        if owner:
            self._mark(name, owner).unlink(missing_ok=True)

    def _mark(self, name: str, owner: str) -> Path:
        return self._folder / quote(owner, safe="") / name
