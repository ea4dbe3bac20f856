"""`fs.write`: files from the hub's store, or a text, into a folder of this device; each appears whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.faults import os_fault, plain
from starloom_agent.toolkit.files.comparing import has_hash, sha256_of
from starloom_agent.toolkit.files.naming import (
    REFUSED_NAME,
    RENAMES_MOST,
    kept_mode,
    mode_fits,
    numbered,
    portable_path,
    stored_path,
)
from starloom_agent.toolkit.files.placing import folders_on_way, holding, missing_above, new_draft, place, readable_as
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef, FolderRef
from starloom_agent.toolkit.results import Added, Holding, added_as
from starloom_agent.tools.files.digest import place_of
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_TIME_STEP_S = 2
Identity = tuple[int, int]
"""The device and the inode of a file: two names that a file system takes for one have the same."""
OnClash = Literal["rename", "replace", "fail"]


def identity_of(about: os.stat_result) -> Identity:
    """Return what tells a file from all others on its device."""
    return about.st_dev, about.st_ino


class Write(Args, frozen=True, kw_only=True):
    """Give `files` (as `artifact.put` gives them) with `under`, or `path` with `text`; empty `folders` are made, too.
    `added` is what `fs.trash` may take to undo it. `name_by` name puts all files into `under` itself; `path` keeps the
    folders that `fs.find` saw, or those below `strip`, which counts for it alone; `origin` puts the device's name
    before the file's; `hash` makes one file of equal contents.

    Equal contents in their place are kept, unless `on_same_hash` is write; a file with other contents keeps its name,
    and the new one gets a number (`on_clash`); a replaced one goes into the trash, and no file of a call replaces
    another one of it. Names, modes and times stay; `changed` names what this system cannot store so.
    """

    files: tuple[FileRef, ...] = ()
    folders: tuple[FolderRef, ...] = ()
    under: str = "."
    name_by: Literal["hash", "name", "origin", "path"] = "name"
    strip: str = ""
    on_same_hash: Literal["keep", "write"] = "keep"
    on_clash: OnClash = "rename"
    path: Annotated[str, msgspec.Meta(examples=["note.txt"])] = ""
    text: Annotated[str | None, msgspec.Meta(examples=["hello"])] = None


def _wanted_path(file: FileRef, args: Write) -> str:
    """Return where a file belongs below `under`, whether or not this system can store such a name."""
    name = PurePosixPath(file.shown_name).name or "file"
    if args.name_by == "hash":
        return file.hash + PurePosixPath(name).suffix.lower()
    if args.name_by == "path":
        return _inside(place_of(file, args.strip), args) or name
    return f"{file.device} - {name}" if args.name_by == "origin" and file.device else name


def _inside(place: str, args: Write) -> str:
    if ".." in PurePosixPath(place).parts:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{place} leads out of {args.under}", effect=False)
    return place.lstrip("/").removeprefix("./") if place != "." else ""


@dataclass(frozen=True)
class Place:
    """The place of a file: its shown and its real path; `same`: the same bytes are there; `free`: nothing is there.

    Of a file that was put there: its size, its hash, the `ticket` of the file that it replaced, and how many folders
    above it were `missing` and are made.
    """

    shown: str
    real: Path
    same: bool
    number: int
    free: bool = False
    bytes: int = 0
    missing: int = 0
    ticket: str = ""
    wrote: str = ""

    def added(self, path: str) -> Added:
        """Return what an undo takes away again, under the path that a later call reads."""
        if not self.free and not self.ticket:
            return []
        return [*folders_on_way(path, self.missing), added_as(path, self.wrote, self.ticket)]


def choose(
    context: ToolContext,
    path: Path,
    digest: str,
    size: int | None,
    on_clash: OnClash,
    *,
    keep: bool = True,
    ours: Container[Identity] = (),
) -> Place:
    """Return the place of contents with this hash: at `path` where that is free, else as `on_clash` says.

    A file of another `size`, where that is known, is not read. `keep`: the same contents there are as good. A file in
    `ours` is not replaced.

    Raises:
        ToolFailed: other contents are there and must stay, or too many versions.
    """
    for number in range(1, RENAMES_MOST):
        numbered_path = os.path.normpath(numbered(path, number))
        real = context.resolve_write(numbered_path)
        with plain(real, "looking at"):
            about = context.files.status(real)
        if about is None:
            return Place(numbered_path, real, False, number, free=True)
        alike = stat.S_ISREG(about.st_mode) and size in (None, about.st_size)
        if alike and has_hash(context.files, real, digest):
            return Place(numbered_path, real, keep, number)
        if on_clash == "replace" and identity_of(about) not in ours:
            return Place(numbered_path, real, False, number)
        if on_clash == "fail":
            reason = f"{numbered_path} exists with other contents; allow on_clash: rename or replace"
            raise ToolFailed(Code.TOOL_FAILED, reason, effect=False)
    reason = f"{path.name} exists in {RENAMES_MOST} versions in {path.parent}; clear the folder"
    raise ToolFailed(Code.TOOL_FAILED, reason)


def settle(
    context: ToolContext,
    make: Callable[[], Path],
    path: Path,
    digest: str,
    size: int | None,
    on_clash: OnClash,
    *,
    keep: bool = True,
    ours: Container[Identity] = (),
    mode: int | None = None,
    mtime_s: int = 0,
) -> Place:
    """Put a finished file with this hash where `choose` says; `make` gives it, if the same contents are not there.

    A file that comes to the chosen place meanwhile is not written over: the place is chosen again.

    Raises:
        OSError: it cannot be written.
        ToolFailed: as `choose`, or the old file cannot go to the trash.
    """
    for _ in range(RENAMES_MOST):
        target = choose(context, path, digest, size, on_clash, keep=keep, ours=ours)
        if target.same:
            return target
        if not target.free:
            placed = place(context, make(), target.real, mode=mode, mtime_s=mtime_s)
            return replace(target, bytes=placed.bytes, ticket=placed.ticket, free=not placed.ticket, wrote=digest)
        missing = missing_above(context, target.real)
        with suppress(FileExistsError):
            size = context.files.place(make(), target.real, mode=mode, mtime_s=mtime_s)
            return replace(target, bytes=size, missing=missing, wrote=digest)
    raise ToolFailed(Code.TOOL_FAILED, f"{path} is written by others again and again; retry later")


class WrittenFile(TypedDict):
    """`source` is its path on the device that it came from."""

    below: NotRequired[str]
    bytes: int
    device: NotRequired[str]
    name: str
    path: str
    sha256: str
    source: NotRequired[str]
    state: Literal["kept", "written"]


class WrittenFolder(TypedDict):
    path: str


class Changed(TypedDict):
    """A property of a file that differs from the original."""

    file: str
    path: str
    why: str


class Written(Holding):
    """`added` is what is new here, as `fs.trash` takes it."""

    added: Added
    bytes: int
    changed: list[Changed]
    files: list[WrittenFile]
    folders: list[WrittenFolder]
    kept: int
    written: int


def write(context: ToolContext, args: Write) -> Written:
    if args.text is not None:
        return _write_text(context, args)
    if args.path:
        reason = f"path goes with text; files go with under, so give under: {args.path} in its place"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    rows: list[WrittenFile] = []
    changed: list[Changed] = []
    added: Added = []
    written_bytes = 0
    ours: set[Identity] = set()
    places: set[Path] = set()
    for file in args.files:
        if not file.hash:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} has no artifact to write from")
        below = _wanted_path(file, args)
        target, size = _put(context, below, file, args, ours)
        about = context.files.status(target.real)
        if about is not None:
            ours.add(identity_of(about))
        places.add(target.real)
        written_bytes += 0 if target.same else size
        context.progress(done_bytes=written_bytes, note=file.shown_name)
        path = readable_as(context, target.shown, target.real)
        added += target.added(path)
        changed += [{"file": below, "path": path, "why": why} for why in _changes(about, below, target, file, args)]
        row: WrittenFile = {
            "path": path,
            "name": file.shown_name,
            "source": file.path,
            "sha256": file.hash,
            "bytes": size,
            "state": "kept" if target.same else "written",
        }
        if file.below:
            row["below"] = file.below
        if file.device:
            row["device"] = file.device
        rows.append(row)
    folders = [_make_folder(context, folder, args, changed, added) for folder in args.folders if not folder.files]
    written: Written = {
        "files": rows,
        "folders": folders,
        "changed": changed,
        "added": added,
        "written": sum(row["state"] == "written" for row in rows),
        "kept": sum(row["state"] == "kept" for row in rows),
        "bytes": written_bytes,
    }
    if places:
        written["folder"] = holding(places)
    return written


def _put(context: ToolContext, below: str, file: FileRef, args: Write, ours: set[Identity]) -> tuple[Place, int]:
    """Store one file under its own name, or under a portable one where the file system refuses that."""
    portable = portable_path(below)
    for stored in dict.fromkeys((stored_path(below), portable)):
        try:
            return _put_as(context, stored, file, args, ours)
        except OSError as error:
            if error.errno not in REFUSED_NAME or stored == portable:
                raise os_fault(error, Path(args.under) / stored, "writing") from error
    raise AssertionError("the portable name is the last")


def _put_as(context: ToolContext, stored: str, file: FileRef, args: Write, ours: set[Identity]) -> tuple[Place, int]:
    # Under its hash, other contents can only be a damaged copy.
    clash = "replace" if args.name_by == "hash" else args.on_clash
    path = Path(args.under) / stored
    mode, keep = kept_mode(file.mode), args.on_same_hash == "keep"
    target = settle(
        context,
        lambda: context.fetch(file.hash),
        path,
        file.hash,
        file.bytes or None,
        clash,
        keep=keep,
        ours=ours,
        mode=mode,
        mtime_s=file.mtime_s,
    )
    if not target.same:
        return target, target.bytes
    about = context.files.status(target.real)
    if mode is not None and about is not None and not mode_fits(about, file.mode):
        with suppress(PermissionError):
            context.files.set_mode(target.real, mode)
    return target, 0 if about is None else about.st_size


def _changes(about: os.stat_result | None, below: str, target: Place, file: FileRef, args: Write) -> list[str]:
    """Return the properties of a file that differ from the original."""
    changes = []
    here = os.path.normpath(Path(args.under) / below)
    if os.path.normpath(numbered(Path(here), target.number)) != target.shown:
        changes.append("this device cannot store its name")
    if target.number > 1:
        changes.append("another file has its name")
    if about is not None and not mode_fits(about, file.mode):
        changes.append("this device does not keep its mode")
    if about is not None and not target.same and not _time_fits(about, file.mtime_s):
        changes.append("this device does not keep its time")
    return changes


def _time_fits(about: os.stat_result, mtime_s: int) -> bool:
    """Whether a file here has the time of its original, as exactly as a file system of memory cards tells times."""
    return not mtime_s or abs(about.st_mtime_ns - mtime_s * 10**9) <= _TIME_STEP_S * 10**9


def _make_folder(
    context: ToolContext, folder: FolderRef, args: Write, changed: list[Changed], added: Added
) -> WrittenFolder:
    below = _inside(place_of(FileRef(path=folder.path, below=folder.below), args.strip), args)
    portable = portable_path(below)
    for stored in dict.fromkeys((stored_path(below), portable)):
        path_here = os.path.normpath(Path(args.under) / stored)
        real = context.resolve_write(path_here)
        try:
            free, missing = context.files.status(real) is None, missing_above(context, real)
            context.files.make_folder(real)
        except OSError as error:
            if error.errno not in REFUSED_NAME or stored == portable:
                raise os_fault(error, path_here, "making") from error
        else:
            path = readable_as(context, path_here, real)
            added += [*folders_on_way(path, missing), {"path": path, "folder": True}] if free else []
            if stored != below:
                changed.append({"file": below, "path": path_here, "why": "this device cannot store its name"})
            return {"path": path_here}
    raise AssertionError("the portable name is the last")


def _write_text(context: ToolContext, args: Write) -> Written:
    if not args.path or args.files or args.folders or args.under != ".":
        reason = "text goes with path, which names its folder, too; files go with under; give one of the two"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    if args.path.endswith("/"):
        reason = f"{args.path} is a folder, and a text has no name of its own; give path the name of a file in it"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    half = new_draft(context)
    with plain(half, "writing"), context.files.create(half) as out:
        out.write((args.text or "").encode())
    digest, _ = sha256_of(context.files, half)
    size = half.stat().st_size
    with plain(args.path, "writing"):
        keep = args.on_same_hash == "keep"
        target = settle(context, lambda: half, Path(args.path), digest, size, args.on_clash, keep=keep)
    first = target.number == 1
    path = args.path if first else target.shown
    changed: list[Changed] = [] if first else [{"file": args.path, "path": path, "why": "another file has its name"}]
    row: WrittenFile = {
        "path": path,
        "name": Path(path).name,
        "sha256": digest,
        "bytes": size,
        "state": "kept" if target.same else "written",
    }
    return {
        "folder": holding({target.real}),
        "files": [row],
        "folders": [],
        "changed": changed,
        "added": target.added(readable_as(context, path, target.real)),
        "written": 0 if target.same else 1,
        "kept": 1 if target.same else 0,
        "bytes": 0 if target.same else size,
    }


TOOLS = (
    Tool(
        name="fs.write",
        title="Write files into a folder",
        args=Write,
        run=write,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:write",
    ),
)
