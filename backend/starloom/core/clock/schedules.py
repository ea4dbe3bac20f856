"""Schedules: their due moments, the firings that run, wait or are left out, notices, and the inputs of people.

A firing is one constellation, named by (schedule, due moment), so it is made once even if it is fired twice. A due
moment is queued and the next one computed in one commit; the firing starts in a step of its own, so that a plan that
cannot be installed affects nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from starloom.core.clock import alarms, days_off
from starloom.core.clock.cron import BadClock, following, passed
from starloom.core.clock.notices import (
    RUNNING_MOST,
    answer_digest,
    has_room,
    is_failure,
    sentence_of_end,
    unseen_in,
    with_blocked,
    with_notice,
)
from starloom.core.people.approvals.need import is_seen, needs_approval, plan_devices, plan_effects, seen_hash
from starloom.core.people.approvals.questions import OTHER_DEVICES
from starloom.core.people.controls import on_control
from starloom.core.people.recipes.proposals import NOTICE_LABEL
from starloom.core.people.requests import open_request
from starloom.core.people.restored_history import WHY, may_not_repeat
from starloom.core.placement.earlier_names import hash_as_approved
from starloom.core.placement.feasible import is_blind
from starloom.core.rights.authorship import check_of_others, check_plan, check_questions
from starloom.core.rights.consent import beyond, consent_to, named_devices
from starloom.core.rights.reserved import check_devices
from starloom.core.state.idempotency import earlier_result, note_made
from starloom.core.state.inputs import ControlRequested, RequestReceived, ScheduleControlled, ScheduleSaved, TimerFired
from starloom.core.state.model import Access, Fleet, Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Refusal, Work, check_reader, fault
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, Policy, Selector, TaskSpec
from starloom_protocol.records.schedules import Consent, Firing, Pause, Schedule, ScheduledPlan, course_of, with_course
from starloom_protocol.stream.authors import ENGINE, is_model, name_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    Approval,
    CatchUp,
    Code,
    ConstellationState,
    Effect,
    NotifyWhen,
    Overlap,
    Role,
    ScheduleState,
)

DUE, TURN, TELL = "schedule_due", "schedule_turn", "schedule_tell"
"""The kinds of its timers: a moment is due, a queued firing may start, a notice is to be shown on a device."""
TIMERS = (DUE, TURN, TELL)

ON_TIME_MS = 60_000
"""A moment that passed so recently is not missed: the hub was busy."""
QUEUED_MOST = 24
"""A day of an hourly schedule."""
COUNTED_MOST = 1_000
"""The most moments of a long absence that are counted; more are shown as *or more*."""
TELLING_DEADLINE_S = 6 * 3600
"""A notice that could not be sent for so long is too old to be of use."""
PLAN_BYTES_MOST = 64 * 1024
"""The state of the fleet holds the plan of each schedule."""
_LOOKED_AT = 48
"""The number of coming moments that are compared to find the shortest time between two."""
_MAY_RUN = (Role.OWNER, Role.OPERATOR)
_RUN_SCOPE = "run"
_KEY_SCOPE = "schedule"
_STATE = ScheduleState
_ENDED = fault(
    Code.BAD_SCHEDULE, "its clock has no further time", hint="Change its clock or the days left out, then resume it."
)
_encode_plan = msgspec.json.Encoder(order="deterministic").encode
_plan_decoder = msgspec.json.Decoder(LoweredPlan)


def timer_of(schedule: Schedule) -> ArmTimer:
    """Return the timer of the next due moment."""
    return ArmTimer(constellation=FLEET, due_ms=schedule.due_ms, entity=schedule.id, kind=DUE)


def due_moments(shard: Shard) -> Iterator[ArmTimer]:
    """Yield the timers that a starting owner must arm again: due moments, queued firings, notices not yet shown."""
    for schedule in shard.fleet.schedules.values():
        if schedule.due_ms:
            yield timer_of(schedule)
        if _may_start(schedule):
            yield ArmTimer(constellation=FLEET, due_ms=0, entity=schedule.id, kind=TURN)
        if _must_tell(schedule):
            yield ArmTimer(constellation=FLEET, due_ms=0, entity=schedule.id, kind=TELL)


def on_timer(work: Work, item: TimerFired) -> None:
    """Handle a timer of a schedule; a stale one does nothing."""
    schedule = work.shard.fleet.schedules.get(item.entity)
    if schedule is None:
        work.ignore("the schedule is gone")
    elif item.kind == DUE:
        _on_due(work, schedule)
    elif item.kind == TURN:
        _on_turn(work, schedule)
    else:
        _on_tell(work, schedule)


def keep(work: Work, schedule: Schedule, kind: EventKind, *, note: str = "", by: str | None = None) -> None:
    """Emit one event of a schedule, and arm the timers of its new state."""
    work.emit(work.shard.fleet, kind, schedule.id, _puts_of(work.shard, schedule), note=note, by=by)
    for is_due, timer in ((_may_start(schedule), TURN), (_must_tell(schedule), TELL)):
        if is_due:
            work.order(ArmTimer(constellation=FLEET, due_ms=work.at_ms, entity=schedule.id, kind=timer))


def _puts_of(shard: Shard, schedule: Schedule) -> list[Put]:
    """Return the puts of a changed schedule: of its course alone where nothing else differs."""
    before, course = shard.fleet.schedules.get(schedule.id), course_of(schedule)
    if before is not None and shard.settings.keeps_courses and with_course(before, course) == schedule:
        return [("schedule_course", schedule.id, course)]
    puts: list[Put] = [("schedule", schedule.id, schedule)]
    if schedule.id in shard.fleet.schedule_courses:
        puts.append(("schedule_course", schedule.id, None))
    return puts


def _on_due(work: Work, schedule: Schedule) -> None:
    if not schedule.due_ms or schedule.due_ms > work.at_ms:
        work.ignore("the schedule is not due")
        return
    if _may_not_run(work, schedule):
        return
    moments = passed(schedule.cron, schedule.zone, schedule.due_ms, work.at_ms, COUNTED_MOST)
    moments = days_off.fires_on(moments, schedule.zone, schedule.except_days) or [schedule.due_ms]
    on_time = moments[-1] if moments[-1] > work.at_ms - ON_TIME_MS else None
    missed_moments = moments if on_time is None else moments[:-1]
    catch_up = _moments_to_catch_up(schedule, missed_moments, on_time)
    after = _with_next_moment(schedule, work.at_ms)
    after = replace(after, skipped=schedule.skipped + len(missed_moments) - len(catch_up))
    notes = [_missed_words(schedule, missed_moments, catch_up)] if missed_moments else []
    if missed_moments and schedule.notify is not NotifyWhen.NEVER:
        after = with_notice(after, notes[0], work.at_ms)
    if not after.due_ms:
        after = with_notice(replace(after, state=_STATE.STOPPED, stopped=_ENDED), _ENDED.reason, work.at_ms)
        notes.append(_ENDED.reason)
    firings_to_cancel: list[str] = []
    starting = catch_up if on_time is None else [*catch_up, on_time]
    if starting:
        after = with_blocked(after, work.shard.constellations, work.at_ms)
    for moment in starting:
        after, note, firings = _line_up(after, moment)
        notes += [note] if note else []
        firings_to_cancel += firings
    keep(work, after, EventKind.SCHEDULE_DUE, note="; ".join(notes), by=ENGINE)
    _arm(work, after)
    for name in firings_to_cancel:
        _cancel(work, name)


def _moments_to_catch_up(schedule: Schedule, missed: list[int], on_time: int | None) -> list[int]:
    """Return the missed moments whose firings are made up for now; with `on_time`, one is due now as well."""
    match schedule.catch_up:
        case CatchUp.ALL:
            return missed[-QUEUED_MOST:]
        case CatchUp.LAST if on_time is None:
            return missed[-1:]
        case _:
            return []


def _missed_words(schedule: Schedule, missed: list[int], catch_up: list[int]) -> str:
    count = f"{COUNTED_MOST} or more" if len(missed) >= COUNTED_MOST - 1 else str(len(missed))
    firings = "1 firing was" if len(missed) == 1 else f"{count} firings were"
    if len(catch_up) == 1:
        then = "it runs now" if len(missed) == 1 else "the last of them runs now"
    elif catch_up:
        then = f"the last {len(catch_up)} of them run now"
    elif schedule.catch_up is CatchUp.LAST:
        then = "the one that is due now takes their place"
    else:
        then = "none is made up for"
    return f"{firings} missed while the hub was off; {then}"


def _line_up(schedule: Schedule, moment: int) -> tuple[Schedule, str, list[str]]:
    """Return the schedule after one more due moment, the note about it, and the firings to cancel for it."""
    beside = schedule.overlap is Overlap.ALLOW and has_room(schedule)
    if beside or not (schedule.running or schedule.queued):
        return replace(schedule, queued=[*schedule.queued, moment]), "", []
    match schedule.overlap:
        case Overlap.QUEUE if len(schedule.queued) < QUEUED_MOST:
            return replace(schedule, queued=[*schedule.queued, moment]), "it waits for the one before", []
        case Overlap.CANCEL_PREVIOUS:
            left_out = schedule.skipped + len(schedule.queued)
            after = replace(schedule, queued=[moment], skipped=left_out)
            return after, "the one before is cancelled for it", list(schedule.running)
        case overlap:
            why = "the one before still runs" if overlap is Overlap.SKIP else "too many wait already"
            if overlap is Overlap.ALLOW:
                why = f"{RUNNING_MOST} of them run already"
            return replace(schedule, skipped=schedule.skipped + 1), f"left out: {why}", []


def _cancel(work: Work, name: str) -> None:
    head = work.shard.constellations[name].head
    if head.state in FINAL_CONSTELLATION_STATES or head.state is ConstellationState.CANCELLING:
        return
    assert work.item is not None  # noqa: S101 - a step has an input in hand
    reason = "its schedule's next firing takes its place"
    on_control(
        work,
        ControlRequested(
            action="cancel", at_ms=work.at_ms, by=ENGINE, constellation=name, id=work.item.id, reason=reason
        ),
    )


def constellation_of(schedule: str, moment: int) -> str:
    """Return the name of a firing, which depends on the schedule and the moment only."""
    return f"c-{schedule.removeprefix('s-')}-{moment // 1000}"


def _may_start(schedule: Schedule) -> bool:
    return bool(schedule.queued) and (not schedule.running or schedule.overlap is Overlap.ALLOW)


def _on_turn(work: Work, schedule: Schedule) -> None:
    if not _may_start(schedule):
        work.ignore("no firing of the schedule may start")
        return
    if _may_not_run(work, schedule):
        return
    moment, *others = schedule.queued
    name = constellation_of(schedule.id, moment)
    if name in work.shard.constellations:
        keep(work, replace(schedule, queued=others), EventKind.SCHEDULE_FIRED, note=f"{name} was there", by=ENGINE)
        return
    started = replace(
        schedule, queued=others, running=dict(schedule.running) | {name: moment}, fired=schedule.fired + 1
    )
    part = work.part()
    try:
        keep(work, started, EventKind.SCHEDULE_FIRED, note=name, by=ENGINE)
        plan = work.shard.fleet.scheduled_plans.get(schedule.id)
        assert work.item is not None  # noqa: S101 - a step has an input in hand
        request = RequestReceived(
            at_ms=work.at_ms,
            by=work.by,
            constellation=name,
            deadline_s=schedule.deadline_s,
            id=work.item.id,
            name=schedule.name,
            params=schedule.params,
            plan=_plan_decoder.decode(plan.plan) if plan is not None else None,
            recipe=schedule.recipe,
            request=schedule.request,
            roll=work.roll,
            sharing=schedule.sharing,
        )
        open_request(work, request, author=schedule.author, schedule=schedule.id)
    except Refusal as refusal:
        work.undo_part(part)
        reason = refusal.faults[0].reason
        failed = replace(schedule, queued=others, skipped=schedule.skipped + 1)
        if schedule.notify is not NotifyWhen.NEVER:
            failed = with_notice(failed, f"a firing could not start: {reason}", work.at_ms)
        keep(work, failed, EventKind.SCHEDULE_REFUSED, note=reason, by=ENGINE)


def note_end(work: Work, name: str) -> None:
    """Note that a firing has ended, with a notice if the schedule wants one, and let the next one start."""
    constellation = work.shard.constellations.get(name)
    if constellation is None or constellation.head.schedule is None:
        return
    head = constellation.head
    schedule = work.shard.fleet.schedules.get(constellation.head.schedule)
    if schedule is None or name not in schedule.running or head.state not in FINAL_CONSTELLATION_STATES:
        return
    running = dict(schedule.running)
    moment = running.pop(name)
    alarm = alarms.alarm_after(schedule.last, constellation, work.shard.fleet)
    digest = schedule.last.digest if schedule.last is not None and alarm.blind else answer_digest(constellation)
    fields = alarm._asdict()
    firing = Firing(constellation=name, digest=digest, due_ms=moment, ended_ms=work.at_ms, state=head.state, **fields)
    # Words and recipes may name a device for the first time, and earlier releases bound none.
    devices = named_devices(work.shard.fleet, constellation.specs.values()) | schedule.devices
    after = replace(schedule, devices=devices, running=running, last=firing)
    sentence = sentence_of_end(schedule, firing, constellation, work.shard.fleet)
    if sentence:
        unseen = unseen_in(constellation, schedule.notice, work.at_ms) if is_failure(constellation) else None
        after = with_notice(after, sentence, work.at_ms, name, unseen)
    keep(work, after, EventKind.SCHEDULE_ENDED, note=sentence, by=ENGINE)


def _must_tell(schedule: Schedule) -> bool:
    return schedule.notice is not None and schedule.notify_device is not None and not schedule.notice.told


def _on_tell(work: Work, schedule: Schedule) -> None:
    """Show the notice on the chosen device, by a small separate constellation."""
    notice = schedule.notice
    if notice is None or not _must_tell(schedule):
        work.ignore("there is nothing to tell")
        return
    after = replace(schedule, notice=replace(notice, told=True))
    part = work.part()
    try:
        keep(work, after, EventKind.SCHEDULE_TOLD, by=ENGINE)
        task = TaskSpec(
            args=canonical({"text": notice.text, "title": schedule.name}),
            changed_in=1,
            device=Selector(id=schedule.notify_device),
            id="tell",
            tool="notify",
        )
        # No approval: the author of the schedule chose this device for notices.
        name = f"Tell of {schedule.name}"
        plan = LoweredPlan(dependencies=[], hash="", name=name, policy=Policy(approval=Approval.NEVER), specs=[task])
        assert work.item is not None  # noqa: S101 - a step has an input in hand
        stream = f"{constellation_of(schedule.id, notice.at_ms)}-told"
        request = RequestReceived(
            at_ms=work.at_ms,
            by=work.by,
            constellation=f"{stream}-{notice.count}" if stream in work.shard.constellations else stream,
            deadline_s=TELLING_DEADLINE_S,
            id=work.item.id,
            labels={NOTICE_LABEL: "schedule"},
            name=name,
            plan=plan,
            roll=work.roll,
        )
        open_request(work, request, author=schedule.author)
    except Refusal as refusal:
        work.undo_part(part)
        keep(work, after, EventKind.SCHEDULE_TOLD, note=f"not on the device: {refusal.faults[0].reason}", by=ENGINE)


def lost_rights(access: Access, schedule: Schedule, at_ms: int) -> str | None:
    """Return why the schedule's owner, or the token with which it was made, may no longer run work."""
    principal = access.principals.get(schedule.owner)
    if principal is None:
        return f"{name_of(schedule.author)}, who made it, is not known here any more"
    if principal.role not in _MAY_RUN:
        return f"{principal.name}, who made it, is {principal.role} now and may not run work"
    if schedule.token is None:
        return None
    token = access.tokens.get(schedule.token)
    label = (token.label if token is not None else "") or schedule.token
    if token is None or token.revoked_ms:
        return f"the token {label}, with which it was made, was revoked"
    if token.expires_ms and token.expires_ms <= at_ms:
        return f"the token {label}, with which it was made, has expired"
    if token.role not in _MAY_RUN or (token.scopes and _RUN_SCOPE not in token.scopes):
        return f"the token {label}, with which it was made, may not run work"
    return None


