"""The step decides one input: its handler emits events, the agenda settles the tasks they touched, placement is last.

The agenda is bounded: a step that does not settle is a bug and is refused as a whole, with its last events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from starloom.core.answer.outcome import grow, settle
from starloom.core.clock import expiry, leaving_out, moments, schedules
from starloom.core.fleet import devices, draining, hub_calls, lab_faults, owner_questions, pairing, restored_fleet
from starloom.core.people import (
    access,
    answer_words,
    compensation,
    controls,
    escalations,
    forks,
    inquiries,
    requests,
    restored_history,
    stop_all,
)
from starloom.core.people.approvals import questions, standing
from starloom.core.people.recipes import proposals, runs, saving
from starloom.core.placement import device_conditions, finish, health, waiting
from starloom.core.placement.device_groups import returning
from starloom.core.placement.selection import next_lease, requeue
from starloom.core.plan import drafts, progress_rules, review, verify_tasks
from starloom.core.plan.goals import asking, conversation, pursuit, steps
from starloom.core.plan.groups import reconsider_group
from starloom.core.plan.relisting import expand_again
from starloom.core.plan.reuse import findings, kept_results
from starloom.core.plan.rules import fire_due
from starloom.core.rights import budgets, secrets
from starloom.core.run import (
    absence,
    attempts,
    hedge_opening,
    judgement,
    late_facts,
    recovery,
    timeouts,
    unknown_attempts,
)
from starloom.core.run.verification import ENDED_IN_DOUBT
from starloom.core.state import inputs as i
from starloom.core.state import invariants
from starloom.core.state.inputs import AnyInput, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import Answer
from starloom.core.state.tasks.gates import of_old_list, shut_cause
from starloom.core.state.tasks.named_times import NoMoment
from starloom.core.state.work import Refusal, Work, change_task, close_question, fault, moved
from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.stream.authors import ENGINE, TOKEN_MARK, token_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.vocabulary import Code, ConstellationState, Reason, TaskState
from starloom_protocol.wire.frames import BEGUN

_STATE = ConstellationState
_CANCELLING = ConstellationState.CANCELLING
_READY, _WAITING = TaskState.READY, TaskState.WAITING
SETTLE_MOST = 1_000_000


class Unsettled(Exception):
    """The agenda of one step did not come to rest; `story` has its last events."""

    def __init__(self, story: list[str]) -> None:
        super().__init__("a step did not settle: " + "; ".join(story))
        self.story = story


def step(work: Work, item: AnyInput) -> None:
    """Decide one input within a batch: its events, orders and answer are added to `work`.

    A refused input adds only its answer.
    """
    work.begin(item)
    try:
        if TOKEN_MARK in work.by:
            _check_token(work)
        _HANDLERS[type(item)](work, item)
        _settle(work, work.input_marks.events)
    except Refusal as refusal:
        work.undo_input()
        work.answers.append(Answer(input_id=item.id, faults=refusal.faults, value=refusal.value))
        return
    if len(work.answers) == work.answers_before:
        work.answer(None, after="commit")


def _check_token(work: Work) -> None:
    """Refuse what passed the door by a token that was revoked before the input was taken: nothing new rests on it.

    Raises:
        Refusal: `bad_token`.
    """
    token = work.shard.access.tokens.get(token_of(work.by))
    if token is not None and token.revoked_ms:
        reason = "the token with which this was asked was revoked before it was decided, so nothing was done"
        raise Refusal(fault(Code.BAD_TOKEN, reason, "", "Sign in again, or use another token."))


def look(work: Work) -> None:
    """Settle and place without an input, as after one that decided nothing."""
    _settle(work, len(work.events), silent=True)


def _settle(work: Work, first: int, *, silent: bool = False) -> None:
    """Settle the agenda and place what is ready, until neither changes anything; `first` is this step's first event."""
    shard = work.shard
    turns = 0
    while True:
        while shard.touched or work.rules_due:
            # Rules first: they edit tasks that a cascade would otherwise skip or start.
            _follow_ends(work)
            turns += _reconsider_touched(work)
            if turns > SETTLE_MOST:
                raise Unsettled([f"{event.kind} {event.about}" for event in work.events[-20:]])
        # A placement that touches nothing leaves nothing to settle: no further task can be placed.
        placed = _place(work, silent=silent)
        may_go = True in shard.queued_now.values()
        may_choose = may_go or shard.fleet.revision != shard.other_calls_revision
        calls_taken = may_choose and recovery.take_other_calls(work)
        calls_taken = (may_go and waiting.leave_out(work)) or calls_taken
        if not calls_taken and (not placed or not (shard.touched or work.rules_due)):
            break
    if work.ready:
        _say_ready(work)
    if shard.queued and not silent:
        questions.ask_again(work)
    if shard.queued_now:
        waiting.watch(work)
    if shard.ended_stops:
        stop_all.note_ended(work)
    for name in list(shard.settled):
        _settle_constellation(work, name)
    shard.settled.clear()
    shard.touched.clear()
    _watch_attention(work, {event.stream: None for event in work.events[first:]})


