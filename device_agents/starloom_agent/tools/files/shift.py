"""`fs.copy`, `fs.move`, `fs.trash`, `fs.restore`: files changing places inside the granted folders of one device.

Nothing is deleted: what goes lies in the trash of its granted folder (`.starloom-trash`) until it is restored. A
restored ticket stays known, so that an undo may be repeated.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
import uuid
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.placing import place
from starloom_agent.toolkit.files.walking import Walk
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.tools.files.digest import sha256_of
from starloom_protocol.vocabulary import Code, Effect, Repeatability

TRASH = ".starloom-trash"
_NOTE = "from.json"
_RESTORED = ".restored"
"""Notes of the tickets that were restored; no ticket begins with a dot."""
RESTORED_MOST = 1000
"""An undo is repeated soon or never; older tickets are no longer known then."""
_CHUNK_BYTES = 1024 * 1024
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Copy(Args, frozen=True, kw_only=True):
    """Copy a file or folder to `to`. A file that has the same contents there is kept; `on_clash` decides the rest."""

    path: str
    to: str
    on_clash: Literal["fail", "replace"] = "fail"


class Copied(TypedDict):
    """`kept` files were there with the same contents."""

    bytes: int
    files: int
    kept: int
    path: str


def copy(context: ToolContext, args: Copy) -> Copied:
    source, target = context.resolve_read(args.path), context.resolve_write(args.to)
    files = context.files
    with plain(source, "looking at", effect=False):
        folder, there = files.is_folder(source), files.exists(source)
    if not there:
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} does not exist on this device", effect=False)
    if folder and target.is_relative_to(source):
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"{args.to} lies inside {args.path}; choose a place beside it", effect=False
        )
    pairs = _below(files, source, target, args.path) if folder else [(source, target)]
    with plain(target, "looking at", effect=False):
        clashes = [] if args.on_clash == "replace" else [str(to) for _, to in pairs if files.exists(to)]
        same = {to for file, to in pairs if files.is_file(to) and sha256_of(files, file) == sha256_of(files, to)}
    clashes = [path for path in clashes if Path(path) not in same]
    if clashes:
        raise ToolFailed(
            Code.TOOL_FAILED, f"{clashes[0]} exists with other contents; allow on_clash: replace", effect=False
        )
    done = 0
    for number, (file, to) in enumerate(pairs):
        if to in same:
            continue
        half = context.workdir / "copy.part"
        with plain(file, "copying"), files.open(file) as taken, files.create(half) as made:
            shutil.copyfileobj(taken, made, _CHUNK_BYTES)
            about = os.fstat(taken.fileno())
            made.flush()
            os.utime(made.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))
        done += place(context, half, to, mode=stat.S_IMODE(about.st_mode) & ~_SET_ID)
        context.progress(done_bytes=done, fraction=(number + 1) / len(pairs), note=file.name)
    return {"path": args.to, "files": len(pairs), "kept": len(same), "bytes": done}


def _below(files: Beneath, source: Path, target: Path, named: str) -> list[tuple[Path, Path]]:
    """Return the files of a folder, each with its place in the copy.

    Raises:
        ToolFailed: something in it cannot be copied; a copy that lacks a part looks like a whole one.
    """
    walk = Walk(files, source, hidden=True)
    pairs = [(found.path, target / found.below) for found in walk]
    if walk.unreadable:
        reason = f"{walk.unreadable} entries of {named} cannot be read, lie too deep, or have names that are no text"
        raise ToolFailed(Code.TOOL_FAILED, f"{reason}: nothing was copied", effect=False)
    return pairs


class Move(Args, frozen=True, kw_only=True):
    """Move a file or folder to `to`, which must not exist."""

    path: str
    to: str


class Moved(TypedDict):
    """Not `moved`: an earlier attempt had done it."""

    moved: bool
    path: str


def move(context: ToolContext, args: Move) -> Moved:
    source, target = context.resolve_write(args.path), context.resolve_write(args.to)
    if source in context.folders.write:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.path} is a granted folder itself and stays", effect=False)
    files = context.files
    with plain(source, "looking at", effect=False):
        there, taken = files.exists(source), files.exists(target)
    if not there:
        if taken:
            return {"path": args.to, "moved": False}  # an earlier attempt has done it
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} does not exist on this device", effect=False)
    if taken:
        raise ToolFailed(Code.TOOL_FAILED, f"{args.to} exists already; choose another name", effect=False)
    with plain(source, "moving"):
        files.make_folder(target.parent)
        files.move(source, target)
    return {"path": args.to, "moved": True}


class Trash(Args, frozen=True, kw_only=True):
    """Put files or folders into the trash of their granted folder; `fs.restore` brings them back."""

    paths: list[str | FileRef]


def _root_of(context: ToolContext, path: Path) -> Path:
    return max((root for root in context.folders.write if path.is_relative_to(root)), key=lambda root: len(root.parts))


def _kept_in(home: Path, name: str) -> Path:
    """Return where a trashed file of this name lies: beside its note, whose name it may have itself."""
    return home / (f"_{name}" if name.casefold() == _NOTE else name)


class TrashedItem(TypedDict):
    device: NotRequired[str]
    path: str
    ticket: str


class Trashed(TypedDict):
    """`tickets` bring the items back; `missing` were not there."""

    count: int
    items: list[TrashedItem]
    missing: list[str]
    tickets: list[str]


def trash(context: ToolContext, args: Trash) -> Trashed:
    files = [FileRef(path=item) if isinstance(item, str) else item for item in args.paths]
    real = [(file.path, context.resolve_write(file.path)) for file in files]
    for path, at in real:
        if at in context.folders.write or not any(map(at.is_relative_to, context.folders.write)):
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{path} cannot go to the trash: it is a granted folder", effect=False)
        if TRASH in at.parts:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{path} is in the trash already", effect=False)
    items: list[TrashedItem] = []
    missing: list[str] = []
    for file, (path, at) in zip(files, real, strict=True):
        with plain(at, "looking at"):
            there = context.files.exists(at)
        if not there:
            missing.append(path)
            continue
        ticket = f"{int(time.time())}-{uuid.uuid4().hex[:12]}"
        home = _root_of(context, at) / TRASH / ticket
        with plain(home, "moving to the trash"):
            context.files.make_folder(home)
            # What it was is written first: a cut leaves at worst a note without a file, never a file without a note.
            with context.files.create(home / _NOTE) as note:
                note.write(msgspec.json.encode({"path": os.fspath(at)}))
            context.files.rename(at, _kept_in(home, at.name))
        item: TrashedItem = {"path": path, "ticket": ticket}
        if file.device:
            item["device"] = file.device
        items.append(item)
    tickets = [item["ticket"] for item in items]
    return {"items": items, "missing": missing, "count": len(items), "tickets": tickets}


class Restore(Args, frozen=True, kw_only=True):
    """Bring back what `fs.trash` took, by its tickets; a place that is taken meanwhile is an error.

    A ticket that was restored before succeeds again and changes nothing (`moved` is false).
    """

    tickets: list[str]


class _Origin(msgspec.Struct, frozen=True):
    path: str


def _note_of(context: ToolContext, ticket: str) -> tuple[Path, Path]:
    """Return the trash that knows a ticket, and the note on it there.

    Raises:
        ToolFailed: no trash knows it.
    """
    if ticket and "/" not in ticket and "\0" not in ticket and not ticket.startswith("."):
        for root in context.folders.write:
            trash_of_root = root / TRASH
            with plain(trash_of_root, "looking into the trash"):
                for note in (trash_of_root / ticket / _NOTE, trash_of_root / _RESTORED / ticket):
                    if context.files.is_file(note):
                        return trash_of_root, note
    raise ToolFailed(Code.FILE_NOT_FOUND, f"the trash has no ticket {ticket}")


class RestoredItem(TypedDict):
    """`moved` is false where it was restored before."""

    moved: bool
    path: str
    ticket: str


class Restored(TypedDict):
    count: int
    items: list[RestoredItem]


def restore(context: ToolContext, args: Restore) -> Restored:
    back: list[RestoredItem] = []
    for ticket in args.tickets:
        trash_of_root, at = _note_of(context, ticket)
        files = context.files
        home, moved = trash_of_root / ticket, False
        with plain(home, "restoring"):
            with files.open(at) as note:
                origin = note.read()
            target = context.resolve_write(msgspec.json.decode(origin, type=_Origin).path)
            kept = _kept_in(home, target.name)
            if at.parent == home and not files.exists(kept):
                _require_only_note(files, home)
            elif files.exists(kept):
                if files.exists(target):
                    raise ToolFailed(Code.TOOL_FAILED, f"{target} exists again; move it away first")
                files.make_folder(target.parent)
                files.rename(kept, target)
                moved = True
            if at.parent == home:
                _keep_note(context, at, trash_of_root / _RESTORED)
            files.remove_tree(home)
        back.append({"path": os.fspath(target), "ticket": ticket, "moved": moved})
    return {"items": back, "count": len(back)}


def _require_only_note(files: Beneath, home: Path) -> None:
    """Refuse to clear the folder of a ticket that holds more than its note: the note is not that of what lies there.

    Raises:
        ToolFailed: it does.
    """
    with files.scan(home) as entries:
        others = sorted(entry.name for entry in entries if entry.name != _NOTE)
    if others:
        reason = f"the note of this ticket does not name {others[0]}, which lies in {TRASH}/{home.name}"
        raise ToolFailed(Code.TOOL_FAILED, f"{reason}; move it from there")


def _keep_note(context: ToolContext, note: Path, folder: Path) -> None:
    """Keep what a restored ticket stood for; of the newest tickets only, so that this stays small."""
    files = context.files
    files.make_folder(folder)
    files.rename(note, folder / note.parent.name)
    with files.scan(folder) as entries:
        known = sorted(entry.name for entry in entries)
    for name in known[:-RESTORED_MOST]:
        files.remove(folder / name)


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