def stop(work: Work, schedule: Schedule, why: Fault) -> None:
    """Stop a schedule by the hub's own decision, with a notice; running firings continue."""
    stopped = replace(
        schedule,
        due_ms=0,
        paused=None,
        queued=[],
        skipped=schedule.skipped + len(schedule.queued),
        state=_STATE.STOPPED,
        stopped=why,
    )
    stopped = with_notice(stopped, f"stopped: {why.reason}", work.at_ms)
    keep(work, stopped, EventKind.SCHEDULE_STOPPED, note=why.reason, by=ENGINE)


def _may_not_run(work: Work, schedule: Schedule) -> bool:
    """Stop a schedule whose owner or token has lost the right to run work; tell whether it did."""
    loss = lost_rights(work.shard.access, schedule, work.at_ms)
    if loss is not None:
        stop(work, schedule, fault(Code.RIGHTS_LOST, loss))
    return loss is not None


def judge_rights(work: Work) -> None:
    """Stop every schedule whose owner or token has just lost the right to run work."""
    for schedule in list(work.shard.fleet.schedules.values()):
        # A schedule whose clock has ended may have firings that wait.
        if schedule.state is not _STATE.STOPPED or schedule.queued:
            _may_not_run(work, schedule)


def on_saved(work: Work, item: ScheduleSaved) -> None:
    """Make a schedule, or change a person's choices in one; all faults at once."""
    fleet = work.shard.fleet
    if _is_made_already(work, item):
        return
    old = fleet.schedules.get(item.schedule.id)
    if item.change and old is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no schedule {item.schedule.id}"))
    if not item.change and old is not None:
        raise Refusal(fault(Code.CONFLICT, f"a schedule {old.id} exists"))
    if old is not None:
        check_of_others(old.author, "change", author=work.by)
    most = work.shard.settings.schedules_most
    if old is None and len(fleet.schedules) >= most:
        raise Refusal(fault(Code.TOO_MANY_SCHEDULES, f"there are {most} schedules; more are not kept"))
    chosen = item.schedule if old is None else _merged(work, item, old)
    faults = _faults(work, chosen, old)
    text = _encode_plan(item.plan).decode() if item.keep_plan else None
    if text is not None and len(text) > PLAN_BYTES_MOST:
        reason = f"the plan of a schedule has at most {PLAN_BYTES_MOST} bytes, this one {len(text)}"
        faults.append(fault(Code.PLAN_TOO_BIG, reason, "plan", "Save it as a recipe and schedule the recipe."))
    loss = lost_rights(work.shard.access, chosen, work.at_ms)
    if loss is not None:
        faults.append(fault(Code.RIGHTS_LOST, loss))
    if faults:
        raise Refusal(*faults)
    check_plan(work.by, item.plan, approves=item.approves)
    check_questions(work.shard.access.principals, item.plan.specs)
    if is_model(work.by):
        check_devices(work.shard.fleet, item.plan)
    consent = _consent(work, item, chosen, old)
    if old is not None and not _takes_over(work, item, chosen, old):
        if chosen.name == old.name:
            work.ignore("the schedule stays as it is")
            work.answer({"id": old.id})
            return
        chosen = replace(chosen, author=old.author, owner=old.owner, token=old.token)
    elif old is not None:
        _check_may_undo_consent(work, old, chosen.owner, approves=item.approves)
    schedule = _with_course(chosen, old, consent, _bound_devices(work, item, old), work.at_ms)
    puts = _puts_of(work.shard, schedule)
    if text is not None:
        puts.append(("scheduled_plan", schedule.id, ScheduledPlan(plan=text)))
    elif schedule.id in fleet.scheduled_plans:
        puts.append(("scheduled_plan", schedule.id, None))
    work.emit(fleet, EventKind.SCHEDULE_CHANGED if old else EventKind.SCHEDULE_MADE, schedule.id, puts)
    _arm(work, schedule)
    note_made(work, item.caller, _KEY_SCOPE, item.idempotency, schedule.id)
    work.answer({"id": schedule.id})


