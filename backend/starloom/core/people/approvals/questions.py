"""Questions about plans: when one is asked again, void or over, and the effect of its answer.

An approval is bound to the hash of what it allows: it is denied after its time, void once its plan changes, and
answered once. The edge decides who may answer; only a person's own action answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from hashlib import sha256
from itertools import count

from msgspec.structs import replace

from starloom.core.people.approvals.need import (
    ApprovalNeed,
    approval_need,
    approved_puts,
    effects_of,
)
from starloom.core.people.approvals.question_text import DEVICES_NAMED_MOST, question_text
from starloom.core.people.approvals.standing import allow_for_good
from starloom.core.people.controls import cancel_tasks
from starloom.core.placement.absent_devices import lost_words
from starloom.core.placement.earlier_names import hash_as_approved
from starloom.core.placement.feasible import capable, judge_device, nearest, offering
from starloom.core.plan.starting import activate
from starloom.core.rights.call_effects import specs_by_rules, wide_trash
from starloom.core.rights.consent import (
    ALLOW,
    ALWAYS,
    APPROVAL,
    DENY,
    FIRST,
    beyond,
    consent_to,
    named_devices,
)
from starloom.core.rights.reserved import words_by
from starloom.core.state.inputs import QuestionAnswered, TimerFired
from starloom.core.state.model import Constellation, Demand, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Refusal, Work, answer_put, attend, fault, unattend
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Question, TaskSpec, encode_entity
from starloom_protocol.stream.authors import ENGINE, is_model
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import Attention, Code, ConstellationState, Effect, Reason

KIND = APPROVAL
TIMER = "approval"
_STATE = ConstellationState
OTHER_DEVICES = " Its devices are no longer those of the preview that was approved."


def plan_changed(work: Work, constellation: Constellation) -> None:
    """Replace the open approval of a plan that was edited by one of the present plan."""
    head = constellation.head
    if head.state is not _STATE.AWAITING_APPROVAL:
        return
    for key in list(constellation.open_questions):
        question = constellation.questions[key]
        if question.kind == KIND:
            why = "the plan was changed since"
            work.emit(
                constellation, EventKind.APPROVAL_VOID, key, [answer_put(work, question, "", reason=why)], note=why
            )
    note = " The plan was changed since."
    if head.schedule is not None:
        note += " Allowing it allows this firing alone."
    _ask_as_it_is(work, constellation, hash_of(constellation), note)


def ask_again(work: Work) -> None:
    """Ask again about each plan with a call for which no approved device fits any more, where another one does."""
    shard = work.shard
    for demand in list(shard.demands.values()):
        if demand.needs is None or demand.needs.approved is None or capable(shard.fleet, demand):
            continue
        # The fleet is looked over once for each of its revisions, however many steps a task waits.
        revisions = demand.fleet_seen, demand.secrets_seen
        why = _none_fits(shard.fleet, demand) if demand.held_seen != revisions else ""
        demand.held_seen = None if why else revisions
        for name in list(demand.lines) if why else ():
            task = next((task for _, _, task in demand.lines[name] if shard.queued.get((name, task)) == demand.key), "")
            constellation = shard.constellations.get(name)
            if task and constellation is not None and constellation.head.state is _STATE.ACTIVE:
                note = f" No device that was approved for {task} can do it any more{why}."
                action = constellation.head.plan_hash or hash_of(constellation)
                _ask_as_it_is(work, constellation, action, note)


def _none_fits(fleet: Fleet, demand: Demand) -> str:
    """Return in words why no approved device fits a demand; empty if one may again, or no other device does either."""
    needs = dataclasses.replace(demand.needs, approved=None)
    others = [
        judge_device(fleet, device, demand.tool, demand.selector, needs) for device in offering(fleet, demand.tool)
    ]
    if nearest({one.reason for one in others if one.device in demand.needs.approved}) is not Reason.NO_CAPABLE_DEVICE:
        return ""
    if nearest({one.reason for one in others}) is Reason.NO_CAPABLE_DEVICE:
        return ""
    approved = [fleet.devices[one] for one in sorted(demand.needs.approved) if one in fleet.devices]
    candidates = (judge_device(fleet, device, demand.tool, demand.selector, needs) for device in approved)
    device_words = [f"{device.name} {one.words}" for device, one in zip(approved, candidates, strict=True)]
    return f": {few(device_words, DEVICES_NAMED_MOST)}" if device_words else ", for there was none"


def _ask_as_it_is(work: Work, constellation: Constellation, action: str, note: str) -> None:
    """Ask about the present plan on the present fleet."""
    head = constellation.head
    specs = [spec for spec in constellation.specs.values() if not spec.look]
    rules = list(constellation.rules.values())
    words = bool(head.request) and head.recipe is None
    # What was changed is no recipe as its keeper has read it.
    by = words_by(work.shard.fleet, head.recipe, head.author) if head.recipe else head.author
    wide = wide_trash([*specs, *specs_by_rules(rules, specs)], constellation.deps.values(), guided=is_model(by))
    verdict = approval_need(work.shard.fleet, specs, rules, head.policy, strict=words, hold=head.hold, by=by, wide=wide)
    if not verdict.asks:
        # The plan needed approval once, so its change does too, even if the new plan alone would not.
        verdict = ApprovalNeed(asks=True, once_because="nothing in the plan as it is now needs to be allowed for good")
    effects = effects_of(work.shard.fleet, [*specs, *specs_by_rules(rules, specs)])
    ask(work, constellation, verdict, effects, action=action, note=note)


def hash_of(constellation: Constellation) -> str:
    """Return the hash of the present plan, with all that decides its work."""
    tables = (constellation.specs, constellation.deps, constellation.rules)
    parts = [encode_entity(constellation.head.policy)]
    for records in tables:
        in_order = [records[key] for key in sorted(records)]
        parts += [encode_entity(one) for one in in_order if not isinstance(one, TaskSpec) or not one.look]
    return sha256(b"".join(parts)).hexdigest()


def ask(
    work: Work, constellation: Constellation, verdict: ApprovalNeed, effects: list[Effect], *, action: str, note: str
) -> None:
    head = constellation.head
    question = Question(
        action=action,
        calls=verdict.calls,
        effects=effects,
        expires_ms=work.at_ms + work.shard.settings.approval_ms,
        id=next(name for name in _names(head.version) if name not in constellation.questions),
        kind=KIND,
        once_because=verdict.once_because,
        opened_ms=work.at_ms,
        text=question_text(work.shard.fleet, constellation, verdict, effects) + note,
        version=head.version,
    )
    head_after = replace(head, state=_STATE.AWAITING_APPROVAL)
    puts: list[Put] = [
        *approved_puts(work, constellation, verdict),
        ("question", question.id, question),
        ("head", "", head_after),
    ]
    work.emit(constellation, EventKind.APPROVAL_ASKED, question.id, puts, by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN)
    work.order(due_moment(constellation, question))


def _names(version: int) -> Iterator[str]:
    """Yield the names that the question about a plan may have: a plan is asked about more than once."""
    yield FIRST
    yield f"{FIRST}-{version}"
    yield from (f"{FIRST}-{version}-{number}" for number in count(2))


def beyond_consent(work: Work, constellation: Constellation, plan: LoweredPlan, effects: list[Effect]) -> list[str]:
    """Return the parts of a schedule's plan that go beyond the consent given with the schedule."""
    fleet = work.shard.fleet
    schedule = fleet.schedules.get(constellation.head.schedule or "")
    if schedule is None or schedule.consent is None:
        return ["nobody has approved it for this schedule"]
    approved_hash = hash_as_approved(fleet, plan, schedule.consent.hash, schedule.devices)
    consent = consent_to(fleet, plan.specs, effects, plan_hash=approved_hash, by=work.by, at_ms=work.at_ms)
    return beyond(schedule.consent, consent, fleet)


