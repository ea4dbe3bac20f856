"""`starloom-agent trash`: lists the trash of each granted folder, empties it on request, and says what was emptied.

Works on the disk alone, whether or not the agent runs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.file import read_policy
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.files.emptying import Entry, emptied_of, empty_tickets, entries_of
from starloom_agent.toolkit.files.trash import line_of, note_in, read_note
from starloom_protocol.text.wording import size_words

Show = Callable[[str], None]
Ask = Callable[[str], str]


class TrashFault(Exception):
    """A trash could not be looked into or emptied."""


def trash(home: AgentHome, options: argparse.Namespace, show: Show, ask: Ask | None) -> int:
    """Carry out one of `ls`, `log` and `empty`; `ask` puts a question to the owner, None where nobody can answer.

    Raises:
        TrashFault: with the way out.
    """
    roots = read_policy(home.policy).folders(home.workspace).write
    if options.action == "log":
        return _log(roots, options, show)
    entries = [(root, entry) for root in roots for entry in _entries(root)]
    if options.action == "empty":
        return _empty(entries, options, show, ask)
    rows = [_row(root, entry) for root, entry in entries]
    if options.json:
        show(json.dumps({"trash": rows}))
        return 0
    for (_, entry), row in zip(entries, rows, strict=True):
        size = size_words(entry.bytes)
        show(f"{row['ticket']}  {_when(row['since_s'])}  {size:>10}  {line_of(str(row['path'])) or 'unknown place'}")
    show(f"{len(rows)} in the trash, {size_words(sum(entry.bytes for _, entry in entries))}")
    return 0


def _entries(root: Path) -> list[Entry]:
    try:
        return entries_of(Beneath((), (root,)), root)
    except OSError as error:
        raise TrashFault(f"the trash of {root} cannot be looked into: {error.strerror or error}") from error


def _row(root: Path, entry: Entry) -> dict[str, str | int | float]:
    path = read_note(Beneath((), (root,)), note_in(root / TRASH / entry.ticket))
    return {
        "ticket": entry.ticket,
        "folder": str(root),
        "path": path,
        "bytes": entry.bytes,
        "since_s": int(entry.since_s),
    }


def _log(roots: tuple[Path, ...], options: argparse.Namespace, show: Show) -> int:
    rows = sorted(row for root in roots for row in emptied_of(Beneath((), (root,)), root))
    if options.json:
        names = ("emptied_s", "ticket", "path")
        show(json.dumps({"emptied": [dict(zip(names, (int(at), *rest), strict=True)) for at, *rest in rows]}))
        return 0
    for at, ticket, path in rows:
        show(f"{_when(at)}  {ticket}  {line_of(path) or 'unknown place'}")
    if not rows:
        show("nothing was emptied here yet")
    return 0


def _empty(entries: list[tuple[Path, Entry]], options: argparse.Namespace, show: Show, ask: Ask | None) -> int:
    unknown = sorted(set(options.tickets) - {entry.ticket for _, entry in entries})
    if unknown:
        raise TrashFault(f"no trash has the ticket {unknown[0]}; `starloom-agent trash` lists them")
    doomed = [(root, entry) for root, entry in entries if not options.tickets or entry.ticket in options.tickets]
    size = size_words(sum(entry.bytes for _, entry in doomed))
    if doomed and not options.yes:
        if ask is None:
            raise TrashFault(f"nobody can be asked here; to remove {len(doomed)} from the trash for good, add --yes")
        question = f"Remove {len(doomed)} from the trash for good, {size}? No undo brings them back. [y/N] "
        if ask(question).strip().casefold() not in ("y", "yes"):
            show("nothing was removed")
            return 1
    notes: list[str] = []
    gone: list[str] = []
    for root in dict.fromkeys(root for root, _ in doomed):
        tickets = {entry.ticket for of, entry in doomed if of == root}
        gone += [entry.ticket for entry in empty_tickets(Beneath((), (root,)), root, tickets, notes.append)]
    if options.json:
        show(json.dumps({"emptied": gone, "left": [entry.ticket for _, entry in doomed if entry.ticket not in gone]}))
    else:
        for line in notes:
            show(line)
        show(f"{len(gone)} removed for good")
    return 0 if len(gone) == len(doomed) else 1


def _when(at_s: float | str) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(float(at_s)))
