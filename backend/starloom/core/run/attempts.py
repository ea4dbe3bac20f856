"""Leases and the reports of agents about them: grants, starts, results and the plan's checks on them, receipts, fences.

A report counts only if its (incarnation, attempt) is that of the task's open lease in the log and it came on the leased
device's own connection (I4). Any other report is a late event once, then only counted. At the fence of an attempt its
device must stop it, and a timer judges it again. `digest_of` names a call as its device gets it. Chooses no device;
`recovery` decides what follows a failed attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.placement import health, pace
from starloom.core.placement.device_conditions import tap_reason
from starloom.core.placement.device_groups import off_devices
from starloom.core.placement.selection import Choice
from starloom.core.rights.secrets import note_given
from starloom.core.run import hedging, judgement, recovery, verification
from starloom.core.state.inputs import (
    LedgerReported,
    ReceiptReported,
    ResultReported,
    StartedReported,
)
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import COMMIT, DURABLE, InputPlan, InputSource, SendCancel, SendDispatch
from starloom.core.state.settings import ShardSettings
from starloom.core.state.tasks.gates import SIZE, deciding_pointers, fact, size_key, successes, wants_of
from starloom.core.state.transitions import TASK_TABLE, Trigger, Verdict, look_up
from starloom.core.state.work import Case, Work, change_task, close_question, moved, present, task_timer, unattend
from starloom_protocol.records.entities import Attempt, Input, TaskRecord, TaskSpec
from starloom_protocol.records.specs import Check, counts_as_one
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import PLACEHOLDER, place_words, quoted, size_words, value_words
from starloom_protocol.values import MISSING, canonical, holds, parse, point
from starloom_protocol.vocabulary import (
    REPEATABLE,
    AttemptEnd,
    Attention,
    Code,
    EffectSeen,
    Op,
    Outcome,
    Reason,
    TaskState,
)
from starloom_protocol.wire.frames import DispatchInput, InputPart, LeaseRef, Receipt, ResultFrame, call_digest

_MUST: Final = {
    Op.EQ: "be",
    Op.NE: "not be",
    Op.LT: "be less than",
    Op.LE: "be at most",
    Op.GT: "be more than",
    Op.GE: "be at least",
    Op.IN: "be one of",
    Op.NOT_IN: "be none of",
    Op.CONTAINS: "contain",
    Op.EMPTY: "be empty",
    Op.NOT_EMPTY: "not be empty",
    Op.EXISTS: "be there",
}
LEDGER_KEEPS_MS = 30 * 86_400_000
"""Agents forget attempts sixty days after their end: that a ledger lacks a lease older than this proves nothing."""
TOLD_TO_STOP = frozenset({Reason.OVERDUE, Reason.MOVING})
"""Reasons of an open attempt whose device was asked to stop it. They outlive an absence, or its receipt would be lost.
"""
_PATIENCE_PART = 10
_PATIENT_FROM_MS = _PATIENCE_PART * 1000
EACH: Final = '"each"'
"""Arguments without this text hold no place of an item: most are sent as they stand in the plan."""
_FOREIGN = "came from another device than the leased one"
_TRIGGER_OF = {
    Outcome.OK: Trigger.FINISHED,
    Outcome.ERROR: Trigger.BROKE,
    Outcome.TIMEOUT: Trigger.BROKE,
    Outcome.INTERRUPTED: Trigger.BROKE,
    Outcome.REFUSED: Trigger.NOT_BEGUN,
    Outcome.NEVER_STARTED: Trigger.NOT_BEGUN,
}
_END_OF = {outcome: AttemptEnd(outcome.value) for outcome in Outcome}
# As names of the module: they are looked up for each result.
_ACT, _OK, _ENDED_OK = Verdict.ACT, Outcome.OK, AttemptEnd.OK
_CANCELLING, _LEASED, _RUNNING, _SUCCEEDED, _UNKNOWN = (
    TaskState.CANCELLING,
    TaskState.LEASED,
    TaskState.RUNNING,
    TaskState.SUCCEEDED,
    TaskState.UNKNOWN,
)


def too_big(constellation: Constellation, spec: TaskSpec, frame: ResultFrame) -> str | None:
    """Return the first fact needed for a decision that was too big to be brought, if there is one."""
    needed = deciding_pointers(constellation, spec)
    sizes = sorted(frame.facts_too_big.items())
    first = next((f"{pointer} has {size} bytes" for pointer, size in sizes if pointer in needed), None)
    return f"{first}; {frame.detail}" if first and frame.detail else first


def missed_check(constellation: Constellation, spec: TaskSpec) -> str | None:
    """Return, in words, the first check that the newest attempt's output fails."""
    for check in spec.checks:
        value = fact(constellation, spec.id, check.output)
        expected = parse(check.value) if check.value is not None else None
        if not holds(check.op, value, expected):
            sentence = _check_sentence(constellation, spec, check)
            if sentence:
                return sentence
            where = place_words(check.output) or "The result"
            shown = "nothing" if value is MISSING else value_words(value)
            demand = _MUST[check.op] + (f" {value_words(expected)}" if check.value is not None else "")
            return f"{where} must {demand} but is {shown}" + (f" ({check.output})" if check.output else "")
    return None


