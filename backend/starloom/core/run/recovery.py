"""The recovery ladder of an attempt without success: the same device, another one, another call, a person, failure.

An edit by a rule or a reviewer follows from the events that are decided here. Attempts are bounded by a round's
budget, so runs end. Work that is neither pure nor idempotent is repeated without a person only if no effect can have
happened.

Another call is one that the plan names as good (`any_of`). It was approved with its plan, so nobody is asked. It is
never taken after an attempt that may have changed the world unless that attempt was repeatable, and each is taken once,
so that the calls of a task end. A plan may require that a person is asked before a task fails; the person is asked only
if no rule of the plan handles the failure. The task waits with its question; the answer tries it again, skips it, or
lets it fail with its first cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from starloom.core.placement import health, pace
from starloom.core.placement.feasible import able, is_able, is_able_for, judge_device, nearest, offering
from starloom.core.rights.call_effects import ways_of
from starloom.core.run import hedging
from starloom.core.run.verification import ENDED_IN_DOUBT
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.queues import ANY, queueable
from starloom.core.state.task_needs import needs_in
from starloom.core.state.tasks.roles import called
from starloom.core.state.work import Case, Put, Refusal, Work, answer_put, attend, change_task, fault, moved, task_timer
from starloom_protocol.records.entities import Attempt, Choice, Question, Selector, TaskRecord, TaskSpec, Version
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    CODES,
    REPEATABLE,
    AttemptEnd,
    Attention,
    Code,
    CodeClass,
    ConstellationState,
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
_WAITS_FOR_OWNER = {
    Code.MISSING_GRANT: (Reason.MISSING_GRANT, Attention.MISSING_GRANT),
    Code.NEEDS_APPROVAL: (Reason.OWNER_ASKED, Attention.OWNER_ASKED),
}
"""A command of the device's owner lets the task continue; the device's next offer shows it."""
RETRIES_LEAST = 20
RETRIES_PERCENT = 20
"""Errors of a constellation that are retried: this part of its tasks, or `RETRIES_LEAST` if that is more."""
_AT_ONCE = frozenset({AttemptEnd.INTERRUPTED, AttemptEnd.LOST})
"""Ends that say nothing of the call, so the next try needs no pause."""
_NOT_BEGUN: Final = (AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED)
OTHER_CALL_TIMER: Final = "other_call"
AWAY_MS: Final = 10_000
"""A task waits so long for its device, which may be starting again, before another call is taken."""
WORDS_MOST: Final = 300
"""The characters of the reason for another call."""
_NAMED_MOST: Final = 3
_UNSAFE: Final = "it may have had its effect, and only work with repeatability: idempotent is run twice"
"""Said of work that may have had its effect."""
QUESTION_KIND = "recovery"
ASK_A_PERSON = "ask"
"""The value of a plan's policy `on_failure` by which a person is asked."""
RETRY, SKIP, FAIL = "retry", "skip", "fail"


def attempts_most(spec: TaskSpec, attempt: Attempt) -> int:
    """Return how many started attempts a round may have."""
    again = attempt.repeatability in REPEATABLE or spec.verify is not None
    return spec.retry.max_attempts or (3 if again else 1)


def backoff_ms(work: Work, tries: int) -> int:
    """Return the wait before the next try: 1, 2, 4 ... 30 s, each scaled between half and whole by the input's roll."""
    settings = work.shard.settings
    whole = min(settings.backoff_first_ms << max(tries - 1, 0), settings.backoff_most_ms)
    return whole // 2 + (whole // 2) * work.roll // (1 << 32)


