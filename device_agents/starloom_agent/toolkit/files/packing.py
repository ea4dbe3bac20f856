"""Writing and reading of archives: `.tar.gz` with a list of its files inside; only plain files and folders come out.

A name that is no text is stored byte for byte; in the list it stands as `shown_name` writes it. A name that no archive
may have is stored in another form, with `%` and the number of each character that is not allowed.
The same files give the same bytes. Archives may come from anyone: names that lead out, links, devices, doubled names
and archives that grow beyond a limit are refused or left out here, so that no tool has to handle them.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import itertools
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

import msgspec

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.naming import NAME_BYTES_MOST
from starloom_agent.toolkit.files.walking import Found, shown_name
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

LIST_NAME = ".starloom-files.json"
_BEGINNING = 10
_ZIP_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_BZIP2_BEGINNING = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
"""A block, or the end of an empty one: of the first bytes of a bzip2 stream, `BZh` alone may be a name."""
CHUNK_BYTES = 1024 * 1024
_LIST_BYTES_MOST = 64 * CHUNK_BYTES
"""The lines of some hundred thousand files: more than an archive may hold without a wish for more."""
# What tar headers may take, in all and for each member: long names and times, never megabytes.
_HEAD_BYTES = 1024 * 1024
_HEAD_BYTES_EACH = 64 * 1024
_DIGITS = b"0123456789"
_ROW_MOST = 32 * 1024
"""The 10 KiB of a file that are read ahead of a head may be digits."""
_LEFT_OUT_SHOWN = 100
"""A person reads the first of them; the count says how many there are."""
_PATH_BYTES_MOST = 4000
"""Linux takes paths of 4,096 bytes, and the folder that it is unpacked into stands before it."""
_DEPTH_MOST = 256
"""Folders within each other; a deeper tree takes more open files to clear away than a call has."""
_NAMES_BYTES_MOST = 64 * CHUNK_BYTES
"""Names of some hundred thousand files. Each stays in memory, to be found a second time."""
_MTIME_MOST = 2**40
RIGHTS = 0o777
"""The bits of a mode that go into an archive and come out of one: none that lends a program the rights of its owner."""
_UNIX = 3
"""The system of a ZIP entry that has a mode."""
_MOMENT_FIELD = 0x5455
_NO_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The first time of ZIP, which programs write where they have none."""
_ODD_CHARACTER = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udc7f\udd00-\udfff]")
"""A character that leads elsewhere on some system or steers a terminal.

A byte that is no text stands as a lone surrogate of one range (`os.fsdecode`), and is allowed.
"""
_OTHER_KINDS = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x04\x22\x4d\x18": "LZ4",
}
"""The beginnings of archives of other kinds: the first name in a plain tar is none of these."""
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
"""Flags of a ZIP entry."""
_NAME_FIELD = 0x7075
_NO_FILE = "neither a file nor a folder"
# RuntimeError (with NotImplementedError) is zipfile's word for what is encrypted or packed in a way it does not know.
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError)


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list inside an archive."""

    path: str
    bytes: int
    sha256: str


class _Contents(msgspec.Struct, frozen=True, kw_only=True):
    starloom_files: int = 1
    files: list[Listed] = []
    left_out: list[str] | msgspec.UnsetType = msgspec.UNSET


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class Limits:
    """The limits of one archive, unpacked."""

    bytes: int
    files: int


@dataclass
class Findings:
    """The findings of `members`: the list inside the archive, if it has one, and the entries left out, with reasons.

    `folders` are the modes of its folders by their paths, as `Member.mode`; the one that holds all has the path "".
    `lacking` are the paths that its maker could not read.
    """

    folders: dict[str, int] = field(default_factory=dict)
    listed: dict[str, Listed] | None = None
    lacking: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    left_out_count: int = 0

    def leave_out(self, name: str, why: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < _LEFT_OUT_SHOWN:
            self.left_out.append(f"{shown_name(name[:200])}: {why}")


@dataclass(frozen=True)
class Member:
    """A plain file in an archive; `data` can be read once, before the next member is asked for.

    `mode` has the rights of the archive, and those that the owner needs; 0, as a time of 0: the archive tells none.
    """

    archive: Path
    path: str
    bytes: int
    mode: int
    mtime_s: int
    data: Readable

    @property
    def listed_as(self) -> str:
        """Its path in the list inside the archive. No two are the same: a path itself has no backslash."""
        return shown_name(self.path)


class _Hashed(io.RawIOBase):
    """Reads a file for the archive and hashes what it gives."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self.digest = hashlib.sha256()
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with plain(self._path, "reading"):
            data = self._file.read(size)
        self.digest.update(data)
        self.count += len(data)
        return data