def _check_sentence(constellation: Constellation, spec: TaskSpec, check: Check) -> str:
    """Return the check's own sentence with fields of the result; empty where it has none, or one is not there."""
    fields: dict[str, str] = {}
    for name in PLACEHOLDER.findall(check.says):
        value = fact(constellation, spec.id, f"/{name}")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        if isinstance(value, int) and name.endswith("_bytes"):
            fields[name] = size_words(value)
        else:
            fields[name] = quoted(value) if isinstance(value, str) else value_words(value)
    return PLACEHOLDER.sub(lambda match: fields[match[1]], check.says)


def grant(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, choice: Choice) -> None:
    """Lease a ready task to a device; the dispatch leaves once its events are as safe as the work requires."""
    shard = work.shard
    number = max(record.attempt, record.hedge) + 1
    attempt = Attempt(
        device=choice.device,
        expects_ms=choice.expects_ms,
        incarnation=shard.incarnation,
        leased_ms=work.at_ms,
        others=choice.others,
        repeatability=choice.repeatability,
        round=record.round,
        why=choice.why,
    )
    leased = replace(
        record,
        state=_LEASED,
        attempt=number,
        device=choice.device,
        started=record.started + 1,
        since_ms=work.at_ms,
        reason=None,
        not_before_ms=0,
    )
    also = ("attempt", f"{spec.id}/{number}", attempt)
    change_task(work, constellation, spec.id, EventKind.TASK_LEASED, leased, also, by=ENGINE)
    if shard.fleet.health:
        health.granted(work, choice.device)
    if spec.secrets:
        note_given(work, spec.secrets, f"{constellation.name}/{spec.id}/{number} on {choice.device}")
    work.order(dispatch_of(Case(work, constellation, spec, leased, number, attempt)))


def dispatch_of(case: Case) -> SendDispatch:
    """Return the order to run an open attempt; a repeated one is equal."""
    constellation, spec, attempt = case.constellation, case.spec, case.attempt
    item = None
    if spec.key is not None and spec.family is not None:
        stored = constellation.items.get(f"{spec.family}/{spec.key}")
        item = stored.value if stored else None
    fleet, took = case.work.shard.fleet, case.record.took
    fence_ms, patience_ms = bounds_of_lease(case.work, spec, attempt)
    return SendDispatch(
        after=COMMIT if attempt.repeatability in REPEATABLE else DURABLE,
        args=spec.args,
        at=constellation.lease_ref(spec.id, case.number, attempt),
        attempt_of_max=recovery.attempts_most(spec, attempt),
        device=attempt.device,
        fence_after_ms=fence_ms,
        files_out=spec.files_out,
        inputs=[_input_plan(fleet, constellation, item, took, spec.undoes_attempt) for item in spec.inputs],
        item=item,
        patience_most_ms=patience_ms,
        repeatability=attempt.repeatability,
        secrets=spec.secrets,
        start_to_close_s=spec.timeouts.start_to_close_s,
        tool=spec.tool or "",
        wants=wants_of(constellation, spec),
    )