def _is_made_already(work: Work, item: ScheduleSaved) -> bool:
    """Answer a request whose key has made a schedule; tell whether it has.

    Raises:
        Refusal: `idempotency_mismatch`, or `conflict`: that schedule was removed.
    """
    made = earlier_result(work, item.caller, _KEY_SCOPE, item.idempotency)
    if made is None:
        return False
    if made not in work.shard.fleet.schedules:
        reason = f"this key has made the schedule {made}, which was removed since"
        raise Refusal(fault(Code.CONFLICT, reason, hint="Ask again with a new key to make another one."))
    work.answer({"id": made})
    return True


def work_digest(schedule: Schedule, scheduled_plan: ScheduledPlan | None) -> str:
    """Return the hash of what a schedule runs: its words, its recipe with values, or its own plan."""
    plan = scheduled_plan.plan if scheduled_plan is not None else None
    contents = [schedule.request, schedule.recipe, schedule.params, plan]
    return hashlib.sha256(canonical(contents).encode()).hexdigest()


def _merged(work: Work, item: ScheduleSaved, before: Schedule) -> Schedule:
    """Return a schedule with the given fields of a change; what other people changed meanwhile stays.

    Raises:
        Refusal: `conflict`: the change was made on work that the schedule does not run any more.
    """
    if item.base is not None and item.base != work_digest(before, work.shard.fleet.scheduled_plans.get(before.id)):
        reason = f"what {quoted(before.name)} runs was changed at the same moment, so nothing of this change is kept"
        raise Refusal(fault(Code.CONFLICT, reason, hint="Look at the schedule, then send the change again."))
    if item.given is None:
        return item.schedule
    return replace(before, **{name: getattr(item.schedule, name) for name in item.given})


