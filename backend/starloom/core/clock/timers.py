"""Timers: every due moment that state implies, which a starting owner must arm again, and those that are stale.

Arms and handles no timer: each module does that with its own. It only reads the state that they are computed from.
"""

from __future__ import annotations

from collections.abc import Iterator

from starloom.core.clock import expiry, moments
from starloom.core.clock.schedules import due_moments as of_schedules
from starloom.core.fleet import draining, lab_faults
from starloom.core.people import answer_words, inquiries
from starloom.core.people.approvals import questions
from starloom.core.placement import health
from starloom.core.placement.device_groups import off_devices, returning
from starloom.core.plan import review
from starloom.core.plan.goals import conversation
from starloom.core.run import judgement
from starloom.core.run.attempts import absence_of, fence_after_ms
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Work, task_timer
from starloom_protocol.stream.feed import ACCESS, FLEET
from starloom_protocol.vocabulary import Reason, TaskState

_OF_ATTEMPTS = frozenset({"backoff", "absence", "fence", "waits_long", off_devices.TIMER})


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield a timer for every live entity that waits for a moment."""
    work = Work(shard)
    for name in shard.live:
        constellation = shard.constellations[name]
        head = constellation.head
        if head.deadline_s:
            due = head.created_ms + head.deadline_s * 1000
            yield ArmTimer(constellation=name, due_ms=due, entity="", kind="deadline")
        for key in constellation.open_questions:
            question = constellation.questions[key]
            if question.expires_ms:
                yield questions.due_moment(constellation, question)
        yield from _of_tasks(work, constellation)
        yield from review.due_moments(constellation)
        yield from answer_words.due_moments(constellation)
        yield from judgement.due_moments(constellation)
        yield from conversation.due_moments(constellation)
        yield from inquiries.due_moments(constellation)
        yield from returning.due_moments(constellation)
        yield from moments.due_moments(constellation)
    yield from of_schedules(shard)
    yield from draining.due_moments(shard)
    yield from health.due_moments(shard)
    yield from lab_faults.due_moments(shard)
    yield expiry.due_moment(0)


def is_stale(shard: Shard, timer: ArmTimer) -> bool:
    """Tell whether a timer would do nothing and need not be kept; in doubt it is kept."""
    if timer.constellation in (FLEET, ACCESS):
        return False
    constellation = shard.constellations.get(timer.constellation)
    if constellation is None or constellation.name not in shard.live:
        return True
    if timer.kind == questions.TIMER:
        return timer.entity not in constellation.open_questions
    if timer.kind == returning.TIMER:
        return timer.entity not in constellation.returning
    if timer.kind == moments.TIMER:
        return not moments.is_awaited(constellation, timer.entity)
    if timer.kind not in _OF_ATTEMPTS:
        return False
    record = constellation.tasks.get(timer.entity)
    if record is None or (record.attempt, record.round) != (timer.attempt, timer.round):
        return True
    return timer.kind in ("waits_long", off_devices.TIMER) and record.state is not TaskState.READY


def _of_tasks(work: Work, constellation: Constellation) -> Iterator[ArmTimer]:
    settings = work.shard.settings
    for task, record in constellation.tasks.items():
        kind, due = "", 0
        if record.reason is Reason.BACKOFF:
            kind, due = "backoff", record.not_before_ms
        elif record.absent_since_ms:
            attempt = constellation.attempt(task, record.attempt)
            after_ms, then = absence_of(settings, constellation.specs[task], attempt, record.absent_since_ms)
            if then == "wait":
                continue
            kind, due = "absence", record.absent_since_ms + after_ms
        elif record.state is TaskState.CANCELLING:
            attempt = constellation.attempt(task, record.attempt)
            absent_ms = record.since_ms + settings.ttl_ms + settings.grace_ms
            fence = fence_after_ms(work, constellation.specs[task], attempt, absent_ms)
            if not fence:
                continue
            kind, due = "fence", absent_ms + fence
        elif record.state is TaskState.READY and record.reason is None:
            kind, due = "waits_long", record.since_ms + constellation.specs[task].timeouts.schedule_to_start_s * 1000
            off = off_devices.timer_for(
                constellation, work.shard.fleet, constellation.specs[task], record, record.since_ms
            )
            if off is not None:
                yield off
        if kind:
            yield task_timer(constellation, task, kind, record, due)