def broke(case: Case, *, last: bool = False) -> None:
    """Handle an attempt that ended in error, timeout or interruption; the `last` one is not repeated."""
    spec, record = case.spec, case.record
    end = case.attempt.end or AttemptEnd.ERROR
    code = case.attempt.code or _CODE_OF_END.get(end, Code.TOOL_FAILED)
    case = case.with_attempt(code=code)
    ended = case.attempt
    if record.state is not TaskState.UNKNOWN:
        health.failed(case.work, ended)
        pace.learn_failure(case.work, spec, ended)
    if hedging.take_over(case):
        return
    repeatable = ended.repeatability in REPEATABLE
    harmless = repeatable or ended.effect is EffectSeen.NONE
    if end is AttemptEnd.INTERRUPTED and not harmless:
        uncertain(case, ended=True)
        return
    if record.state is TaskState.CANCELLING or last:
        # A task that was asked to stop is not tried again; the result that it made nevertheless decides.
        _fail(case)
        return
    code_class = CODES[code].code_class
    on_check = code is Code.CHECK_FAILED and spec.retry.on_check
    on_exit = code is Code.EXIT_CODE and spec.retry.on_exit
    may_again = end in _AT_ONCE or on_check or on_exit or code_class is not CodeClass.PERMANENT
    if _kills_agents(case):
        _fail(case.with_attempt(code=Code.QUARANTINED))
    elif _is_fenced(ended) and harmless and record.refusals < case.work.shard.settings.fences_most:
        # Its device or the hub was away for longer than the lease, which says nothing of the work: no try is used up.
        _again(case.with_record(started=max(record.started - 1, 0), refusals=record.refusals + 1), at_once=True)
    elif may_again and harmless and _budget_is_spent(case.constellation, ended):
        detail = f"{ended.detail}; " if ended.detail else ""
        _fail(case.with_attempt(detail=f"{detail}not tried again: the retries of the whole constellation are used up"))
    elif may_again and harmless and record.started < attempts_most(spec, ended):
        _again(case, at_once=end in _AT_ONCE)
    else:
        _end(case, _why_not_again(case, may_again=may_again, harmless=harmless))


def _why_not_again(case: Case, *, may_again: bool, harmless: bool) -> str:
    """Return why an attempt is the last one although the plan allows more; empty where the plan allows no more."""
    most = case.spec.retry.max_attempts or 0
    if case.record.started >= most:
        return ""
    began = f"not tried again (of {most} attempts): "
    if may_again:
        return began + _UNSAFE if not harmless else ""
    if case.attempt.code is Code.CHECK_FAILED:
        return f"{began}a missed check needs retry: {{on_check: true}}"
    if case.attempt.code is Code.EXIT_CODE:
        return f"{began}a program that ended with an error needs retry: {{on_exit: true}}"
    return f"{began}an error of this kind would come again"


def timed_out(case: Case, detail: str = "") -> None:
    """Handle the end of an attempt that exceeded its time, as if its device had ended it."""
    spec = case.spec
    detail = detail or f"{spec.tool} took longer than its {spec.timeouts.start_to_close_s} s and was ended by the hub"
    broke(case.with_attempt(end=AttemptEnd.TIMEOUT, ended_ms=case.work.at_ms, code=Code.TIMED_OUT, detail=detail))


def _kills_agents(case: Case) -> bool:
    """Tell whether the agents of two devices died with attempts of this round: no third one gets the task."""
    if not _died_over_it(case.attempt):
        return False
    devices = {case.attempt.device: None}
    for earlier in _earlier_attempts(case):
        # Given up after an absence, and later its device reported that the agent had died of it.
        died_silently = earlier.end is AttemptEnd.LOST and (earlier.late or "").startswith(AttemptEnd.INTERRUPTED)
        if _died_over_it(earlier) or died_silently:
            devices[earlier.device] = None
    return len(devices) >= 2


def _earlier_attempts(case: Case) -> Iterator[Attempt]:
    """Return the earlier attempts of the same round, the newest first."""
    return case.constellation.tried(case.spec.id, case.number - 1, case.record.round)


def _died_over_it(ended: Attempt) -> bool:
    """Tell whether an agent died with this attempt; if its fence ended the work, only its connection was too slow."""
    return ended.end is AttemptEnd.INTERRUPTED and not _is_fenced(ended)


def _is_fenced(ended: Attempt) -> bool:
    return ended.end is AttemptEnd.INTERRUPTED and ended.code is Code.FENCED


