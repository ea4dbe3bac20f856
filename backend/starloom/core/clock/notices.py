"""Notices of a schedule: for which ends of firings and which moments that are held up, and in which words.

Decides only the text of a notice and that it is due. `schedules` keeps it and shows it on the chosen device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from starloom.core.clock import alarms
from starloom.core.people.controls import DEADLINE
from starloom.core.placement.feasible import NOTIFY
from starloom.core.state.model import Constellation, Fleet
from starloom_protocol.records.schedules import Blocked, Firing, Notice, Schedule, Unseen
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import ConstellationState, NotifyWhen, Overlap, TaskState

_FAILED: Final = (ConstellationState.FAILED, ConstellationState.PARTIAL)
_AT_WORK: Final = frozenset({TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING})
TEXT_MOST: Final = 500
"""A notice is read on a phone."""
RUNNING_MOST: Final = 25
"""With `allow`: all firings that are made up for after an absence, and the one that is due. The record of a schedule
names each, and is written with each firing."""


def has_room(schedule: Schedule) -> bool:
    """Tell whether one more firing may begin beside those that run and those that are about to."""
    return len(schedule.running) + len(schedule.queued) < RUNNING_MOST


def unseen_in(constellation: Constellation, before: Notice | None, at_ms: int) -> Unseen | None:
    """Return the cause that the failed tasks share, all of them notices that nobody could see; None for other failures.

    The cause lasts since the notice `before`, if that has the same one. People read the notices of one cause together.
    """
    failed = [task for task, record in constellation.tasks.items() if record.state is TaskState.FAILED]
    if not failed or any(constellation.specs[task].tool != NOTIFY for task in failed):
        return None
    last = [constellation.last_attempt(task) for task in failed]
    causes = {(attempt.device, attempt.code) if attempt is not None else None for attempt in last}
    cause = causes.pop()
    if causes or cause is None:
        return None
    device, code = cause
    if code is None:
        return None
    unseen = before.unseen if before is not None else None
    is_same = unseen is not None and (unseen.device, unseen.code) == cause
    return Unseen(code=code, device=device, since_ms=unseen.since_ms if unseen is not None and is_same else at_ms)


def answer_digest(constellation: Constellation) -> str:
    """Return the hash of a firing's answer, without times, attempts and devices, or of its compared parts."""
    answer = constellation.tables["answer"].get("")
    items = answer.items if answer is not None else []
    compared: object = [[item.title, item.value or "", item.artifact or ""] for item in items]
    if answer is not None and answer.compared:
        compared = [answer.compared, answer.alarm]
    return hashlib.sha256(canonical([str(constellation.head.state), compared]).encode()).hexdigest()


def is_failure(constellation: Constellation) -> bool:
    """Tell whether a firing failed, or was cancelled without the wish of a person or of the schedule.

    Its deadline does that, a model that gives up, and the hub with a fault: nobody answered in time.
    """
    head = constellation.head
    if head.state is not ConstellationState.CANCELLED:
        return head.state in _FAILED
    return head.cancelled_by in (DEADLINE, MODEL) or (head.cancelled_by == ENGINE and head.fault is not None)


def with_blocked(schedule: Schedule, constellations: Mapping[str, Constellation], at_ms: int) -> Schedule:
    """Return a schedule whose moment cannot start for the firing before it, with a notice once for each such firing.

    A firing at work is only slow: its notice comes when it makes the schedule leave out a second moment.
    """
    name = next(iter(schedule.running), "")
    constellation = constellations.get(name)
    if constellation is None or schedule.notify is NotifyWhen.NEVER:
        return schedule
    if schedule.overlap is Overlap.ALLOW:
        return schedule if has_room(schedule) else _with_many(schedule, constellation, at_ms)
    known = schedule.blocked if schedule.blocked is not None and schedule.blocked.constellation == name else None
    if known is not None and known.told:
        return schedule
    waits = not any(record.state in _AT_WORK for record in constellation.tasks.values())
    if waits and schedule.overlap is not Overlap.CANCEL_PREVIOUS:
        is_due = True
    else:
        is_due = known is not None and schedule.overlap is not Overlap.QUEUE
    after = replace(schedule, blocked=Blocked(constellation=name, told=is_due))
    if not is_due:
        return after
    then = "waits" if schedule.overlap is Overlap.QUEUE else "was left out"
    state = _waiting_words(constellation) if waits else "has not ended"
    return with_notice(after, f"a firing {then}: the one before {state}", at_ms, name)


def _with_many(schedule: Schedule, oldest: Constellation, at_ms: int) -> Schedule:
    """Return a schedule that leaves out a moment beside the most firings, with a notice once while the newest runs."""
    if schedule.blocked is not None and schedule.blocked.constellation in schedule.running:
        return schedule
    waits = not any(record.state in _AT_WORK for record in oldest.tasks.values())
    state = _waiting_words(oldest) if waits else "has not ended"
    text = f"a firing was left out: {RUNNING_MOST} run already, and the oldest {state}"
    after = replace(schedule, blocked=Blocked(constellation=list(schedule.running)[-1], told=True))
    return with_notice(after, text, at_ms, oldest.name)


def _waiting_words(constellation: Constellation) -> str:
    if constellation.open_questions:
        return "waits for the answer of a person"
    if constellation.head.state is ConstellationState.PAUSED:
        return "is paused"
    return f"waits; starloom why {constellation.name} says for what"


def sentence_of_end(schedule: Schedule, now: Firing, constellation: Constellation, fleet: Fleet) -> str:
    """Return the sentence for a person, or "" if the schedule gives no notice of such an end."""
    failed = is_failure(constellation)
    before = schedule.last
    answer_changed = before is not None and before.digest != now.digest
    is_well_again = before is not None and before.alarm and not now.alarm
    was_blind = before is not None and before.blind
    is_newly_blind = now.blind and not was_blind
    is_new_alarm = now.alarm and not now.blind and (before is None or was_blind or not before.alarm)
    alarm_changed = is_newly_blind or is_well_again or is_new_alarm
    match schedule.notify:
        case NotifyWhen.NEVER:
            return ""
        case NotifyWhen.FAILURE if not (failed or alarm_changed):
            return ""
        case NotifyWhen.CHANGE if not (answer_changed or alarm_changed or (failed and before is None)):
            return ""
        case _:
            head = constellation.head
            answer = constellation.tables["answer"].get("")
            sentence = answer.sentence if answer is not None else ""
            if head.fault is not None and (not sentence or head.state is ConstellationState.CANCELLED):
                sentence = f"{sentence.removesuffix('.')}: {head.fault.reason}" if sentence else head.fault.reason
            change = ""
            if now.blind and not failed:
                change = alarms.not_known(now, constellation, fleet, now.ended_ms)
            elif is_well_again and alarms.is_watch(constellation):
                change = "it is well again. "
            elif schedule.notify is NotifyWhen.CHANGE and not failed and not alarm_changed:
                change = "the answer has changed. "
            return change + (sentence or f"it ended {head.state}")


def with_notice(
    schedule: Schedule, text: str, at_ms: int, constellation: str | None = None, unseen: Unseen | None = None
) -> Schedule:
    """Return the schedule with a notice, counted on: each person is shown the number of those not seen."""
    before = schedule.notice
    count, seen = (before.count, before.seen) if before is not None else (0, {})
    shown = text if len(text) <= TEXT_MOST else text[: TEXT_MOST - 1] + "…"
    notice = Notice(at_ms=at_ms, constellation=constellation, count=count + 1, seen=seen, text=shown, unseen=unseen)
    return replace(schedule, notice=notice)
