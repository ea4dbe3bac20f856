"""Leases and what agents report of them: grants, starts, results, receipts, silence.

A report counts only if its (incarnation, attempt) is that of the task's open lease as the log records it and it
came on the leased device's own connection (I4). Everything else is a late event once, then counted.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from starloom.core import recovery, waiting
from starloom.core.effects import COMMIT, DURABLE, ArmTimer, InputPlan, InputSource, SendCancel, SendDispatch
from starloom.core.gates import fact
from starloom.core.inputs import (
    LeaseExpired,
    LedgerReported,
    ReceiptReported,
    ResultReported,
    StartedReported,
    TimerFired,
)
from starloom.core.model import Constellation
from starloom.core.placement import Choice
from starloom.core.tables import Trigger, Verdict, look_up
from starloom.core.wants import deciding, wants_of
from starloom.core.work import Work, change_task, close_question, moved, unattend
from starloom_protocol.entities import Attempt, TaskRecord, TaskSpec
from starloom_protocol.frames import LeaseRef, ResultFrame
from starloom_protocol.values import MISSING, holds, parse
from starloom_protocol.vocabulary import (
    REPEATABLE,
    AttemptEnd,
    Attention,
    Code,
    EffectSeen,
    Outcome,
    Reason,
    TaskState,
)

_TRIGGER_OF = {
    Outcome.OK: Trigger.FINISHED,
    Outcome.ERROR: Trigger.BROKE,
    Outcome.TIMEOUT: Trigger.BROKE,
    Outcome.INTERRUPTED: Trigger.BROKE,
    Outcome.REFUSED: Trigger.NOT_BEGUN,
    Outcome.NEVER_STARTED: Trigger.NOT_BEGUN,
}


def grant(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, choice: Choice) -> None:
    """Lease a ready task to a device; the dispatch leaves once its events are as safe as the work needs."""
    shard = work.shard
    number = record.attempt + 1
    attempt = Attempt(
        device=choice.device,
        incarnation=shard.incarnation,
        leased_ms=work.at_ms,
        others=choice.others,
        repeatability=choice.repeatability,
        round=record.round,
        why=choice.why,
    )
    leased = replace(
        record,
        state=TaskState.LEASED,
        attempt=number,
        device=choice.device,
        started=record.started + 1,
        since_ms=work.at_ms,
        reason=None,
        not_before_ms=0,
    )
    also = ("attempt", f"{spec.id}/{number}", attempt)
    change_task(work, constellation, spec.id, "task_leased", leased, also, by="engine")
    work.order(dispatch_of(work, constellation, spec, leased, attempt))


def dispatch_of(
    work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, attempt: Attempt
) -> SendDispatch:
    """Return the order to run an open attempt; sent again it says the same."""
    item = None
    if spec.key is not None and spec.family is not None:
        stored = constellation.items.get(f"{spec.family}/{spec.key}")
        item = stored.value if stored else None
    return SendDispatch(
        after=COMMIT if attempt.repeatability in REPEATABLE else DURABLE,
        args=spec.args,
        at=lease_ref(constellation, spec.id, record.attempt, attempt),
        attempt_of_max=recovery.attempts_most(spec, attempt),
        device=attempt.device,
        fence_after_ms=fence_after_ms(work, spec, attempt),
        files_out=spec.files_out,
        inputs=[_input_plan(constellation, spec, name) for name in _input_names(spec)],
        item=item,
        repeatability=attempt.repeatability,
        start_to_close_s=spec.timeouts.start_to_close_s,
        tool=spec.tool or "",
        wants=wants_of(constellation, spec),
    )


def lease_ref(constellation: Constellation, task: str, number: int, attempt: Attempt) -> LeaseRef:
    """Return the name of an attempt as frames carry it."""
    return LeaseRef(attempt=number, constellation=constellation.name, incarnation=attempt.incarnation, task=task)


def _input_names(spec: TaskSpec) -> list[str]:
    return [item.name for item in spec.inputs]


def _input_plan(constellation: Constellation, spec: TaskSpec, name: str) -> InputPlan:
    item = next(item for item in spec.inputs if item.name == name)
    if item.source in constellation.groups:
        children = constellation.leaves(item.source)
        if not constellation.specs[item.source].nested:
            children.sort(key=lambda child: _key_order(constellation, child))
        sources = [
            _source(constellation, child, item.output)
            for child in children
            if constellation.tasks[child].state is TaskState.SUCCEEDED
        ]
        return InputPlan(flatten=item.flatten, many=True, name=name, sources=sources)
    record = constellation.tasks.get(item.source)
    if record is None or record.state is not TaskState.SUCCEEDED:
        return InputPlan(name=name)
    return InputPlan(name=name, sources=[_source(constellation, item.source, item.output)], flatten=item.flatten)


def _key_order(constellation: Constellation, child: str) -> tuple[int, str]:
    key = constellation.specs[child].key or ""
    return (int(key), "") if key.isdecimal() else (0, key)


def _source(constellation: Constellation, task: str, output: str) -> InputSource:
    record = constellation.tasks[task]
    if record.marked is not None:
        return InputSource(output=output, text=record.marked)
    return InputSource(attempt=record.attempt, output=output, task=task)


def absence_of(spec: TaskSpec, attempt: Attempt) -> tuple[int, str]:
    """Return (T in milliseconds, what then) of an attempt's absence policy, defaults filled in."""
    if spec.on_absence.then:
        return spec.on_absence.after_s * 1000, spec.on_absence.then
    return (0, "reassign") if attempt.repeatability in REPEATABLE else (0, "wait")


