"""Calendar files (iCalendar): the days of their events, as a schedule may leave them out. Pure.

Reads what decides the days of an event: begin, end or duration, further dates, a yearly repetition, a cancellation. All
else that would move a day is refused with its line, since a day that is misread is found on the day itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple, NoReturn
from zoneinfo import ZoneInfo

from starloom.core.clock.cron import BadClock, zone_of
from starloom_protocol.text.wording import quoted

PLACE: Final = "except_days"
CALENDAR: Final = "BEGIN:VCALENDAR"
_EVENT: Final = "VEVENT"
_LINE: Final = re.compile(r'([A-Za-z-]+)((?:;[^:";]*(?:"[^"]*"[^:";]*)*)*):(.*)', re.DOTALL)
_ZONE: Final = re.compile(r';TZID="?([^";]+)', re.IGNORECASE)
_DURATION: Final = re.compile(
    r"\+?P(?:(\d{1,4})W|(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})S)?)?)", re.IGNORECASE
)
_READ: Final = frozenset({"DTSTART", "DTEND", "DURATION", "RDATE", "RRULE", "STATUS", "SUMMARY"})
_MOVES: Final = {
    "EXDATE": "takes single dates out of a repetition",
    "EXRULE": "takes dates out of a repetition",
    "RECURRENCE-ID": "changes a single date of a repetition",
}
"""The properties that change the days of an event in a way that is not read, and how."""
_HINT: Final = "Write this event as one event for each of its spans of days, or take it out and name its days."


class EventDays(NamedTuple):
    """The first and the last day of an event, both included; `yearly`: in each year."""

    first: date
    last: date
    yearly: bool


class _Field(NamedTuple):
    line: int
    name: str
    parameters: str
    value: str


@dataclass(slots=True)
class _Event:
    line: int
    fields: list[_Field] = field(default_factory=list)

    @property
    def name(self) -> str:
        summary = self.one("SUMMARY")
        return quoted(summary.value[:80] if summary is not None else "an event")

    def all(self, name: str) -> list[_Field]:
        return [one for one in self.fields if one.name == name]

    def one(self, name: str) -> _Field | None:
        """Return its field of this name.

        Raises:
            BadClock: it has several.
        """
        found = self.all(name)
        if len(found) > 1 and name != "SUMMARY":
            self.refuse(found[1], f"has a second {name}")
        return found[0] if found else None

    def refuse(self, at: _Field | None, why: str) -> NoReturn:
        line = at.line if at is not None else self.line
        raise BadClock(PLACE, f"{self.name} of the calendar {why} (line {line} of the file)", _HINT)


def days_of_calendar(text: str, zone: ZoneInfo) -> Iterator[EventDays]:
    """Yield the days of the events of a calendar in the zone of a schedule; a cancelled event has none.

    Raises:
        BadClock: naming the first event that is not understood, and its line.
    """
    for event in _events(text):
        status = event.one("STATUS")
        for name, why in _MOVES.items():
            for found in event.all(name):
                event.refuse(found, why)
        if status is not None and status.value.strip().upper() == "CANCELLED":
            continue
        yield from _days_of(event, zone)


def _events(text: str) -> Iterator[_Event]:
    """Yield the events with their own fields; parts of them, such as alarms, have fields of the same names."""
    event: _Event | None = None
    inner = 0
    for line, content in _unfolded(text):
        match = _LINE.fullmatch(content)
        if match is None:
            continue
        name, value = match[1].upper(), match[3]
        part = value.strip().upper()
        if name == "BEGIN" and part == _EVENT:
            if event is not None:
                yield event
            event, inner = _Event(line), 0
        elif event is not None and name == "END" and part == _EVENT:
            yield event
            event = None
        elif event is not None and name in ("BEGIN", "END"):
            inner += 1 if name == "BEGIN" else -1
        elif event is not None and not inner and name in _READ | _MOVES.keys():
            event.fields.append(_Field(line, name, match[2], value))
        elif event is None and name == "METHOD" and part == "CANCEL":
            reason = f"the calendar file cancels its events and gives no days (line {line})"
            raise BadClock(PLACE, reason, "Export the calendar itself.")
    if event is not None:
        yield event


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; a line that begins with a blank goes on with the one before."""
    first, parts = 1, list[str]()
    for number, line in enumerate(text.lstrip().split("\n"), 1 + text[: len(text) - len(text.lstrip())].count("\n")):
        line = line.removesuffix("\r")
        if line[:1] in (" ", "\t"):
            parts.append(line[1:])
            continue
        if parts:
            yield first, "".join(parts)
        first, parts = number, [line]
    yield first, "".join(parts)


def _days_of(event: _Event, zone: ZoneInfo) -> Iterator[EventDays]:
    start, end, duration, rule = (event.one(name) for name in ("DTSTART", "DTEND", "DURATION", "RRULE"))
    begins = _moment(start, start.value, zone) if start is not None else None
    if begins is None:
        event.refuse(start, "has no day on which it begins")
    lasts = timedelta()
    if end is not None:
        ends = _moment(end, end.value, zone)
        if ends is None or duration is not None:
            event.refuse(duration or end, "ends in a way that is not read")
        lasts = ends - begins
    elif duration is not None:
        lasts = _length(event, duration, duration.value)
    is_yearly = rule is not None
    if rule is not None and rule.value.strip().upper() != "FREQ=YEARLY":
        event.refuse(rule, f"repeats in a way that is not read here: {rule.value[:80]}")
    yield _span(event, start, begins, lasts, is_yearly=is_yearly)
    for further in event.all("RDATE"):
        for value in further.value.split(","):
            text, _, until = value.strip().partition("/")
            also = _moment(further, text, zone)
            if also is None:
                event.refuse(further, f"has a further date that is not read: {text[:80]}")
            if not until:
                length = lasts
            elif until[:1] in "Pp+":
                length = _length(event, further, until)
            elif (ends := _moment(further, until, zone)) is not None:
                length = ends - also
            else:
                event.refuse(further, f"has a further date that is not read: {value[:80]}")
            yield _span(event, further, also, length, is_yearly=False)


def _span(event: _Event, at: _Field | None, begins: datetime, lasts: timedelta, *, is_yearly: bool) -> EventDays:
    """Return the days of one time of an event; one that ends at midnight ends on the day before."""
    try:
        last = (begins + lasts - timedelta(seconds=1)).date()
    except OverflowError:
        event.refuse(at, "ends on a day that no calendar has")
    return EventDays(begins.date(), max(begins.date(), last), is_yearly)


def _length(event: _Event, at: _Field, text: str) -> timedelta:
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        event.refuse(at, f"has a duration that is not read: {text[:80]}")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def _moment(at: _Field, value: str, zone: ZoneInfo) -> datetime | None:
    """Return a moment of a calendar in a schedule's zone; a day alone begins at midnight there."""
    text, event_zone = value.strip(), zone
    with suppress(BadClock):  # of a program's own zone, only the wall clock is known
        zone_field = _ZONE.search(at.parameters)
        event_zone = zone_of(zone_field[1]) if zone_field else zone
    form = "%Y%m%dT%H%M%S" if "T" in text else "%Y%m%d"
    try:
        moment = datetime.strptime(text.removesuffix("Z"), form).replace(
            tzinfo=UTC if text.endswith("Z") else event_zone
        )
        return moment.astimezone(zone)
    except (ValueError, OverflowError):
        return None
