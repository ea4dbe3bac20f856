"""`trash.list`, `trash.empty`: the contents of the trashes of one device, and their end.

Every other tool leaves what it takes from its place in a trash. `trash.empty` alone removes for good, so its effect is
*destroy*: its plan waits for a person, and its device asks its owner.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import TRASH, folded
from starloom_agent.toolkit.faults import before_any_change, plain
from starloom_agent.toolkit.files.emptying import DAY_S, Entry, empty_tickets, entries_of
from starloom_agent.toolkit.files.trash import note_in, read_note
from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.results import Named
from starloom_protocol.vocabulary import Effect, Repeatability

_LISTED_MOST = 1000

Days = Annotated[int, msgspec.Meta(ge=0, le=36_500)]


class ListTrash(Args, frozen=True, kw_only=True):
    """List the trash of each granted folder, the newest first; `fs.restore` takes its `tickets`.

    `name` is that of a file or folder before it went there. `count`, `bytes` and `oldest_s` count beyond `limit`, too.
    """

    name: str = ""
    older_than_days: Days = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=_LISTED_MOST)] = _LISTED_MOST
    device_name: str = ""


class InTrash(Named):
    """`path` is its place before, empty where that is not known; it lies in the trash since `since_s`."""

    bytes: int
    name: str
    path: str
    since_s: int
    ticket: str


class TrashListed(TypedDict):
    bytes: int
    count: int
    items: list[InTrash]
    oldest_s: NotRequired[int]
    tickets: list[str]


def list_trash(context: ToolContext, args: ListTrash) -> TrashListed:
    entries: list[tuple[Entry, str]] = []
    for root, entry in _entries(context, args.older_than_days):
        path = read_note(context.files, note_in(root / TRASH / entry.ticket))
        if not args.name or folded(Path(path).name) == folded(args.name):
            entries.append((entry, path))
    entries.sort(key=lambda one: (-one[0].since_s, one[0].ticket))
    items: list[InTrash] = []
    for entry, path in entries[: args.limit]:
        item: InTrash = {
            "bytes": entry.bytes,
            "name": Path(path).name,
            "path": path,
            "since_s": int(entry.since_s),
            "ticket": entry.ticket,
        }
        if args.device_name:
            item["device"] = args.device_name
        items.append(item)
    listed: TrashListed = {
        "bytes": sum(entry.bytes for entry, _ in entries),
        "count": len(entries),
        "items": items,
        "tickets": [item["ticket"] for item in items],
    }
    if entries:
        listed["oldest_s"] = int(entries[-1][0].since_s)
    return listed


class EmptyTrash(Args, frozen=True, kw_only=True):
    """Remove for good what lies in the trash of each granted folder for more than so many days; 0: all of it."""

    older_than_days: Days
    device_name: str = ""


class TrashEmptied(Named):
    """`left` is the number of those that could not be removed; the log says why."""

    bytes: int
    count: int
    left: int


def empty_trash(context: ToolContext, args: EmptyTrash) -> TrashEmptied:
    with before_any_change():
        entries = list(_entries(context, args.older_than_days))
    gone: list[Entry] = []
    for root in dict.fromkeys(root for root, _ in entries):
        with plain(root / TRASH, "emptying"):
            tickets = {entry.ticket for of, entry in entries if of == root}
            gone += empty_tickets(context.files, root, tickets, context.log)
    emptied: TrashEmptied = {
        "bytes": sum(entry.bytes for entry in gone),
        "count": len(gone),
        "left": len(entries) - len(gone),
    }
    if args.device_name:
        emptied["device"] = args.device_name
    return emptied


def _entries(context: ToolContext, days: int) -> list[tuple[Path, Entry]]:
    """Return the tickets of each trash that are older than so many days; all of them for 0."""
    until_s = time.time() - days * DAY_S
    in_trash = []
    for root in dict.fromkeys(context.folders.write):
        with plain(root / TRASH, "looking into"):
            entries = entries_of(context.files, root)
        # The clock of the file system may be a little ahead of that of the process.
        in_trash += [(root, entry) for entry in entries if not days or entry.since_s < until_s]
    return in_trash


TOOLS = (
    Tool(
        name="trash.list",
        title="List the trash",
        args=ListTrash,
        run=list_trash,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        grant="files:read",
    ),
    Tool(
        name="trash.empty",
        title="Empty the trash for good",
        args=EmptyTrash,
        run=empty_trash,
        effects=(Effect.DESTROY,),
        repeatability=Repeatability.NEVER,
        confined=True,
        grant="files:write",
        asks_by=("older_than_days",),
    ),
)
