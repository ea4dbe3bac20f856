"""The recovery ladder of an attempt without success: the same device, another one, another call, a person, failure.

Owns the first two rungs and the order of all; `rungs` has another call that is as good, and the question to a person.
An edit by a rule or a reviewer follows from the events that are decided here. Attempts are bounded by a round's
budget, so runs end. Work that is neither pure nor idempotent is repeated without a person only if no effect can have
happened.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement import health
from starloom.core.placement.pace import learning
from starloom.core.placement.selection import able
from starloom.core.run import hedging
from starloom.core.run.rungs import last_resort, other_calls
from starloom.core.run.verification import ENDED_IN_DOUBT
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.queues.ready import ANY
from starloom.core.state.queues.secret_needs import needs_of
from starloom.core.state.work import Work, attend, change_task, moved
from starloom_protocol.records.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    CODES,
    REPEATABLE,
    AttemptEnd,
    Attention,
    Code,
    CodeClass,
    EffectSeen,
    Reason,
    TaskState,
)

_CODE_OF_END = {
    AttemptEnd.TIMEOUT: Code.TIMED_OUT,
    AttemptEnd.INTERRUPTED: Code.INTERRUPTED,
    AttemptEnd.LOST: Code.LOST,
    AttemptEnd.REFUSED: Code.POLICY_REFUSED,
}
# A command of the device's owner lets the task continue; the device's next offer shows it.
_WAITS_FOR_OWNER = {
    Code.MISSING_GRANT: (Reason.MISSING_GRANT, Attention.MISSING_GRANT),
    Code.NEEDS_APPROVAL: (Reason.OWNER_ASKED, Attention.OWNER_ASKED),
}
RETRIES_LEAST = 20
RETRIES_PERCENT = 20
_AT_ONCE = frozenset({AttemptEnd.INTERRUPTED, AttemptEnd.LOST})


def attempts_most(spec: TaskSpec, attempt: Attempt) -> int:
    """Return how many started attempts a round may have."""
    again = attempt.repeatability in REPEATABLE or spec.verify is not None
    return spec.retry.max_attempts or (3 if again else 1)


def backoff_ms(work: Work, tries: int) -> int:
    """Return the wait before the next try: 1, 2, 4 ... 30 s, each scaled between half and whole by the input's roll."""
    settings = work.shard.settings
    whole = min(settings.backoff_first_ms << max(tries - 1, 0), settings.backoff_most_ms)
    return whole // 2 + (whole // 2) * work.roll // (1 << 32)


def broke(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt, *, last: bool = False
) -> None:
    """Handle an attempt that ended in error, timeout or interruption; the `last` one is not repeated."""
    end = ended.end or AttemptEnd.ERROR
    code = ended.code or _CODE_OF_END.get(end, Code.TOOL_FAILED)
    ended = replace(ended, code=code)
    if record.state is not TaskState.UNKNOWN:
        health.failed(work, ended)
        learning.failed(work, spec, ended)
    if hedging.take_over(work, constellation, spec, record, ended):
        return
    repeatable = ended.repeatability in REPEATABLE
    harmless = repeatable or ended.effect is EffectSeen.NONE
    if end is AttemptEnd.INTERRUPTED and not harmless:
        uncertain(work, constellation, spec, record, ended, ended=True)
        return
    if record.state is TaskState.CANCELLING or last:
        # A task that was asked to stop is not tried again; the result that it made nevertheless decides.
        _fail(work, constellation, spec, record, ended)
        return
    code_class = CODES[code].code_class
    on_check = code is Code.CHECK_FAILED and spec.retry.on_check
    may_again = end in _AT_ONCE or on_check or code_class is not CodeClass.PERMANENT
    if _kills_agents(constellation, spec, record, ended):
        _fail(work, constellation, spec, record, replace(ended, code=Code.QUARANTINED))
    elif may_again and harmless and _budget_is_spent(constellation, ended):
        said = f"{ended.detail}; " if ended.detail else ""
        spent = replace(ended, detail=f"{said}not tried again: the retries of the whole constellation are used up")
        _fail(work, constellation, spec, record, spent)
    elif may_again and harmless and record.started < attempts_most(spec, ended):
        _again(work, constellation, spec, record, ended, at_once=end in _AT_ONCE)
    else:
        _end(work, constellation, spec, record, ended)