def _with_course(
    chosen: Schedule, before: Schedule | None, consent: Consent | None, devices: dict[str, str], at_ms: int
) -> Schedule:
    """Return a schedule with the choices of a person and, if it existed `before`, its course until now."""
    schedule = replace(
        chosen,
        blocked=before.blocked if before else None,
        consent=consent,
        devices=devices,
        created_ms=before.created_ms if before else at_ms,
        due_ms=0,
        fired=before.fired if before else 0,
        last=before.last if before else None,
        notice=before.notice if before else None,
        paused=before.paused if before else None,
        queued=before.queued if before else [],
        running=before.running if before else {},
        skipped=before.skipped if before else 0,
        state=before.state if before else _STATE.ACTIVE,
        stopped=before.stopped if before else None,
        strict=True,
    )
    return _with_next_moment(schedule, at_ms) if schedule.state is _STATE.ACTIVE else schedule


def _bound_devices(work: Work, item: ScheduleSaved, before: Schedule | None) -> dict[str, str]:
    """Return the devices to which a schedule is bound: a name keeps its device until a person approves another.

    Names that a device of the plan had before are kept: the hash that a person approved is that of a plan with them.
    """
    now = plan_devices(work.shard.fleet, item.plan)
    if before is None or (item.plan_hash is not None and _may_decide(work, approves=item.approves)):
        return now
    kept_names = {name: device for name, device in before.devices.items() if device in now.values()}
    return kept_names | {name: before.devices.get(name, device) for name, device in now.items()}