def _input_plan(
    fleet: Fleet, constellation: Constellation, item: Input, took: Mapping[str, str], undone: int
) -> InputPlan:
    """Return the parts of an input; that of an undo is the result of the attempt that it takes back, if `undone`."""
    name = item.name
    if undone:
        return InputPlan(name=name, sources=[InputSource(attempt=undone, output=item.output, task=item.source)])
    if item.topic:
        return InputPlan(name=name, sources=[_finding(constellation, item, took.get(name, ""))])
    if item.off:
        rows = off_devices.reported(constellation, item.source) if item.source in constellation.groups else []
        return InputPlan(many=True, name=name, sources=[InputSource(text=off_devices.row(fleet, one)) for one in rows])
    if item.who:
        who = [_voter(fleet, constellation, child) for child in successes(constellation, item.source)]
        return InputPlan(many=True, name=name, sources=[InputSource(text=text) for text in who])
    if item.source in constellation.groups:
        sources = [_source(constellation, child, item.output) for child in successes(constellation, item.source)]
        source = constellation.specs[item.source]
        each = source.for_each
        turns = each is not None and each.repeat is not None
        many = source.goal is None and (each is None or not counts_as_one(each) or (item.all and turns))
        if turns and not many:
            sources = sources[-1:]
        return InputPlan(flatten=item.flatten, many=many, name=name, sources=sources)
    record = constellation.tasks.get(item.source)
    if record is None or record.state is not TaskState.SUCCEEDED:
        return InputPlan(name=name)
    # Of a plain task, `all` makes a list of one: some tools take a list alone.
    many = item.all and not item.flatten
    return InputPlan(
        flatten=item.flatten, many=many, name=name, sources=[_source(constellation, item.source, item.output)]
    )


def digest_of(constellation: Constellation, order: SendDispatch) -> str:
    """Return the digest of the call that an order would send now, as its device computes it of what it gets."""
    args = fill_args(parse(order.args), order.item) if EACH in order.args else order.args
    return call_digest(order.tool, args, inputs_of(constellation, order.inputs))


def fill_args(args: Any, item: str | None) -> str:
    """Return arguments as canonical text, with the fields of an item in their places."""
    return canonical(_fill(args, parse(item) if item is not None else None))


def _fill(value: Any, item: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"each"}:
            field = point(item, value["each"])
            return None if field is MISSING else field
        return {key: _fill(part, item) for key, part in value.items()}
    if isinstance(value, list):
        return [_fill(part, item) for part in value]
    return value


def inputs_of(constellation: Constellation, plans: Sequence[InputPlan]) -> list[DispatchInput]:
    """Return what a call reads: short values as text, long ones by the artifact that holds them."""
    return [
        DispatchInput(
            name=item.name,
            many=item.many,
            flatten=item.flatten,
            parts=[_part(constellation, source, shrink=item.many) for source in item.sources],
        )
        for item in plans
    ]


def _part(constellation: Constellation, source: InputSource, *, shrink: bool) -> InputPart:
    if source.text is not None:
        return InputPart(value=source.text, output=source.output)
    attempt = constellation.attempts[f"{source.task}/{source.attempt}"]
    fact = attempt.facts.get(source.output)
    if fact is not None:
        return InputPart(value=fact)
    if attempt.artifact is not None:
        return InputPart(artifact=attempt.artifact, output=source.output)
    text = attempt.value if attempt.value is not None else "null"
    if shrink and source.output:
        value = point(parse(text), source.output)
        return InputPart(value="null" if value is MISSING else canonical(value))
    return InputPart(value=text, output=source.output)