def _watch_attention(work: Work, names: Iterable[str]) -> None:
    """Look at each changed constellation that has attention, or may need some for a tap or a stall."""
    shard = work.shard
    tapped, motionless = [], []
    for name in names:
        constellation = shard.constellations.get(name)
        if constellation is None:
            continue
        attention = constellation.head.attention
        if attention or constellation.tapped:
            tapped.append(name)
        if name in shard.live and (attention or not (constellation.open_attempts or constellation.ready)):
            motionless.append(name)
    if tapped:
        device_conditions.watch_taps(work, tapped)
    if motionless:
        invariants.watch_stalls(work, motionless)


def _follow_ends(work: Work) -> None:
    """Do what follows from tasks that have ended: kept results, findings, rules, reviews, a partial answer."""
    shard = work.shard
    due, work.rules_due = work.rules_due, []
    for name, task, event in due:
        if event == ENDED_IN_DOUBT:
            verify_tasks.begin(work, name, task)
            continue
        constellation = shard.constellations.get(name)
        if constellation is None or name not in shard.live:
            continue
        spec = constellation.specs.get(task)
        if event == "succeeded" and spec is not None:
            if spec.reuse is not None:
                kept_results.keep(work, constellation, task)
            if spec.finds is not None:
                findings.publish(work, constellation, task)
        if constellation.rules_by_task:
            fire_due(work, constellation, task, event)
        if constellation.head.policy.review in review.WANTED:
            review.begin(work, constellation, task, event)
        if event != "attempt_ended":
            grow(work, constellation, task)


def _reconsider_touched(work: Work) -> int:
    """Derive the state of all that was touched; return how many tasks and groups that were."""
    shard = work.shard
    touched, shard.touched = shard.touched, {}
    for name, key in touched:
        if shard.pointed and name in shard.pointed:
            # The review of a point opens first, since it holds the tasks that wait for the point.
            review.at_points(work, name)
        _reconsider(work, name, key)
    return len(touched)


def _settle_constellation(work: Work, name: str) -> None:
    """Let a constellation continue or end after a part of it has ended in this step."""
    shard = work.shard
    if name in shard.pointed:
        review.at_points(work, name)
    constellation = shard.constellations.get(name)
    if constellation is None:
        return
    if constellation.jobs and name in shard.live:
        inquiries.resume_reviews(work, constellation)
    if not constellation.unfinished_top:
        settle(work, name)
    if constellation.head.schedule is not None:
        schedules.note_end(work, name)


