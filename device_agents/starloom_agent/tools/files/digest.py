"""`fs.hash` and `fs.verify`: SHA-256 of files, read from disk each time, and comparison with what was expected."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NotRequired, Required, TypedDict

import msgspec

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.comparing import sha256_of
from starloom_agent.toolkit.files.naming import RENAMES_MOST, mode_fits, numbered, portable_path, stored_path
from starloom_agent.toolkit.files.placing import holding
from starloom_agent.toolkit.files.walking import Walk
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef, FolderRef
from starloom_agent.toolkit.results import Holding
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class _Meter:
    def __init__(self, context: ToolContext, total_bytes: int) -> None:
        self._context = context
        self._total = total_bytes
        self._done = 0

    def add(self, size: int, note: str) -> None:
        self._done += size
        fraction = min(1.0, self._done / self._total) if self._total else None
        self._context.progress(done_bytes=self._done, fraction=fraction, note=note)


class Hash(Args, frozen=True, kw_only=True):
    """Hash `paths`, `files` or whole `folders`. With `compare`, `files` (as `fs.write` gives them) are read back and
    must equal their hashes, which proves a copy (`equal`); where `expect` names folders, also the contents of the
    folder `folder` in it. With `name_by` path no folder is a duplicate.
    """

    paths: Annotated[tuple[str, ...], msgspec.Meta(examples=[["a.pdf"]])] = ()
    files: tuple[FileRef, ...] = ()
    folders: tuple[FolderRef, ...] = ()
    find_duplicates: Literal["", "folders", "files"] = ""
    name_by: Literal["hash", "path"] = "hash"
    compare: bool = False
    expect: list[FolderRef] | None = None
    folder: str = ""


class HashedFile(TypedDict):
    """`same` comes with `compare`; the rest is passed on where the file carries it."""

    below: NotRequired[str]
    bytes: int
    device: NotRequired[str]
    mode: NotRequired[int]
    mtime_s: NotRequired[int]
    name: str
    path: str
    same: NotRequired[bool]
    sha256: str
    source: NotRequired[str]


class HashedFolder(TypedDict):
    below: NotRequired[str]
    bytes: int
    digest: str
    files: list[HashedFile]
    path: str


class Difference(TypedDict):
    expected: str
    found: str
    path: str


class MissingFile(TypedDict):
    name: str
    sha256: str


class Comparison(TypedDict, total=False):
    different: list[Difference]
    equal: bool
    missing: list[MissingFile]


class Hashes(Comparison, total=False):
    """`files`, or `folders` where folders were given; `duplicates` are positions; `compare` adds the comparison."""

    bytes: int
    duplicates: list[int]
    files: list[HashedFile]
    folders: list[HashedFolder]


def _hash_files(context: ToolContext, files: Sequence[FileRef], meter: _Meter) -> list[HashedFile]:
    rows: list[HashedFile] = []
    for file in files:
        if not file.path:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} has no path on this device to read", effect=False)
        digest, size = sha256_of(context.files, context.resolve_read(file.path))
        meter.add(size, file.shown_name)
        row: HashedFile = {"path": file.path, "name": file.shown_name, "sha256": digest, "bytes": size}
        if file.source:
            row["source"] = file.source
        if file.below:
            row["below"] = file.below
        if file.device:
            row["device"] = file.device
        if file.mode:
            row["mode"] = file.mode
        if file.mtime_s:
            row["mtime_s"] = file.mtime_s
        rows.append(row)
    return rows


def folder_digest(hashes: list[str]) -> str:
    """Return one hash for the contents of a folder: names and order do not count."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def _positions_of_repeats(values: list[str]) -> list[int]:
    seen: set[str] = set()
    repeats: list[int] = []
    for position, value in enumerate(values):
        if value in seen:
            repeats.append(position)
        seen.add(value)
    return repeats


def hash_files(context: ToolContext, args: Hash) -> Hashes:
    if args.folders:
        return _hash_folders(context, args)
    files = [*args.files, *(FileRef(path=path) for path in args.paths)]
    rows = _hash_files(context, files, _Meter(context, sum(file.bytes for file in files)))
    result: Hashes = {"files": rows, "bytes": sum(row["bytes"] for row in rows)}
    if args.find_duplicates:
        result["duplicates"] = _positions_of_repeats([row["sha256"] for row in rows])
    if args.compare:
        result = {**result, **_compare(args, files, rows)}
    return result


def _hash_folders(context: ToolContext, args: Hash) -> Hashes:
    meter = _Meter(context, sum(file.bytes for folder in args.folders for file in folder.files))
    folders: list[HashedFolder] = []
    for folder in args.folders:
        rows = _hash_files(context, folder.files, meter)
        digest = folder_digest([row["sha256"] for row in rows])
        size = sum(row["bytes"] for row in rows)
        hashed: HashedFolder = {"path": folder.path, "files": rows, "bytes": size, "digest": digest}
        if folder.below:
            hashed["below"] = folder.below
        folders.append(hashed)
    if args.name_by == "path":  # each has a place of its own where `fs.write` copies by path
        return {"folders": folders, "duplicates": []}
    # An empty folder equals every other empty one, which says nothing worth acting on.
    marks = [folder["digest"] if folder["files"] else f"empty {position}" for position, folder in enumerate(folders)]
    return {"folders": folders, "duplicates": _positions_of_repeats(marks)}