def _voter(fleet: Fleet, constellation: Constellation, task: str) -> str:
    device = fleet.devices.get(constellation.tasks[task].device or "")
    return canonical({"device": device.name if device is not None else "", "task": task})


def _finding(constellation: Constellation, item: Input, number: str) -> InputSource:
    """Return a finding as it was published, although its task may have another result since; else the value instead."""
    finding = constellation.findings.get(number)
    if finding is None:
        return InputSource(text=item.otherwise or "null")
    if finding.value is not None:
        return InputSource(text=finding.value)
    return InputSource(attempt=finding.attempt, output=finding.output, task=finding.task)


def _source(constellation: Constellation, task: str, output: str) -> InputSource:
    record = constellation.tasks[task]
    if record.marked is not None:
        return InputSource(output=output, text=record.marked)
    return InputSource(attempt=record.attempt, output=output, task=task)


def open_attempt(work: Work, device: str, at: LeaseRef) -> Case | None:
    """Return the case of a report if its lease is open, else count the report."""
    constellation = work.shard.constellations.get(at.constellation)
    attempt = constellation.attempts.get(f"{at.task}/{at.attempt}") if constellation else None
    if constellation is None or attempt is None:
        work.ignore("names no known attempt")
        return None
    if attempt.device != device:
        # After a loss of the log the same number may have gone to another device; then the sender is honest.
        if attempt.incarnation == at.incarnation:
            work.refuse(device, "report", _FOREIGN)
        work.ignore(_FOREIGN)
        return None
    record = constellation.tasks.get(at.task)
    spec = constellation.specs.get(at.task)
    if record is None or spec is None:
        work.ignore("its task was removed")
        return None
    if attempt.hedge and attempt.end is None:
        return None
    if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:
        work.ignore("its lease is closed")
        return None
    return Case(work, constellation, spec, record, at.attempt, attempt)


def _open_hedge(work: Work, device: str, at: LeaseRef) -> Case | None:
    """Return the case of a report if it is about an open hedge."""
    constellation = work.shard.constellations.get(at.constellation)
    record = constellation.tasks.get(at.task) if constellation else None
    if constellation is None or record is None or record.hedge != at.attempt:
        return None
    hedge = hedging.open_hedge(constellation, at.task, record)
    if hedge is None or hedge.device != device or hedge.incarnation != at.incarnation:
        return None
    return Case(work, constellation, constellation.specs[at.task], record, at.attempt, hedge)


def on_started(work: Work, item: StartedReported) -> None:
    """Note that an agent has begun an attempt."""
    case = open_attempt(work, item.device, item.frame.at)
    if case is None:
        hedge_case = _open_hedge(work, item.device, item.frame.at)
        if hedge_case is not None:
            put = hedge_case.with_attempt(started_ms=work.at_ms).put
            work.emit(hedge_case.constellation, EventKind.HEDGE_STARTED, hedge_case.spec.id, [put])
        return
    row = look_up(case.record.state, Trigger.STARTED)
    if row.verdict is not Verdict.ACT:
        work.ignore(row.reason)
        return
    device = work.shard.fleet.devices.get(item.device)
    tap = tap_reason(device, case.constellation.name, case.spec.id, case.record.attempt)
    running = case.moved(TaskState.RUNNING, reason=tap) if tap else case.moved(TaskState.RUNNING)
    case.with_attempt(started_ms=work.at_ms).emit(EventKind.TASK_STARTED, running)


def on_result(work: Work, item: ResultReported) -> None:
    """Note the result of an attempt that has ended on its device."""
    frame = item.frame
    case = open_attempt(work, item.device, frame.at) or _result_of_hedge(work, item)
    if case is None:
        _late(work, item.device, frame)
        return
    if case.attempt.other_call:
        work.ignore("it is the result of another call")
        return
    row = TASK_TABLE[case.record.state, _TRIGGER_OF[frame.outcome]]
    if row.verdict is not _ACT:
        work.ignore(row.reason)
        return
    if frame.outcome is not _OK:
        _not_finished(case, frame)
    elif _is_too_late(case):
        _ended_too_late(case, frame)
    else:
        _finished(case, frame)
    if case.record.state is _UNKNOWN and not case.constellation.unknown:
        unattend(work, case.constellation, Attention.TASK_UNKNOWN)


