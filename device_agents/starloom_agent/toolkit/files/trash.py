"""The trash of a granted folder: what a tool removes or replaces lies in it under a ticket, and can be restored.

Each granted folder has one of its own (`.starloom-trash`). A ticket is a folder there, with the file and a note of its
place. A ticket that was restored stays known, so that an undo may be repeated. `trash.empty` alone deletes a file;
`emptying` removes tickets, of which the note is kept.
"""

from __future__ import annotations

import contextlib
import os
import time
import unicodedata
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from starloom_agent.platforms.carrying import EMPTYING
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_protocol.vocabulary import Code

_NOTE: Final = "from.json"
_NOTE_BYTES_MOST: Final = 64 * 1024
_RESTORED: Final = ".restored"
"""Notes of the tickets that were restored; no ticket begins with a dot."""
RESTORED_MOST: Final = 1000
"""An undo is repeated soon or never; older tickets are no longer known then."""
EMPTIED: Final = ".emptied"
"""Notes of the tickets that were emptied; the time of a note is when that was."""


_IN_NAMES: Final = "\u00ad\u200c\u200d"
"""Signs without a width that names have: a soft hyphen, and what joins emojis or parts letters."""


class _Origin(msgspec.Struct, frozen=True):
    path: str


@dataclass(frozen=True)
class _Ticket:
    """A ticket that a trash knows. `file` is its place there."""

    trash: Path
    home: Path
    note: Path
    origin: Path

    @property
    def file(self) -> Path:
        return self.home / _kept_name(self.origin.name)


def remove(context: ToolContext, path: Path) -> tuple[str, Path]:
    """Put a file or folder into the trash of its granted folder; return its ticket and its place there.

    Raises:
        ToolFailed: it cannot be moved there; it is where it was.
    """
    ticket, place = _begun_removal(context, path) or open_ticket(context, path)
    try:
        with plain(place, "moving to the trash"):
            context.files.move(path, place)
    finally:
        close_ticket(context, place)
    return ticket, place


def _begun_removal(context: ToolContext, path: Path) -> tuple[str, Path] | None:
    """Return the ticket of an attempt to trash a path from another file system that was cut, and the place there."""
    files, root = context.files, root_of(context, path)
    about, top = files.status(path), files.status(root)
    if about is None or top is None or about.st_dev == top.st_dev:
        return None
    with contextlib.suppress(OSError), files.scan(root / TRASH) as entries:
        places = [(entry.name, root / TRASH / entry.name / _kept_name(path.name)) for entry in entries]
        return next((place for place in places if files.is_begun(path, place[1])), None)
    return None


def restore(context: ToolContext, ticket: str) -> tuple[Path, bool]:
    """Bring back the file or folder of a ticket; return its place, and whether it was moved just now.

    Raises:
        ToolFailed: no trash knows the ticket, or something is in its place.
    """
    entry = _ticket_of(context, ticket)
    files = context.files
    target = context.resolve_write(entry.origin)
    moved = False
    with plain(entry.home, "restoring"):
        if files.exists(entry.file):
            files.make_folder(target.parent)
            try:
                files.move(entry.file, target)
            except FileExistsError:
                raise ToolFailed(Code.TOOL_FAILED, f"{target} exists again; move it away first") from None
            moved = True
            if files.exists(entry.file):
                return target, moved  # what changed on the way to another file system; its ticket stays
        elif entry.note.parent == entry.home:
            _require_only_note(files, entry.home)
        if entry.note.parent == entry.home:
            _keep_note(context, entry)
        files.remove_tree(entry.home)
    return target, moved


def lies_in_trash(context: ToolContext, ticket: str) -> bool:
    """Tell whether the file of a ticket was not brought back yet.

    Raises:
        ToolFailed: no trash knows the ticket.
    """
    entry = _ticket_of(context, ticket)
    with plain(entry.home, "looking into the trash"):
        return context.files.exists(entry.file)


def origin_of(context: ToolContext, ticket: str) -> Path:
    """Return the place of a ticket's file before it came to the trash.

    Raises:
        ToolFailed: no trash knows the ticket, or its place is outside of the granted folders.
    """
    return context.resolve_write(_ticket_of(context, ticket).origin)


