"""The placing of a finished file in one step, so that a reader never sees half of it and no other file is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePath

from starloom_agent.toolkit.beneath import part_name
from starloom_agent.toolkit.files.emptying import make_room
from starloom_agent.toolkit.files.naming import stored_name
from starloom_agent.toolkit.files.trash import close_ticket, open_ticket
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.toolkit.results import Added


@dataclass(frozen=True)
class Placed:
    """A file in its place; `ticket` is that of the file that it replaced, which lies in the trash."""

    bytes: int
    ticket: str = ""


def new_draft(context: ToolContext) -> Path:
    """Return a free place for a file that a call is making, in its own folder; `place` moves it from there."""
    return context.workdir / part_name()


def place(context: ToolContext, source: Path, target: Path, *, mode: int | None = None, mtime_s: int = 0) -> Placed:
    """Move `source` to `target`; a file that is there goes into the trash in the same step.

    Folders on the way are made. The target is the whole old file or the whole new one, also after a power cut, and of
    several calls at once each has in the trash what it replaced.

    Raises:
        OSError: it cannot be written; the old file is in its place.
        ToolFailed: the old file cannot go to the trash; it is in its place.
    """
    try:
        return Placed(context.files.place(source, target, mode=mode, mtime_s=mtime_s))
    except FileExistsError:
        make_room(context, target)
        ticket, old_file = open_ticket(context, target, durable=True)
    try:
        size = context.files.place_over(source, target, old_file, mode=mode, mtime_s=mtime_s)
    finally:
        is_in_trash = close_ticket(context, old_file)
    return Placed(size, ticket if is_in_trash else "")


def own_place(context: ToolContext, to: str, name: str, *, folder: bool = False) -> str:
    """Return the path that the target `to` of a call means: with `/` at its end, `name` in that folder.

    So it is for a file where a folder is already; a whole `folder` may be meant to be laid over that one.
    """
    if not to.endswith("/"):
        about = None if folder else context.files.status(context.resolve_write(to))
        if about is None or not stat.S_ISDIR(about.st_mode):
            return to
    return f"{to.rstrip('/')}/{stored_name(PurePath(name).name)}"


def is_direct(context: ToolContext, text: str, real: Path) -> bool:
    """Tell whether a path leads to a place without a link in its last part."""
    path = Path(text)
    return context.resolve_write(path.parent) / path.name == real


def missing_above(context: ToolContext, real: Path) -> int:
    """Return how many of the folders above a place are not there yet; a granted folder is none of them."""
    above = [folder for folder in real.parents if any(map(folder.is_relative_to, context.folders.write))]
    return next(
        (
            number
            for number, folder in enumerate(above)
            if folder in context.folders.write or context.files.status(folder) is not None
        ),
        0,
    )


def holding(files: Collection[Path]) -> str:
    """Return the absolute path of the folder in which all of these files lie."""
    return os.path.commonpath([file.parent for file in files])


def folders_on_way(path: str, missing: int) -> Added:
    """Return the items of an undo for the folders that were made above the file at `path`, the outermost first."""
    return [{"path": str(folder), "folder": True, "on_way": True} for folder in [*Path(path).parents][:missing][::-1]]


def readable_as(context: ToolContext, text: str, real: Path) -> str:
    """Return the path under which a later call finds the file: relative ones may start at another granted folder.

    An undo is given it as well, which takes nothing away through a link: then the path is the whole, real one.
    """
    try:
        same = context.resolve_read(text) == real and is_direct(context, text, real)
    except ToolFailed:
        same = False
    return text if same else os.fspath(real)