def _is_too_late(case: Case) -> bool:
    """Tell whether a task was asked to stop after its time and its device could have reported the end before that.

    A device that was away at that time reports the attempts that ended meanwhile when it connects.
    """
    work, attempt = case.work, case.attempt
    if case.record.state is not _RUNNING or case.record.reason is not Reason.OVERDUE:
        return False
    device = work.shard.fleet.devices.get(attempt.device)
    if device is None:
        return True
    settings = work.shard.settings
    was_away = device.link_since_ms > attempt.started_ms + case.spec.timeouts.start_to_close_s * 1000
    return not was_away or work.at_ms - device.link_since_ms > settings.ttl_ms + settings.grace_ms


def _ended_too_late(case: Case, frame: ResultFrame) -> None:
    """Make a timeout of work that succeeded after its time and after it was asked to stop, with a trace of it."""
    spec = case.spec
    ended = case.with_attempt(
        effect=frame.effect if case.attempt.repeatability in REPEATABLE else EffectSeen.MAYBE,
        late=f"{frame.outcome}:{_digest(frame)}",
        tail=frame.tail[-4096:],
    )
    detail = (
        f"{spec.tool} took longer than its {spec.timeouts.start_to_close_s} s; it ended well after it was told to stop"
    )
    recovery.timed_out(ended, detail)


def _digest(frame: ResultFrame) -> str:
    return hashlib.sha256((frame.value or frame.artifact or frame.detail).encode()).hexdigest()


def _result_of_hedge(work: Work, item: ResultReported) -> Case | None:
    """Take the result of a hedge: success makes it the attempt that counts, else the first attempt continues alone."""
    frame = item.frame
    hedge_case = _open_hedge(work, item.device, frame.at)
    if hedge_case is None:
        return None
    if frame.outcome is Outcome.OK:
        hedging.let_win(work, hedge_case.constellation, hedge_case.spec.id)
        return open_attempt(work, item.device, frame.at)
    ended = hedge_case.with_attempt(
        end=_END_OF[frame.outcome],
        ended_ms=work.at_ms,
        effect=frame.effect,
        code=frame.code,
        detail=frame.detail[:2000],
    )
    hedging.ended_early(ended)
    health.failed(work, ended.attempt)
    return None


def _late(work: Work, device: str, frame: ResultFrame) -> None:
    """Note the result of an attempt that the hub has ended, once; it changes nothing."""
    at = frame.at
    constellation = work.shard.constellations.get(at.constellation)
    key = f"{at.task}/{at.attempt}"
    attempt = constellation.attempts.get(key) if constellation else None
    if constellation is None or attempt is None or attempt.device != device or attempt.late is not None:
        return
    # An attempt that the hub ended after its time may have ended before the device received that.
    ended_here = attempt.end is AttemptEnd.TIMEOUT and frame.outcome is not Outcome.TIMEOUT
    if attempt.end not in (AttemptEnd.LOST, AttemptEnd.REVOKED) and not ended_here:
        return
    # The fence ended the work because its lease ran out, and the agent lives on: the work did not interrupt it.
    how = Code.FENCED if frame.code is Code.FENCED else frame.outcome
    late = replace(attempt, late=f"{how}:{_digest(frame)}")
    work.emit(constellation, EventKind.RESULT_LATE, at.task, [("attempt", key, late)])


def _not_finished(case: Case, frame: ResultFrame) -> None:
    ended = case.with_attempt(
        end=_END_OF[frame.outcome],
        ended_ms=case.work.at_ms,
        started_ms=case.attempt.started_ms or case.attempt.leased_ms,
        effect=frame.effect,
        code=frame.code,
        detail=frame.detail[:2000],
        tail=frame.tail[-4096:],
    )
    if case.record.state is _CANCELLING:
        stopped(ended)
    elif frame.outcome in (Outcome.REFUSED, Outcome.NEVER_STARTED):
        recovery.not_begun(ended)
    else:
        recovery.broke(ended)