def _reconsider(work: Work, name: str, key: str) -> None:
    """Derive the state of an unstarted task or a group from its gates and holds."""
    constellation = work.shard.constellations.get(name)
    if constellation is None:
        return
    record = constellation.tasks.get(key)
    if record is None:
        if key in constellation.groups:
            _reconsider_group(work, constellation, key)
        return
    state = record.state
    if state is not _WAITING and state is not _READY:
        return
    if constellation.head.state is _CANCELLING:
        attempts.ask_to_stop(work, constellation, key, "the constellation was cancelled")
    elif constellation.shut and constellation.shut.get(key):
        if review.is_held(record):
            return
        close_question(work, constellation, key)
        reason, cause = shut_cause(constellation, key)
        skipped = moved(work, record, TaskState.SKIPPED, reason=reason, cause=cause)
        change_task(work, constellation, key, EventKind.TASK_SKIPPED, skipped, by=ENGINE)
    elif constellation.undecided.get(key) or (constellation.relisting and of_old_list(constellation, key)):
        if state is _READY:
            close_question(work, constellation, key)
            closed = moved(work, record, TaskState.WAITING)
            change_task(work, constellation, key, EventKind.TASK_WAITING, closed, by=ENGINE)
    elif state is _WAITING:
        _make_ready(work, constellation, key, record)
    elif findings.is_due(constellation.specs[key], record):
        # An edit gave it another topic while it waited for a device.
        with_findings = findings.take(work, constellation, constellation.specs[key], record)
        if with_findings is not None:
            change_task(work, constellation, key, EventKind.TASK_READY, with_findings, by=ENGINE)
    elif constellation.specs[key].reuse is not None and record.reason is None:
        # It became ready while its plan had no approval or the constellation was paused, when nothing is taken over.
        kept_results.take_over(work, constellation, constellation.specs[key], record)


def _make_ready(work: Work, constellation: Constellation, key: str, record: TaskRecord) -> None:
    """Let a task begin whose gates are open: by its question, by a kept result, or ready for a device."""
    spec = constellation.specs[key]
    if spec.tool is None and spec.person is None:
        # This is the answer of a goal, and the present round of that goal has given none yet.
        return
    if spec.person is not None:
        if review.is_held(record):
            return
        if constellation.head.state is not _STATE.AWAITING_APPROVAL:
            requests.open_person_task(work, constellation, spec)
        return
    if spec.reuse is not None and kept_results.take_over(work, constellation, spec, record):
        return
    if spec.inputs and findings.is_due(spec, record):
        with_findings = findings.take(work, constellation, spec, record)
        if with_findings is None:
            return
        record = with_findings
    if record.review is not None:
        ready = moved(work, record, _READY, reason=Reason.REVIEW)
    elif not (record.held or spec.group is not None or spec.not_before is not None):
        ready = moved(work, record, _READY)
    else:
        try:
            ready = moments.ready(work, constellation, key, record)
        except NoMoment as error:
            moments.fail(work, constellation, key, record, error)
            return
    # No event of its own: `_say_ready` names all tasks that became ready in this step and were not leased.
    work.quietly(constellation, "task", key, ready)
    work.ready[(constellation.name, key)] = None
    # Its own change has touched it again; its gates were examined just now, so it needs no further turn.
    work.shard.touched.pop((constellation.name, key), None)


def _reconsider_group(work: Work, constellation: Constellation, key: str) -> None:
    if review.is_held(constellation.groups[key]) and constellation.head.state is not _CANCELLING:
        return
    if constellation.relisting and expand_again(work, constellation, key):
        return
    state = constellation.groups[key].state
    if constellation.specs[key].goal is not None:
        pursuit.reconsider(work, constellation, key)
    else:
        reconsider_group(work, constellation, key)
    _unpark(work, constellation, key)
    state_after = constellation.groups[key].state
    if state_after is not state and state_after in ("succeeded", "failed"):
        work.rules_due.append((constellation.name, key, str(state_after)))


def _say_ready(work: Work) -> None:
    """Emit one event for each constellation with the tasks that became ready and still are."""
    by_name: dict[str, list[str]] = {}
    for name, task in work.ready:
        constellation = work.shard.constellations[name]
        record = constellation.tasks.get(task)
        if record is not None and record.state is _READY:
            by_name.setdefault(name, []).append(task)
    work.ready.clear()
    for name, tasks in by_name.items():
        constellation = work.shard.constellations[name]
        about = tasks[0] if len(tasks) == 1 else ""
        puts: list[Any] = [("task", task, constellation.tasks[task]) for task in tasks]
        work.announce(constellation, EventKind.TASKS_READY, about, puts)