def _takes_over(work: Work, item: ScheduleSaved, chosen: Schedule, before: Schedule) -> bool:
    """Return whether a change makes its author the owner: of what runs, of when, of who hears of it, or an approval.

    A new name does not: the schedule would end with the rights of the person who renamed it.
    """
    if item.plan_hash is not None and _may_decide(work, approves=item.approves):
        return True
    scheduled_plan = work.shard.fleet.scheduled_plans.get(before.id)
    plan = _plan_decoder.decode(scheduled_plan.plan) if scheduled_plan is not None else None
    return _chosen_terms(chosen) != _chosen_terms(before) or plan != (item.plan if item.keep_plan else None)


def _faults(work: Work, chosen: Schedule, before: Schedule | None) -> list[Fault]:
    fleet, settings = work.shard.fleet, work.shard.settings
    faults: list[Fault] = []
    try:
        ahead = following(chosen.cron, chosen.zone, work.at_ms, _LOOKED_AT)
        days_off.next_firings(chosen.cron, chosen.zone, work.at_ms, chosen.except_days)
    except BadClock as bad:
        faults.append(fault(Code.BAD_SCHEDULE, bad.reason, bad.place, bad.hint))
    else:
        distance_ms = min((after - before for before, after in pairwise(ahead)), default=0)
        if len(ahead) > 1 and distance_ms < settings.schedule_apart_ms:
            least_s = settings.schedule_apart_ms // 1000
            reason = f"it would fire every {distance_ms // 1000} s; firings are at least {least_s} s apart here"
            faults.append(fault(Code.BAD_SCHEDULE, reason, "cron", "Choose a slower clock."))
    if chosen.catch_up is CatchUp.ALL and chosen.overlap in (Overlap.SKIP, Overlap.CANCEL_PREVIOUS):
        reason = f"making up for all missed firings does not go with overlap {chosen.overlap}: all but one would go"
        hint = "Use overlap queue or allow, or catch_up last."
        faults.append(fault(Code.BAD_SCHEDULE, reason, "catch_up", hint))
    device = chosen.notify_device
    if device is not None and (device not in fleet.devices or fleet.devices[device].revoked):
        faults.append(fault(Code.UNKNOWN_DEVICE, f"no device {device} is here", "notify_device"))
    elif (
        device is not None
        and is_blind(fleet, fleet.devices[device])
        and (before is None or before.notify_device != device)
    ):
        # A device that was chosen before may have lost its desktop; its other choices can still be changed.
        reason = f"{fleet.name_of(device)} has nothing to show a notice on"
        hint = "Choose a phone, or a computer with a desktop; *Activity* and Home tell of each firing in any case."
        faults.append(fault(Code.TOOL_UNAVAILABLE, reason, "notify_device", hint))
    if any(other.id != chosen.id and chosen.name in (other.id, other.name) for other in fleet.schedules.values()):
        reason = f"another schedule is called {quoted(chosen.name)}"
        faults.append(fault(Code.BAD_SCHEDULE, reason, "name", "Give it a name of its own."))
    return faults