def _compare(args: Hash, files: list[FileRef], rows: list[HashedFile]) -> Comparison:
    for file, row in zip(files, rows, strict=True):
        row["same"] = not file.hash or file.hash == row["sha256"]
    different: list[Difference] = [
        {"path": row["path"], "expected": file.hash, "found": row["sha256"]}
        for file, row in zip(files, rows, strict=True)
        if file.hash and file.hash != row["sha256"]
    ]
    if args.expect is None:
        unknown = [file.shown_name for file in files if not file.hash]
        if unknown:
            raise ToolFailed(
                Code.BAD_ARGUMENTS,
                f"nothing to compare {', '.join(unknown[:3])} with: give files that carry a hash, or `expect`",
                effect=False,
            )
        return {"equal": not different, "different": different, "missing": []}
    expected = [folder for folder in args.expect if folder.path == args.folder]
    if not expected:
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"`expect` has no folder {quoted(args.folder)} to compare with", effect=False
        )
    due = Counter(file.hash for folder in expected for file in folder.files)
    counts = Counter(row["sha256"] for row in rows)
    names = {file.hash: file.shown_name for folder in expected for file in folder.files}
    missing: list[MissingFile] = [{"name": names[digest], "sha256": digest} for digest in (due - counts)]
    extra: list[Difference] = [
        {"path": row["path"], "expected": "", "found": row["sha256"]} for row in rows if row["sha256"] not in due
    ]
    return {"equal": not (different or missing or extra), "different": different or extra, "missing": missing}


class Verify(Args, frozen=True, kw_only=True):
    """Compare what lies below `under` with a list. `catalogue` names files on this device with their hashes. `folders`
    with `strip` (the beginning of their paths elsewhere) answers what `fs.write` by path would change here: `to_send`
    are files, `to_make` empty folders. `beside` are files under a number, as another one has their name; with `clash`
    replace they are to be sent again.
    """

    under: str = "."
    catalogue: Annotated[tuple[FileRef, ...], msgspec.Meta(examples=[[{"path": "a.pdf", "sha256": "0" * 64}]])] = ()
    folders: tuple[FolderRef, ...] = ()
    strip: str = ""
    clash: Literal["rename", "replace"] = "rename"