def _finished(case: Case, frame: ResultFrame) -> None:
    work, spec, attempt = case.work, case.spec, case.attempt
    ended = replace(
        attempt,
        artifact=frame.artifact,
        bytes=frame.bytes,
        code=None,
        detail=frame.detail[:2000],
        effect=frame.effect,
        end=_ENDED_OK,
        ended_ms=work.at_ms,
        facts=_facts(case.constellation, spec, frame),
        started_ms=attempt.started_ms or attempt.leased_ms,
        tail=frame.tail[-4096:],
        value=frame.value,
    )
    done = replace(case, attempt=ended)
    failed = _failed_by_its_result(done, frame)
    if failed is not None:
        recovery.broke(failed)
        return
    if case.record.hedge:
        hedging.close(case)
    if work.shard.fleet.health:
        health.succeeded(work, attempt.device)
    pace.learn_success(work, case.constellation, spec, ended)
    if spec.judge is None:
        _succeeded(done, checked=frame.verified or bool(spec.checks))
    elif case.record.state is _CANCELLING:
        # It is not done without a verdict, and it was to be stopped.
        stopped(done)
    else:
        judgement.ask(done)


def _facts(constellation: Constellation, spec: TaskSpec, frame: ResultFrame) -> dict[str, str]:
    """Return the facts of a result; a wanted one that was too large has its size, or 0, under `size_key`."""
    # The sizes are the hub's own words; a device that names one would have it read as a number.
    facts = {name: text for name, text in frame.facts.items() if name[:1] != SIZE} if frame.facts else {}
    if frame.artifact is not None or frame.facts_too_big:
        for pointer in wants_of(constellation, spec):
            if pointer not in facts:
                facts[size_key(pointer)] = str(frame.facts_too_big.get(pointer, 0))
    return dict(sorted(facts.items())) if facts else facts


def _failed_by_its_result(done: Case, frame: ResultFrame) -> Case | None:
    """Return the attempt as failed if its result lacks a fact or misses a check; None if it holds."""
    unbrought = too_big(done.constellation, done.spec, frame) if frame.facts_too_big else None
    if unbrought is not None:
        return done.with_attempt(end=AttemptEnd.ERROR, code=Code.FACT_TOO_BIG, detail=unbrought)
    if not done.spec.checks:
        return None
    # A check reads the value of the attempt from the state.
    done.work.quietly(done.constellation, *done.put)
    missed = missed_check(done.constellation, done.spec)
    return None if missed is None else done.with_attempt(end=AttemptEnd.ERROR, code=Code.CHECK_FAILED, detail=missed)


def _succeeded(done: Case, *, checked: bool) -> None:
    constellation, spec = done.constellation, done.spec
    succeeded = replace(
        done.record,
        absent_since_ms=0,
        cause=None,
        checked=checked,
        code=None,
        not_before_ms=0,
        reason=None,
        since_ms=done.work.at_ms,
        state=_SUCCEEDED,
    )
    # Nearly every task ends here, so nothing stands between: tests/engine/test_cost.py counts the calls.
    put = ("attempt", f"{spec.id}/{done.number}", done.attempt)
    change_task(done.work, constellation, spec.id, EventKind.TASK_SUCCEEDED, succeeded, put)
    done.work.rules_due.append((constellation.name, spec.id, "succeeded"))
    if spec.verifies is not None:
        name = spec.verifies.rpartition("/")
        verified_spec, doubted_attempt = constellation.specs.get(name[0]), constellation.attempts.get(spec.verifies)
        if verified_spec is not None and doubted_attempt is not None:
            most = recovery.attempts_most(verified_spec, doubted_attempt)
            verification.apply_result(done.work, constellation, spec.id, tries_most=most)


