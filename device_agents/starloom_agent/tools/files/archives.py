"""`archive.pack`, `unpack`, `verify` and `rotate`: a folder as one file, back again, and proof that it is complete.

A folder is unpacked beside its place and moved there in one step, so it appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.comparing import sha256_of
from starloom_agent.toolkit.files.naming import REFUSED_NAME, RENAMES_MOST, kept_mode
from starloom_agent.toolkit.files.packing import Findings, Limits, Listed, Member, copy_out, members, write_archive
from starloom_agent.toolkit.files.placing import readable_as
from starloom_agent.toolkit.files.undoing import hash_of_files
from starloom_agent.toolkit.files.walking import Found, Walk, is_text, left_out_trashes, shown_name
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.toolkit.results import LeftOut, Named, Stored, of_device
from starloom_agent.tools.files.shift import Trash, trash
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_STAMP = "%Y%m%dT%H%M%SZ"
_NAMED = re.compile(r"(?P<series>.+)-(?P<stamp>[0-9]{8}T[0-9]{6}Z)(?: \([0-9]+\))?\.tar\.gz")
_BEYOND = "dated after the new one, does not count"
_WRONG_SHOWN = 100
_WHY_SHOWN = 5
"""A person reads the first of them; the count says how many there are."""
_ANY_BYTES = 1024**4
_ANY_FILES = 1_000_000
"""Archives of our own may be as large as these."""

MostBytes = Annotated[int, msgspec.Meta(ge=1)]
MostFiles = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


def _plain_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text).strip("._-")[:60]


def _series_name(device: str, real: Path) -> str:
    """Return the series of a folder's archives: names for a person's eye, and a mark of device and whole path.

    The mark parts two folders that are called alike: rotation would trash the archives of one for the other's.
    """
    mark = hashlib.sha256(f"{device}\0{real}".encode("utf-8", "surrogateescape")).hexdigest()[:8]
    names = (_plain_name(device), _plain_name(real.parent.name), _plain_name(real.name) or "folder", mark)
    return "-".join(name for name in names if name)


class Pack(Args, frozen=True, kw_only=True):
    """Pack a folder (or one file) with hidden files and empty folders, without links and trash.

    A name that is no text is kept byte for byte; one with characters that no archive may have is `renamed`. The
    archive is called `DEVICE-PARENT-FOLDER-MARK-TIME.tar.gz`; MARK stands for the whole path. The same files give the
    same bytes. It lies at the hub.
    """

    path: str
    device_name: str = ""


class PackedFile(Named, Stored):
    pass


class PackedSummary(Named):
    files: int
    folder: str
    packed_bytes: int
    renamed: int
    unpacked_bytes: int
    unreadable: int
    why: str
    """The first files that are not in the archive, each with the reason."""


class RenamedFile(TypedDict):
    """A file with a name that no archive may have, and its name there."""

    path: str
    stored: str


class Packed(TypedDict):
    archives: list[PackedFile]
    bytes: int
    files: int
    left_out: list[LeftOut]
    renamed: list[RenamedFile]
    summary: PackedSummary
    unpacked_bytes: int
    unreadable: list[str]
    unreadable_count: int


def pack(context: ToolContext, args: Pack) -> Packed:
    real = context.resolve_read(args.path)
    with plain(real, "looking at", effect=False):
        about = context.files.status(real)
    if about is not None and stat.S_ISDIR(about.st_mode):
        walk = Walk(context.files, real, hidden=True, any_name=True)
        files = list(walk)
        trashes, folders = walk.trashes, {"": about.st_mode, **walk.modes}
        missed, skipped = walk.missed, walk.unreadable
    elif about is not None and stat.S_ISREG(about.st_mode):
        files, missed, skipped = [Found(real, real.name, about.st_size, int(about.st_mtime))], [], 0
        trashes, folders = [], {}
    else:
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} is no file or folder of this device ({real})", effect=False)
    total = sum(entry.bytes for entry in files)

    def tell(done: int, name: str) -> None:
        context.progress(done_bytes=done, fraction=min(1.0, done / total) if total else None, note=name)

    archive = context.workdir / "archive.tar.gz"
    archive_list = write_archive(files, archive, tell, context.files, folders, [one.below for one in missed])
    listed, unreadable = archive_list.listed, [f"{one.below}: {one.why}" for one in missed] + archive_list.unreadable
    count = skipped + len(archive_list.unreadable)
    name = f"{_series_name(args.device_name, real)}-{datetime.now(UTC).strftime(_STAMP)}.tar.gz"
    upload = context.put_last(archive, name=name, media="application/gzip")
    device = of_device(args.device_name)
    return {
        "archives": [{**upload, **device}],
        "files": len(listed),
        "unpacked_bytes": sum(item.bytes for item in listed),
        "bytes": upload["bytes"],
        "unreadable": unreadable[:_WRONG_SHOWN],
        "unreadable_count": count,
        "left_out": left_out_trashes(args.path, trashes),
        "renamed": [{"path": path, "stored": stored} for path, stored in archive_list.renamed[:_WRONG_SHOWN]],
        "summary": {
            **device,
            "folder": args.path,
            "files": len(listed),
            "unpacked_bytes": sum(item.bytes for item in listed),
            "packed_bytes": upload["bytes"],
            "renamed": len(archive_list.renamed),
            "unreadable": count,
            "why": "; ".join(unreadable[:_WHY_SHOWN]),
        },
    }


def _local(context: ToolContext, file: FileRef) -> Path:
    if file.path and not file.artifact:
        real = context.resolve_read(file.path)
        with plain(real, "looking at", effect=False):
            is_there = context.files.is_file(real)
        if not is_there:
            raise ToolFailed(Code.FILE_NOT_FOUND, f"{file.path} is not a file on this device", effect=False)
        return real
    if not file.hash:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} is neither a path nor an artifact", effect=False)
    return context.fetch(file.hash)


class Unpack(Args, frozen=True, kw_only=True):
    """Unpack archives (tar, tar.gz, tar.bz2, tar.xz, zip), each into a folder of its own below `under`.

    Plain files and folders come out, with times and modes as far as safe. An archive with a name that
    leads out, a name twice, or more than the limits is refused as a whole. `files` in the answer carry the hashes
    of the archive's own list; those whose names are no text are read back, and counted as `unnamed`. `added` is
    what `fs.trash` takes to undo it: the new folders, each only while it holds what was unpacked.
    """

    files: Annotated[tuple[FileRef, ...], msgspec.Meta(examples=[[{"path": "photos.zip"}]])]
    under: str = "."
    most_bytes: MostBytes = 20 * 1024**3
    most_files: MostFiles = 200_000


def _stem(name: str) -> str:
    return _plain_name(re.sub(r"\.(tar(\.(gz|bz2|xz))?|tgz|zip)$", "", name, flags=re.IGNORECASE)) or "archive"


def _put_out(local: Path, half: Path, limits: Limits, findings: Findings, context: ToolContext) -> dict[str, Listed]:
    unpacked: dict[str, Listed] = {}
    done = 0
    for member in members(local, limits, findings, context.files):
        target = half / member.path
        with plain(shown_name(os.fspath(target)), "unpacking"):
            out = _created(context, target, member)
            if out is None:
                findings.leave_out(member.path, "this device cannot store its name")
                copy_out(member, None)
                continue
            with out:
                # Before its contents, so that nobody reads a private file meanwhile.
                if (mode := kept_mode(member.mode)) is not None:
                    with contextlib.suppress(PermissionError):  # a file system without modes
                        os.fchmod(out.fileno(), mode)
                digest = copy_out(member, out)
            if member.mtime_s > 0:
                context.files.set_mtime(target, member.mtime_s)
        unpacked[member.listed_as] = Listed(path=member.listed_as, bytes=member.bytes, sha256=digest)
        done += member.bytes
        context.progress(done_bytes=done, note=shown_name(target.name))
    _put_folders(half, findings, context)
    return unpacked


def _put_folders(half: Path, findings: Findings, context: ToolContext) -> None:
    """Make the folders that an archive names, empty ones too, and give them their modes."""
    for below, archived_mode in sorted(findings.folders.items()):
        folder = half / below
        with plain(shown_name(os.fspath(folder)), "unpacking"):
            try:
                context.files.make_folder(folder)
            except OSError as error:
                if is_text(below) or error.errno not in REFUSED_NAME:
                    raise
                findings.leave_out(below, "this device cannot store its name")
                del findings.folders[below]
                continue
            if (mode := kept_mode(archived_mode)) is not None:
                with contextlib.suppress(PermissionError):
                    context.files.set_folder_mode(folder, mode)


def _created(context: ToolContext, target: Path, member: Member) -> BinaryIO | None:
    """Make the file of a member; None if its name is no text and this file system takes texts only."""
    try:
        context.files.make_folder(target.parent)
        return context.files.create(target)
    except OSError as error:
        if is_text(member.path) or error.errno not in REFUSED_NAME:
            raise
        return None


def _holds_the_same(files: Beneath, folder: Path, unpacked: dict[str, Listed], folders: Collection[str]) -> bool:
    walk = Walk(files, folder, hidden=True, trash=True, any_name=True)
    on_disk = {shown_name(entry.below): entry for entry in walk}
    return (
        {"", *walk.modes}.issuperset(folders)
        and on_disk.keys() == unpacked.keys()
        and all(
            on_disk[path].bytes == item.bytes and sha256_of(files, on_disk[path].path)[0] == item.sha256
            for path, item in unpacked.items()
        )
    )


def _hashes_on_disk(context: ToolContext, folder: str, names: set[str]) -> dict[str, str]:
    """Return the hashes of unpacked files from the disk, by their names as they are shown."""
    if not names:
        return {}
    walk = Walk(context.files, context.resolve_read(folder), hidden=True, trash=True, any_name=True)
    paths = {shown_name(entry.below): entry.path for entry in walk}
    return {name: sha256_of(context.files, paths[name])[0] for name in names & paths.keys()}


class UnpackedFile(TypedDict):
    bytes: int
    name: str
    path: str
    sha256: str


class UnpackedArchive(TypedDict):
    bytes: int
    files: int
    folder: str
    left_out: int
    left_out_names: list[str]
    missing: int
    name: str
    not_listed: int
    unnamed: int


class UnpackedFolder(TypedDict):
    """A new folder; `holds` is the hash of its `files`. An undo takes it only while it holds these."""

    files: int
    folder: bool
    holds: str
    path: str


class Unpacked(TypedDict):
    added: list[UnpackedFolder]
    bytes: int
    count: int
    files: list[UnpackedFile]
    folders: list[str]
    summary: list[UnpackedArchive]


def unpack(context: ToolContext, args: Unpack) -> Unpacked:
    limits = Limits(bytes=args.most_bytes, files=args.most_files)
    rows: list[UnpackedFile] = []
    folders: list[str] = []
    added: list[UnpackedFolder] = []
    summary: list[UnpackedArchive] = []
    for file in args.files:
        findings = Findings()
        folder_path = f"{args.under.rstrip('/')}/{_stem(file.shown_name)}"
        target = context.resolve_write(folder_path)
        with plain(target, "unpacking"):
            half = context.files.building_place(target)
        try:
            unpacked = _put_out(_local(context, file), half, limits, findings, context)
            folder, new = _place(context, half, folder_path, unpacked, findings.folders)
        except ToolFailed as failed:
            raise ToolFailed(failed.code, f"{file.shown_name}: {failed.detail}", effect=failed.effect) from failed
        finally:
            with contextlib.suppress(OSError):
                context.files.remove_tree(half)
        folders.append(folder)
        if new:
            holds = hash_of_files({path: item.sha256 for path, item in unpacked.items()})
            added.append({"path": folder, "folder": True, "holds": holds, "files": len(unpacked)})
        expected = findings.listed if findings.listed is not None else unpacked
        # A name that is text has no backslash in an archive.
        unnamed = {path for path in unpacked if "\\" in path}
        read = _hashes_on_disk(context, folder, unnamed)
        lost = {path for path in unnamed if read.get(path) != expected.get(path, unpacked[path]).sha256}
        summary.append(
            {
                "name": file.shown_name,
                "folder": folder,
                "files": len(unpacked),
                "bytes": sum(item.bytes for item in unpacked.values()),
                "missing": len(expected.keys() - unpacked.keys()) + len(lost),
                "not_listed": len(unpacked.keys() - expected.keys()),
                "left_out": findings.left_out_count,
                "left_out_names": findings.left_out,
                "unnamed": len(unnamed),
            }
        )
        rows.extend(
            {
                "path": f"{folder}/{path}",
                "name": path,
                "bytes": item.bytes,
                "sha256": expected[path].sha256 if path in expected else item.sha256,
            }
            for path, item in sorted(unpacked.items())
            if path not in unnamed
        )
    return {
        "added": added,
        "folders": folders,
        "files": rows,
        "count": len(rows),
        "bytes": sum(row["bytes"] for row in rows),
        "summary": summary,
    }


def _place(
    context: ToolContext, half: Path, path: str, unpacked: dict[str, Listed], folders: Collection[str]
) -> tuple[str, bool]:
    """Put the unpacked folder in its place in one step, and tell whether it is new there.

    The same files there already are kept, others keep theirs.
    """
    for number in range(1, RENAMES_MOST):
        numbered_path = os.path.normpath(path if number == 1 else f"{path} ({number})")
        real = context.resolve_write(numbered_path)
        with plain(real, "unpacking"):
            if not context.files.exists(real):
                try:
                    context.files.move(half, real)
                except FileExistsError:
                    pass  # another call was quicker
                else:
                    return readable_as(context, numbered_path, real), True
            if context.files.is_folder(real) and _holds_the_same(context.files, real, unpacked, folders):
                return readable_as(context, numbered_path, real), False
    raise ToolFailed(Code.TOOL_FAILED, f"{path} exists in {RENAMES_MOST} versions; clear the folder")


class Verify(Args, frozen=True, kw_only=True):
    """Read archives to their end and compare every file with the list inside, and each archive with its own hash."""

    files: Annotated[tuple[FileRef, ...], msgspec.Meta(examples=[[{"path": "photos.tar.gz"}]])]
    most_bytes: MostBytes = _ANY_BYTES
    most_files: MostFiles = _ANY_FILES
    device_name: str = ""


class WrongMember(TypedDict):
    path: str
    why: str


class _ArchiveSeen(TypedDict):
    bytes: int
    files: int
    listed: bool
    name: str
    path: str
    sha256: str
    wrong: list[WrongMember]


class _ArchiveJudged(_ArchiveSeen):
    ok: bool
    why: str


class ArchiveRead(Named, _ArchiveJudged):
    """`listed`: it holds a list of its files to compare with."""


class ArchivesRead(TypedDict):
    archives: list[ArchiveRead]
    bad: int
    count: int
    ok: bool
    why: str


def verify(context: ToolContext, args: Verify) -> ArchivesRead:
    limits = Limits(bytes=args.most_bytes, files=args.most_files)
    device = of_device(args.device_name)
    rows: list[ArchiveRead] = [{**device, **_judged(context, file, limits, Findings())} for file in args.files]
    bad = [row for row in rows if not row["ok"]]
    return {
        "ok": not bad,
        "archives": rows,
        "count": len(rows),
        "bad": len(bad),
        "why": "; ".join(f"{row['name']}: {row['why']}" for row in bad)[:1000],
    }


def _judged(context: ToolContext, file: FileRef, limits: Limits, findings: Findings) -> _ArchiveJudged:
    local = _local(context, file)
    digest, size = sha256_of(context.files, local)
    row: _ArchiveSeen = {
        "name": file.shown_name,
        "path": file.path,
        "bytes": size,
        "sha256": digest,
        "files": 0,
        "listed": False,
        "wrong": [],
    }
    if file.hash and file.hash != digest:
        return {**row, "ok": False, "why": "its bytes are not those that were stored"}
    digests: dict[str, str] = {}
    try:
        for member in members(local, limits, findings, context.files):
            digests[member.listed_as] = copy_out(member, None)
            context.progress(note=member.listed_as.rpartition("/")[2])
    except ToolFailed as failure:
        return {**row, "ok": False, "why": failure.detail, "files": len(digests)}
    expected = {path: item.sha256 for path, item in (findings.listed or {}).items()}
    wrong: list[WrongMember] = [
        {"path": path, "why": "is missing" if path not in digests else "has other contents"}
        for path, expected_digest in sorted(expected.items())
        if digests.get(path) != expected_digest
    ]
    row["files"], row["listed"], row["wrong"] = len(digests), findings.listed is not None, wrong[:_WRONG_SHOWN]
    return {**row, "ok": not wrong, "why": f"{len(wrong)} files are not as they were packed" if wrong else ""}


class Rotate(Args, frozen=True, kw_only=True):
    """Keep the newest `keep` archives of each series that `files` name; older ones go to the trash (`fs.restore`).

    A series is the archives of one device and folder, as `archive.pack` names them; other files are not touched. An
    archive counts only if it can be read to its end, is as its list says, has files, and has no name that is newer than
    the newest of `files`; a damaged one stays and is named, as does the last with a file that the newest could not
    read. A new archive takes the place of an equal one before it.
    """

    files: Annotated[tuple[FileRef, ...], msgspec.Meta(examples=[[{"path": "photos.tar.gz"}]])]
    under: str = "."
    keep: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 7
    device_name: str = ""


class RotatedArchive(Named):
    """`ticket` is empty where it is kept."""

    archive: str
    bytes: int
    made_s: int
    series: str
    state: str
    ticket: str


class Rotated(TypedDict):
    """`bad` archives cannot be read back: they count neither as kept nor as trashed."""

    bad: int
    kept: int
    rows: list[RotatedArchive]
    tickets: list[str]
    trashed: int


@dataclass(frozen=True)
class _Series:
    """One series by what happens to it: its newest whole archives, those that are no archive any more, and the rest.

    `beside` those that count stay a new one without files, and the last ones with files that the newest could not read.
    """

    stay: tuple[Path, ...]
    beside: frozenset[Path]
    bad: dict[Path, str]
    old: frozenset[Path]
    twin: Path | None


def _stamped(name: str) -> tuple[str, datetime] | None:
    """Return the series and the time of an archive that `pack` may have named."""
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    try:
        return match["series"], datetime.strptime(match["stamp"], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None  # digits that are no date


def rotate(context: ToolContext, args: Rotate) -> Rotated:
    folder = context.resolve_write(args.under)
    device = of_device(args.device_name)
    new = {Path(file.path).name or file.shown_name: file for file in args.files}
    newest: dict[str, datetime] = {}
    for name in new:
        if stamped := _stamped(name):
            newest[stamped[0]] = max(stamped[1], newest.get(stamped[0], stamped[1]))
    series: dict[str, list[tuple[datetime, Path]]] = {}
    sizes: dict[Path, int] = {}
    with plain(folder, "listing"), contextlib.suppress(FileNotFoundError), context.files.scan(folder) as entries:
        for entry in entries:
            stamped = _stamped(entry.name)
            if stamped is not None and stamped[0] in newest and entry.is_file(follow_symlinks=False):
                series.setdefault(stamped[0], []).append((stamped[1], folder / entry.name))
                sizes[folder / entry.name] = entry.stat(follow_symlinks=False).st_size
    rows: list[RotatedArchive] = []
    bad = 0
    for name, archives in sorted(series.items()):
        archives.sort(key=lambda item: (item[0], item[1].name), reverse=True)
        dated = [path for made_at, path in archives if made_at <= newest[name]]
        sorted_out = _sorted_out(context, dated, new, args.keep)
        gone = trash(context, Trash(paths=[os.fspath(path) for path in sorted(sorted_out.old)]))
        tickets = {item["path"]: item["ticket"] for item in gone["items"]}
        bad += len(sorted_out.bad)
        rows.extend(
            {
                **device,
                "series": name,
                "archive": path.name,
                "made_s": int(made_at.timestamp()),
                "bytes": sizes[path],
                "state": _state(path, sorted_out, new) if made_at <= newest[name] else _BEYOND,
                "ticket": tickets.get(os.fspath(path), ""),
            }
            for made_at, path in archives
            if os.fspath(path) not in gone["missing"]
        )
    trashed = sum(bool(row["ticket"]) for row in rows)
    return {
        "rows": rows,
        "tickets": [row["ticket"] for row in rows if row["ticket"]],
        "bad": bad,
        "kept": len(rows) - trashed - bad,
        "trashed": trashed,
    }


def _state(path: Path, series: _Series, new: Mapping[str, FileRef]) -> str:
    if path in series.bad:
        return f"damaged, does not count: {series.bad[path]}"
    if path in series.old:
        return "same as the new one, in the trash" if path == series.twin else "in the trash"
    if path in series.beside:
        return "new, has no file, does not count" if path.name in new else "kept, has files that the newest left out"
    return "new" if path.name in new else "kept"


def _sorted_out(context: ToolContext, archives: list[Path], new: Mapping[str, FileRef], keep: int) -> _Series:
    """Decide which archives of a series, the newest first, stay: each one that counts was read back to its end.

    Reading stops at the last one that stays. An older one goes unread, since enough whole ones are newer.
    """
    stay: list[Path] = []
    beside: set[Path] = set()
    bad: dict[Path, str] = {}
    twin, newest = None, ""
    lost: set[str] = set()
    for path in archives:
        may_be_twin = len(stay) == 1 and twin is None and stay[0].name in new
        if len(stay) == keep and not (may_be_twin or lost):
            break
        seen = _read_back(context, path, new.get(path.name))
        if seen.why:
            bad[path] = seen.why
        elif not seen.files:
            # A disk that is not there looks like a folder without files.
            beside |= {path} if path.name in new else set()
        elif may_be_twin and seen.sha256 == newest:
            twin = path
        elif len(stay) < keep:
            if not stay:
                newest, lost = seen.sha256, set(seen.lacking)
            stay.append(path)
            lost -= seen.parts_of(lost)
        elif only_here := seen.parts_of(lost):
            beside.add(path)
            lost -= only_here
        elif not lost:
            break
    if twin is not None:
        # The older file stays and the newer name points to it: so it is one file over any number of nights.
        with contextlib.suppress(OSError):  # a file system without links keeps both; nothing else depends on it
            context.files.link(twin, stay[0])
    old = frozenset(archives) - {*stay, *beside, *bad}
    return _Series(tuple(stay), frozenset(beside), bad, old, twin)


@dataclass(frozen=True)
class _ReadBack:
    """An archive that was read to its end; `why` it does not count is empty if it is whole."""

    sha256: str = ""
    why: str = ""
    files: int = 0
    paths: Collection[str] = ()
    lacking: Collection[str] = ()

    def parts_of(self, sought: Collection[str]) -> set[str]:
        """Return those of some paths that it has: as files, or as folders with files."""
        if not sought:
            return set()
        above = {os.fspath(folder) for path in self.paths for folder in PurePosixPath(path).parents}
        return {path for path in sought if path in self.paths or path in above}


def _read_back(context: ToolContext, path: Path, stored: FileRef | None) -> _ReadBack:
    limits = Limits(bytes=_ANY_BYTES, files=_ANY_FILES)
    sha256 = stored.sha256 if stored is not None else ""
    findings = Findings()
    try:
        judged = _judged(context, FileRef(path=os.fspath(path), sha256=sha256), limits, findings)
    except ToolFailed as failure:
        return _ReadBack(why=failure.detail)
    paths = (findings.listed or {}).keys()
    return _ReadBack(judged["sha256"], judged["why"], judged["files"], paths, findings.lacking)


TOOLS = (
    Tool(
        name="archive.pack",
        title="Pack a folder into one file",
        args=Pack,
        run=pack,
        effects=(Effect.READ,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:read",
    ),
    Tool(
        name="archive.unpack",
        title="Unpack archives into folders",
        args=Unpack,
        run=unpack,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:write",
    ),
    Tool(
        name="archive.verify",
        title="Read archives to their end and compare",
        args=Verify,
        run=verify,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        grant="files:read",
    ),
    Tool(
        name="archive.rotate",
        title="Keep the newest archives, trash older ones",
        args=Rotate,
        run=rotate,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:write",
    ),
)