class _HashesByPath:
    """Hashes files once, only those asked for."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._digests: dict[Path, str] = {}
        self.bytes = 0

    def of(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path], size = sha256_of(self._context.files, path)
            self.bytes += size
            self._context.progress(done_bytes=self.bytes, note=path.name)
        return self._digests[path]


def place_of(file: FileRef, strip: str) -> str:
    """Return where a file of another device belongs below a folder of this one.

    Without `strip` that is what `fs.find` said (`below`). With it: its path without the folder `strip` that it
    starts with, the bare name where it starts elsewhere.
    """
    if file.below and not strip:
        return os.path.normpath(file.below)
    clean, start = os.path.normpath(file.source or file.path), os.path.normpath(strip) if strip else ""
    if start and clean.startswith(start.rstrip("/") + "/"):
        return clean[len(start.rstrip("/")) + 1 :]
    if start in ("", ".") and not clean.startswith(("/", "..")):
        return clean
    return os.path.basename(clean)  # noqa: PTH119 - a path of another device


class WrongFile(TypedDict):
    path: str
    reason: str


class FilesToSend(TypedDict):
    bytes: int
    files: list[FileRef]
    path: str


class Verified(Holding, total=False):
    """Of a `catalogue` what is wrong; of `folders` what is missing here, as it is to be sent and made, and the `folder`
    of the others.

    `unread` could not be looked at: `twice` does not count what is in it.
    """

    again: list[str]
    beside: int
    bytes: Required[int]
    files: int
    here: int
    missing: int
    read_bytes: int
    same: bool
    to_make: list[FolderRef]
    to_send: list[FilesToSend]
    twice: int
    unread: list[WrongFile]
    unread_count: int
    wrong: list[WrongFile]


def _root_of(context: ToolContext, under: str) -> Path:
    """Return the folder into which files were written `under` this path; another one may have its name."""
    if context.folders.write and context.is_shared(under):
        return context.resolve_write(under)
    return context.resolve_read(under)


def verify(context: ToolContext, args: Verify) -> Verified:
    root = _root_of(context, args.under)
    hashes = _HashesByPath(context)
    if args.folders:
        return _what_is_missing(context, args, hashes)
    expected: dict[str, str] = {}
    wrong: list[WrongFile] = []
    sizes = 0
    for file in args.catalogue:
        real = context.resolve_read(file.path)
        if not real.is_relative_to(root):
            wrong.append({"path": file.path, "reason": f"lies outside {args.under}"})
            continue
        about = _status(context, real)
        if about is None:
            wrong.append({"path": file.path, "reason": "is not there"})
            continue
        digest = hashes.of(real)
        if digest != file.hash:
            wrong.append({"path": file.path, "reason": f"has hash {digest[:12]}, expected {file.hash[:12]}"})
        elif file.path not in expected:
            expected[file.path] = digest
            sizes += about.st_size
    twice, unread, unread_count = _copies_beyond_one(context, root, set(expected.values()), args.catalogue, hashes)
    return {
        "same": not wrong,
        "twice": len(twice),
        "files": len(expected),
        "bytes": sizes,
        "read_bytes": hashes.bytes,
        "wrong": wrong[:100],
        "again": twice[:100],
        "unread": unread[:100],
        "unread_count": unread_count,
    }


def _status(context: ToolContext, path: Path) -> os.stat_result | None:
    """Return what the system says of a regular file, None where there is none."""
    with plain(path, "looking at"):
        about = context.files.status(path)
    return about if about is not None and stat.S_ISREG(about.st_mode) else None


def _copies_beyond_one(
    context: ToolContext, root: Path, digests: set[str], catalogue: Sequence[FileRef], hashes: _HashesByPath
) -> tuple[list[str], list[WrongFile], int]:
    """Return files that hold again what the catalogue has once; only files of a listed size are read.

    With them the first entries that could not be looked at, and their number.
    """
    sizes = {file.bytes for file in catalogue}
    if not context.files.is_folder(root):
        return [], [], 0
    seen: set[str] = set()
    again: list[str] = []
    unread: list[WrongFile] = []
    walk = Walk(context.files, root, hidden=True)
    for entry in walk:
        if entry.bytes not in sizes:
            continue
        try:
            digest = hashes.of(entry.path)
        except ToolFailed as failure:
            unread.append({"path": entry.below, "reason": failure.detail})
            continue
        if digest not in digests:
            continue
        if digest in seen:
            again.append(entry.below)
        seen.add(digest)
    unread += [{"path": missed.below, "reason": missed.why} for missed in walk.missed]
    return again, unread, len(unread) - len(walk.missed) + walk.unreadable


def _what_is_missing(context: ToolContext, args: Verify, hashes: _HashesByPath) -> Verified:
    to_send: list[FilesToSend] = []
    to_make: list[FolderRef] = []
    here: set[Path] = set()
    count = beside = total = 0
    most = 2 if args.clash == "replace" else RENAMES_MOST
    for folder in args.folders:
        missing: list[FileRef] = []
        for file in folder.files:
            number, place = _found_here(context, args, file, hashes, most)
            if place is not None:
                count += 1
                here.add(place)
                beside += number > 1
            else:
                missing.append(file)
        if not folder.files and not _is_folder_here(context, args, folder):
            to_make.append(folder)
        if missing:
            size = sum(file.bytes for file in missing)
            total += size
            to_send.append({"path": folder.path, "files": missing, "bytes": size})
    answer: Verified = {
        "to_send": to_send,
        "to_make": to_make,
        "here": count,
        "beside": beside,
        "missing": sum(len(part["files"]) for part in to_send),
        "bytes": total,
    }
    if here:
        answer["folder"] = holding(here)
    return answer


def _place_here(context: ToolContext, path: Path) -> Path:
    """Return where `fs.write` puts this path, which may be below another granted folder of its name."""
    return context.resolve_write(path) if context.folders.write else context.resolve_read(path)


def _found_here(
    context: ToolContext, args: Verify, file: FileRef, hashes: _HashesByPath, most: int
) -> tuple[int, Path | None]:
    """Return the number under which a file is stored here, 1 under its own name, more beside another file; and where.

    Numbers below `most` are looked at.
    """
    place = place_of(file, args.strip)
    for path in dict.fromkeys((stored_path(place), portable_path(place))):
        for number in range(1, most):
            real = _place_here(context, numbered(Path(args.under) / path, number))
            about = _status(context, real)
            if about is None:
                break
            alike = about.st_size == file.bytes and mode_fits(about, file.mode)
            if alike and context.files.is_readable(real) and hashes.of(real) == file.hash:
                return number, real
    return 0, None


def _is_folder_here(context: ToolContext, args: Verify, folder: FolderRef) -> bool:
    place = place_of(FileRef(path=folder.path, below=folder.below), args.strip)
    places = [_place_here(context, Path(args.under) / path) for path in (stored_path(place), portable_path(place))]
    with plain(args.under, "looking at"):
        return any(map(context.files.is_folder, places))


TOOLS = (
    Tool(
        name="fs.hash",
        title="Hash files, find equal ones, compare copies",
        args=Hash,
        run=hash_files,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
    Tool(
        name="fs.verify",
        title="Compare what is on disk with a list",
        args=Verify,
        run=verify,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
)