def stopped(case: Case) -> None:
    """End the attempt and cancel the task, after the cancel was proved."""
    closed = case.with_attempt(end=AttemptEnd.REVOKED)
    if hedging.take_over(closed):
        arm_fence(present(case.work, case.constellation, case.spec.id))
        return
    reason = Reason.HOPELESS if case.record.reason is Reason.HOPELESS else None
    closed.emit(EventKind.TASK_CANCELLED, case.moved(TaskState.CANCELLED, reason=reason))


def on_receipt(work: Work, item: ReceiptReported) -> None:
    """Take a device's receipt: the process group of an attempt has ended, or will never start, after a request to stop.

    A receipt is always valid, even if the log has lost that request: the work is given back, and work that must not be
    repeated only if it cannot have changed anything there.
    """
    case = open_attempt(work, item.device, item.frame.at)
    if case is None:
        hedge_case = _open_hedge(work, item.device, item.frame.at)
        if hedge_case is not None:
            hedging.ended_early(
                hedge_case.with_attempt(end=AttemptEnd.REVOKED, ended_ms=work.at_ms, effect=item.frame.effect)
            )
        return
    record = case.record
    overdue, moving = record.reason is Reason.OVERDUE, record.reason is Reason.MOVING
    row = look_up(record.state, Trigger.ENDED_OVERDUE if overdue else Trigger.MOVED if moving else Trigger.RECEIPT)
    if row.verdict is not Verdict.ACT:
        work.ignore(row.reason)
        return
    ended = case.with_attempt(ended_ms=work.at_ms, effect=_effect_of(case.attempt, item.frame))
    if overdue:
        recovery.timed_out(ended)
    elif record.state is TaskState.CANCELLING:
        stopped(ended)
    else:
        why = "moved: its device drains" if moving else "given back: its device had been asked to stop it"
        recovery.given_back(ended, why=why)


def _effect_of(attempt: Attempt, receipt: Receipt) -> EffectSeen:
    """Return the effect by a receipt. A ledger that lacks work which was seen to begin is another one, and proves none.

    The ledger of a device has no entry for repeatable work, which is in no doubt.
    """
    lacks = not receipt.known and attempt.started_ms and attempt.repeatability not in REPEATABLE
    return EffectSeen.MAYBE if lacks else receipt.effect


def on_ledger(work: Work, item: LedgerReported) -> None:
    """Take the answer of a device's ledger about the fate of an attempt."""
    case = open_attempt(work, item.device, item.at)
    if case is None:
        return
    attempt = case.attempt
    if attempt.other_call:
        work.ignore("its device has another call under this name")
        return
    device = work.shard.fleet.devices.get(item.device)
    if device is not None and attempt.leased_ms < device.ledger_ms:
        work.ignore("its ledger is newer than the lease and proves nothing")
        return
    if work.at_ms - attempt.leased_ms > LEDGER_KEEPS_MS:
        work.ignore("its ledger may have forgotten so old a lease")
        return
    if item.state == "unknown" and case.record.state in (TaskState.LEASED, TaskState.UNKNOWN):
        unstarted = case.with_attempt(
            end=AttemptEnd.NEVER_STARTED, ended_ms=work.at_ms, effect=EffectSeen.NONE, code=None, detail=""
        )
        recovery.not_begun(unstarted)
        if not case.constellation.unknown:
            unattend(work, case.constellation, Attention.TASK_UNKNOWN)


def ask_to_stop(work: Work, constellation: Constellation, task: str, reason: str, *, as_: Reason | None = None) -> None:
    """Cancel one task: at once if nothing runs, else by an order that the device must confirm.

    `as_` is the reason that stays with the task where a rule of its plan stops it, and nobody cancels it.
    """
    record = constellation.tasks[task]
    row = look_up(record.state, Trigger.CANCEL)
    if row.verdict is not Verdict.ACT:
        return
    if record.state in (TaskState.WAITING, TaskState.READY):
        close_question(work, constellation, task)
        change_task(work, constellation, task, EventKind.TASK_CANCELLED, moved(work, record, TaskState.CANCELLED))
        return
    case = present(work, constellation, task)
    by = work.by if as_ is None else ENGINE
    case.with_attempt(cancel_by=by).emit(
        EventKind.TASK_CANCELLING, case.moved(TaskState.CANCELLING, reason=as_), note=reason, by=by
    )
    work.order(SendCancel(at=case.at, device=case.attempt.device, reason=reason))
    hedging.stop(case, reason)
    arm_fence(case)