def not_begun(case: Case) -> None:
    """Handle an attempt that its device refused or never began: it uses up no try, up to `refusals_most` times."""
    work, record = case.work, case.record
    refusals = record.refusals + 1
    code = case.attempt.code or (Code.POLICY_REFUSED if case.attempt.end is AttemptEnd.REFUSED else None)
    case = case.with_attempt(code=code)
    health.failed(work, case.attempt)
    if hedging.take_over(case):
        return
    # While a person decides, repeated refusals do not count.
    refusals_counted = record.refusals if code is Code.NEEDS_APPROVAL else refusals
    case = case.with_record(started=max(record.started - 1, 0), refusals=refusals_counted)
    if refusals_counted >= work.shard.settings.refusals_most and code is not Code.NEEDS_APPROVAL:
        _end(case)
    elif code is Code.MISSING_GRANT and _try_other_call(case):
        return
    elif code in _WAITS_FOR_OWNER and _connected_since(case):
        # Its offer came before this report: the owner may have answered meanwhile, and no further offer would show it.
        _again(case, at_once=True)
    elif code in _WAITS_FOR_OWNER:
        reason, attention = _WAITS_FOR_OWNER[code]
        note = case.attempt.detail
        case.emit(EventKind.ATTEMPT_REFUSED, case.moved(TaskState.READY, reason=reason), note=note)
        attend(work, case.constellation, attention, note=note)
    elif code is not None and (CODES[code].code_class is CodeClass.PERMANENT or _all_refused(case)):
        _end(case)
    else:
        _again(case, at_once=refusals < 2)


def _connected_since(case: Case) -> bool:
    """Tell whether the device of an attempt has connected again since it was leased."""
    device = case.work.shard.fleet.devices.get(case.attempt.device)
    return device is not None and device.link_since_ms > case.attempt.leased_ms


def _all_refused(case: Case) -> bool:
    """Tell whether every device that could be given this task has refused it in this round."""
    spec, shard = case.spec, case.work.shard
    attempts = [case.attempt, *(item for item in _earlier_attempts(case) if item.end is AttemptEnd.REFUSED)]
    refused = {item.device for item in attempts}
    needs = needs_in(shard.access, case.constellation, spec)
    return all(device in refused for device in able(shard.fleet, spec.tool or "", spec.device or ANY, needs))


def lost(case: Case, then: str) -> None:
    """Handle an attempt that was absent for longer than its plan allows.

    Repeatable work moves on, other work is in doubt.
    """
    if case.attempt.repeatability not in REPEATABLE:
        uncertain(case)
        return
    case = case.with_attempt(end=AttemptEnd.LOST, ended_ms=case.work.at_ms, code=Code.LOST)
    health.failed(case.work, case.attempt)
    pace.learn_failure(case.work, case.spec, case.attempt)
    if hedging.take_over(case):
        return
    if then == "fail" or case.record.started >= attempts_most(case.spec, case.attempt):
        _end(case)
    else:
        _again(case, at_once=True)


def given_back(case: Case, *, why: str) -> None:
    """Handle work that a device stopped without a person's request: any device may take it, and no try is used up.

    Work that must not be repeated is in doubt if it may have changed something.
    """
    if case.attempt.effect is EffectSeen.MAYBE and case.attempt.repeatability not in REPEATABLE:
        uncertain(case, ended=True)
        return
    back = case.with_attempt(end=AttemptEnd.REVOKED, detail=why)
    if hedging.take_over(back):
        return
    back.emit(EventKind.TASK_MOVED, back.moved(TaskState.READY, started=max(case.record.started - 1, 0)), note=why)