def decide(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Carry out a person's answer to an approval: allow, deny, or always allow its calls.

    Raises:
        Refusal: the answer is unknown, there is no call that could always be allowed, or devices of the plan are gone
            and the answer does not say `anyway`.
    """
    if item.value not in (ALLOW, DENY, ALWAYS):
        reason = f"an approval is answered {ALLOW}, {DENY} or {ALWAYS}, not {item.value}"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "value"))
    if item.value == ALWAYS and not question.calls:
        reason = (
            f"this can only be allowed once: {question.once_because or 'none of its calls can be allowed for good'}"
        )
        raise Refusal(fault(Code.BAD_REQUEST, reason, "value", "Answer allow, which is for this time."))
    if item.value != DENY and not item.anyway:
        _check_devices_are_here(work, constellation)
    _answered(work, constellation, question, item.value, item.reason, by=work.by)
    if item.value == DENY:
        _deny(work, constellation, item.reason, by=work.by)
        return
    if item.value == ALWAYS:
        allow_for_good(work, constellation, question)
    _consent_again(work, constellation, question)
    activate(work, constellation, EventKind.STARTED, "approved")


def _check_devices_are_here(work: Work, constellation: Constellation) -> None:
    """Refuse an approval of tasks whose devices are gone, which would only wait."""
    lost = lost_words(work.shard.fleet.devices, constellation.specs.values())
    if lost:
        hint = "Deny it, or edit the plan. To approve it anyway: starloom approve ID --anyway."
        raise Refusal(fault(Code.CONFLICT, "; ".join(lost), "", hint))


def _answered(
    work: Work, constellation: Constellation, question: Question, value: str, reason: str, *, by: str
) -> None:
    put = answer_put(work, question, value, reason=reason, by=by)
    work.emit(constellation, EventKind.APPROVAL_ANSWERED, question.id, [put], note=reason, by=by)


def _deny(work: Work, constellation: Constellation, why: str, *, by: str) -> None:
    reason = f"the plan was denied{': ' + why if why else ''}"
    denied = replace(constellation.head, state=_STATE.CANCELLING, cancelled_by=by, fault=fault(Code.DECLINED, reason))
    work.emit(constellation, EventKind.DENIED, "", [("head", "", denied)], note=reason, by=by)
    cancel_tasks(work, constellation, reason)


def _consent_again(work: Work, constellation: Constellation, question: Question) -> None:
    """Extend the consent of a schedule to the plan that a person has just allowed for one of its firings.

    A plan that was edited is that of this firing alone: the later ones begin with the plan of the schedule.
    """
    fleet = work.shard.fleet
    schedule = fleet.schedules.get(constellation.head.schedule or "")
    if schedule is None or question.action is None or question.version > 1:
        return
    consent = consent_to(
        fleet, constellation.specs.values(), question.effects, plan_hash=question.action, by=work.by, at_ms=work.at_ms
    )
    specs = constellation.specs.values()
    devices = named_devices(fleet, [*specs, *specs_by_rules(constellation.rules.values(), specs)])
    approved_schedule = replace(schedule, consent=consent, devices=schedule.devices | devices)
    work.emit(fleet, EventKind.SCHEDULE_APPROVED, schedule.id, [("schedule", schedule.id, approved_schedule)])


def due_moment(constellation: Constellation, question: Question) -> ArmTimer:
    """Return the timer of an open approval."""
    return ArmTimer(constellation=constellation.name, due_ms=question.expires_ms, entity=question.id, kind=TIMER)


def on_timer(work: Work, item: TimerFired) -> None:
    """Deny an approval that was not answered in its time."""
    constellation = work.shard.constellations.get(item.constellation)
    question = constellation.questions.get(item.entity) if constellation else None
    if constellation is None or question is None or question.answer is not None or work.at_ms < question.expires_ms:
        work.ignore("the timer is stale")
        return
    hours = work.shard.settings.approval_ms / 3_600_000
    reason = f"nobody answered within {hours:g} hours, which is a no"
    _answered(work, constellation, question, DENY, reason, by=ENGINE)
    _deny(work, constellation, reason, by=ENGINE)
    if not constellation.open_questions:
        unattend(work, constellation, Attention.QUESTION_OPEN)