@dataclass
class Written:
    """An archive that was written: its list, the files that could not be read, and those with another name in it."""

    listed: list[Listed] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)


def write_archive(
    files: Iterable[Found],
    into: Path,
    tell: Callable[[int, str], None],
    door: Beneath,
    folders: Mapping[str, int] | None = None,
    left_out: Iterable[str] = (),
) -> Written:
    """Write files into an archive, in their order; return what it holds.

    `folders` are the modes of the folders, by their paths. They have no time: that of a folder changes with each file
    that comes or goes, so a folder that is as it was would not be the same archive. `tell` is called with the bytes
    read so far and a name; `door` opens the files and the archive. The paths `left_out`, and those that cannot be read,
    are in the list inside.

    Raises:
        ToolFailed: a file changed its size while it was read, or there is no room.
    """
    archive_list = Written()
    files, lacking = list(files), list(left_out)
    names = {entry.below for entry in files}
    done = 0
    with plain(into, "writing"), door.create(into) as raw:
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            for below, mode in sorted((folders or {}).items()):
                _add_folder(archive, below, mode, names)
            for entry in files:
                path = shown_name(entry.below)
                try:
                    file = door.open(entry.path)
                except OSError as error:
                    archive_list.unreadable.append(f"{path}: {error.strerror}")
                    lacking.append(path)
                    continue
                stored = _stored_as(entry.below, names)
                if stored != entry.below:
                    archive_list.renamed.append((quoted(path), shown_name(stored)))
                with file:
                    about = os.fstat(file.fileno())
                    head = tarfile.TarInfo(stored)
                    head.size, head.mtime, head.mode = about.st_size, int(about.st_mtime), about.st_mode & RIGHTS
                    reader = _Hashed(file, entry.path)
                    try:
                        archive.addfile(head, reader)
                    except OSError as error:
                        if reader.count < about.st_size and error.errno is None:
                            raise ToolFailed(
                                Code.TOOL_FAILED, f"{path} became shorter while it was packed; retry"
                            ) from error
                        raise
                digest = reader.digest.hexdigest()
                archive_list.listed.append(Listed(path=shown_name(stored), bytes=head.size, sha256=digest))
                done += head.size
                tell(done, shown_name(entry.path.name))
            contents = msgspec.json.encode(_Contents(files=archive_list.listed, left_out=lacking or msgspec.UNSET))
            head = tarfile.TarInfo(LIST_NAME)
            head.size, head.mode = len(contents), 0o644
            archive.addfile(head, io.BytesIO(contents))
        raw.flush()
        os.fsync(raw.fileno())
    return archive_list


def _add_folder(archive: tarfile.TarFile, below: str, mode: int, files: set[str]) -> None:
    head = tarfile.TarInfo(_cleaned(below) or ".")
    # A cleaned name may be that of a file, which counts more than a folder that is empty.
    if head.name not in files:
        head.type, head.mode = tarfile.DIRTYPE, mode & RIGHTS
        archive.addfile(head)


def _cleaned(name: str) -> str:
    """Return a path as every archive may have it."""
    clean = _ODD_CHARACTER.sub(lambda match: f"%{ord(match[0]):02X}", name)
    return re.sub(r"^([A-Za-z]):", r"\1%3A", clean)


def _stored_as(name: str, names: set[str]) -> str:
    """Return the path of a file in an archive: its own, or a free one where no archive may have that."""
    if name != LIST_NAME and not _is_odd(name):
        return name
    clean = _cleaned(name)
    free = (clean if number == 1 else f"{clean} ({number})" for number in itertools.count(1))
    stored = next(path for path in free if path != LIST_NAME and path not in names)
    names.add(stored)
    return stored