def _consent(work: Work, item: ScheduleSaved, chosen: Schedule, before: Schedule | None) -> Consent | None:
    """Return the consent given with this save; None if nothing needs approval.

    The author of a plan that never asks has the right to approve it (`check_plan`), and does so by saving it.

    Raises:
        Refusal: `needs_approval`, or `plan_hash_mismatch`.
    """
    plan, fleet = item.plan, work.shard.fleet
    is_plan_seen = item.plan_hash is not None and is_seen(work, plan, item.plan_hash, by=work.by)
    effects = plan_effects(fleet, plan)
    now = consent_to(fleet, plan.specs, effects, plan_hash=plan.hash, by=work.by, at_ms=work.at_ms)
    may_decide = _may_decide(work, approves=item.approves)
    is_waived = plan.policy.approval is Approval.NEVER and not {Effect.READ}.issuperset(effects)
    if (is_plan_seen and may_decide) or is_waived:
        return now
    # No person sees a firing begin, so all that does more than read is approved here, however the schedule is made.
    if not needs_approval(fleet, plan, strict=True, by=work.by):
        return None
    if before is not None and before.consent is not None:
        clock_is_same = _clock_terms(before) == _clock_terms(chosen)
        approved_hash = hash_as_approved(fleet, plan, before.consent.hash, before.devices)
        if (may_decide or clock_is_same) and not beyond(before.consent, replace(now, hash=approved_hash), fleet):
            return before.consent
    names, plan_hash = ", ".join(effects), seen_hash(fleet, plan, by=work.by)
    raise Refusal(
        fault(
            Code.NEEDS_APPROVAL,
            f"{plan.name} may {names}, so its schedule is approved once, when it is saved: plan_hash {plan_hash}"
            f"{OTHER_DEVICES if item.plan_hash is not None and not is_plan_seen else ''}",
            "",
            "Look at the preview, then save it with its plan_hash (`--approve HASH`).",
        )
    )