def _budget_is_spent(constellation: Constellation, ended: Attempt) -> bool:
    """Tell whether so many errors and timeouts were retried that more would be a storm; absence does not count."""
    if ended.end not in (AttemptEnd.ERROR, AttemptEnd.TIMEOUT):
        return False
    # The current attempt is not counted yet.
    return constellation.progress.broken >= max(RETRIES_LEAST, len(constellation.tasks) * RETRIES_PERCENT // 100)


def uncertain(case: Case, *, ended: bool = False) -> None:
    """Put work in doubt that must not be repeated and may have had its effect: it waits for proof or for a person.

    `ended`: its device has reported its end, so that a check of its effect (`verify`) is final.
    """
    if case.record.state is TaskState.UNKNOWN:
        case.work.ignore("it is known that it may have happened")
    else:
        doubted = case.with_attempt(end=None, ended_ms=0, effect=EffectSeen.MAYBE)
        doubted.emit(EventKind.TASK_UNKNOWN, case.moved(TaskState.UNKNOWN, reason=Reason.MAY_HAVE_HAPPENED))
        note = f"{case.spec.id} may have happened; mark or retry it"
        attend(case.work, case.constellation, Attention.TASK_UNKNOWN, note=note)
    if ended:
        case.due(ENDED_IN_DOUBT)


def _again(case: Case, *, at_once: bool) -> None:
    """Make the task ready for its next try, `at_once` or after the backoff."""
    work, record = case.work, case.record
    if record.absent_since_ms:
        case = case.with_record(stood_ms=record.stood_ms + work.at_ms - record.absent_since_ms)
    if at_once:
        ready = case.moved(TaskState.READY)
    else:
        due_ms = work.at_ms + backoff_ms(work, record.started + record.refusals)
        ready = case.moved(TaskState.READY, reason=Reason.BACKOFF, not_before_ms=due_ms)
    case.emit(EventKind.TASK_RETRIED, ready, note=case.attempt.detail)
    if not at_once:
        work.order(task_timer(case.constellation, case.spec.id, "backoff", record, ready.not_before_ms))
    case.due("attempt_ended")


def _end(case: Case, why_not_again: str = "") -> None:
    """Take another call that is as good, or fail and say why nothing else was tried."""
    if _try_other_call(case):
        return
    reasons = [case.attempt.detail, why_not_again]
    if case.spec.any_of and case.record.state is not TaskState.CANCELLING:
        safe = _may_be_followed(case)
        reasons.append(f"no other call was taken: {'no device can do one now' if safe else _UNSAFE}")
    detail = "; ".join(part.removesuffix(".") for part in reasons if part)
    _fail(case if detail == case.attempt.detail.removesuffix(".") else case.with_attempt(detail=detail))


def _may_be_followed(case: Case) -> bool:
    """Tell whether no attempt of the round can have had an effect that another call would repeat."""
    return all(map(_is_harmless, [case.attempt, *_ended_attempts(case.constellation, case.spec.id, case.record)]))


def _fail(case: Case) -> None:
    """Let the task fail with the cause of its attempt, or ask a person first where the plan wants that."""
    if _asks_a_person(case):
        _ask_a_person(case)
        return
    failed = case.moved(TaskState.FAILED, code=case.attempt.code, checked=False)
    case.emit(EventKind.TASK_FAILED, failed, note=case.attempt.detail)
    case.due("attempt_ended")
    case.due("failed")


def _try_other_call(case: Case) -> bool:
    """Take the next call that a device could do now, in place of one that did not succeed; False if there is none."""
    work, spec, ended = case.work, case.spec, case.attempt
    if not spec.any_of or case.record.state in (TaskState.CANCELLING, TaskState.UNKNOWN):
        return False
    if not _may_be_followed(case):
        return False
    at = _first_able(work, case.constellation, spec)
    if at is None:
        return False
    device = work.shard.fleet.devices.get(ended.device)
    where = f" on {device.name}" if device is not None else ""
    title = CODES[ended.code].title.lower() if ended.code else "it did not succeed"
    cause = f"{title}{f': {ended.detail.splitlines()[0]}' if ended.detail else ''}"
    why = f"{spec.tool}{where} did not succeed: {cause}"
    _change_call(work, case.constellation, spec, case.record, at, why, case.put)
    case.due("attempt_ended")
    return True


def take_other_calls(work: Work) -> bool:
    """Take other calls for ready tasks whose own call no device can do now; True if there were any.

    Looks at the tasks that joined a queue in this step, and at all where the fleet has changed.
    """
    shard = work.shard
    candidates: dict[tuple[str, str], None] = {}
    for at, may_go in shard.queued_now.items():
        if may_go and _may_choose(shard.constellations.get(at[0]), at[1]):
            candidates[at] = None
    if shard.fleet.revision != shard.other_calls_revision:
        shard.other_calls_revision = shard.fleet.revision
        candidates.update(((name, task), None) for name in shard.live for task in shard.constellations[name].choosing)
    any_taken = False
    for name, task in candidates:
        any_taken |= _try_other_call_in_queue(work, name, task)
    return any_taken


def on_other_call_timer(work: Work, item: TimerFired) -> None:
    """Judge a task again whose device was away; the same rules as when it joined its queue."""
    if not _may_choose(work.shard.constellations.get(item.constellation), item.entity):
        work.ignore("the timer is stale")
    elif not _try_other_call_in_queue(work, item.constellation, item.entity):
        work.ignore("the task has its device, or no other call can be taken")


def _may_choose(constellation: Constellation | None, task: str) -> bool:
    return constellation is not None and task in constellation.choosing and task in constellation.tasks


def _try_other_call_in_queue(work: Work, name: str, task: str) -> bool:
    """Take another call for a ready task whose own call no device can do now; False if it keeps its call."""
    shard, constellation = work.shard, work.shard.constellations[name]
    spec, record = constellation.specs[task], constellation.tasks[task]
    if constellation.head.state is not ConstellationState.ACTIVE or not queueable(record):
        return False
    if not all(map(_is_harmless, _ended_attempts(constellation, task, record))):
        return False
    at = None if is_able(shard, constellation, spec) else _first_able(work, constellation, spec)
    if at is None:
        return False
    fleet, selector = shard.fleet, spec.device or ANY
    needs = needs_in(shard.access, constellation, spec)
    judgements = [
        judge_device(fleet, device, spec.tool or "", selector, needs) for device in offering(fleet, spec.tool or "")
    ]
    obstacle = nearest({item.reason for item in judgements})
    if obstacle is Reason.DEVICE_AWAY:
        devices_away = (fleet.devices[item.device] for item in judgements if item.reason is obstacle)
        since_ms = max(record.since_ms, max(device.link_since_ms for device in devices_away))
        if work.at_ms < since_ms + AWAY_MS:
            work.order(task_timer(constellation, task, OTHER_CALL_TIMER, record, since_ms + AWAY_MS))
            return False
    # Waiting looks at the devices with the tool; the words name any device, in the order of the fleet.
    judged = (judge_device(fleet, device, spec.tool or "", selector, needs) for device in fleet.devices.values())
    obstacles = list(islice((item for item in judged if item.reason is obstacle), _NAMED_MOST))
    obstacle_words = "; ".join(f"{fleet.devices[item.device].name} {item.words}" for item in obstacles)
    why = f"no device can do {spec.tool} now: {obstacle_words}" if obstacles else f"no device offers {spec.tool} now"
    _change_call(work, constellation, spec, record, at, why)
    return True


def _is_harmless(attempt: Attempt) -> bool:
    """Tell whether nothing is done twice if another call follows an attempt."""
    return attempt.repeatability in REPEATABLE or attempt.end in _NOT_BEGUN or attempt.effect is EffectSeen.NONE


def _ended_attempts(constellation: Constellation, task: str, record: TaskRecord) -> list[Attempt]:
    """Return the ended attempts of the present round."""
    return [item for item in constellation.tried(task, record.attempt, record.round) if item.end is not None]


def _first_able(work: Work, constellation: Constellation, spec: TaskSpec) -> int | None:
    """Return the place of the first call that a device could do now, or once it has a free slot."""
    fleet, access = work.shard.fleet, work.shard.access
    for at, way in enumerate(ways_of(spec)[1:]):
        if is_able_for(fleet, way.tool or "", way.device or ANY, needs_in(access, constellation, way)):
            return at
    return None


def _change_call(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, at: int, why: str, *also: Put
) -> None:
    """Make a call of `any_of` the call of its task, in a version of the plan by the engine."""
    call, number = spec.any_of[at], constellation.head.version + 1
    why = why[:WORDS_MOST]
    changed = replace(
        spec,
        any_of=[*spec.any_of[:at], *spec.any_of[at + 1 :]],
        args=call.args,
        changed_in=number,
        device=call.device,
        instead_of=why,
        secrets=[],
        tool=call.tool,
    )
    note = f"takes {call.tool}{_on_device(work.shard.fleet, call.device)} instead: {why}"
    changes = {"any_of": changed.any_of, "args": call.args, "device": call.device, "tool": call.tool}
    version = Version(
        at_ms=work.at_ms,
        author=ENGINE,
        changed=[spec.id],
        number=number,
        operations=canonical(
            [{"changes": msgspec.to_builtins(changes), "id": spec.id, "op": "update_task"}],
        ),
        reason=f"{spec.id} {note}"[:WORDS_MOST],
        trigger=spec.id,
    )
    head = replace(constellation.head, version=number)
    # A round of its own: how the call before ended says nothing of devices, tries and times of this one.
    again = moved(work, record, TaskState.READY, code=None, refusals=0, round=record.round + 1, started=0, stood_ms=0)
    if record.held:
        again = replace(again, reason=Reason.HELD)
    puts: list[Put] = [*also, ("version", str(number), version), ("head", "", head), ("spec", spec.id, changed)]
    change_task(work, constellation, spec.id, EventKind.TASK_REROUTED, again, *puts, note=note, by=ENGINE)


def _on_device(fleet: Fleet, selector: Selector | None) -> str:
    if selector is None:
        return ""
    device = fleet.devices.get(selector.id or "")
    name = device.name if device is not None else selector.name
    return f" on {name}" if name else ""


def _asks_a_person(case: Case) -> bool:
    """Tell whether a person must be asked before this task fails."""
    constellation, spec = case.constellation, case.spec
    if constellation.head.policy.on_failure != ASK_A_PERSON or spec.optional:
        return False
    if case.record.state is TaskState.CANCELLING:
        return False
    for owner in (spec.id, spec.group):
        for name in constellation.rules_by_task.get(owner, ()) if owner else ():
            if constellation.rules[name].event == "failed":
                return False
    return True


def _ask_a_person(case: Case) -> None:
    """Record the failed attempt and wait for a person."""
    work, constellation, spec, ended = case.work, case.constellation, case.spec, case.attempt
    title = CODES[ended.code].title if ended.code else "It failed"
    detail = f": {ended.detail.splitlines()[0][:200]}" if ended.detail else ""
    risky = ended.repeatability not in REPEATABLE and ended.effect is not EffectSeen.NONE
    again = "Run it again, though it may have had its effect" if risky else "Try again"
    question = Question(
        choices=[
            Choice(value=RETRY, label=again),
            Choice(value=SKIP, label="Go on without it"),
            Choice(value=FAIL, label="Let it fail", fails=True),
        ],
        id=f"{spec.id}-{case.record.round}-after-{case.number}",
        kind=QUESTION_KIND,
        opened_ms=work.at_ms,
        task=spec.id,
        text=f"{called(constellation, work.shard.fleet, spec.id)} failed. {title}{detail}. What now?",
        version=constellation.head.version,
    )
    waits = case.moved(TaskState.READY, reason=Reason.PERSON, code=ended.code, checked=False)
    case.emit(EventKind.RECOVERY_ASKED, waits, ("question", question.id, question), note=question.text, by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN, note=question.text)


def decide_answer(work: Work, constellation: Constellation, question: Question, value: str, reason: str) -> None:
    """Carry out a person's answer about a failed task.

    Raises:
        Refusal: the task no longer waits, or the answer is none of the choices.
    """
    task = question.task or ""
    record = constellation.tasks.get(task)
    if record is None or record.reason is not Reason.PERSON:
        raise Refusal(fault(Code.CONFLICT, f"{task} does not wait for an answer any more"))
    put = answer_put(work, question, value, reason=reason)
    if value == RETRY:
        # The person has seen that the task may have had its effect.
        new_record = moved(work, record, TaskState.READY, started=0, refusals=0, code=None, confirmed=True)
        new_record = replace(new_record, reason=Reason.HELD if record.held else None)
    elif value == SKIP:
        skipped = Reason.SKIPPED_BY_PERSON
        new_record = moved(work, record, TaskState.SKIPPED, reason=skipped, cause="not_chosen", code=None)
    elif value == FAIL:
        new_record = moved(work, record, TaskState.FAILED)
        work.fire_rules(constellation, task, "failed")
    else:
        raise Refusal(fault(Code.BAD_REQUEST, f"{value} is not one of the choices: retry, skip, fail", "value"))
    change_task(work, constellation, task, EventKind.RECOVERY_ANSWERED, new_record, put, note=reason)