class _Rationed(io.RawIOBase):
    """Gives no more bytes than it was allowed, so that a small archive cannot become an endless one in memory.

    Heads have no long row of digits (`in_heads`): for each of them Python 3.11 reads the rest of the row once more.
    """

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._digits = 0
        """The digits at the end of what was read."""
        self.left = _HEAD_BYTES
        self.in_heads = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if 0 <= size <= CHUNK_BYTES else CHUNK_BYTES)
        self.left -= len(data)
        if self.left < 0 or self._has_long_row(data):
            raise ToolFailed(Code.TOOL_FAILED, "it is not a usable archive: its headers are far too big", effect=False)
        return data

    def _has_long_row(self, data: bytes) -> bool:
        if not self.in_heads:
            self._digits = 0
            return False
        before = self._digits + len(data) - len(data.lstrip(_DIGITS))
        after = len(data) - len(data.rstrip(_DIGITS))
        self._digits = before if after == len(data) else after
        return before > _ROW_MOST


def _is_odd(name: str) -> bool:
    """Tell whether a path would lead out of its folder on some system, or has characters that no file should have."""
    path = PurePosixPath(name)
    leads = path.is_absolute() or ".." in path.parts or bool(re.match(r"[A-Za-z]:", name))
    return leads or _ODD_CHARACTER.search(name) is not None


def safe_path(name: str) -> str:
    """Return the path of a member below the folder it is unpacked into.

    Raises:
        ToolFailed: it is absolute, leads out, or has characters that no file should have.
    """
    path = PurePosixPath(name)
    if _is_odd(name):
        shown_path = quoted(shown_name(name[:200]))
        raise ToolFailed(
            Code.TOOL_FAILED,
            f"the archive has a file {shown_path}, whose name leads out of its folder or has signs that no file should "
            "have: nothing is taken",
        )
    if len(path.parts) > _DEPTH_MOST:
        raise ToolFailed(Code.TOOL_FAILED, f"the archive has more than {_DEPTH_MOST} folders within each other")
    if (
        any(len(os.fsencode(part)) > NAME_BYTES_MOST for part in path.parts)
        or len(os.fsencode(name)) > _PATH_BYTES_MOST
    ):
        raise ToolFailed(Code.TOOL_FAILED, f"the archive has a file with too long a name ({shown_name(name[:80])}...)")
    clean = "/".join(path.parts)
    if not clean:
        raise ToolFailed(Code.TOOL_FAILED, "the archive has a file without a name")
    return clean


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        with plain(path, "reading"):
            yield
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise ToolFailed(Code.TOOL_FAILED, f"it cannot be read as an archive to its end: {reason}") from error