def _may_decide(work: Work, *, approves: bool) -> bool:
    return approves and not is_model(work.by)


def _clock_terms(schedule: Schedule) -> tuple[object, ...]:
    """Return the terms that decide how often it runs: who approved its plan approved it at these times."""
    return (schedule.cron, schedule.zone, schedule.except_days, schedule.overlap, schedule.catch_up)


def _chosen_terms(schedule: Schedule) -> tuple[object, ...]:
    """Return all that people choose in a schedule except its name; its own plan is a record beside it."""
    return (
        *_clock_terms(schedule),
        schedule.deadline_s,
        schedule.notify,
        schedule.notify_device,
        schedule.params,
        schedule.recipe,
        schedule.request,
    )


def _with_next_moment(schedule: Schedule, at_ms: int) -> Schedule:
    try:
        (ahead,), _ = days_off.next_firings(schedule.cron, schedule.zone, at_ms, schedule.except_days)
    except BadClock:
        ahead = 0  # it has no further moment
    return replace(schedule, due_ms=ahead)


def _arm(work: Work, schedule: Schedule) -> None:
    if schedule.due_ms:
        work.order(timer_of(schedule))


def pause_restored(work: Work) -> None:
    """Pause schedules whose moment has passed since the backup, and whose work may have run then and may not again."""
    fleet = work.shard.fleet
    for schedule in list(fleet.schedules.values()):
        passed_by = schedule.queued or 0 < schedule.due_ms <= work.at_ms
        if schedule.state is _STATE.ACTIVE and passed_by and _could_repeat(fleet, schedule):
            _pause(work, schedule, WHY, by=ENGINE)


def _could_repeat(fleet: Fleet, schedule: Schedule) -> bool:
    """Tell whether a firing has work that may not be repeated; of words and recipes only their consent is known."""
    scheduled_plan = fleet.scheduled_plans.get(schedule.id)
    if scheduled_plan is None:
        return schedule.consent is not None
    plan = msgspec.json.decode(scheduled_plan.plan, type=LoweredPlan)
    return any(may_not_repeat(fleet, spec) for spec in plan.specs)


def end_restored(work: Work, names: Iterable[str], why: str) -> None:
    """Pause schedules of a backup that were removed, paused or stopped since; a person may resume them."""
    for name in names:
        schedule = work.shard.fleet.schedules.get(name)
        if schedule is not None and schedule.state is _STATE.ACTIVE:
            _pause(work, schedule, why, by=ENGINE)


def on_controlled(work: Work, item: ScheduleControlled) -> None:
    """Pause, resume, run now, mark the notice as seen by a person, or remove; refused where it does not apply."""
    schedule = work.shard.fleet.schedules.get(item.schedule)
    if schedule is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no schedule {item.schedule}"))
    if item.action != "seen":
        check_of_others(schedule.author, item.action, author=work.by)
    match item.action:
        case "pause":
            _pause(work, schedule, item.reason)
        case "resume":
            _check_consent(work, schedule, item)
            _resume(work, schedule, item)
        case "run":
            _check_consent(work, schedule, item)
            _run_now(work, schedule)
        case "seen":
            check_reader(work.by)
            notice = schedule.notice
            if notice is not None and notice.news_for(item.owner):
                read = replace(notice, seen=notice.seen | {item.owner: notice.count})
                keep(work, replace(schedule, notice=read), EventKind.SCHEDULE_SEEN)
        case "remove":
            _check_may_undo_consent(work, schedule, item.owner, approves=item.approves)
            puts: list[Put] = [("schedule", schedule.id, None)]
            if schedule.id in work.shard.fleet.schedule_courses:
                puts.append(("schedule_course", schedule.id, None))
            if schedule.id in work.shard.fleet.scheduled_plans:
                puts.append(("scheduled_plan", schedule.id, None))
            work.emit(work.shard.fleet, EventKind.SCHEDULE_REMOVED, schedule.id, puts, note=schedule.name)
        case _:
            reason = f"a schedule is paused, resumed, run, seen or removed, not {item.action}"
            raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    work.answer({"id": schedule.id, "running": list(schedule.running)})


