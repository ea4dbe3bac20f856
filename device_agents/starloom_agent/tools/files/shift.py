"""`fs.copy`, `fs.move`, `fs.trash`, `fs.restore`: files changing places inside the granted folders of one device.

These tools delete nothing: a file that goes or is replaced lies in the trash of its granted folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.platforms.carrying import copy_bytes
from starloom_agent.toolkit.faults import before_any_change, plain
from starloom_agent.toolkit.files.comparing import hold_the_same, sha256_of
from starloom_agent.toolkit.files.placing import (
    Placed,
    folders_on_way,
    missing_above,
    new_draft,
    own_place,
    place,
    readable_as,
)
from starloom_agent.toolkit.files.trash import lies_in_trash, origin_of, remove
from starloom_agent.toolkit.files.trash import restore as bring_back
from starloom_agent.toolkit.files.undoing import (
    remove_as_written,
    require_as_written,
    state_of,
    way_to_put_back,
    why_changed,
)
from starloom_agent.toolkit.files.walking import Walk, left_out_trashes, shown_name
from starloom_agent.toolkit.interface import HUB_ONLY, Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import AddedRef, MovedRef
from starloom_agent.toolkit.results import Added, LeftOut, MovedFrom, added_as
from starloom_protocol.text.file_sorts import kind_of
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_FOLDERS_BY_KIND: Final = {
    "archive": "Archives",
    "audio": "Music",
    "document": "Documents",
    "image": "Pictures",
    "video": "Videos",
}
_OTHERS: Final = "Others"
_UNFINISHED: Final = frozenset({".crdownload", ".download", ".opdownload", ".part", ".partial", ".tmp"})
"""Files that a browser is still writing."""
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Copy(Args, frozen=True, kw_only=True):
    """Copy a file or folder to `to`; with `/` at its end, into that folder under its own name.

    Equal contents there are kept; `on_clash` decides the rest. A replaced file goes into the trash. `added` is what
    `fs.trash` takes to undo it.
    """

    path: str
    to: str
    on_clash: Literal["fail", "replace"] = "fail"


class Copied(TypedDict):
    """`kept` files were there with the same contents."""

    added: Added
    bytes: int
    files: int
    kept: int
    left_out: list[LeftOut]
    path: str


def copy(context: ToolContext, args: Copy) -> Copied:
    source, files = context.resolve_read(args.path), context.files
    with plain(source, "looking at", effect=False):
        folder, exists = files.is_folder(source), files.exists(source)
        place = own_place(context, args.to, source.name, folder=folder)
    target = context.resolve_write(place)
    if not exists:
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} does not exist on this device", effect=False)
    if folder and target.is_relative_to(source):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{place} lies inside {args.path}; choose a place beside it", effect=False)
    walk = Walk(files, source, hidden=True)
    pairs = _below(walk, target, args.path) if folder else [(source, target)]
    with plain(target, "looking at", effect=False):
        clashes = [] if args.on_clash == "replace" else [str(to) for _, to in pairs if files.exists(to)]
        same = {to for file, to in pairs if files.is_file(to) and sha256_of(files, file) == sha256_of(files, to)}
    clashes = [path for path in clashes if Path(path) not in same]
    if clashes:
        raise ToolFailed(
            Code.TOOL_FAILED, f"{clashes[0]} exists with other contents; allow on_clash: replace", effect=False
        )
    done = 0
    added = _make_folders(context, walk, source, target, place) if folder else []
    for number, (file, to) in enumerate(pairs):
        if to in same:
            continue
        half = new_draft(context)
        digest = hashlib.sha256()
        with plain(file, "copying"), files.open(file) as source_file, files.create(half) as copy_file:
            copy_bytes(source_file, copy_file, digest.update)
            about = os.fstat(source_file.fileno())
            copy_file.flush()
            os.utime(copy_file.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))
        missing = missing_above(context, to)
        placed = _put(context, half, to, stat.S_IMODE(about.st_mode) & ~_SET_ID, args)
        done += placed.bytes
        shown_path = os.path.normpath(Path(place) / to.relative_to(target))
        path = readable_as(context, shown_path, to)
        added += [*folders_on_way(path, missing), added_as(path, digest.hexdigest(), placed.ticket)]
        context.progress(done_bytes=done, fraction=(number + 1) / len(pairs), note=file.name)
    links = [os.path.normpath(f"{args.path}/{below}") for below in walk.links]
    left_out: list[LeftOut] = [{"path": shown_name(path), "why": "a link is not copied"} for path in links]
    left_out += left_out_trashes(args.path, walk.trashes)
    return {
        "path": place,
        "files": len(pairs),
        "kept": len(same),
        "bytes": done,
        "added": added,
        "left_out": left_out,
    }


def _make_folders(context: ToolContext, walk: Walk, source: Path, target: Path, place: str) -> Added:
    """Make the folders of a copy that are not there, empty ones too, with the modes of the first ones; return them.

    Their owner may always write into them, as into any folder of a copy.
    """
    added: Added = []
    with plain(target, "making"):
        about = context.files.status(source)
        for below, mode in sorted({"": about.st_mode if about is not None else 0, **walk.modes}.items()):
            copied_folder = target / below
            if context.files.is_folder(copied_folder):
                continue
            missing = missing_above(context, copied_folder)
            context.files.make_folder(copied_folder)
            with contextlib.suppress(PermissionError):  # a file system without modes
                context.files.set_folder_mode(copied_folder, mode & 0o777 | stat.S_IRWXU)
            path = readable_as(context, os.path.normpath(Path(place) / below), copied_folder)
            added += [*folders_on_way(path, missing), {"path": path, "folder": True, "on_way": True}]
    return added


def _put(context: ToolContext, half: Path, to: Path, mode: int, args: Copy) -> Placed:
    with plain(to, "writing"):
        if args.on_clash == "replace":
            return place(context, half, to, mode=mode)
        try:
            return Placed(context.files.place(half, to, mode=mode))
        except FileExistsError:
            reason = f"{to} was made by something else meanwhile; allow on_clash: replace"
            raise ToolFailed(Code.TOOL_FAILED, reason) from None


def _below(walk: Walk, target: Path, path: str) -> list[tuple[Path, Path]]:
    """Return the files of a folder, each with its place in the copy.

    Raises:
        ToolFailed: something in it cannot be copied; a copy that lacks a part looks like a whole one.
    """
    pairs = [(entry.path, target / entry.below) for entry in walk]
    if walk.unreadable:
        reason = f"{walk.unreadable} entries of {path} cannot be read, lie too deep, or have names that are no text"
        raise ToolFailed(Code.TOOL_FAILED, f"{reason}: nothing was copied", effect=False)
    return pairs


class FoundRef(AddedRef, frozen=True, kw_only=True, omit_defaults=True):
    """`kept` is the path of a file with the same contents that stays."""

    kept: str = ""


class Move(Args, frozen=True, kw_only=True):
    """Move a file or folder to `to`, which must not exist; with `/` at its end, into that folder under its own name.

    Or move the files `paths` into the folder `to`, with `by_kind` into *Pictures*, *Music*, *Others* and the like in
    it. A file whose place is taken, or that was changed since it was found, stays; `left_out` names it.
    """

    path: Annotated[str, msgspec.Meta(examples=["a.pdf"])] = ""
    paths: list[str | FoundRef] | None = None
    to: Annotated[str, msgspec.Meta(examples=["Papers/"])]
    by_kind: bool = False


class Moved(TypedDict):
    """Not `moved`: an earlier attempt had done it. `put_back` is what `fs.restore` takes to undo it."""

    count: int
    left_out: list[LeftOut]
    moved: bool
    path: str
    put_back: list[MovedFrom]


def move(context: ToolContext, args: Move) -> Moved:
    if bool(args.path) == (args.paths is not None) or (args.path and args.by_kind):
        reason = "`path` is one file or folder, `paths` and `by_kind` are for several files: give one of them"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    if args.paths is not None:
        return _move_all(context, args, args.paths)
    source, files = context.resolve_write(args.path), context.files
    to = own_place(context, args.to, source.name, folder=True)
    target = context.resolve_write(to)
    if source in context.folders.write:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.path} is a granted folder itself and stays", effect=False)
    if source in target.parents:
        reason = f"{to} lies inside {args.path}, which cannot move into itself; choose a place beside it"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    with plain(source, "looking at", effect=False):
        exists, is_taken, folder = files.exists(source), files.exists(target), files.is_folder(target)
        recased = is_taken and files.is_recased(source, target)
        is_taken = is_taken and not (exists and (recased or files.is_begun(source, target)))
    if not exists:
        if is_taken:
            # An earlier attempt has done it.
            return {"path": to, "count": 0, "left_out": [], "moved": False, "put_back": []}
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} does not exist on this device", effect=False)
    if is_taken:
        way_out = f"; to move it into that folder, write {to}/" if folder else "; choose another name"
        raise ToolFailed(Code.TOOL_FAILED, f"{to} exists already{way_out}", effect=False)
    with plain(source, "moving"):
        missing = missing_above(context, target)
        files.make_folder(target.parent)
        files.move(source, target)
    back = _moved_from(context, to, args.path, target, missing)
    left_out = [] if recased else _left_behind(context, FoundRef(path=args.path), source)
    return {"path": to, "count": 1, "left_out": left_out, "moved": True, "put_back": [back]}


def _moved_from(context: ToolContext, to: str, was: str, target: Path, missing: int) -> MovedFrom:
    """Return the item of an undo for what was moved; so many folders above its place were missing before."""
    back: MovedFrom = {"path": to, "was": was, "state": state_of(context.files, target)}
    if missing:
        back["made"] = missing
    return back


def _left_behind(context: ToolContext, file: FoundRef, at: Path) -> list[LeftOut]:
    """Name the place from which a file or folder was moved, if something is there again, or still."""
    with plain(at, "looking at"):
        stays = context.files.exists(at)
    return [_left_out(file, "something was written there while it moved, and stays")] if stays else []


def _left_out(file: FoundRef, why: str) -> LeftOut:
    left: LeftOut = {"path": file.path, "why": why}
    if file.device:
        left["device"] = file.device
    return left


def _move_all(context: ToolContext, args: Move, paths: list[str | FoundRef]) -> Moved:
    """Move files into a folder. The result tells each that moved, whatever stands in the way of another one."""
    files = [FoundRef(path=item) if isinstance(item, str) else item for item in paths]
    ways: list[tuple[FoundRef, Path, str, Path]] = []
    with before_any_change():
        for file in files:
            source = context.resolve_write(file.path)
            below = _FOLDERS_BY_KIND.get(kind_of(source.name), _OTHERS) if args.by_kind else ""
            to = os.path.normpath(Path(args.to) / below / source.name)
            ways.append((file, source, to, context.resolve_write(to)))
    put_back: list[MovedFrom] = []
    left_out: list[LeftOut] = []
    done = 0
    for file, source, to, target in ways:
        try:
            missing = missing_above(context, target)
            why, moved = _moved_one(context, file, source, target)
            if not why:
                put_back.append(_moved_from(context, to, file.path, target, missing))
                done += moved
        except OSError as error:
            why = error.strerror or str(error)
        if why:
            left_out.append(_left_out(file, why))
        elif source != target:
            left_out += _left_behind(context, file, source)
    return {"path": args.to, "count": len(put_back), "left_out": left_out, "moved": done > 0, "put_back": put_back}


def _moved_one(context: ToolContext, file: FoundRef, source: Path, target: Path) -> tuple[str, bool]:
    """Move one file unless something speaks against it; return that in words, and whether it moved just now.

    Raises:
        OSError: it could not be moved.
    """
    files = context.files
    if not files.exists(source):
        about = files.status(target)
        as_found = about is not None and (about.st_size, int(about.st_mtime)) == (file.bytes, file.mtime_s)
        return ("" if as_found else "it is not there any more"), False  # an earlier attempt has moved it
    if not files.is_file(source):
        return "it is no file", False
    if source.suffix.casefold() in _UNFINISHED:
        return "a program is still writing it, by its ending", False
    if why := _why_left(context, file, source):
        return why, False
    if files.exists(target) and not files.is_begun(source, target):
        return f"{target} exists already", False
    files.make_folder(target.parent)
    files.move(source, target)
    return "", True


class Trash(Args, frozen=True, kw_only=True):
    """Put files or folders into the trash of their granted folder; `fs.restore` brings them back.

    The file that an item had `replaced` (as the `added` of a write says) comes back in its place. If somebody changed
    an item since the call `wrote` it, nothing is moved. A file that changed since it was found (`sha256`, or `bytes`
    and `mtime_s`) stays, as does one whose equal file `kept` is gone; `left_out` names them.
    """

    paths: list[str | FoundRef]
    left_by: Annotated[str, HUB_ONLY] = ""
    """A task of this plan: the files that its attempts left here, as the device noted them."""


class TrashedItem(TypedDict):
    """`files` is how many came with a `folder`, 0 or absent for an empty one."""

    device: NotRequired[str]
    files: NotRequired[int]
    folder: NotRequired[bool]
    path: str
    ticket: str


class Trashed(TypedDict):
    """`tickets` bring the items back; `missing` were not there; on the paths `restored` the replaced file is again."""

    count: int
    items: list[TrashedItem]
    left_out: list[LeftOut]
    missing: list[str]
    restored: list[str]
    tickets: list[str]


def trash(context: ToolContext, args: Trash) -> Trashed:
    files = [FoundRef(path=item) if isinstance(item, str) else item for item in args.paths]
    real = [(file.path, context.resolve_write(file.path)) for file in files]
    for path, at in real:
        if at in context.folders.write or not any(map(at.is_relative_to, context.folders.write)):
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{path} cannot go to the trash: it is a granted folder", effect=False)
    items: list[TrashedItem] = []
    left_out: list[LeftOut] = []
    missing: list[str] = []
    restored: list[str] = []
    # The last first: of a path that was written twice, the older file comes back last.
    ordered = [(file, at) for file, (_, at) in reversed(list(zip(files, real, strict=True)))]
    with before_any_change():
        seen = require_as_written(context, ordered)
    for file, at in ordered:
        path = file.path
        if file.replaced and not lies_in_trash(context, file.replaced):
            restored.append(path)  # an earlier attempt has done it, and the old file is in its place again
            continue
        with plain(at, "looking at"):
            exists = context.files.exists(at)
        if exists and (why := _why_left(context, file, at)):
            left_out.append(_left_out(file, why))
            continue
        if exists:
            item: TrashedItem = {"path": path, "ticket": remove_as_written(context, file, at, seen.pop(at, None))}
            if file.device:
                item["device"] = file.device
            if file.folder:
                item["folder"] = True
                item["files"] = file.files
            items.append(item)
            left_out += _left_behind(context, file, at)
        elif not file.replaced and not file.on_way:
            missing.append(path)
        if file.replaced:
            bring_back(context, file.replaced)
            restored.append(path)
    for rows in (items, left_out, missing, restored):
        rows.reverse()
    return {
        "items": items,
        "left_out": left_out,
        "missing": missing,
        "restored": restored,
        "count": len(items),
        "tickets": [item["ticket"] for item in items],
    }


def _why_left(context: ToolContext, file: FoundRef, at: Path) -> str:
    """Return why a file that was found before stays; empty where it may go, and for an item that a call made.

    A person may have looked at the list for days before it was approved.
    """
    if file.on_way:
        return why_changed(context, file, at)
    if file.wrote or file.folder:
        return ""
    with plain(at, "looking at"):
        about = context.files.status(at)
    if about is not None and file.sha256:
        as_found = stat.S_ISREG(about.st_mode) and sha256_of(context.files, at)[0] == file.sha256
    else:
        as_found = (
            not file.mtime_s or about is None or (about.st_size, int(about.st_mtime)) == (file.bytes, file.mtime_s)
        )
    if not as_found:
        return "it was changed since it was found"
    if not file.kept:
        return ""
    twin = context.resolve_read(file.kept)
    with plain(twin, "reading"):
        other = context.files.status(twin)
        if twin == at or (about is not None and other is not None and os.path.samestat(about, other)):
            return f"{file.kept}, which is to stay, is the same file"
        stays = hold_the_same(context, at, twin)
    return "" if stays else f"{file.kept}, which was to stay, is not there with the same contents any more"


class Restore(Args, frozen=True, kw_only=True):
    """Bring back what `fs.trash` took, by its tickets, and `put_back` of a move, below `under` alone.

    A taken place is an error, as is a moved file that was changed since. What is back already is not `moved` again.
    """

    tickets: Annotated[list[str], msgspec.Meta(examples=[["TICKET"]])] = msgspec.field(default_factory=list)
    put_back: list[MovedRef] = msgspec.field(default_factory=list)
    under: str = ""
    left_by: Annotated[str, HUB_ONLY] = ""
    """As in `fs.trash`."""


class RestoredItem(TypedDict):
    """`moved` is false where it was restored before."""

    moved: bool
    path: str
    ticket: NotRequired[str]


class Restored(TypedDict):
    count: int
    items: list[RestoredItem]


def restore(context: ToolContext, args: Restore) -> Restored:
    with before_any_change():
        folder = context.resolve_write(args.under) if args.under else None
        for ticket in args.tickets:
            origin = origin_of(context, ticket)
            if folder is not None and not origin.is_relative_to(folder):
                raise ToolFailed(Code.FORBIDDEN, f"ticket {ticket} does not lead into {args.under}: nothing was moved")
        ways = [(item, *way_to_put_back(context, item, folder)) for item in args.put_back]
    back: list[RestoredItem] = []
    for item, at, was, has_moved in ways:
        if has_moved:
            with plain(at, "moving"):
                context.files.make_folder(was.parent)
                context.files.move(at, was)
        back.append({"path": item.was, "moved": has_moved})
    for item, at, _, _ in reversed(ways):
        _clear_made(context, at, item.made)
    for ticket in args.tickets:
        target, moved = bring_back(context, ticket)
        back.append({"path": os.fspath(target), "ticket": ticket, "moved": moved})
    return {"items": back, "count": len(back)}


def _clear_made(context: ToolContext, at: Path, made: int) -> None:
    """Put the folders that a move had made above a place into the trash, the inner ones first, while they are empty."""
    for folder in [*at.parents][:made]:
        with plain(folder, "looking at"):
            if not context.files.is_folder(folder):
                continue
            with context.files.scan(folder) as entries:
                if next(entries, None) is not None:
                    return
        remove(context, folder)


def _writes(name: str, title: str, args: type[Args], run: Any, repeatability: Repeatability) -> Tool:
    return Tool(
        name=name,
        title=title,
        args=args,
        run=run,
        effects=(Effect.WRITE,),
        repeatability=repeatability,
        confined=True,
        grant="files:write",
    )


TOOLS = (
    _writes("fs.copy", "Copy a file or folder", Copy, copy, Repeatability.IDEMPOTENT),
    _writes("fs.move", "Move a file or folder", Move, move, Repeatability.IDEMPOTENT),
    _writes("fs.trash", "Put files into the trash", Trash, trash, Repeatability.IDEMPOTENT),
    _writes("fs.restore", "Bring files back from the trash", Restore, restore, Repeatability.IDEMPOTENT),
)
