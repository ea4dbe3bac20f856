"""What people do to schedules: save, change, pause, resume, run now, remove. Judges clock, limits, rights, approval.

A schedule whose plan needs an approval is approved once, when it is saved; `consent` says what goes beyond that later.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
from msgspec.structs import replace

from starloom.core.approvals import needs_approval, plan_effects
from starloom.core.authorship import check_plan
from starloom.core.consent import beyond, consent_to
from starloom.core.inputs import ScheduleControlled, ScheduleSaved
from starloom.core.moments import BadClock, following
from starloom.core.schedules import QUEUED_MOST, constellation_of, keep, lost_rights, timer_of
from starloom.core.work import Put, Refusal, Work, fault
from starloom_protocol.authors import is_model
from starloom_protocol.entities import Fault
from starloom_protocol.schedule_records import Consent, Schedule, ScheduledPlan
from starloom_protocol.vocabulary import CatchUp, Code, Overlap, ScheduleState
from starloom_protocol.wording import quoted

PLAN_BYTES_MOST = 64 * 1024
_LOOKED_AT = 48
_STATE = ScheduleState
_encode_plan = msgspec.json.Encoder(order="deterministic").encode


def on_saved(work: Work, item: ScheduleSaved) -> None:
    """Make a schedule, or change what a person chose of one; all faults at once."""
    fleet = work.shard.fleet
    known = fleet.schedules.get(item.schedule.id)
    if item.change and known is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no schedule {item.schedule.id}"))
    if not item.change and known is not None:
        raise Refusal(fault(Code.CONFLICT, f"a schedule {known.id} exists"))
    most = work.shard.settings.schedules_most
    if known is None and len(fleet.schedules) >= most:
        raise Refusal(fault(Code.TOO_MANY_SCHEDULES, f"there are {most} schedules; more are not kept"))
    chosen = item.schedule
    faults = _faults(work, chosen)
    text = _encode_plan(item.plan).decode() if item.keep_plan else None
    if text is not None and len(text) > PLAN_BYTES_MOST:
        reason = f"the plan of a schedule has at most {PLAN_BYTES_MOST} bytes, this one {len(text)}"
        faults.append(fault(Code.PLAN_TOO_BIG, reason, "plan", "Save it as a recipe and schedule the recipe."))
    lost = lost_rights(work.shard.access, chosen, work.at_ms)
    if lost is not None:
        faults.append(fault(Code.RIGHTS_LOST, lost))
    if faults:
        raise Refusal(*faults)
    check_plan(work.by, item.plan, approves=item.approves)
    consent = _consent(work, item, known)
    made = replace(
        chosen,
        consent=consent,
        created_ms=known.created_ms if known else work.at_ms,
        due_ms=0,
        fired=known.fired if known else 0,
        last=known.last if known else None,
        notice=known.notice if known else None,
        queued=known.queued if known else [],
        running=known.running if known else {},
        skipped=known.skipped if known else 0,
        state=known.state if known else _STATE.ACTIVE,
        stopped=known.stopped if known else None,
    )
    if made.state is _STATE.ACTIVE:
        made = _wound(made, work.at_ms)
    puts: list[Put] = [("schedule", made.id, made)]
    if text is not None:
        puts.append(("scheduled_plan", made.id, ScheduledPlan(plan=text)))
    elif made.id in fleet.scheduled_plans:
        puts.append(("scheduled_plan", made.id, None))
    work.emit(fleet, "schedule_changed" if known else "schedule_made", made.id, puts)
    _arm(work, made)
    work.answer({"id": made.id})


def _faults(work: Work, chosen: Schedule) -> list[Fault]:
    fleet, settings = work.shard.fleet, work.shard.settings
    found: list[Fault] = []
    try:
        ahead = following(chosen.cron, chosen.zone, work.at_ms, _LOOKED_AT)
    except BadClock as bad:
        found.append(fault(Code.BAD_SCHEDULE, bad.reason, bad.place, bad.hint))
    else:
        apart = min((after - before for before, after in pairwise(ahead)), default=0)
        if len(ahead) > 1 and apart < settings.schedule_apart_ms:
            least_s = settings.schedule_apart_ms // 1000
            reason = f"it would fire every {apart // 1000} s; firings are at least {least_s} s apart here"
            found.append(fault(Code.BAD_SCHEDULE, reason, "cron", "Choose a slower clock."))
    if chosen.catch_up is CatchUp.ALL and chosen.overlap in (Overlap.SKIP, Overlap.CANCEL_PREVIOUS):
        reason = f"making up for all missed firings does not go with overlap {chosen.overlap}: all but one would go"
        hint = "Use overlap queue or allow, or catch_up last."
        found.append(fault(Code.BAD_SCHEDULE, reason, "catch_up", hint))
    device = chosen.notify_device
    if device is not None and (device not in fleet.devices or fleet.devices[device].revoked):
        found.append(fault(Code.UNKNOWN_DEVICE, f"no device {device} is here", "notify_device"))
    if any(other.name == chosen.name and other.id != chosen.id for other in fleet.schedules.values()):
        reason = f"another schedule is called {quoted(chosen.name)}"
        found.append(fault(Code.BAD_SCHEDULE, reason, "name", "Give it a name of its own."))
    return found


def _consent(work: Work, item: ScheduleSaved, known: Schedule | None) -> Consent | None:
    """Return what is approved with this save; None where nothing needs it.

    Raises:
        Refusal: `needs_approval`, or `plan_hash_mismatch`.
    """
    plan, chosen, fleet = item.plan, item.schedule, work.shard.fleet
    if item.plan_hash is not None and item.plan_hash != plan.hash:
        reason = f"the plan's hash is {plan.hash}, not {item.plan_hash}"
        raise Refusal(fault(Code.PLAN_HASH_MISMATCH, reason, "plan_hash"))
    effects = plan_effects(fleet, plan)
    now = consent_to(fleet, plan.specs, effects, plan_hash=plan.hash, by=work.by, at_ms=work.at_ms)
    if item.plan_hash is not None and item.approves and not is_model(work.by):
        return now
    if not needs_approval(fleet, plan, asked_in_words=bool(chosen.request), by=work.by):
        return None
    if known is not None and known.consent is not None and not beyond(known.consent, now, fleet):
        return known.consent
    names = ", ".join(effects)
    raise Refusal(
        fault(
            Code.NEEDS_APPROVAL,
            f"{plan.name} may {names}, so its schedule is approved once, when it is saved: plan_hash {plan.hash}",
            "",
            "Look at the preview, then save it with its plan_hash (`--approve HASH`).",
        )
    )


def _wound(schedule: Schedule, at_ms: int) -> Schedule:
    (ahead,) = following(schedule.cron, schedule.zone, at_ms)
    return replace(schedule, due_ms=ahead)


def _arm(work: Work, schedule: Schedule) -> None:
    if schedule.due_ms:
        work.order(timer_of(schedule))


def on_controlled(work: Work, item: ScheduleControlled) -> None:
    """Pause, resume, run now, mark its notice as seen, or remove; refused where it means nothing."""
    schedule = work.shard.fleet.schedules.get(item.schedule)
    if schedule is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no schedule {item.schedule}"))
    match item.action:
        case "pause":
            _pause(work, schedule, item.reason)
        case "resume":
            _resume(work, schedule, item)
        case "run":
            _run_now(work, schedule)
        case "seen":
            if schedule.notice is not None:
                keep(work, replace(schedule, notice=None), "schedule_seen")
        case "remove":
            puts: list[Put] = [("schedule", schedule.id, None)]
            if schedule.id in work.shard.fleet.scheduled_plans:
                puts.append(("scheduled_plan", schedule.id, None))
            work.emit(work.shard.fleet, "schedule_removed", schedule.id, puts, note=schedule.name)
        case _:
            reason = f"a schedule is paused, resumed, run, seen or removed, not {item.action}"
            raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    work.answer({"id": schedule.id, "running": list(schedule.running)})


def _pause(work: Work, schedule: Schedule, reason: str) -> None:
    if schedule.state is not _STATE.ACTIVE:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} is {schedule.state} already"))
    left_out = schedule.skipped + len(schedule.queued)
    paused = replace(schedule, due_ms=0, queued=[], skipped=left_out, state=_STATE.PAUSED)
    keep(work, paused, "schedule_paused", note=reason)


def _resume(work: Work, schedule: Schedule, item: ScheduleControlled) -> None:
    if schedule.state is _STATE.ACTIVE:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} is not paused"))
    owned = replace(
        schedule,
        author=work.by,
        notice=None if schedule.state is _STATE.STOPPED else schedule.notice,
        owner=item.owner or schedule.owner,
        state=_STATE.ACTIVE,
        stopped=None,
        token=item.token,
    )
    lost = lost_rights(work.shard.access, owned, work.at_ms)
    if lost is not None:
        raise Refusal(fault(Code.RIGHTS_LOST, lost))
    # What was due meanwhile was not missed: a person wanted it so.
    wound = _wound(owned, work.at_ms)
    keep(work, wound, "schedule_resumed", note=item.reason)
    _arm(work, wound)


def _run_now(work: Work, schedule: Schedule) -> None:
    if schedule.state is _STATE.STOPPED:
        why = schedule.stopped.reason if schedule.stopped else ""
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{schedule.name} was stopped: {why}", hint="Resume it first."))
    moment = work.at_ms // 1000 * 1000
    if moment in schedule.queued or constellation_of(schedule.id, moment) in work.shard.constellations:
        raise Refusal(fault(Code.CONFLICT, f"{schedule.name} has just been fired"))
    if len(schedule.queued) >= QUEUED_MOST:
        raise Refusal(fault(Code.CONFLICT, f"{len(schedule.queued)} firings of {schedule.name} wait already"))
    keep(work, replace(schedule, queued=[*schedule.queued, moment]), "schedule_asked")
