"""`starloom activity`: the record of who did what, newest first, as the page of this name shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from starloom.cli.constellations.stopping import refuse_unknown_person
from starloom.cli.invocation import Invocation, hub_command
from starloom.client.routes import get_audit
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.stream.events import KINDS, Category, EventKind
from starloom_protocol.text.wording import counted, escaped, few

if TYPE_CHECKING:
    from starloom_protocol.api.history import ActivityRow

_ID: Final = re.compile(r"([a-z]+-)?[0-9a-z]{20}|[0-9a-f]{24}|s-[0-9a-z]{12}|approve-plan(-[0-9]+)?")
"""The form of an id that the hub gave; the proposal of a recipe has 24 hexadecimal digits, a schedule 12 letters.

The approval of a plan has the same id in each constellation.
"""
STRETCH_LEAST: Final = 4
"""Fewer deeds of work than this stand alone, as on the page: a line that hides two lines saves nothing."""
_ENDS: Final = {
    EventKind.TASK_FAILED: "failed",
    EventKind.TASK_CANCELLED: "cancelled",
    EventKind.TASK_SKIPPED: "skipped",
    EventKind.TASK_SUCCEEDED: "finished",
}
"""The ends of a task in words, the worst first."""
_WITHOUT_NAME: Final = re.compile(r" (?:(?:of|for|at|during|about|with) )?%")
DEVICES_NAMED_MOST: Final = 4
FILES_NAMED_MOST: Final = 3
LAST = 40
LAST_MOST = 2000


def register(app: typer.Typer) -> None:
    hub_command(app, "activity")(activity)


def activity(
    run: Invocation,
    person: Annotated[str, typer.Option("--by", "--of", help="Only this person, program or assistant, by name.")] = "",
    device: Annotated[str, typer.Option("--device", help="Only what is about this device.")] = "",
    kind: Annotated[Category | None, typer.Option("--kind", help="Only this subject.")] = None,
    words: Annotated[str, typer.Option("--words", help="Only what has these words.")] = "",
    since: Annotated[str, typer.Option("--since", help="Only what is younger: 90s, 30m, 12h, 7d.")] = "",
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=LAST_MOST, help="At most so many.")] = LAST,
) -> None:
    """Show who did what, the newest first."""
    call = get_audit(person=person or None, device=device or None, kind=kind, q=words or None)
    since_date = datetime.now(UTC) - timedelta(seconds=duration_s(since)) if since else None
    rows = _younger(run.client.pages(call, most=last), since_date)
    if run.as_json:
        items = list(rows)
        if person and not items:
            refuse_unknown_person(run, person)
        run.emit({"items": items})
        return
    printed = 0
    for run_of_work in _stretches(rows):
        printed += len(run_of_work)
        lines = [_line_of(row) for row in run_of_work] if len(run_of_work) < STRETCH_LEAST else [_together(run_of_work)]
        for row, words in zip(run_of_work, lines, strict=False):
            print(f"{clock(row['at'])}  {escaped(words)}")
    if not printed:
        if person:
            refuse_unknown_person(run, person)
        print("Nothing is on record for that.")
    elif printed == last:
        say(f"The newest {last} are shown; more: starloom activity --last {min(LAST_MOST, last * 5)}")


def _stretches(rows: Iterable[ActivityRow]) -> Iterator[list[ActivityRow]]:
    """Yield the deeds of work that follow each other in one constellation; each other deed stands alone."""
    stretch: list[ActivityRow] = []
    for row in rows:
        former = stretch[-1] if stretch else row
        if former["category"] != Category.WORK or row["category"] != Category.WORK or former["stream"] != row["stream"]:
            if stretch:
                yield stretch
            stretch = []
        stretch.append(row)
    if stretch:
        yield stretch


def _together(deeds: list[ActivityRow]) -> str:
    """Return a stretch of work as one line: the devices that did it, and how its tasks ended."""
    counts = Counter(deed["kind"] for deed in deeds)
    ended = [(counts[kind], word) for kind, word in _ENDS.items() if counts[kind]]
    parts = (
        [f"{counted(ended[0][0], 'task')} {ended[0][1]}", *(f"{n} {word}" for n, word in ended[1:])] if ended else []
    )
    started = counts[EventKind.TASK_STARTED]
    work = ", ".join(parts) or (f"{counted(started, 'task')} begun" if started else f"{len(deeds)} deeds of work")
    devices = sorted({deed["by_name"] for deed in deeds if deed["by"].startswith("device:")})
    if len(devices) > 1:
        work += f", on {few(devices, DEVICES_NAMED_MOST)}"
    work += _files([path for deed in deeds for path in deed["files"]], sum(deed["files_count"] for deed in deeds))
    actor = (
        f"{len(devices)} devices" if len(devices) > 1 else devices[0] if devices else deeds[0]["by_name"] or "the hub"
    )
    return f"{actor}: {work}{_where(deeds[0])}"


def _where(row: ActivityRow) -> str:
    stream = row["stream"]
    return f"  ({', '.join(filter(None, (row['stream_name'], stream)))})" if stream.startswith("c-") else ""


def _line_of(row: ActivityRow) -> str:
    """Return who did what to what, by names; the id of a session, a token or a question says nothing to a person."""
    about = row["about_name"] or ("" if _ID.fullmatch(row["about"]) else row["about"])
    kind = row["kind"]
    words = KINDS[EventKind(kind)].words if kind in set(EventKind) else kind.replace("_", " ")
    if row["by"] == f"device:{row['about']}" and kind in set(EventKind):
        words = KINDS[EventKind(kind)].own or words
    deed = words.replace("%", about) if about else _WITHOUT_NAME.sub("", words)
    if about and "%" not in words and about != row["by_name"]:
        deed += f" {about}"
    note = f": {row['note']}" if row["note"] else ""
    files = _files(row["files"], row["files_count"])
    return f"{row['by_name'] or 'the hub'} {deed}{note}{files}{_where(row)}"


def _files(paths: list[str], count: int) -> str:
    """Return the paths that were changed as the end of a line, a few by name."""
    names = list(dict.fromkeys(paths))[:FILES_NAMED_MOST]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"; changed {', '.join(names)}{more}" if names else ""


def _younger(rows: Iterable[ActivityRow], since: datetime | None) -> Iterator[ActivityRow]:
    """Yield rows, the newest first, until one is older than `since`."""
    for row in rows:
        if since is not None and row["at"] and datetime.fromisoformat(row["at"]) < since:
            return
        yield row