def absence_of(settings: ShardSettings, spec: TaskSpec, attempt: Attempt, absent_ms: int) -> tuple[int, str]:
    """Return how long an attempt may be absent, in milliseconds, and what follows then: wait, reassign or fail.

    Repeatable work that takes long waits before it begins again: a tenth of the time that it was expected to take, and
    a tenth of the time that it had run when it was last heard, a lease before `absent_ms`.
    """
    if spec.on_absence.then:
        return spec.on_absence.after_s * 1000, spec.on_absence.then
    if attempt.repeatability not in REPEATABLE:
        return 0, "wait"
    waits_ms = _expected_ms(settings, attempt)
    ran_ms = absent_ms - settings.ttl_ms - settings.grace_ms - attempt.leased_ms
    if ran_ms > 0:
        waits_ms += min(_patience_ms(ran_ms), patience_most_ms(settings, spec, attempt))
    return waits_ms, "reassign"


def _patience_ms(took_ms: int) -> int:
    """Return a part of a time in whole seconds, rounded down as the agent does it (`work/core.py` there)."""
    return took_ms // _PATIENT_FROM_MS * 1000


def _expected_ms(settings: ShardSettings, attempt: Attempt) -> int:
    if attempt.expects_ms < _PATIENT_FROM_MS:
        return 0
    return min(_patience_ms(attempt.expects_ms), settings.patience_most_ms)


def patience_most_ms(settings: ShardSettings, spec: TaskSpec, attempt: Attempt) -> int:
    """Return by how much the fence of an attempt may come later at most, the longer it runs."""
    if spec.on_absence.then or attempt.repeatability not in REPEATABLE or not settings.grows_patience:
        return 0
    return settings.patience_most_ms - _expected_ms(settings, attempt)


def fence_after_ms(work: Work, spec: TaskSpec, attempt: Attempt, absent_ms: int) -> int:
    """Return how long after its last answered `alive` an agent must stop; 0 means never (`wait`).

    `absent_ms` is as in `absence_of`.
    """
    settings = work.shard.settings
    after_ms, then = absence_of(settings, spec, attempt, absent_ms)
    if then == "wait":
        return 0
    return max(settings.ttl_ms + after_ms - settings.absence_margin_ms, settings.ttl_ms // 4)


def bounds_of_lease(work: Work, spec: TaskSpec, attempt: Attempt) -> tuple[int, int]:
    """Return `fence_after_ms` from the lease on and `patience_most_ms`, which each dispatch names, by one look."""
    settings = work.shard.settings
    if spec.on_absence.then or attempt.repeatability not in REPEATABLE:
        return fence_after_ms(work, spec, attempt, attempt.leased_ms), 0
    expected_ms = _expected_ms(settings, attempt) if attempt.expects_ms >= _PATIENT_FROM_MS else 0
    fence_ms = max(settings.ttl_ms + expected_ms - settings.absence_margin_ms, settings.ttl_ms // 4)
    return fence_ms, settings.patience_most_ms - expected_ms if settings.grows_patience else 0


def arm_fence(case: Case) -> None:
    """Arm a timer that judges a cancel again when the attempt's own fence must have ended it."""
    work = case.work
    settings = work.shard.settings
    absent_ms = work.at_ms + settings.ttl_ms + settings.grace_ms
    fence = fence_after_ms(work, case.spec, case.attempt, absent_ms)
    if fence:
        due = absent_ms + fence
        work.order(task_timer(case.constellation, case.spec.id, "fence", case.record, due))