def open_ticket(context: ToolContext, path: Path, *, durable: bool = False) -> tuple[str, Path]:
    """Make a ticket for a path, with its note; return it with the free place of the file there.

    A `durable` note is on the disk before the file moves, also after a power cut. It costs some milliseconds, which a
    call that trashes thousands of files does not spend.

    Raises:
        ToolFailed: nothing can be put into the trash.
    """
    ticket = f"{int(time.time())}-{uuid.uuid4().hex[:12]}"
    home = root_of(context, path) / TRASH / ticket
    with plain(home, "moving to the trash"):
        context.files.make_folder(home)
        # The note is written first: a cut leaves at worst a note without a file, never a file without a note.
        with context.files.create(home / _NOTE) as note:
            note.write(msgspec.json.encode(_Origin(os.fspath(path))))
            if durable:
                note.flush()
                os.fsync(note.fileno())
    return ticket, home / _kept_name(path.name)


def _kept_name(name: str) -> str:
    """Return the name of a file in its ticket: its own, or another where that is the name of the note."""
    return f"{name}.kept" if name.casefold() == _NOTE else name


def root_of(context: ToolContext, path: Path) -> Path:
    """Return the granted folder in whose trash a path belongs."""
    roots = (*context.folders.write, context.workdir, context.workdir.resolve())
    return max((root for root in roots if path.is_relative_to(root)), key=lambda root: len(root.parts))


def close_ticket(context: ToolContext, place: Path) -> bool:
    """Tell whether a file came to the trash; a ticket without a file is removed."""
    with contextlib.suppress(OSError):
        if context.files.exists(place):
            return True
        context.files.remove_tree(place.parent)
        return False
    return True


def _ticket_of(context: ToolContext, ticket: str) -> _Ticket:
    emptied = None
    if ticket and "/" not in ticket and "\0" not in ticket and not ticket.startswith("."):
        for root in context.folders.write:
            trash = root / TRASH
            with plain(trash, "looking into the trash"):
                emptied = emptied or _emptied(context.files, trash, ticket)
                for note in (trash / ticket / _NOTE, trash / _RESTORED / ticket):
                    if context.files.is_file(note):
                        with context.files.open(note) as file:
                            origin = _origin_of(ticket, trash / ticket, file.read())
                        return _Ticket(trash, trash / ticket, note, Path(origin.path))
    if emptied is not None:
        day = time.strftime("%Y-%m-%d", time.localtime(emptied.st_mtime))
        reason = f"the file of ticket {ticket} was emptied from the trash on {day} and cannot be brought back"
        raise ToolFailed(Code.FILE_NOT_FOUND, reason)
    raise ToolFailed(Code.FILE_NOT_FOUND, f"the trash has no ticket {ticket}")


def _emptied(files: Beneath, trash: Path, ticket: str) -> os.stat_result | None:
    """Return the status of the note of an emptied ticket, or of its folder while it is being removed."""
    places = (trash / EMPTIED / ticket, trash / f"{EMPTYING}{ticket}")
    return next((about for place in places if (about := files.status(place)) is not None), None)


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


def _origin_of(ticket: str, home: Path, note: bytes) -> _Origin:
    try:
        return msgspec.json.decode(note, type=_Origin)
    except msgspec.MsgspecError as error:
        reason = f"the note of ticket {ticket} is damaged, so its place is not known; the file lies in {home}"
        raise ToolFailed(Code.TOOL_FAILED, reason) from error


def _keep_note(context: ToolContext, entry: _Ticket) -> None:
    """Keep what a restored ticket stood for; of the newest tickets only, so that this stays small."""
    ticket, folder = entry.home.name, entry.trash / _RESTORED
    context.files.make_folder(folder)
    # An emptying at the same moment may have taken the folder of the ticket, without the file that is back.
    for note in (entry.note, note_in(entry.trash / f"{EMPTYING}{ticket}"), entry.trash / EMPTIED / ticket):
        with contextlib.suppress(FileNotFoundError):
            context.files.rename(note, folder / ticket)
            break
    keep_newest(context.files, folder)


def keep_newest(files: Beneath, folder: Path) -> None:
    with files.scan(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names[:-RESTORED_MOST]:
        with contextlib.suppress(FileNotFoundError):  # another call was quicker
            files.remove(folder / name)


def note_in(home: Path) -> Path:
    """Return the place of the note in the folder of a ticket."""
    return home / _NOTE


def read_note(files: Beneath, note: Path) -> str:
    """Return the path that a note has; empty where it cannot be read."""
    with contextlib.suppress(OSError, msgspec.MsgspecError), files.open(note) as file:
        return msgspec.json.decode(file.read(_NOTE_BYTES_MOST), type=_Origin).path
    return ""


def line_of(path: str) -> str:
    """Return a path on one line that steers no terminal; the spaces and joined signs of names stay."""
    return "".join(sign if sign.isprintable() or sign in _IN_NAMES or _is_space(sign) else "?" for sign in path)


def _is_space(sign: str) -> bool:
    return unicodedata.category(sign) == "Zs"