def _unpark(work: Work, constellation: Constellation, group: str) -> None:
    """Put tasks that waited for room in their group back into their queues."""
    parked = constellation.parked.get(group)
    if not parked:
        return
    for_each = constellation.specs[group].for_each
    room = (for_each.max_parallel if for_each else 0) - constellation.tally[group].held_slots
    for task in list(parked)[: max(room, 0)]:
        del parked[task]
        requeue(work.shard, constellation, task)


def _place(work: Work, *, silent: bool) -> bool:
    """Carry out the hub's own calls and lease all tasks that can be placed now; True if there were any."""
    if not work.shard.queued:
        return False
    hub_demands = [demand for demand in work.shard.demands.values() if demand.tool in HUB_TOOLS]
    placed = bool(hub_demands) and hub_calls.carry_out(work, hub_demands)
    turn = finish.PlacementPass(work.at_ms, silent)
    while True:
        lease = next_lease(work.shard, turn)
        if lease is None:
            if turn.waits:
                turn.close(work.shard)
            return placed
        if lease[0].head.budget is not None and budgets.stop(work, lease[0]):
            continue
        attempts.grant(work, *lease)
        if lease[0].head.attention:
            waiting.note_granted(work, lease[0])
        placed = True


def _on_timer(work: Work, item: TimerFired) -> None:
    """Pass a timer on by its kind; those of attempts have no row."""
    _TIMERS.get(item.kind, absence.on_timer)(work, item)


def _on_unanswered(work: Work, item: TimerFired) -> None:
    """Handle the end of the time for an answer: of a review, of a goal's question, or of an approval."""
    asked_in = work.shard.constellations.get(item.constellation)
    if escalations.is_wish(asked_in, item.entity):
        escalations.on_timer(work, item)
    elif asking.is_asked(asked_in, item.entity):
        asking.on_unanswered(work, item)
    else:
        questions.on_timer(work, item)


def _on_deadline(work: Work, item: TimerFired) -> None:
    constellation = work.shard.constellations.get(item.constellation)
    if (
        constellation is not None
        and constellation.head.deadline_s
        and not answer_words.at_deadline(work, constellation)
    ):
        controls.at_deadline(work, constellation)


_TIMERS: dict[str, Callable[[Work, TimerFired], None]] = {
    expiry.TIDY: lambda work, _: expiry.on_timer(work),
    # Placement, which follows each input, judges the waiting tasks again.
    finish.TIMER: lambda work, _: work.ignore("a wait for a better device is judged again"),
    **dict.fromkeys(schedules.TIMERS, schedules.on_timer),
    **dict.fromkeys(review.TIMERS, review.on_timer),
    **dict.fromkeys(answer_words.TIMERS, answer_words.on_timer),
    judgement.TIMER: judgement.on_timer,
    conversation.OVER: asking.on_timer,
    inquiries.TIMER: inquiries.on_timer,
    moments.TIMER: moments.on_timer,
    returning.TIMER: returning.on_timer,
    draining.TIMER: draining.on_timer,
    health.TIMER: health.on_timer,
    lab_faults.TIMER: lab_faults.on_timer,
    hedge_opening.KIND: hedge_opening.on_timer,
    recovery.OTHER_CALL_TIMER: recovery.on_other_call_timer,
    **dict.fromkeys(timeouts.KINDS, timeouts.on_timer),
    questions.TIMER: _on_unanswered,
    "deadline": _on_deadline,
}


def _on_edit(work: Work, item: i.EditProposed) -> None:
    constellation = work.shard.constellations.get(item.constellation)
    before = constellation.head.version if constellation is not None else 0
    controls.on_edit(work, item)
    if constellation is not None and constellation.head.version != before:
        questions.plan_changed(work, constellation)


def _on_role(work: Work, item: i.RoleGiven) -> None:
    access.on_role(work, item)
    _judge_rights(work)


def _on_token_revoked(work: Work, item: i.TokenRevoked) -> None:
    access.on_token_revoked(work, item)
    _judge_rights(work)