def timed_out(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, attempt: Attempt, detail: str = ""
) -> None:
    """Handle the end of an attempt that exceeded its time, as if its device had ended it."""
    detail = detail or f"{spec.tool} took longer than its {spec.timeouts.start_to_close_s} s and was ended by the hub"
    ended = replace(attempt, end=AttemptEnd.TIMEOUT, ended_ms=work.at_ms, code=Code.TIMED_OUT, detail=detail)
    broke(work, constellation, spec, record, ended)


def _kills_agents(constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> bool:
    if not _died_over_it(ended):
        return False
    devices = {ended.device: None}
    for number in range(record.attempt - 1, 0, -1):
        earlier = constellation.attempts.get(f"{spec.id}/{number}")
        if earlier is None or earlier.round != record.round:
            break
        # Given up after an absence, and later its device reported that the agent had died of it.
        died_silently = earlier.end is AttemptEnd.LOST and (earlier.late or "").startswith(AttemptEnd.INTERRUPTED)
        if _died_over_it(earlier) or died_silently:
            devices[earlier.device] = None
    return len(devices) >= 2


def _died_over_it(ended: Attempt) -> bool:
    """Tell whether an agent died with this attempt; if its fence ended the work, only its connection was too slow."""
    return ended.end is AttemptEnd.INTERRUPTED and ended.code is not Code.FENCED


def not_begun(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> None:
    """Handle an attempt that its device refused or never began: it uses up no try, up to `refusals_most` times."""
    refusals = record.refusals + 1
    code = ended.code or (Code.POLICY_REFUSED if ended.end is AttemptEnd.REFUSED else None)
    ended = replace(ended, code=code)
    health.failed(work, ended)
    if hedging.take_over(work, constellation, spec, record, ended):
        return
    record = replace(record, started=max(record.started - 1, 0), refusals=refusals)
    if code is Code.NEEDS_APPROVAL:
        # While a person decides, repeated refusals do not count.
        record = replace(record, refusals=refusals - 1)
    elif refusals >= work.shard.settings.refusals_most:
        _end(work, constellation, spec, record, ended)
        return
    if code is Code.MISSING_GRANT and other_calls.taken(work, constellation, spec, record, ended):
        return
    if code in _WAITS_FOR_OWNER:
        reason, attention = _WAITS_FOR_OWNER[code]
        key = f"{spec.id}/{record.attempt}"
        held = moved(work, record, TaskState.READY, reason=reason)
        change_task(
            work, constellation, spec.id, EventKind.ATTEMPT_REFUSED, held, ("attempt", key, ended), note=ended.detail
        )
        attend(work, constellation, attention, note=ended.detail)
        return
    if code is not None and CODES[code].code_class is CodeClass.PERMANENT:
        _end(work, constellation, spec, record, ended)
        return
    if code is not None and _all_refused(work, constellation, spec, record, ended):
        _end(work, constellation, spec, record, ended)
        return
    _again(work, constellation, spec, record, ended, at_once=refusals < 2)


def _all_refused(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> bool:
    """Tell whether every device that could be given this task has refused it in this round."""
    refused = {ended.device: None}
    for number in range(record.attempt - 1, 0, -1):
        earlier = constellation.attempts.get(f"{spec.id}/{number}")
        if earlier is None or earlier.round != record.round:
            break
        if earlier.end is AttemptEnd.REFUSED:
            refused[earlier.device] = None
    needs = needs_of(work.shard.access, spec, constellation.head.recipe)
    could = able(work.shard.fleet, spec.tool or "", spec.device or ANY, needs)
    return not any(device not in refused for device in could)


def lost(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, attempt: Attempt, then: str
) -> None:
    """Handle an attempt that was absent for T: repeatable work moves on, other work is in doubt."""
    if attempt.repeatability not in REPEATABLE:
        uncertain(work, constellation, spec, record, attempt)
        return
    ended = replace(attempt, end=AttemptEnd.LOST, ended_ms=work.at_ms, code=Code.LOST)
    health.failed(work, ended)
    learning.failed(work, spec, ended)
    if hedging.take_over(work, constellation, spec, record, ended):
        return
    if then == "fail" or record.started >= attempts_most(spec, ended):
        _end(work, constellation, spec, record, ended)
    else:
        _again(work, constellation, spec, record, ended, at_once=True)


def given_back(
    work: Work,
    constellation: Constellation,
    spec: TaskSpec,
    record: TaskRecord,
    ended: Attempt,
    *,
    why: str,
    had: bool,
) -> None:
    """Handle work that a device stopped without a person's request: any device may take it, and no try is used up.

    `had`: the device may have begun it. Then work that must not be repeated is in doubt, whatever effect was seen.
    """
    if had and ended.repeatability not in REPEATABLE:
        uncertain(work, constellation, spec, record, ended, ended=True)
        return
    back = replace(ended, end=AttemptEnd.REVOKED, detail=why)
    if hedging.take_over(work, constellation, spec, record, back):
        return
    ready = moved(work, record, TaskState.READY, started=max(record.started - 1, 0))
    key = f"{spec.id}/{record.attempt}"
    change_task(work, constellation, spec.id, EventKind.TASK_MOVED, ready, ("attempt", key, back), note=back.detail)


def _budget_is_spent(constellation: Constellation, ended: Attempt) -> bool:
    """Tell whether so many errors and timeouts were retried that more would be a storm; absence does not count."""
    if ended.end not in (AttemptEnd.ERROR, AttemptEnd.TIMEOUT):
        return False
    # The current attempt is not counted yet.
    return constellation.progress.broken >= max(RETRIES_LEAST, len(constellation.tasks) * RETRIES_PERCENT // 100)


def uncertain(
    work: Work,
    constellation: Constellation,
    spec: TaskSpec,
    record: TaskRecord,
    attempt: Attempt,
    *,
    ended: bool = False,
) -> None:
    """Put work in doubt that must not be repeated and may have had its effect: it waits for proof or for a person.

    `ended`: its device has reported its end, so that a check of its effect (`verify`) is final.
    """
    if record.state is TaskState.UNKNOWN:
        if ended:
            work.rules_due.append((constellation.name, spec.id, ENDED_IN_DOUBT))
        work.ignore("it is known that it may have happened")
        return
    open_still = replace(attempt, end=None, ended_ms=0, effect=EffectSeen.MAYBE)
    unknown = moved(work, record, TaskState.UNKNOWN, reason=Reason.MAY_HAVE_HAPPENED)
    key = f"{spec.id}/{record.attempt}"
    change_task(work, constellation, spec.id, EventKind.TASK_UNKNOWN, unknown, ("attempt", key, open_still))
    attend(work, constellation, Attention.TASK_UNKNOWN, note=f"{spec.id} may have happened; mark or retry it")
    if ended:
        work.rules_due.append((constellation.name, spec.id, ENDED_IN_DOUBT))


def _again(
    work: Work,
    constellation: Constellation,
    spec: TaskSpec,
    record: TaskRecord,
    ended: Attempt,
    *,
    at_once: bool,
) -> None:
    key = f"{spec.id}/{record.attempt}"
    if record.absent_since_ms:
        record = replace(record, stood_ms=record.stood_ms + work.at_ms - record.absent_since_ms)
    if at_once:
        ready = moved(work, record, TaskState.READY)
    else:
        due = work.at_ms + backoff_ms(work, record.started + record.refusals)
        ready = moved(work, record, TaskState.READY, reason=Reason.BACKOFF, not_before_ms=due)
    change_task(work, constellation, spec.id, EventKind.TASK_RETRIED, ready, ("attempt", key, ended), note=ended.detail)
    if not at_once:
        work.order(
            ArmTimer(
                attempt=record.attempt,
                constellation=constellation.name,
                due_ms=ready.not_before_ms,
                entity=spec.id,
                kind="backoff",
                round=record.round,
            )
        )
    work.rules_due.append((constellation.name, spec.id, "attempt_ended"))


def _end(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> None:
    """Take another call that is as good, or fail."""
    if not other_calls.taken(work, constellation, spec, record, ended):
        _fail(work, constellation, spec, record, ended)


def _fail(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> None:
    if last_resort.asks(constellation, spec, record):
        last_resort.ask(work, constellation, spec, record, ended)
        return
    key = f"{spec.id}/{record.attempt}"
    failed = moved(work, record, TaskState.FAILED, code=ended.code, checked=False)
    change_task(work, constellation, spec.id, EventKind.TASK_FAILED, failed, ("attempt", key, ended), note=ended.detail)
    work.rules_due.append((constellation.name, spec.id, "attempt_ended"))
    work.rules_due.append((constellation.name, spec.id, "failed"))
