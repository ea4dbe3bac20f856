"""The emptying of a trash: old files go for good, and the oldest while it holds more than its owner allows.

A ticket goes in one step: its folder gets a name that no ticket has, and only then is it removed. So a cut leaves whole
tickets alone, and the next emptying finishes what it left. The note of each is kept, so that an undo can say when its
file went. The age is that of the folder's last change (`ctime`), which no tool can set. A date that is set forward
makes a ticket old at once, so it goes only after the agent saw it for a day by a clock that has no date. Nothing else
in a trash is touched, no link is followed, and a file system that is mounted there is left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from starloom_agent.platforms.carrying import EMPTYING
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.files.trash import EMPTIED, keep_newest, line_of, note_in, read_note, root_of
from starloom_agent.toolkit.interface import ToolContext

DAY_S: Final = 24 * 3600
SPARED_S: Final = DAY_S
"""An undo can count on its files for so long, however full the trash is."""
SEEN_S: Final = DAY_S - 3600
"""So long a ticket must have been seen, too, whatever the date: the emptyings of an agent are a day apart."""
LIVED: Final = ".lived"
"""The note of the time that the device lived through, and of the tickets that were first seen then."""
KEEP_DAYS: Final = 30
_ANY_AGE_DAYS: Final = 36_500
_GIB: Final = 1024**3
_BLOCK_BYTES: Final = 512
"""The unit of `st_blocks` everywhere."""
_MOST_GIB: Final = 10
_MOST_OF_DISK: Final = 0.05
_TICKET: Final = re.compile(r"\d{1,12}-[0-9a-f]{12}")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bounds:
    """The owner's bounds for each trash; `most_gib` 0: 10 GiB or a twentieth of the disk, whichever is more."""

    keep_days: int = KEEP_DAYS
    most_gib: int = 0

    def most_bytes(self, root: Path) -> int:
        if self.most_gib:
            return self.most_gib * _GIB
        with contextlib.suppress(OSError):
            return max(_MOST_GIB * _GIB, int(shutil.disk_usage(root).total * _MOST_OF_DISK))
        return _MOST_GIB * _GIB


@dataclass(frozen=True)
class Entry:
    """One ticket of a trash, since when it is there, and the size of its file, without the note beside it."""

    ticket: str
    since_s: float
    bytes: int


class _Lived(msgspec.Struct, frozen=True):
    """The time that the device lived through. The clock that counted it, `clock_s`, restarts with the system."""

    lived_s: float = 0
    clock_s: float = 0
    seen: dict[str, float] = {}

    def later(self, clock_s: float, tickets: Collection[str]) -> _Lived:
        lived_s = self.lived_s + clock_s - (self.clock_s if clock_s >= self.clock_s else 0)
        return _Lived(lived_s, clock_s, {ticket: self.seen.get(ticket, lived_s) for ticket in tickets})

    def has_seen(self, ticket: str) -> bool:
        return self.lived_s - self.seen.get(ticket, self.lived_s) >= SEEN_S


def entries_of(files: Beneath, root: Path) -> list[Entry]:
    """Return the tickets in the trash of a granted folder, the oldest first.

    Raises:
        OSError: the trash cannot be looked into.
    """
    trash = root / TRASH
    entries = []
    for name in _folders_in(files, trash):
        about = files.status(trash / name) if _TICKET.fullmatch(name) else None
        if about is not None and stat.S_ISDIR(about.st_mode):
            home = trash / name
            entries.append(Entry(name, about.st_ctime, bytes_below(files, home, but=note_in(home))))
    return sorted(entries, key=lambda entry: (entry.since_s, entry.ticket))


def emptied_of(files: Beneath, root: Path) -> list[tuple[float, str, str]]:
    """Return when each of the last emptied tickets went, the ticket, and the path that its file had."""
    folder = root / TRASH / EMPTIED
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), files.scan(folder) as entries:
        names = [entry.name for entry in entries if _TICKET.fullmatch(entry.name)]
        abouts = [(name, files.status(folder / name)) for name in names]
        return sorted((about.st_mtime, name, read_note(files, folder / name)) for name, about in abouts if about)
    return []


def empty_by_bounds(
    files: Beneath,
    root: Path,
    bounds: Bounds,
    say: Say,
    *,
    now_s: float | None = None,
    clock_s: float | None = None,
    room: int = 0,
) -> int:
    """Empty a trash until it is within its bounds with `room` bytes more; return how many bytes it holds then.

    `clock_s` is a clock of the system without a date. Without it no time passes since the last emptying that had it.

    Raises:
        OSError: the trash cannot be looked into.
    """
    now_s = time.time() if now_s is None else now_s
    finish(files, root, say)
    entries = entries_of(files, root)
    total, most = sum(entry.bytes for entry in entries), bounds.most_bytes(root)
    lived = _lived(files, root, [entry.ticket for entry in entries], clock_s)
    for entry in entries:
        age_s = now_s - entry.since_s
        too_old = age_s > bounds.keep_days * DAY_S
        too_much = total + room > most and age_s > SPARED_S
        if not (too_old or too_much) or not lived.has_seen(entry.ticket):
            continue
        why = f"older than {bounds.keep_days} days" if too_old else f"the trash held more than {most // _GIB} GiB"
        if empty_entry(files, root, entry, say, why):
            total -= entry.bytes
    _forget_old(files, root)
    return total