def _on_restored(work: Work, item: i.HistoryRestored) -> None:
    restored_history.on_restored(work, item)
    if item.ended is not None:
        restored_fleet.end_rights(work, item.ended)
        schedules.end_restored(work, item.ended.schedules, i.ENDED)
        _judge_rights(work)
    schedules.pause_restored(work)


def _judge_rights(work: Work) -> None:
    """End what people have under way by a right that was just taken from them."""
    pairing.judge_codes(work)
    schedules.judge_rights(work)
    controls.judge_rights(work)
    drafts.judge_rights(work)


def _on_ledger(work: Work, item: i.LedgerReported) -> None:
    if item.state == BEGUN:
        unknown_attempts.on_begun(work, item)
    else:
        attempts.on_ledger(work, item)


_HANDLERS: dict[type, Callable[[Work, Any], None]] = {
    i.RequestReceived: requests.on_request,
    i.JobClaimed: requests.on_job_claimed,
    i.PlanProposed: requests.on_plan_proposed,
    i.LooksProposed: inquiries.on_proposed,
    i.ReviewProposed: escalations.on_proposed,
    i.ModelUsed: budgets.on_used,
    i.AnswerWorded: answer_words.on_worded,
    i.GoalProposed: steps.on_proposed,
    i.VerdictGiven: judgement.on_given,
    i.QuestionAnswered: requests.on_answer,
    i.StandingRevoked: standing.on_standing_revoked,
    i.FaultNoted: requests.on_fault_noted,
    i.LabFaultAsked: lab_faults.on_asked,
    i.LabFaultHealAsked: lab_faults.on_heal_asked,
    i.LabFaultBegan: lab_faults.on_began,
    i.LabFaultEnded: lab_faults.on_ended,
    i.RefusalNoted: access.on_refusal,
    i.HistoryRestored: _on_restored,
    i.DateWentBack: expiry.on_date_went_back,
    i.EditProposed: _on_edit,
    i.ControlRequested: controls.on_control,
    i.PartLeftOut: leaving_out.on_left_out,
    i.StopAllRequested: stop_all.on_stop_all,
    i.ForkRequested: forks.on_fork,
    i.UndoRequested: compensation.on_undo,
    i.DraftOpened: drafts.on_opened,
    i.DraftClosed: drafts.on_closed,
    i.EnrollmentOpened: pairing.on_enrollment_opened,
    i.EnrollmentAsked: pairing.on_enrollment_asked,
    i.EnrollmentDecided: pairing.on_enrollment_decided,
    i.DeviceConnected: devices.on_connected,
    i.DeviceDisconnected: devices.on_disconnected,
    i.DeviceRefused: devices.on_refused,
    i.OfferReceived: devices.on_offer,
    i.ConditionReceived: device_conditions.on_condition,
    i.AsksReceived: owner_questions.on_asks,
    i.OwnerAskAnswered: owner_questions.on_answered,
    i.DeviceControlled: devices.on_device_control,
    i.StartedReported: attempts.on_started,
    i.ResultReported: attempts.on_result,
    i.ReceiptReported: attempts.on_receipt,
    i.LedgerReported: _on_ledger,
    i.FactsReported: late_facts.on_facts,
    i.ProgressReported: progress_rules.on_progress,
    i.LeaseExpired: absence.on_lease_expired,
    i.SecretSet: secrets.on_set,
    i.SecretRemoved: secrets.on_removed,
    i.RecipeSaved: saving.on_recipe_saved,
    i.RecipeRemoved: saving.on_recipe_removed,
    i.RecipeSeen: runs.on_seen,
    i.RecipeProposalDismissed: proposals.on_dismissed,
    i.ScheduleSaved: schedules.on_saved,
    i.ScheduleControlled: schedules.on_controlled,
    i.TimerFired: _on_timer,
    i.PrincipalAdded: access.on_principal,
    i.RoleGiven: _on_role,
    i.TokenAdded: access.on_token,
    i.TokenRevoked: _on_token_revoked,
    i.SignInOpened: access.on_signin,
    i.SignInUsed: access.on_signin_used,
}
