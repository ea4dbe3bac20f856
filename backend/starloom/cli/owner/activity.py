"""`starloom activity`: the record of who did what, newest first, as the page of this name shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.routes import get_audit
from starloom.client.terminal.escaping import escaped
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.stream.events import KINDS, Category, EventKind

if TYPE_CHECKING:
    from starloom_protocol.api.history import ActivityRow

_ID: Final = re.compile(r"([a-z]+-)?[0-9a-z]{20}")
"""The form of an id that the hub gave."""
_WITHOUT_NAME: Final = re.compile(r" (?:(?:of|for|at|during|about|with) )?%")
LAST = 40
LAST_MOST = 2000


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    hub_command(app, "activity")(activity)


def activity(
    run: Invocation,
    person: Annotated[str, typer.Option("--by", help="Only this person, by name; program:NAME for a program.")] = "",
    device: Annotated[str, typer.Option("--device", help="Only what is about this device.")] = "",
    kind: Annotated[Category | None, typer.Option("--kind", help="Only this subject.")] = None,
    words: Annotated[str, typer.Option("--words", help="Only what has these words.")] = "",
    since: Annotated[str, typer.Option("--since", help="Only what is younger: 90s, 30m, 12h, 7d.")] = "",
    last: Annotated[int, typer.Option("--last", "-n", min=1, max=LAST_MOST, help="At most so many.")] = LAST,
) -> None:
    """Show who did what, the newest first."""
    wanted = get_audit(person=person or None, device=device or None, kind=kind, q=words or None)
    after = datetime.now(UTC) - timedelta(seconds=duration_s(since)) if since else None
    rows = _younger(run.client.pages(wanted, most=last), after)
    if run.as_json:
        run.emit({"items": list(rows)})
        return
    from starloom.client.terminal.style import clock

    shown = 0
    for row in rows:
        shown += 1
        print(f"{clock(row['at'])}  {escaped(_told(row))}")
    if not shown:
        print("Nothing is on record for that.")
    elif shown == last:
        say(f"The newest {last} are shown; more: starloom activity --last {min(LAST_MOST, last * 5)}")


def _told(row: ActivityRow) -> str:
    """Return who did what to what, by names; the id of a session, a token or a question says nothing to a person."""
    about = row["about_name"] or ("" if _ID.fullmatch(row["about"]) else row["about"])
    kind = row["kind"]
    words = KINDS[EventKind(kind)].words if kind in set(EventKind) else kind.replace("_", " ")
    done = words.replace("%", about) if about else _WITHOUT_NAME.sub("", words)
    if about and "%" not in words and about != row["by_name"]:
        done += f" {about}"
    note = f": {row['note']}" if row["note"] else ""
    stream = row["stream"]
    where = f"  ({', '.join(filter(None, (row['stream_name'], stream)))})" if stream.startswith("c-") else ""
    return f"{row['by_name'] or 'the hub'} {done}{note}{where}"


def _younger(rows: Iterable[ActivityRow], after: datetime | None) -> Iterator[ActivityRow]:
    """Yield rows, the newest first, until one is older than `after`."""
    for row in rows:
        if after is not None and row["at"] and datetime.fromisoformat(row["at"]) < after:
            return
        yield row
