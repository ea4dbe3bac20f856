"""The shapes of schedules and clocks in the REST API: the next firings in the zone's own time. Pure; reads no store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from starloom.core.clock import days_off
from starloom.core.clock.cron import BadClock, words_for, zone_of
from starloom.core.clock.days_off import NextFirings
from starloom.edge.live import entity_json
from starloom.edge.web.problems import Problem
from starloom_protocol.api.schedules import BoundDeviceRow, ClockWords, ConsentRow, ScheduleRow
from starloom_protocol.records.entities import Device, Fault
from starloom_protocol.records.schedules import Consent, Schedule
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import Code, ConstellationState, ScheduleState

AHEAD = 5
_DAYS_NAMED = 3


def clock_fault(place: str, reason: str, hint: str = "") -> Fault:
    """Return the fault of a clock, with its place in the body."""
    return Fault(code=Code.BAD_SCHEDULE, hint=hint, place=place, reason=reason)


def clock_shape(cron: str, zone: str, days: Sequence[str], now_ms: int) -> ClockWords:
    """Return the next five moments of a clock and its words.

    Raises:
        Problem: `bad_schedule`, with the place that cannot be meant.
    """
    try:
        return _clock(cron, zone, days, days_off.next_firings(cron, zone, now_ms, days, AHEAD))
    except BadClock as bad:
        raise bad_clock(bad) from bad


def bad_clock(bad: BadClock) -> Problem:
    """Return the refusal of a clock, with the place that cannot be meant."""
    return Problem(Code.BAD_SCHEDULE, bad.reason, hint=bad.hint, errors=[clock_fault(bad.place, bad.reason, bad.hint)])


def _clock(cron: str, zone: str, days: Sequence[str], firings: NextFirings) -> ClockWords:
    words = days_off.in_words(days)
    but = f", except {few(words.split(', '), _DAYS_NAMED)}" if words else ""
    return {
        "next": [local_time(moment, zone) for moment in firings.moments],
        "except_days": words,
        "left_out": [{"at": local_time(firing.at_ms, zone), "why": firing.days} for firing in firings.left_out],
        "in_words": words_for(cron, zone, firings.moments) + but,
    }


def local_time(at_ms: int, zone: str) -> str:
    """Return RFC 3339 text in a zone's own time, so that a change of the clock is seen in its offset."""
    return datetime.fromtimestamp(at_ms / 1000, zone_of(zone)).isoformat()


def _firings_ahead(schedule: Schedule, now_ms: int) -> NextFirings:
    """Return the next firings of a schedule that is active and those left out, in milliseconds; fewer at the end of
    the calendar.
    """
    if schedule.state is not ScheduleState.ACTIVE or not schedule.due_ms:
        return NextFirings(moments=[], left_out=[])
    due_ms, zone, days = schedule.due_ms, schedule.zone, schedule.except_days
    with suppress(BadClock):
        return days_off.next_firings(schedule.cron, zone, min(now_ms, due_ms - 1), days, AHEAD)
    return NextFirings(moments=[due_ms], left_out=[])


def _approved(consent: Consent | None, devices: Mapping[str, Device]) -> ConsentRow | None:
    if consent is None:
        return None
    return {
        "at": entity_json.iso(consent.at_ms),
        "by": consent.by,
        "computing": [entity_json.name_of(device, devices) for device in consent.computing],
        "devices": [
            entity_json.name_of(device, devices) for device in consent.devices if device not in consent.computing
        ],
        "effects": list(consent.effects),
        "grants": list(consent.grants),
        "plan_hash": consent.hash,
    }


def schedule_shape(
    schedule: Schedule, devices: Mapping[str, Device], asking: list[str], reader: str, now_ms: int
) -> ScheduleRow:
    """Return a schedule as the API shows it to the principal `reader`; `next` are five firings in its own zone.

    `asking` are those of its firings under way whose plan waits for an approval.
    """
    firings = _firings_ahead(schedule, now_ms)
    last, notice, paused = schedule.last, schedule.notice, schedule.paused
    return {
        "id": schedule.id,
        "name": schedule.name,
        "state": schedule.state,
        "cron": schedule.cron,
        "zone": schedule.zone,
        **_clock(schedule.cron, schedule.zone, schedule.except_days, firings),
        "overlap": schedule.overlap,
        "catch_up": schedule.catch_up,
        "notify": schedule.notify,
        "notify_device": entity_json.name_of(schedule.notify_device, devices),
        "deadline_s": schedule.deadline_s,
        "request": schedule.request,
        "recipe": schedule.recipe,
        "params": entity_json.value_of(schedule.params),
        "running": list(schedule.running),
        "asking": asking,
        "waiting": [local_time(moment, schedule.zone) for moment in schedule.queued],
        "fired": schedule.fired,
        "skipped": schedule.skipped,
        "last": None
        if last is None
        else {
            "alarm": last.alarm and last.state is ConstellationState.SUCCEEDED,
            "constellation": last.constellation,
            "due_at": local_time(last.due_ms, schedule.zone),
            "ended_at": entity_json.iso(last.ended_ms),
            "state": last.state,
        },
        "notice": None
        if notice is None or not notice.news_for(reader)
        else {
            "at": entity_json.iso(notice.at_ms),
            "constellation": notice.constellation,
            "count": notice.news_for(reader),
            "text": notice.text,
        },
        "paused": None
        if paused is None
        else {"at": entity_json.iso(paused.at_ms), "by": paused.by, "reason": paused.reason},
        "stopped": schedule.stopped,
        "approved": _approved(schedule.consent, devices),
        "devices": [_bound(name, device, devices) for name, device in sorted(schedule.devices.items())],
        "unseen_trash": schedule.unseen_trash,
        "author": schedule.author,
        "created_at": entity_json.iso(schedule.created_ms),
    }


def _bound(name: str, device: str, devices: Mapping[str, Device]) -> BoundDeviceRow:
    record = devices.get(device)
    others = (other for other in devices.values() if other.id != device and not other.revoked)
    another = any(name in (other.name, *other.former_names) for other in others)
    return {"name": name, "left": record is None or record.revoked, "another": another}
