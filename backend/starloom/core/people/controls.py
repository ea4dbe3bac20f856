"""Controls: actions on tasks and constellations that leave the plan alone, and the rounds that they open.

A round is opened for a task and every final task downstream of it, including its group but not its siblings. Work that
may not be repeated never runs again without a person's `confirm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from shlex import quote

from msgspec.structs import replace

from starloom.core.plan import edits
from starloom.core.plan.goals import asking, conversation
from starloom.core.plan.relisting import group_in_next_round, task_in_next_round
from starloom.core.plan.starting import activate
from starloom.core.rights import budgets
from starloom.core.rights.authorship import check_control, check_ender, check_undo_again
from starloom.core.rights.consent import is_unapproved
from starloom.core.run.attempts import ask_to_stop
from starloom.core.run.judgement import branches
from starloom.core.state.inputs import ControlRequested, EditProposed
from starloom.core.state.model import Constellation
from starloom.core.state.orders import DURABLE, SendHint
from starloom.core.state.tasks.gates import shut_cause
from starloom.core.state.tasks.graph import tasks_of_new_round
from starloom.core.state.tasks.roles import is_of_goal, is_over
from starloom.core.state.tasks.turns import turns_of
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom.core.state.work import (
    Refusal,
    Work,
    change_task,
    close_question,
    close_questions,
    fault,
    moved,
    named_constellation,
    repeats,
    unattend,
)
from starloom_protocol.records.entities import Attempt, TaskRecord
from starloom_protocol.stream.authors import ENGINE, may_decide, name_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import listed
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import (
    CONTROLS,
    FINAL_CONSTELLATION_STATES,
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    REPEATABLE,
    STARTED_TASK_STATES,
    AttemptEnd,
    Attention,
    Code,
    ConstellationState,
    EffectSeen,
    GroupState,
    Reason,
    Role,
    TaskState,
)

_AGENTS = "agent."
DEADLINE = "deadline"
"""The `cancelled_by` of a constellation that its deadline ended."""
_STATE = ConstellationState
_TRIGGERS = {
    "retry": Trigger.RETRY,
    "skip": Trigger.SKIP,
    "mark": Trigger.MARK,
    "cancel": Trigger.CANCEL,
    "hold": Trigger.HOLD,
    "release": Trigger.RELEASE,
}


def on_control(work: Work, item: ControlRequested) -> None:
    """Carry out one control as a whole, or refuse it."""
    constellation = named_constellation(work, item.constellation)
    tasks = [item.task] if item.task is not None else []
    check_control(work.shard.fleet, constellation, item.action, tasks, author=work.by, approves=item.approves)
    if item.task is None:
        action = _OF_CONSTELLATION.get(item.action)
        if action is None:
            raise Refusal(fault(Code.BAD_REQUEST, f"{item.action} is not a control of a constellation", "action"))
        action(work, constellation, item)
    else:
        _on_task(work, constellation, item, item.task)
    work.answer({"seq": constellation.seq})


def on_edit(work: Work, item: EditProposed) -> None:
    """Carry out an edit; the tasks that it retries get their new round in the same step, so none runs as it was."""
    edits.on_edit(work, item, open_rounds=partial(_retry_all, work, item) if item.retry else None)


def _retry_all(work: Work, item: EditProposed, constellation: Constellation) -> None:
    """Open one round for all tasks that an edit retries, with the checks of a retry of each."""
    check_control(work.shard.fleet, constellation, "retry", item.retry, author=work.by, approves=item.approves)
    starts: dict[str, None] = {}
    for name in item.retry:
        if name not in constellation.specs:
            raise Refusal(fault(Code.UNKNOWN_TASK, f"there is no task {name}", "retry"))
        _refuse_shut(constellation, name)
        if name in constellation.groups and constellation.specs[name].goal is None:
            failed = _failed_children(constellation, name)
            if not failed:
                raise Refusal(fault(Code.ILLEGAL_CONTROL, f"no child of {name} has ended without success", "retry"))
            starts.update(dict.fromkeys(failed))
        elif name in constellation.groups:
            raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{name} is a goal, and no edit retries that", "retry"))
        elif "retry" not in possible(constellation, name) and not _is_closed(constellation):
            raise _not_possible(constellation, name, "it cannot be retried now")
        elif not is_over(constellation, name):
            raise _not_possible(constellation, name, "an edit retries a task that has ended")
        else:
            starts[name] = None
    control = ControlRequested(
        action="retry",
        approves=item.approves,
        by=item.by,
        confirm=item.confirm,
        constellation=constellation.name,
        id=item.id,
        reason=item.reason,
        scope=item.scope,
    )
    open_round(work, constellation, list(starts), control)


def _failed_children(constellation: Constellation, group: str) -> list[str]:
    """Return the children of a group that have ended without success."""
    records = ((child, constellation.tasks[child].state) for child in constellation.leaves(group))
    return [child for child, state in records if state in FINAL_TASK_STATES and state is not TaskState.SUCCEEDED]


def _pause(work: Work, constellation: Constellation, item: ControlRequested) -> None:
    head = constellation.head
    if head.state is not _STATE.ACTIVE:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"only an active constellation can pause; it is {head.state}"))
    paused = replace(head, state=_STATE.PAUSED, paused_since_ms=work.at_ms)
    work.emit(constellation, EventKind.PAUSED, "", [("head", "", paused)], note=item.reason)


def _resume(work: Work, constellation: Constellation, item: ControlRequested) -> None:
    head = constellation.head
    if head.state is not _STATE.PAUSED:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"only a paused constellation can go on; it is {head.state}"))
    budgets.allow_again(work, constellation)
    activate(work, constellation, EventKind.RESUMED, item.reason)


def _cancel(work: Work, constellation: Constellation, item: ControlRequested) -> None:
    head = constellation.head
    if constellation.name not in work.shard.live:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"the constellation is {head.state} already"))
    if head.state is _STATE.CANCELLING:
        return
    cancelling = replace(head, state=_STATE.CANCELLING, cancelled_by=work.by)
    work.emit(constellation, EventKind.CANCELLING, "", [("head", "", cancelling)], note=item.reason)
    cancel_tasks(work, constellation, item.reason or "the constellation was cancelled")


def at_deadline(work: Work, constellation: Constellation) -> None:
    """End a constellation at its deadline: no task starts any more, and work that must not be cut runs to its end."""
    head = constellation.head
    if head.state is _STATE.CANCELLING or constellation.name not in work.shard.live:
        work.ignore("the timer is stale")
        return
    note = f"its deadline of {head.deadline_s} s has passed"
    cancelling = replace(head, state=_STATE.CANCELLING, cancelled_by=DEADLINE)
    work.emit(constellation, EventKind.CANCELLING, "", [("head", "", cancelling)], note=note, by=ENGINE)
    cancel_tasks(work, constellation, note, cut=False)


def judge_rights(work: Work) -> None:
    """Cancel each request without a plan of those whose right to run work was taken: its plan is not accepted yet."""
    shard = work.shard
    for constellation in [shard.constellations[name] for name in shard.live]:
        head = constellation.head
        if head.version or head.state is _STATE.CANCELLING or not shard.access.right_was_taken_from(head.author):
            continue
        note = "the person who asked for it may no longer run work"
        cancelling = replace(head, state=_STATE.CANCELLING, cancelled_by=ENGINE)
        work.emit(constellation, EventKind.CANCELLING, "", [("head", "", cancelling)], note=note, by=ENGINE)
        cancel_tasks(work, constellation, note)


def cancel_tasks(work: Work, constellation: Constellation, reason: str, *, cut: bool = True) -> None:
    """Close every question of a constellation, end every group that has not begun, ask every task to stop.

    Without `cut`, running work that may not be repeated runs to its end: halfway it has no safe point to stop.
    """
    close_questions(work, constellation)
    conversation.look_again(work, constellation)
    for group, record in list(constellation.groups.items()):
        if record.state is GroupState.WAITING:
            ended = replace(record, state=GroupState.CANCELLED, since_ms=work.at_ms)
            work.emit(constellation, EventKind.GROUP_CANCELLED, group, [("group", group, ended)])
    for task, task_record in list(constellation.tasks.items()):
        if task_record.state not in FINAL_TASK_STATES and task_record.state is not TaskState.UNKNOWN:
            if not cut and task_record.state is TaskState.RUNNING:
                attempt = constellation.attempt(task, task_record.attempt)
                if attempt.repeatability not in REPEATABLE:
                    continue
            ask_to_stop(work, constellation, task, reason)


_OF_CONSTELLATION: dict[str, Callable[[Work, Constellation, ControlRequested], None]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
}


def possible(constellation: Constellation, task: str) -> tuple[str, ...]:
    """Return the controls of a task that are accepted now."""
    record = constellation.tasks[task]
    actions = CONTROLS[record.state]
    if _belongs_to_model(constellation, task) and record.state is not TaskState.UNKNOWN:
        # It belongs to a planning, a review or a goal that is past: it is never run again, and nobody may mark it.
        open_yet = record.state not in FINAL_TASK_STATES
        return tuple(action for action in actions if open_yet and action in ("cancel", "skip"))
    if _is_closed(constellation):
        # No task is run again: every control that opens a round is refused.
        return tuple(action for action in actions if action == "cancel" or record.state is TaskState.UNKNOWN)
    if is_shut(constellation, task):
        return tuple(action for action in actions if not action.startswith("retry"))
    return tuple(action for action in actions if action != ("hold" if record.held else "release"))


def is_shut(constellation: Constellation, name: str) -> bool:
    """Tell whether a skipped task or group would be skipped again at once: its gate is still shut."""
    return constellation.record(name).state == "skipped" and bool(constellation.shut.get(name))


def _refuse_shut(constellation: Constellation, name: str) -> None:
    """Refuse to retry a task alone that the end of another one skips.

    Raises:
        Refusal: `illegal_control`, with the task to retry in its place.
    """
    if not is_shut(constellation, name):
        return
    _, cause = shut_cause(constellation, name)
    if cause in constellation.tasks:
        reason, hint = f"{name} would be skipped again, since {cause} did not succeed", retry_line(constellation, cause)
    else:
        reason, hint = f"{name} would be skipped again, since its condition does not hold", "Retry the task before it."
    raise Refusal(fault(Code.ILLEGAL_CONTROL, reason, "", hint))


def retry_line(constellation: Constellation, task: str, action: str = "retry") -> str:
    """Return the line that retries a task, alone or with what follows, with the work that has to be confirmed."""
    confirm = "".join(f" --confirm {quote(name)}" for name in confirmed_by_retry(constellation, task))
    return f"starloom {action} {quote(task)} {constellation.name}{confirm}"


def _belongs_to_model(constellation: Constellation, task: str) -> bool:
    """Tell whether a task is a look, or a step or the answer of a goal."""
    return bool(constellation.specs[task].look) or is_of_goal(constellation, task)


def _not_possible(constellation: Constellation, task: str, why: str) -> Refusal:
    actions = ", ".join(possible(constellation, task)) or "nothing"
    reason = f"{task} is {constellation.tasks[task].state}: {why}. Possible now: {actions}"
    return Refusal(fault(Code.ILLEGAL_CONTROL, reason))


def _on_task(work: Work, constellation: Constellation, item: ControlRequested, task: str) -> None:
    if task in constellation.groups:
        _on_group(work, constellation, item, task)
        return
    record = constellation.tasks.get(task)
    if record is None:
        raise Refusal(fault(Code.UNKNOWN_TASK, f"there is no task {task}", "task"))
    if _belongs_to_model(constellation, task) and item.action not in possible(constellation, task):
        raise _not_possible(constellation, task, "a model made it as a look or as a step of its goal")
    if item.action == "hint":
        _hint(work, constellation, task, record, item.reason)
        return
    if item.action in ("retry", "retry_from"):
        _refuse_shut(constellation, task)
    if item.action == "retry_from":
        if record.state not in FINAL_TASK_STATES:
            raise _not_possible(constellation, task, "the task has not ended")
        open_round(work, constellation, [task], item)
        return
    trigger = _TRIGGERS.get(item.action)
    if trigger is None:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.action} is not a control of a task", "action"))
    row = look_up(record.state, trigger)
    if row.verdict is Verdict.NEVER:
        raise _not_possible(constellation, task, row.reason)
    if row.verdict is Verdict.IGNORE:
        work.ignore(row.reason)
        return
    _TASK_ACTIONS[item.action](work, constellation, task, record, item)


def _hint(work: Work, constellation: Constellation, task: str, record: TaskRecord, words: str) -> None:
    """Send a person's words to the agent of others that carries out a task.

    Raises:
        Refusal: it has no words or too many, the caller is not a person, or no such agent works on the task now.
    """
    if not may_decide(work.by):
        # Its words reach the agent as those of a person.
        raise Refusal(fault(Code.FORBIDDEN, f"only a person gives a hint, not {work.by}"))
    hint = words.strip()
    if not hint or len(hint) > asking.HINT_CHARS_MOST:
        raise Refusal(fault(Code.BAD_REQUEST, f"a hint has 1 to {asking.HINT_CHARS_MOST} characters", "reason"))
    tool = constellation.specs[task].tool or ""
    if not tool.startswith(_AGENTS):
        reason = f"{task} is not the work of an agent of others or a goal: nobody would read the hint"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    if record.state is not TaskState.RUNNING:
        reason = f"{task} is {record.state}, and a hint is for an agent that works"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    work.emit(constellation, EventKind.TASK_HINTED, task, [], note=hint)
    attempt = constellation.attempt(task, record.attempt)
    at = constellation.lease_ref(task, record.attempt, attempt)
    work.order(SendHint(after=DURABLE, at=at, by=work.by, device=attempt.device, number=constellation.seq, text=hint))


def _retry(work: Work, constellation: Constellation, task: str, record: TaskRecord, item: ControlRequested) -> None:
    if record.state is not TaskState.UNKNOWN:
        open_round(work, constellation, [task], item)
        return
    attempt = constellation.attempt(task, record.attempt)
    _need_confirm(work, constellation, [task], item)
    closed = replace(attempt, end=AttemptEnd.REVOKED, ended_ms=work.at_ms)
    ready = moved(work, record, TaskState.READY, started=0, confirmed=True)
    change_task(
        work,
        constellation,
        task,
        EventKind.TASK_RETRIED,
        ready,
        ("attempt", f"{task}/{record.attempt}", closed),
        note=item.reason,
    )
    _clear_unknown(work, constellation)


def _clear_unknown(work: Work, constellation: Constellation) -> None:
    if not constellation.unknown:
        unattend(work, constellation, Attention.TASK_UNKNOWN)


def _skip(work: Work, constellation: Constellation, task: str, record: TaskRecord, item: ControlRequested) -> None:
    check_ender(constellation, task, author=work.by, owner=item.scope == Role.OWNER)
    if record.state is TaskState.FAILED:
        # The work continues without it: what its failure ended is decided again.
        _mark(work, constellation, task, record, replace(item, action="mark", state=str(TaskState.SKIPPED)))
        return
    skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.SKIPPED_BY_PERSON, cause="not_chosen")
    close_question(work, constellation, task)
    change_task(work, constellation, task, EventKind.TASK_SKIPPED, skipped, note=item.reason)


def _mark(work: Work, constellation: Constellation, task: str, record: TaskRecord, item: ControlRequested) -> None:
    check_ender(constellation, task, author=work.by, owner=item.scope == Role.OWNER)
    state = {"succeeded": TaskState.SUCCEEDED, "failed": TaskState.FAILED, "skipped": TaskState.SKIPPED}.get(item.state)
    if state is None:
        raise Refusal(
            fault(Code.BAD_REQUEST, f"a task can be marked succeeded, failed or skipped, not {item.state}", "state")
        )
    value = _result_of_mark(work, constellation, task, item)
    if record.state is not TaskState.UNKNOWN:
        open_round(work, constellation, [task], item)
        record = constellation.tasks[task]
    also = []
    attempt = constellation.last_attempt(task)
    if attempt is not None and attempt.end is None:
        # The answer quotes the person's words as the reason of the end.
        detail = _word_of(work, item) if state is TaskState.FAILED else item.reason or attempt.detail
        closed_attempt: Attempt = replace(attempt, detail=detail, end=AttemptEnd.REVOKED, ended_ms=work.at_ms)
        also.append(("attempt", f"{task}/{record.attempt}", closed_attempt))
    marked = moved(
        work,
        record,
        state,
        reason=Reason.MARKED if state is not TaskState.SKIPPED else Reason.SKIPPED_BY_PERSON,
        cause="not_chosen" if state is TaskState.SKIPPED else None,
        marked=value if state is TaskState.SUCCEEDED else None,
        checked=False,
        code=Code.MARKED_FAILED if state is TaskState.FAILED else None,
    )
    change_task(work, constellation, task, EventKind.TASK_MARKED, marked, *also, note=item.reason)
    work.fire_rules(constellation, task, state.value)
    _clear_unknown(work, constellation)


def _result_of_mark(work: Work, constellation: Constellation, task: str, item: ControlRequested) -> str:
    """Return the result that a mark gives a task: for one that a person decides, in the form of a person's answer.

    Raises:
        Refusal: it is not a value, or not one of those between which the task chooses.
    """
    value = item.value if item.value is not None else "null"
    try:
        answer = parse(value)
    except ValueError as error:
        raise Refusal(fault(Code.BAD_REQUEST, str(error), "value")) from error
    spec = constellation.specs[task]
    if spec.person is None or item.state != TaskState.SUCCEEDED:
        return value
    choice_value = answer.get("value") if isinstance(answer, dict) else answer
    names = [choice.value for choice in spec.choices if not choice.fails]
    if spec.judge is not None:
        names = branches(constellation, spec)
    if choice_value not in names:
        reason = f"{task} chooses between {listed(names)}" if names else f"{task} has no result to choose"
        hint = f"Mark it with the value {canonical(names[0])}, or as failed." if names else "Mark it as failed."
        raise Refusal(fault(Code.BAD_REQUEST, f"{reason}; {canonical(choice_value)} is not one of them", "value", hint))
    return canonical({"by": work.by, "text": item.reason, "value": choice_value})


def says_all(record: TaskRecord, attempt: Attempt | None) -> bool:
    """Tell whether the detail of an attempt explains a failure alone, so that the title of its code adds nothing.

    It has the words of the person who marked a task in doubt as failed, or those of a device or program about its end.
    """
    if attempt is None:
        return False
    of_program = record.code is Code.EXIT_CODE and attempt.detail.startswith("the program ended with ")
    of_person = record.code is Code.MARKED_FAILED and attempt.end is AttemptEnd.REVOKED
    return record.code is Code.TOOL_UNAVAILABLE or of_program or of_person


def _word_of(work: Work, item: ControlRequested) -> str:
    return f"{name_of(work.by)} says that it did not happen{f': {item.reason}' if item.reason else ''}"


def _cancel_task(
    work: Work, constellation: Constellation, task: str, _record: TaskRecord, item: ControlRequested
) -> None:
    ask_to_stop(work, constellation, task, item.reason or "cancelled")


def _hold(work: Work, constellation: Constellation, task: str, record: TaskRecord, item: ControlRequested) -> None:
    reason = Reason.HELD if record.state is TaskState.READY and record.reason is None else record.reason
    change_task(
        work, constellation, task, EventKind.TASK_HELD, replace(record, held=True, reason=reason), note=item.reason
    )


def _release(work: Work, constellation: Constellation, task: str, record: TaskRecord, item: ControlRequested) -> None:
    reason = None if record.reason is Reason.HELD else record.reason
    released = replace(record, held=False, reason=reason)
    if record.reason is Reason.HELD and work.shard.settings.restarts_waits:
        # Its wait begins now, as after a pause.
        released = replace(released, since_ms=work.at_ms)
    change_task(work, constellation, task, EventKind.TASK_RELEASED, released, note=item.reason)


_TASK_ACTIONS: dict[str, Callable[[Work, Constellation, str, TaskRecord, ControlRequested], None]] = {
    "retry": _retry,
    "skip": _skip,
    "mark": _mark,
    "cancel": _cancel_task,
    "hold": _hold,
    "release": _release,
}


# Of a group: of its children.


def _on_group(work: Work, constellation: Constellation, item: ControlRequested, group: str) -> None:
    if constellation.specs[group].goal is not None:
        _on_goal(work, constellation, item, group)
        return
    children = constellation.leaves(group)
    if item.action in ("retry", "retry_from"):
        _refuse_shut(constellation, group)
        starts = _failed_children(constellation, group)
        if item.action == "retry_from":
            starts = [child for child in children if is_over(constellation, child)]
        if not starts and constellation.groups[group].code is Code.CONDITION_UNMET:
            # All its turns succeeded and did not meet the condition: the last one is run again.
            starts = turns_of(constellation, group)[-1:]
        if not starts and constellation.groups[group].state not in FINAL_GROUP_STATES:
            raise Refusal(fault(Code.ILLEGAL_CONTROL, f"no child of {group} has ended without success"))
        open_round(work, constellation, starts or [group], item)
        return
    trigger = _TRIGGERS.get(item.action)
    if trigger is None:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.action} is not a control of a group", "action"))
    if item.action == "mark":
        children = [child for child in children if child in constellation.unknown]
        if not children:
            why = f"a group is marked for its calls that may have happened, and {group} has none"
            raise Refusal(fault(Code.BAD_REQUEST, why, "action", "Mark its tasks, one by one."))
    any_changed = False
    for child in children:
        record = constellation.tasks[child]
        if look_up(record.state, trigger).verdict is Verdict.ACT:
            _TASK_ACTIONS[item.action](work, constellation, child, record, item)
            any_changed = True
    for name in (group, *constellation.contents_of(group)) if item.action in ("skip", "cancel") else ():
        group_record = constellation.groups.get(name)
        if group_record is None or group_record.state is not GroupState.WAITING:
            continue
        if item.action == "skip":
            check_ender(constellation, name, author=work.by, owner=item.scope == Role.OWNER)
        state = GroupState.SKIPPED if item.action == "skip" else GroupState.CANCELLED
        reason = Reason.SKIPPED_BY_PERSON if item.action == "skip" else None
        ended = replace(group_record, state=state, reason=reason, cause="not_chosen", since_ms=work.at_ms)
        work.emit(constellation, EventKind(f"group_{state}"), name, [("group", name, ended)], note=item.reason)
        any_changed = True
    if not any_changed:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"no child of {group} is in a state where {item.action} is possible"))


def _on_goal(work: Work, constellation: Constellation, item: ControlRequested, group: str) -> None:
    """Carry out a control of a goal: it is steered as a whole, and its steps are those of its model."""
    if item.action == "hint":
        asking.hint(work, constellation, group, item.reason)
    elif item.action in ("retry", "retry_from"):
        if constellation.groups[group].state not in FINAL_GROUP_STATES:
            raise Refusal(fault(Code.ILLEGAL_CONTROL, f"the goal {group} is carried out now", "", "Give it a hint."))
        open_round(work, constellation, [group], item)
    elif item.action in ("skip", "cancel"):
        state = GroupState.SKIPPED if item.action == "skip" else GroupState.CANCELLED
        if not conversation.stop(work, constellation, group, state, item.reason):
            raise Refusal(fault(Code.ILLEGAL_CONTROL, f"the goal {group} is {constellation.groups[group].state}"))
    else:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.action} is not a control of a goal", "action"))


def open_round(work: Work, constellation: Constellation, starts: list[str], item: ControlRequested) -> None:
    """Open a new round of `starts` and of every final task downstream of them, in an active constellation.

    Raises:
        Refusal: `illegal_control` after a cancel, `downstream_started`, `needs_confirm`, `forbidden` for an undo.
    """
    head = constellation.head
    if _is_closed(constellation):
        approval_words = ", and nobody has approved its plan" if is_unapproved(constellation) else ""
        reason = f"the constellation is {head.state}{approval_words}"
        fork = f"starloom fork {constellation.name}" + (f" --task {starts[0]}" if starts else "")
        way = f"Start a new one from there, which keeps the results before it: {fork}"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason, "", way))
    reopened, undecided = tasks_of_new_round(constellation, starts)
    busy = [task for task in (*reopened, *undecided) if _under_way(constellation, task, starts)]
    busy += [name for task, name in _being_undone(constellation) if task in reopened or task in undecided]
    if busy:
        raise Refusal(fault(Code.DOWNSTREAM_STARTED, f"under way: {', '.join(busy)}"))
    reopened_tasks = [
        task
        for task in reopened
        if task in constellation.tasks and constellation.tasks[task].state in FINAL_TASK_STATES
    ]
    check_undo_again(constellation, reopened_tasks, work.by, approves=item.approves)
    # A marked task does not run, only its dependents do.
    runs = [task for task in reopened_tasks if item.action != "mark" or task not in starts]
    _need_confirm(work, constellation, [*runs, *(task for task in undecided if is_over(constellation, task))], item)
    confirmed = dict.fromkeys(item.confirm)
    for task in reopened_tasks:
        record = constellation.tasks[task]
        fresh = task_in_next_round(record, work.at_ms, confirmed=task in confirmed)
        change_task(work, constellation, task, EventKind.ROUND_OPENED, fresh, note=item.reason)
    for task in undecided:
        if task in confirmed and is_over(constellation, task):
            # Its family's new list decides whether it runs again; the person's confirmation is kept until then.
            allowed = replace(constellation.tasks[task], confirmed=True)
            change_task(work, constellation, task, EventKind.TASK_CONFIRMED, allowed, note=item.reason)
    for group in reopened:
        group_record = constellation.groups.get(group)
        if group_record is None or group_record.state not in FINAL_GROUP_STATES:
            continue
        opened = group_in_next_round(group_record, work.at_ms, expanded=bool(constellation.children.get(group)))
        work.emit(constellation, EventKind.ROUND_OPENED, group, [("group", group, opened)], note=item.reason)
    if head.state in FINAL_CONSTELLATION_STATES:
        # A plan that waits for its approval, or is paused, keeps its state; the maker of a new fork starts it.
        activate(work, constellation, EventKind.REOPENED, item.reason)


def _is_closed(constellation: Constellation) -> bool:
    """Whether a constellation was cancelled as a whole, or ended unapproved: it is started again as a new one."""
    head = constellation.head
    if head.state not in FINAL_CONSTELLATION_STATES:
        return head.state is _STATE.CANCELLING
    return (head.state is _STATE.CANCELLED and head.cancelled_by is not None) or is_unapproved(constellation)


def _under_way(constellation: Constellation, task: str, starts: list[str]) -> bool:
    record = constellation.tasks.get(task)
    return record is not None and task not in starts and record.state in STARTED_TASK_STATES


def _being_undone(constellation: Constellation) -> Iterator[tuple[str, str]]:
    """Yield each task that is being undone, with the task that does it, which would take a new round back as well."""
    for name, spec in constellation.specs.items():
        if spec.undoes is not None and not is_over(constellation, name):
            yield spec.undoes, name


def may_have_run(attempt: Attempt) -> bool:
    """Tell whether an attempt may have had an effect that must not be repeated.

    The end by a stop alone proves that nothing has happened: a failure is a statement of the tool, also where it was
    reported while a stop was under way.
    """
    if attempt.repeatability in REPEATABLE or attempt.end in (AttemptEnd.NEVER_STARTED, AttemptEnd.REFUSED):
        return False
    was_stopped = attempt.end is AttemptEnd.TIMEOUT or (attempt.end is AttemptEnd.REVOKED and attempt.code is None)
    return not was_stopped or attempt.effect is not EffectSeen.NONE


def confirmed_by_retry(constellation: Constellation, task: str) -> list[str]:
    """Return the tasks that a person has to confirm to retry this one: they may have run, and would run again."""
    if constellation.tasks[task].state is TaskState.UNKNOWN:
        return _with_lasting_effect(constellation, [task])
    reopened, undecided = tasks_of_new_round(constellation, [task])
    tasks = (name for name in (*reopened, *undecided) if name in constellation.tasks and is_over(constellation, name))
    return _with_lasting_effect(constellation, tasks)


def _with_lasting_effect(constellation: Constellation, tasks: Iterable[str]) -> list[str]:
    """Return those of the tasks that may have had an effect which must not be repeated."""
    names = []
    for task in tasks:
        record = constellation.tasks[task]
        # Attempts of any round: work that was marked or skipped since may still have begun.
        attempts = (constellation.attempts.get(f"{task}/{number}") for number in range(record.attempt, 0, -1))
        if any(attempt is not None and may_have_run(attempt) for attempt in attempts):
            names.append(task)
    return names


def _need_confirm(work: Work, constellation: Constellation, tasks: list[str], item: ControlRequested) -> None:
    tasks_to_confirm = _with_lasting_effect(constellation, (task for task in tasks if task not in item.confirm))
    if tasks_to_confirm:
        raise repeats(tasks_to_confirm)
    if item.confirm and not may_decide(work.by):
        raise Refusal(fault(Code.NEEDS_CONFIRM, "only a person can confirm work that may not be repeated", "confirm"))