def fence_after_ms(work: Work, spec: TaskSpec, attempt: Attempt) -> int:
    """Return how long after its last answered `alive` an agent must stop; 0 is never (`wait`)."""
    after_ms, then = absence_of(spec, attempt)
    if then == "wait":
        return 0
    settings = work.shard.settings
    return max(settings.ttl_ms + after_ms - settings.absence_margin_ms, settings.ttl_ms // 4)


# -- reports


def _open(work: Work, device: str, at: LeaseRef) -> tuple[Constellation, TaskSpec, TaskRecord, Attempt] | None:
    """Return what a report is about if its lease is open, else count it."""
    constellation = work.shard.constellations.get(at.constellation)
    attempt = constellation.attempts.get(f"{at.task}/{at.attempt}") if constellation else None
    if constellation is None or attempt is None:
        work.ignore("names no known attempt")
        return None
    if attempt.device != device:
        work.ignore("came from another device than the leased one")
        return None
    record = constellation.tasks.get(at.task)
    spec = constellation.specs.get(at.task)
    if record is None or spec is None:
        work.ignore("its task was removed")
        return None
    if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:
        work.ignore("its lease is closed")
        return None
    return constellation, spec, record, attempt


def on_started(work: Work, item: StartedReported) -> None:
    """An agent has begun an attempt."""
    found = _open(work, item.device, item.frame.at)
    if found is None:
        return
    constellation, spec, record, attempt = found
    row = look_up(record.state, Trigger.STARTED)
    if row.verdict is not Verdict.ACT:
        work.ignore(row.reason)
        return
    begun = replace(attempt, started_ms=work.at_ms)
    running = moved(work, record, TaskState.RUNNING)
    key = f"{spec.id}/{record.attempt}"
    change_task(work, constellation, spec.id, "task_started", running, ("attempt", key, begun))


def on_result(work: Work, item: ResultReported) -> None:
    """An attempt has ended on its device."""
    frame = item.frame
    found = _open(work, item.device, frame.at)
    if found is None:
        _late(work, item.device, frame)
        return
    constellation, spec, record, attempt = found
    row = look_up(record.state, _TRIGGER_OF[frame.outcome])
    if row.verdict is not Verdict.ACT:
        work.ignore(row.reason)
        return
    ended = replace(
        attempt,
        end=AttemptEnd(frame.outcome.value),
        ended_ms=work.at_ms,
        started_ms=attempt.started_ms or attempt.leased_ms,
        effect=frame.effect,
        code=frame.code,
        detail=frame.detail[:2000],
        tail=frame.tail[-4096:],
    )
    if frame.outcome is Outcome.OK:
        _finished(work, constellation, spec, record, ended, frame)
    elif record.state is TaskState.CANCELLING:
        _stopped(work, constellation, spec, record, ended)
    elif frame.outcome in (Outcome.REFUSED, Outcome.NEVER_STARTED):
        recovery.not_begun(work, constellation, spec, record, ended)
    else:
        recovery.broke(work, constellation, spec, record, ended)
    if record.state is TaskState.UNKNOWN and not constellation.unknown:
        unattend(work, constellation, Attention.TASK_UNKNOWN)


def _late(work: Work, device: str, frame: ResultFrame) -> None:
    at = frame.at
    constellation = work.shard.constellations.get(at.constellation)
    key = f"{at.task}/{at.attempt}"
    attempt = constellation.attempts.get(key) if constellation else None
    if constellation is None or attempt is None or attempt.device != device or attempt.late is not None:
        return
    if attempt.end not in (AttemptEnd.LOST, AttemptEnd.REVOKED):
        return
    digest = hashlib.sha256((frame.value or frame.artifact or frame.detail).encode()).hexdigest()
    late = replace(attempt, late=f"{frame.outcome}:{digest}")
    work.emit(constellation, "result_late", at.task, [("attempt", key, late)])


def _finished(
    work: Work,
    constellation: Constellation,
    spec: TaskSpec,
    record: TaskRecord,
    ended: Attempt,
    frame: ResultFrame,
) -> None:
    facts = dict(sorted(frame.facts.items()))
    if frame.artifact is not None or frame.facts_too_big:
        for pointer in wants_of(constellation, spec):
            if pointer not in facts:
                facts[f"!{pointer}"] = str(frame.facts_too_big.get(pointer, 0))
        facts = dict(sorted(facts.items()))
    done = replace(ended, value=frame.value, artifact=frame.artifact, bytes=frame.bytes, facts=facts, code=None)
    key = f"{spec.id}/{record.attempt}"
    needed = deciding(constellation, spec) if frame.facts_too_big else {}
    sizes = sorted(frame.facts_too_big.items())
    too_big = next((f"{pointer} has {size} bytes" for pointer, size in sizes if pointer in needed), None)
    if too_big is not None:
        failed = replace(done, end=AttemptEnd.ERROR, code=Code.FACT_TOO_BIG, detail=too_big)
        recovery.broke(work, constellation, spec, record, failed)
        return
    checked = frame.verified
    if spec.checks:
        work.quietly(constellation, "attempt", key, done)
        missed = _missed_check(constellation, spec)
        if missed is not None:
            failed = replace(done, end=AttemptEnd.ERROR, code=Code.CHECK_FAILED, detail=missed)
            recovery.broke(work, constellation, spec, record, failed)
            return
        checked = True
    succeeded = moved(work, record, TaskState.SUCCEEDED, checked=checked, code=None, cause=None)
    change_task(work, constellation, spec.id, "task_succeeded", succeeded, ("attempt", key, done))
    work.rules_due.append((constellation.name, spec.id, "succeeded"))


def _missed_check(constellation: Constellation, spec: TaskSpec) -> str | None:
    for check in spec.checks:
        found = fact(constellation, spec.id, check.output)
        wanted = parse(check.value) if check.value is not None else None
        if not holds(check.op, found, wanted):
            shown = "nothing" if found is MISSING else str(found)[:200]
            return f"{check.output or 'the output'} should be {check.op} {check.value or ''}, found {shown}".strip()
    return None


def _stopped(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> None:
    """A cancel is proved: the attempt is over and the task is cancelled."""
    closed = replace(ended, end=AttemptEnd.REVOKED)
    cancelled = moved(work, record, TaskState.CANCELLED)
    key = f"{spec.id}/{record.attempt}"
    change_task(work, constellation, spec.id, "task_cancelled", cancelled, ("attempt", key, closed))


def on_receipt(work: Work, item: ReceiptReported) -> None:
    """A device says that a cancelled attempt's process group has ended."""
    found = _open(work, item.device, item.frame.at)
    if found is None:
        return
    constellation, spec, record, attempt = found
    overdue = record.reason is Reason.OVERDUE
    row = look_up(record.state, Trigger.ENDED_OVERDUE if overdue else Trigger.RECEIPT)
    if row.verdict is not Verdict.ACT:
        work.ignore(row.reason)
        return
    ended = replace(attempt, ended_ms=work.at_ms, effect=item.frame.effect)
    if overdue:
        recovery.timed_out(work, constellation, spec, record, ended)
    else:
        _stopped(work, constellation, spec, record, ended)


def on_ledger(work: Work, item: LedgerReported) -> None:
    """A device's ledger says what became of an attempt whose fate was open."""
    found = _open(work, item.device, item.at)
    if found is None:
        return
    constellation, spec, record, attempt = found
    if item.state == "unknown" and record.state in (TaskState.LEASED, TaskState.UNKNOWN):
        ended = replace(
            attempt, end=AttemptEnd.NEVER_STARTED, ended_ms=work.at_ms, effect=EffectSeen.NONE, code=None, detail=""
        )
        recovery.not_begun(work, constellation, spec, record, ended)
        if not constellation.unknown:
            unattend(work, constellation, Attention.TASK_UNKNOWN)


# -- cancelling


def ask_to_stop(work: Work, constellation: Constellation, task: str, reason: str) -> None:
    """Cancel one task: at once where nothing runs, else by an order that the device must confirm."""
    record = constellation.tasks[task]
    row = look_up(record.state, Trigger.CANCEL)
    if row.verdict is not Verdict.ACT:
        return
    if record.state in (TaskState.WAITING, TaskState.READY):
        close_question(work, constellation, task)
        change_task(work, constellation, task, "task_cancelled", moved(work, record, TaskState.CANCELLED))
        return
    attempt = constellation.attempt(task, record.attempt)
    change_task(
        work,
        constellation,
        task,
        "task_cancelling",
        moved(work, record, TaskState.CANCELLING),
        ("attempt", f"{task}/{record.attempt}", replace(attempt, cancel_by=work.by)),
        note=reason,
    )
    work.order(
        SendCancel(at=lease_ref(constellation, task, record.attempt, attempt), device=attempt.device, reason=reason)
    )
    fence = fence_after_ms(work, constellation.specs[task], attempt)
    if fence:
        settings = work.shard.settings
        due = work.at_ms + settings.ttl_ms + fence + settings.grace_ms
        work.order(timer(constellation, task, "fence", record, due))


def timer(constellation: Constellation, task: str, kind: str, record: TaskRecord, due_ms: int) -> ArmTimer:
    """Return the order to judge a task again at a moment."""
    return ArmTimer(
        attempt=record.attempt,
        constellation=constellation.name,
        due_ms=due_ms,
        entity=task,
        kind=kind,
        round=record.round,
    )


# -- silence


def on_lease_expired(work: Work, item: LeaseExpired) -> None:
    """No `alive` named an attempt for ttl + grace: it is absent; its policy says what then."""
    constellation = work.shard.constellations.get(item.at.constellation)
    record = constellation.tasks.get(item.at.task) if constellation else None
    if constellation is None or record is None or record.attempt != item.at.attempt:
        work.ignore("its lease is closed")
        return
    row = look_up(record.state, Trigger.SILENT)
    if row.verdict is not Verdict.ACT or record.absent_since_ms:
        work.ignore(row.reason or "it is known to be absent")
        return
    spec = constellation.specs[item.at.task]
    attempt = constellation.attempt(spec.id, record.attempt)
    after_ms, then = absence_of(spec, attempt)
    absent = replace(record, reason=Reason.ABSENT, absent_since_ms=work.at_ms)
    change_task(work, constellation, spec.id, "task_absent", absent, by="engine", note=_absence_words(after_ms, then))
    if then == "wait":
        return
    if after_ms == 0:
        recovery.lost(work, constellation, spec, absent, attempt, then)
    else:
        work.order(timer(constellation, spec.id, "absence", absent, work.at_ms + after_ms))


def _absence_words(after_ms: int, then: str) -> str:
    if then == "wait":
        return "the device does not answer; the work waits for it"
    after = f"in {after_ms // 1000} s" if after_ms else "now"
    return f"the device does not answer; the work is {'moved' if then == 'reassign' else 'given up'} {after}"


def heard(work: Work, constellation: Constellation, task: str) -> None:
    """An absent attempt's device has answered again before it was given away."""
    record = constellation.tasks[task]
    if record.absent_since_ms and look_up(record.state, Trigger.HEARD).verdict is Verdict.ACT:
        stood_ms = record.stood_ms + work.at_ms - record.absent_since_ms
        back = replace(record, reason=None, absent_since_ms=0, stood_ms=stood_ms)
        change_task(work, constellation, task, "task_heard", back, by="engine")


def on_timer(work: Work, item: TimerFired) -> None:
    """A due moment of an attempt, judged against state: stale ones change nothing."""
    constellation = work.shard.constellations.get(item.constellation)
    record = constellation.tasks.get(item.entity) if constellation else None
    if constellation is None or record is None or (record.attempt, record.round) != (item.attempt, item.round):
        work.ignore("the timer is stale")
        return
    spec = constellation.specs[item.entity]
    if item.kind == "backoff" and record.reason is Reason.BACKOFF:
        again = replace(record, reason=Reason.HELD if record.held else None, not_before_ms=0)
        change_task(work, constellation, spec.id, "task_ready", again, by="engine")
    elif item.kind == "absence" and record.absent_since_ms:
        attempt = constellation.attempt(spec.id, record.attempt)
        after_ms, then = absence_of(spec, attempt)
        if work.at_ms < record.absent_since_ms + after_ms:
            work.ignore("the timer belongs to an earlier absence")
        else:
            recovery.lost(work, constellation, spec, record, attempt, then)
    elif item.kind == "fence" and look_up(record.state, Trigger.FENCE_PASSED).verdict is Verdict.ACT:
        attempt = constellation.attempt(spec.id, record.attempt)
        if attempt.device in work.shard.fleet.holders and _in_touch(work, attempt.device):
            # The device answers `alive`, so its fence has not run down: only its receipt proves the end.
            work.order(timer(constellation, spec.id, "fence", record, work.at_ms + work.shard.settings.ttl_ms))
            return
        ended = replace(attempt, ended_ms=work.at_ms, detail="stopped by its own fence")
        _stopped(work, constellation, spec, record, ended)
    elif item.kind == "waits_long":
        waiting.on_too_long(work, constellation, spec, record)
    elif item.kind == "heard":
        heard(work, constellation, spec.id)
    else:
        work.ignore("the timer is stale")


def _in_touch(work: Work, device: str) -> bool:
    found = work.shard.fleet.devices.get(device)
    return found is not None and found.link == "online"
