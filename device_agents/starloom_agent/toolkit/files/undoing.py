"""The undo of a write or a move: an item goes to the trash, or back, only while it is as the call left it.

A file is compared by its hash: programs keep size and time of a file that they change, and others touch one that they
leave alone. A folder that was made empty may hold folders by now, but nothing else; one that came with its files may
hold these and no others. One that was made on the way to a file stays alone where it holds something. Moved files are
compared by sizes and times: their bytes are not read, and no undo of a move loses any.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.comparing import sha256_of
from starloom_agent.toolkit.files.emptying import make_room
from starloom_agent.toolkit.files.placing import is_direct
from starloom_agent.toolkit.files.trash import lies_in_trash, origin_of, remove, restore
from starloom_agent.toolkit.files.walking import Walk, shown_name
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.toolkit.refs import AddedRef, MovedRef
from starloom_protocol.vocabulary import Code

_DEPTH_MOST: Final = 64
_STAYS: Final = "It stays"


def hash_of_files(hashes: Mapping[str, str]) -> str:
    """Return the hash of the files of a folder, given by their names below it, as they are shown."""
    rows = (f"{len(name)} {name} {digest}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def state_of(files: Beneath, at: Path) -> str:
    """Return a text that changes with the names, sizes or times of a file, or of the files of a folder; "" of nothing.

    Raises:
        OSError: it cannot be looked at.
    """
    about = files.status(at)
    if about is None:
        return ""
    if not stat.S_ISDIR(about.st_mode):
        return hash_of_files({"": f"{stat.S_IFMT(about.st_mode)} {about.st_size} {int(about.st_mtime)}"})
    walk = Walk(files, at, hidden=True, trash=True, any_name=True)
    files_below = {shown_name(one.below): f"{one.bytes} {one.mtime_s}" for one in walk}
    others = {shown_name(below): "" for below in (*walk.links, *walk.empty, *(one.below for one in walk.missed))}
    return hash_of_files(files_below | others)


def way_to_put_back(context: ToolContext, item: MovedRef, folder: Path | None) -> tuple[Path, Path, bool]:
    """Return the places of a moved item, now and before, and whether it is still to go back.

    Raises:
        ToolFailed: a place is not below `folder`, the item is gone or was changed, or its old place is taken.
    """
    at, was = context.resolve_write(item.path), context.resolve_write(item.was)
    if folder is not None and not (at.is_relative_to(folder) and was.is_relative_to(folder)):
        raise ToolFailed(Code.FORBIDDEN, f"{item.path} or {item.was} is not in {folder}: nothing was moved")
    with plain(at, "looking at"):
        state, is_taken = state_of(context.files, at), context.files.exists(was)
    if not state and is_taken:
        return at, was, False
    if not state or state != item.state:
        why = "was changed since it was moved" if state else "is not there any more"
        raise ToolFailed(Code.CONFLICT, f"{item.path} {why}. Nothing was moved back; its place was {item.was}")
    if is_taken:
        raise ToolFailed(Code.CONFLICT, f"{item.was} exists again, so {item.path} stays. Nothing was moved back")
    return at, was, True


def require_as_written(context: ToolContext, items: Sequence[tuple[AddedRef, Path]]) -> dict[Path, os.stat_result]:
    """Return the status of each place that an undo would empty; `items` are in the order in which it goes on.

    Of a place that was written twice, the last file is there; the one before is in the trash and comes back as it was.

    Raises:
        ToolFailed: an item is not as it was made, or the trash does not know a ticket.
    """
    seen: dict[Path, os.stat_result] = {}
    looked_at: set[Path] = set()
    for file, at in items:
        if file.replaced and origin_of(context, file.replaced) != at:
            reason = f"ticket {file.replaced} is of another place than {file.path}: nothing was moved"
            raise ToolFailed(Code.BAD_ARGUMENTS, reason)
        if file.replaced and not lies_in_trash(context, file.replaced):
            continue
        if at not in looked_at and _is_compared(file) and not file.on_way:
            about, why = _compared(context, file, at)
            if why:
                raise _changed_since(file, why, "Nothing was taken back")
            if about is not None:
                seen[at] = about
        looked_at.add(at)
    return seen


def remove_as_written(context: ToolContext, file: AddedRef, at: Path, seen: os.stat_result | None) -> str:
    """Put the item of an undo into the trash; return its ticket. `seen` is its status when it was compared.

    Raises:
        ToolFailed: it is not as it was made, and is where it was; or it cannot be moved.
    """
    if seen is None and _is_compared(file):
        seen, why = _compared(context, file, at)
        if why:
            raise _changed_since(file, why, _STAYS)
    make_room(context, at)
    ticket, place = remove(context, at)
    if seen is not None:
        with plain(at, "looking at"):
            alike = _alike(context.files, file, place, seen)
        if not alike:
            restore(context, ticket)
            raise _changed_since(file, "it changed while it was compared", _STAYS)
    return ticket


def why_changed(context: ToolContext, file: AddedRef, at: Path) -> str:
    """Return how an item differs from what its call made; empty where it does not, or is not there."""
    return _compared(context, file, at)[1]


def _is_compared(file: AddedRef) -> bool:
    return bool(file.wrote or file.folder)


def _compared(context: ToolContext, file: AddedRef, at: Path) -> tuple[os.stat_result | None, str]:
    """Return the status of an item, None where nothing is, and how it differs from what its call made."""
    if not is_direct(context, file.path, at):
        return None, "it is a link"
    with plain(at, "looking at", effect=False):
        about = context.files.status(at)
        if about is None:
            return None, ""
        if file.folder:
            return about, _not_held(context.files, file, at) if stat.S_ISDIR(about.st_mode) else "it is no folder"
    if not stat.S_ISREG(about.st_mode):
        return about, "it is no file"
    return about, "" if sha256_of(context.files, at)[0] == file.wrote else "it has other contents"


def _changed_since(file: AddedRef, why: str, outcome: str) -> ToolFailed:
    reason = f"{file.path} was changed since it was written: {why}. {outcome}"
    return ToolFailed(Code.CONFLICT, f"{reason}. To keep it, move it away; then undo again")


def _not_held(files: Beneath, file: AddedRef, folder: Path) -> str:
    """Return how the files of a folder differ from those that its call made; empty where they are the same."""
    if not file.holds:
        return _first_file(files, folder)
    walk = Walk(files, folder, hidden=True, trash=True, any_name=True)
    digests = {shown_name(one.below): sha256_of(files, one.path)[0] for one in walk}
    if walk.links or walk.unreadable:
        return f"it holds {walk.links[0]}" if walk.links else "not all of it can be read"
    return "" if hash_of_files(digests) == file.holds else "it does not hold the files that came with it, and no others"


def _first_file(files: Beneath, folder: Path, below: str = "", depth: int = 0) -> str:
    """Return, in words, the first thing in a folder that is no folder; empty where there is none."""
    with files.scan(folder) as entries:
        listing = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in listing:
        path = f"{below}/{name}" if below else name
        if not is_folder or depth >= _DEPTH_MOST:
            return f"it holds {shown_name(path)}"
        if inner := _first_file(files, folder / name, path, depth + 1):
            return inner
    return ""


def _alike(files: Beneath, file: AddedRef, place: Path, seen: os.stat_result) -> bool:
    """Tell whether what lies in the trash is what was compared."""
    about = files.status(place)
    if about is None or stat.S_IFMT(about.st_mode) != stat.S_IFMT(seen.st_mode):
        return False
    if stat.S_ISDIR(about.st_mode):
        return not _not_held(files, file, place)
    if _state(about) == _state(seen):
        return True
    # On the way to another file system it was copied, which gives it another number.
    return sha256_of(files, place)[0] == file.wrote


def _state(about: os.stat_result) -> tuple[int, int, int, int]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