class _Count:
    """Holds the contents of an archive within its limits. Folders and other entries may be as many as files each.

    Each costs room on the disk, and memory while the archive is read.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._paths: set[str] = set()
        self._folders: dict[tuple[int, str], int] = {}
        """The number of each folder, by the number of the one around it and its name."""
        self._bytes = self._name_bytes = self._others = 0

    def add(self, member: Member) -> None:
        """Count a file, and the folders that it needs."""
        if member.path in self._paths:
            raise ToolFailed(Code.TOOL_FAILED, f"the archive has {member.listed_as} twice: nothing is taken")
        self._paths.add(member.path)
        self._bytes += member.bytes
        self._add_names(member.path, member.path.split("/")[:-1])

    def add_folder(self, path: str) -> None:
        """Count a folder, and those around it."""
        self._add_names(path, path.split("/"))

    def _add_names(self, path: str, folders: list[str]) -> None:
        self._name_bytes += len(path)
        if self._name_bytes > _NAMES_BYTES_MOST:
            raise ToolFailed(Code.TOOL_FAILED, f"the names of its files have more than {_NAMES_BYTES_MOST} characters")
        around = 0
        for part in folders:
            around = self._folders.setdefault((around, part), len(self._folders) + 1)
        if max(len(self._paths), len(self._folders)) > self._limits.files or self._bytes > self._limits.bytes:
            self._refuse("files")

    def pass_over(self) -> None:
        """Count an entry that is no file."""
        self._others += 1
        if self._others > self._limits.files:
            self._refuse("entries")

    def _refuse(self, noun: str) -> None:
        raise ToolFailed(
            Code.TOOL_FAILED,
            f"it holds more than {self._limits.files} {noun} or {self._limits.bytes} bytes; nothing is "
            "taken. Allow more with most_files or most_bytes if you trust it",
        )


def members(path: Path, limits: Limits, findings: Findings, door: Beneath) -> Iterator[Member]:
    """Yield the plain files of a tar (plain, gz, bz2, xz) or zip archive, within limits; `findings` tells the rest.

    Raises:
        ToolFailed: it is damaged, too big, has a name twice or one that leads out. What was yielded before is then
            not to be trusted either.
    """
    with _readable(path), door.open(path) as raw:
        start = raw.read(_BEGINNING)
        raw.seek(0)
        if (other := next((kind for first, kind in _OTHER_KINDS.items() if start.startswith(first)), "")) != "":
            reason = f"it is a file of {other}; read are tar (also packed by gzip, bzip2 or xz) and ZIP"
            raise ToolFailed(Code.TOOL_FAILED, reason, effect=False)
        count = _Count(limits)
        # A plain tar begins with the name of its first file, which may be that of any other format's beginning.
        if start[:4] in _ZIP_BEGINNINGS:
            plain_files = _from_zip(path, raw, limits, findings, count)
        else:
            plain_files = _from_tar(path, _unpacked(raw, start), limits, findings, count)
        for member in plain_files:
            count.add(member)
            yield member


def _unpacked(raw: IO[bytes], start: bytes) -> Readable:
    """Return the bytes of a tar that may be packed, as its first ones say."""
    if start[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if _BZIP2_BEGINNING.match(start):
        return bz2.BZ2File(raw)
    if start[:6] == b"\xfd7zXZ\x00":
        return lzma.LZMAFile(raw)
    return raw


def _from_tar(path: Path, opened: Readable, limits: Limits, findings: Findings, count: _Count) -> Iterator[Member]:
    ration = _Rationed(opened)
    with tarfile.open(fileobj=ration, mode="r|") as archive:
        for head in archive:
            if not head.isreg() or head.issparse():
                count.pass_over()
                if head.isdir():
                    _note_folder(head.name, head.mode & RIGHTS | stat.S_IRWXU, findings, count)
                else:
                    findings.leave_out(head.name, _not_plain(head))
                ration.left += _HEAD_BYTES_EACH
                continue
            if head.size > limits.bytes:
                raise ToolFailed(
                    Code.TOOL_FAILED, f"{shown_name(head.name[:200])} alone is larger than {limits.bytes} bytes"
                )
            # Tar rounds members up to blocks and reads ahead of itself.
            ration.left += head.size + _HEAD_BYTES_EACH
            data = archive.extractfile(head)
            assert data is not None  # noqa: S101 - a regular member always has data
            ration.in_heads = False
            if head.name == LIST_NAME:
                _read_list(data, head.size, findings)
                ration.in_heads = True
                continue
            # A head may say that it is of a time that is no number, or of no time at all.
            moment = int(head.mtime) if 0 < head.mtime < _MTIME_MOST else 0
            mode = head.mode & RIGHTS | stat.S_IRUSR | stat.S_IWUSR
            yield Member(path, safe_path(head.name), head.size, mode, moment, data)
            ration.in_heads = True
    ration.in_heads = False
    while ration.read(CHUNK_BYTES):
        pass  # to the very end: only there does a packed file prove that nothing of it is missing


def _note_folder(name: str, mode: int, findings: Findings, count: _Count) -> None:
    """Note a folder that an archive names itself: it comes out with its mode, also where nothing is in it."""
    path = safe_path(name) if PurePosixPath(name).parts else ""
    if path:
        count.add_folder(path)
    findings.folders[path] = mode


def _not_plain(head: tarfile.TarInfo) -> str:
    """Return why an entry of a tar is left out: its data come before it, are full of holes, or are none."""
    if head.islnk():
        return f"a second name (hard link) of {shown_name(head.linkname[:200])}"
    return "a link" if head.issym() else "a file with holes (sparse)" if head.issparse() else _NO_FILE


def _name_of(head: zipfile.ZipInfo) -> str:
    """Return the path of a ZIP entry; the zip program of Linux writes UTF-8 without the mark for it.

    The library reads such a name as one of code page 437. Some programs write it once more, in a field of its own.
    """
    if head.flag_bits & _UTF8_NAME:
        return head.filename
    try:
        raw = head.orig_filename.encode("cp437")
        again = _field_of(head, _NAME_FIELD)
        if again[:1] == b"\x01" and again[1:5] == struct.pack("<I", zlib.crc32(raw)):
            raw = again[5:]
        return raw.decode().partition("\0")[0] or head.filename
    except UnicodeError:
        return head.filename


def _from_zip(path: Path, raw: IO[bytes], limits: Limits, findings: Findings, count: _Count) -> Iterator[Member]:
    with zipfile.ZipFile(raw) as archive:
        heads = archive.infolist()
        if sum(head.file_size for head in heads) > limits.bytes or len(heads) > limits.files:
            raise ToolFailed(
                Code.TOOL_FAILED, f"it holds more than {limits.files} files or {limits.bytes} bytes; nothing is taken"
            )
        for head in heads:
            # The library cuts a name at its first NUL, and asks the last sign of what is left.
            if not head.filename:
                findings.leave_out("?", "it has no name")
                continue
            mode = head.external_attr >> 16 if head.create_system == _UNIX else 0
            name = _name_of(head)
            if head.is_dir():
                _note_folder(name, mode and mode & RIGHTS | stat.S_IRWXU, findings, count)
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                findings.leave_out(name, "a link" if stat.S_ISLNK(mode) else _NO_FILE)
                continue
            if head.flag_bits & _ENCRYPTED:
                reason = f"{quoted(shown_name(name[:200]))} is encrypted: an archive with a password is not read"
                raise ToolFailed(Code.TOOL_FAILED, reason, effect=False)
            with archive.open(head) as data:
                if name == LIST_NAME:
                    _read_list(data, head.file_size, findings)
                    continue
                mode = mode and mode & RIGHTS | stat.S_IRUSR | stat.S_IWUSR
                yield Member(path, safe_path(name), head.file_size, mode, _moment_of(head), data)


def moment_field(mtime_s: int) -> bytes:
    """Return the field of a ZIP entry with its time of change, to the second and of no zone; no field holds all times.

    The entry's own time is that of a clock that nobody knows.
    """
    return struct.pack("<HHBi", _MOMENT_FIELD, 5, 1, mtime_s) if abs(mtime_s) < 2**31 else b""


def _moment_of(head: zipfile.ZipInfo) -> int:
    """Return the time of change of a ZIP entry, 0 where it tells none; a time without a zone is of this device."""
    moment = _field_of(head, _MOMENT_FIELD)
    if len(moment) >= 5 and moment[0] & 1:
        return max(0, int(struct.unpack_from("<i", moment, 1)[0]))
    if head.date_time == _NO_MOMENT:
        return 0
    try:
        return max(0, int(datetime(*head.date_time).timestamp()))  # noqa: DTZ001 - the archive tells no zone
    except (ValueError, OverflowError, OSError):
        return 0  # digits that are no date


def _field_of(head: zipfile.ZipInfo, kind: int) -> bytes:
    """Return the contents of a field of a ZIP entry, as far as they are there; empty where it has none."""
    more = head.extra
    while len(more) >= 4:
        this_kind, size = struct.unpack_from("<HH", more)
        if this_kind == kind:
            return more[4 : 4 + size]
        more = more[4 + size :]
    return b""


def _read_list(data: Readable, size: int, findings: Findings) -> None:
    if size > _LIST_BYTES_MOST:
        raise ToolFailed(Code.TOOL_FAILED, f"the list inside the archive is larger than {_LIST_BYTES_MOST} bytes")
    try:
        contents = msgspec.json.decode(data.read(), type=_Contents)
    except msgspec.MsgspecError as error:
        raise ToolFailed(Code.TOOL_FAILED, f"the list inside the archive cannot be read: {error}") from error
    findings.listed = {item.path: item for item in contents.files}
    findings.lacking = contents.left_out or []


def copy_out(member: Member, into: IO[bytes] | None) -> str:
    """Read a member to its end, into a file if one is given; return its hash.

    Raises:
        ToolFailed: it has more or fewer bytes than its head says.
    """
    digest = hashlib.sha256()
    count = 0
    while True:
        with _readable(member.archive):
            data = member.data.read(CHUNK_BYTES)
        if not data:
            break
        count += len(data)
        if count > member.bytes:
            break
        digest.update(data)
        if into is not None:
            into.write(data)
    if count != member.bytes:
        raise ToolFailed(Code.TOOL_FAILED, f"{member.listed_as} has {count} bytes, not {member.bytes} as its head says")
    return digest.hexdigest()