def _lived(files: Beneath, root: Path, tickets: Collection[str], clock_s: float | None) -> _Lived:
    note, part = root / TRASH / LIVED, root / TRASH / f"{LIVED}.part"
    lived = _Lived()
    with contextlib.suppress(OSError, msgspec.MsgspecError), files.open(note) as file:
        lived = msgspec.json.decode(file.read(), type=_Lived)
    if clock_s is None or not (tickets or lived.seen):
        return lived
    lived = lived.later(clock_s, tickets)
    # A full disk keeps the note before this one, and the emptying makes room.
    with contextlib.suppress(OSError):
        files.erase(part)
        with files.create(part) as file:
            file.write(msgspec.json.encode(lived))
        files.replace(part, note)
    return lived


def make_room(context: ToolContext, path: Path) -> None:
    """Empty the oldest of the trash to which a file goes, if it would hold too much with it.

    A trash that cannot be emptied stops no call: it holds more for a while.
    """
    files, root = context.files, root_of(context, path)
    with contextlib.suppress(OSError):
        about = files.status(path)
        if about is None:
            return
        size = bytes_below(files, path) if stat.S_ISDIR(about.st_mode) else bytes_of(about)
        if root not in context.trash_bytes:
            context.trash_bytes[root] = sum(entry.bytes for entry in entries_of(files, root))
        bounds = Bounds(_ANY_AGE_DAYS, context.trash_most_gib)
        if context.trash_bytes[root] + size > bounds.most_bytes(root):
            context.trash_bytes[root] = empty_by_bounds(files, root, bounds, context.log, room=size)
        context.trash_bytes[root] += size


def empty_tickets(files: Beneath, root: Path, tickets: Collection[str], say: Say) -> list[Entry]:
    """Remove these tickets of a trash for good, and return those that went."""
    finish(files, root, say)
    chosen_entries = [entry for entry in entries_of(files, root) if entry.ticket in tickets]
    gone = [entry for entry in chosen_entries if empty_entry(files, root, entry, say, "by its owner")]
    _forget_old(files, root)
    return gone


def empty_entry(files: Beneath, root: Path, entry: Entry, say: Say, why: str) -> bool:
    """Remove one ticket for good; False if somebody else took it, or the system refuses."""
    trash = root / TRASH
    gone = trash / f"{EMPTYING}{entry.ticket}"
    try:
        files.rename(trash / entry.ticket, gone)
    except (FileNotFoundError, FileExistsError):
        return False
    except OSError as error:
        say(f"the trash of {root}: {entry.ticket} stays: {error.strerror or error}")
        return False
    name = line_of(read_note(files, note_in(gone))) or entry.ticket
    say(f"the trash of {root}: emptied {name}, {entry.bytes} bytes ({why})")
    _finish_one(files, trash, gone.name, say)
    return True


def finish(files: Beneath, root: Path, say: Say) -> None:
    """Remove what an emptying left that was cut, and copies of a cut way into the trash.

    Raises:
        OSError: the trash cannot be looked into.
    """
    trash = root / TRASH
    for name in _folders_in(files, trash):
        if name.startswith(EMPTYING):
            _finish_one(files, trash, name, say)
        elif _TICKET.fullmatch(name):
            with contextlib.suppress(OSError):
                files.sweep(trash / name)


def _finish_one(files: Beneath, trash: Path, name: str, say: Say) -> None:
    gone, ticket = trash / name, name.removeprefix(EMPTYING)
    if _TICKET.fullmatch(ticket):
        # A full disk costs the note, not the room that the emptying makes.
        with contextlib.suppress(OSError):
            if files.is_file(note_in(gone)):
                files.make_folder(trash / EMPTIED)
                files.set_mtime(note_in(gone), int(time.time()))
                files.rename(note_in(gone), trash / EMPTIED / ticket)
    try:
        files.erase(gone)
    except OSError as error:
        say(f"{gone} is emptied and cannot be removed yet: {error.strerror or error}")


def _forget_old(files: Beneath, root: Path) -> None:
    with contextlib.suppress(OSError):
        if files.is_folder(root / TRASH / EMPTIED):
            keep_newest(files, root / TRASH / EMPTIED)


def _folders_in(files: Beneath, trash: Path) -> list[str]:
    # A link in its place is no trash.
    if not files.is_folder(trash):
        return []
    with files.scan(trash) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def bytes_below(files: Beneath, top: Path, *, but: Path | None = None) -> int:
    """Return what the files below a folder take on the disk, one of them left out; what cannot be read is nothing."""
    total = 0
    pending = [top]
    while pending:
        folder = pending.pop()
        with contextlib.suppress(OSError), files.scan(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(folder / entry.name)
                elif folder / entry.name != but:
                    total += bytes_of(entry.stat(follow_symlinks=False))
    return total


def bytes_of(about: os.stat_result) -> int:
    """Return what a file takes on the disk: one with holes says more, and would push others out."""
    return min(about.st_size, getattr(about, "st_blocks", about.st_size) * _BLOCK_BYTES)
