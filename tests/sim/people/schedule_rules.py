"""What must be true of clocks: who fires them and when, what waits, what a stop of everything ends, who hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom_protocol.records.schedules import Schedule
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET, Event
from starloom_protocol.vocabulary import CatchUp, ConstellationState, NotifyWhen, Overlap, Role, ScheduleState
from tests.sim.people.course import Course, Puts, begins

MADE_UP: Final = {CatchUp.NONE: 0, CatchUp.LAST: 1, CatchUp.ALL: 24}
"""How many missed moments a clock makes up for, beside the one that is due."""
QUEUED_MOST: Final = 24
LEFT_OUT_MOST: Final = 3
"""After so many moments that a firing has held up its people have heard of it."""
_MAY_RUN: Final = (Role.OWNER, Role.OPERATOR)
_AGAIN: Final = (EventKind.REOPENED, EventKind.ROUND_OPENED, EventKind.TASK_RETRIED, EventKind.UNDO_ASKED)


class ScheduleRules:
    def __init__(self) -> None:
        self._asked: dict[str, set[int]] = {}
        self._held_up: dict[str, tuple[int, int]] = {}
        self._stopped_by: dict[str, str] = {}
        self._over: set[str] = set()

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if event.kind in (EventKind.CANCELLING, EventKind.DENIED):
            self._stopped_by.setdefault(event.stream, event.by)
        if event.kind == EventKind.ENDED:
            self._over.add(event.stream)
        if event.stream != FLEET or not event.kind.startswith("schedule"):
            return
        before, after = now.schedules().get(event.about), now.schedule_after(event.about, puts)
        if after is None or before is None:
            return
        match event.kind:
            case EventKind.SCHEDULE_ASKED:
                self._asked.setdefault(before.id, set()).update({*after.queued} - {*before.queued})
            case EventKind.SCHEDULE_PAUSED:
                self._asked.pop(before.id, None)
            case EventKind.SCHEDULE_FIRED if not event.note.endswith("was there"):
                self._held_up[before.id] = 0, _count(after)
                yield from self._fired(now, event, before, after)
            case EventKind.SCHEDULE_DUE:
                yield from self._due(before, after)
            case EventKind.SCHEDULE_ENDED:
                yield from self._ended(before, after)
            case EventKind.SCHEDULE_STOPPED | EventKind.SCHEDULE_REFUSED if not _heard(before, after):
                if event.kind == EventKind.SCHEDULE_STOPPED or before.notify is not NotifyWhen.NEVER:
                    yield f"{before.id}: {event.kind} ({event.note}), and its people hear nothing"

    def _fired(self, now: Course, event: Event, before: Schedule, after: Schedule) -> Iterator[str]:
        name = event.note
        if lost := _why_not(now, before, event.at_ms):
            yield f"{name} was fired although {lost}"
        moment = after.running.get(name)
        if before.state is ScheduleState.STOPPED:
            yield f"{name} was fired by a clock that was stopped"
        if before.state is ScheduleState.PAUSED and moment not in self._asked.get(before.id, ()):
            yield f"{name} was fired by a clock that is paused, and nobody asked for it"
        if moment not in before.queued:
            yield f"{name} was fired, and its moment {moment} waited nowhere"
        # One that was opened again, for an undo as an example, goes on beside the next.
        others = [one for one, head in now.live().items() if head.schedule == before.id and one not in self._over]
        if others and before.overlap is not Overlap.ALLOW:
            yield f"{name} was fired beside {others}, and its clock says {before.overlap}"

    def _due(self, before: Schedule, after: Schedule) -> Iterator[str]:
        added = [moment for moment in after.queued if moment not in before.queued]
        if len(added) > MADE_UP[before.catch_up] + 1:
            yield f"{before.id} lines up {len(added)} moments at once, and makes up for {before.catch_up}"
        if len(after.queued) > QUEUED_MOST + 1 and before.overlap is not Overlap.ALLOW:
            yield f"{len(after.queued)} firings of {before.id} wait"
        if odd := [moment for moment in added if moment % 60_000]:
            yield f"{before.id} lines up {odd}, which are no moments of its clock"
        if before.overlap is Overlap.SKIP and before.running and added:
            yield f"{before.id} lines up {added} while {list(before.running)} goes on, and its clock says skip"
        if before.overlap is Overlap.SKIP and before.running and before.notify is not NotifyWhen.NEVER:
            count, heard = self._held_up.get(before.id, (0, _count(before)))
            # Told once is enough: a person who resumes it clears what was told.
            heard = heard if _count(after) == heard else -1
            self._held_up[before.id] = count + 1, heard
            if count + 1 >= LEFT_OUT_MOST and _count(after) == heard:
                yield f"{before.id} has left out {count + 1} moments for {list(before.running)}, and nobody was told"

    def _ended(self, before: Schedule, after: Schedule) -> Iterator[str]:
        last = after.last
        if last is None or before.notify not in (NotifyWhen.FAILURE, NotifyWhen.ALWAYS) or _heard(before, after):
            return
        by = self._stopped_by.get(last.constellation, "")
        failed = last.state in (ConstellationState.FAILED, ConstellationState.PARTIAL)
        # Of a firing that ends with the right of its clock, the notice of that stop has told.
        stopped = before.state is ScheduleState.STOPPED
        unwished = last.state is ConstellationState.CANCELLED and ":" not in by and not stopped
        if failed or before.notify is NotifyWhen.ALWAYS or (unwished and before.overlap is not Overlap.CANCEL_PREVIOUS):
            yield f"{last.constellation} ended {last.state} ({by or 'by nobody'}), and its people hear nothing"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        if not any(event.kind in (EventKind.ROLE_GIVEN, EventKind.TOKEN_REVOKED) for event in events):
            return
        for schedule in now.schedules().values():
            lost = _why_not(now, schedule, events[-1].at_ms)
            if schedule.state is ScheduleState.ACTIVE and lost:
                yield f"{schedule.id} is active although {lost}"


class StopRules:
    """What was live or queued at a stop of everything begins nothing any more, unless a person asks for it again."""

    def __init__(self) -> None:
        self.stops: list[tuple[str, list[str]]] = []
        self._stopped: set[str] = set()

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if event.kind == EventKind.STOP_ALL:
            yield from self._stop(now, event)
        elif event.kind in _AGAIN:
            self._stopped.discard(event.stream)
        elif event.stream in self._stopped:
            for task, number, _attempt in begins(now, event, puts):
                yield f"{event.stream}/{task}, attempt {number}, begins after a stop of everything"

    def _stop(self, now: Course, event: Event) -> Iterator[str]:
        for name, head in now.live().items():
            if head.state is not ConstellationState.CANCELLING:
                yield f"{name} is {head.state} after a stop of everything"
        for schedule in now.schedules().values():
            if schedule.queued:
                yield f"{len(schedule.queued)} firings of {schedule.id} wait after a stop of everything"
        active = sorted(one.name for one in now.schedules().values() if one.state is ScheduleState.ACTIVE)
        self.stops.append((event.by, active))
        self._stopped |= now.live().keys()

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()


def _count(schedule: Schedule) -> int:
    return schedule.notice.count if schedule.notice is not None else 0


def _heard(before: Schedule, after: Schedule) -> bool:
    return _count(after) > _count(before)


def _why_not(now: Course, schedule: Schedule, at_ms: int) -> str:
    """Return why nobody may run this schedule's work now."""
    owner: Any = now.principals().get(schedule.owner)
    if owner is None or owner.role not in _MAY_RUN:
        return f"{schedule.owner} is {owner and owner.role}"
    if schedule.token is None:
        return ""
    token = now.tokens().get(schedule.token)
    if token is None or token.revoked_ms or 0 < token.expires_ms <= at_ms:
        return f"its token {schedule.token} has ended"
    if token.role not in _MAY_RUN or (token.scopes and "run" not in token.scopes):
        return f"its token {schedule.token} may not run work"
    return ""