def _check_consent(work: Work, schedule: Schedule, item: ScheduleControlled) -> None:
    """Refuse a firing beside the approved times, or after a pause, to a caller who may not approve.

    Raises:
        Refusal: `forbidden`.
    """
    if schedule.consent is None or _may_decide(work, approves=item.approves):
        return
    effects = ", ".join(schedule.consent.effects)
    reason = f"{schedule.name} may {effects}, which {name_of(schedule.consent.by)} approved at its own times"
    raise Refusal(fault(Code.FORBIDDEN, reason, "action", f"Ask a person who may approve to {item.action} it."))


def _check_may_undo_consent(work: Work, schedule: Schedule, caller: str, *, approves: bool) -> None:
    """Refuse to end or take over what somebody else approved to a caller who may not approve; to a model in any case.

    Raises:
        Refusal: `forbidden`.
    """
    if schedule.consent is None or _may_decide(work, approves=approves):
        return
    if caller == schedule.owner and not is_model(work.by):
        return
    reason = f"{name_of(schedule.consent.by)} approved {schedule.name}, which {name_of(schedule.author)} owns"
    hint = (
        f"Ask its owner, or a person who may approve. Pausing it needs neither: starloom schedule pause {schedule.id}"
    )
    raise Refusal(fault(Code.FORBIDDEN, reason, "action", hint))


def _pause(work: Work, schedule: Schedule, reason: str, by: str | None = None) -> None:
    if schedule.state is not _STATE.ACTIVE:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} is {schedule.state} already"))
    left_out = schedule.skipped + len(schedule.queued)
    paused = replace(schedule, due_ms=0, queued=[], skipped=left_out, state=_STATE.PAUSED)
    if work.shard.settings.names_pauses:
        paused = replace(paused, paused=Pause(at_ms=work.at_ms, by=by or work.by, reason=reason))
    keep(work, paused, EventKind.SCHEDULE_PAUSED, note=reason, by=by)


def _resume(work: Work, schedule: Schedule, item: ScheduleControlled) -> None:
    if schedule.state is _STATE.ACTIVE and lost_rights(work.shard.access, schedule, work.at_ms) is None:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} is not paused"))
    active = replace(
        schedule,
        author=work.by,
        notice=None if schedule.state is _STATE.STOPPED else schedule.notice,
        owner=item.owner or schedule.owner,
        paused=None,
        state=_STATE.ACTIVE,
        stopped=None,
        token=item.token,
    )
    loss = lost_rights(work.shard.access, active, work.at_ms)
    if loss is not None:
        raise Refusal(fault(Code.RIGHTS_LOST, loss))
    # Moments during the pause were not missed: a person paused the schedule.
    resumed = _with_next_moment(active, work.at_ms)
    if not resumed.due_ms:
        raise Refusal(_ENDED)
    keep(work, resumed, EventKind.SCHEDULE_RESUMED, note=item.reason)
    _arm(work, resumed)


def _run_now(work: Work, schedule: Schedule) -> None:
    if schedule.state is _STATE.STOPPED:
        why = schedule.stopped.reason if schedule.stopped else ""
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} was stopped: {why}", hint="Resume it first."))
    loss = lost_rights(work.shard.access, schedule, work.at_ms)
    if loss is not None:
        raise Refusal(fault(Code.RIGHTS_LOST, loss))
    moment = work.at_ms // 1000 * 1000
    if moment in schedule.queued or constellation_of(schedule.id, moment) in work.shard.constellations:
        raise Refusal(fault(Code.CONFLICT, f"{schedule.name} has just been fired"))
    if len(schedule.queued) >= QUEUED_MOST:
        raise Refusal(fault(Code.CONFLICT, f"{len(schedule.queued)} firings of {schedule.name} wait already"))
    if schedule.overlap is Overlap.ALLOW and not has_room(schedule):
        hint = "Wait until one of them has ended, or cancel one."
        raise Refusal(fault(Code.CONFLICT, f"{RUNNING_MOST} firings of {schedule.name} run already", hint=hint))
    keep(work, replace(schedule, queued=[*schedule.queued, moment]), EventKind.SCHEDULE_ASKED)
