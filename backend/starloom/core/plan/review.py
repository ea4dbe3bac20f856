"""The review hold: a reviewer considers a task's end before its direct dependents start.

A review opens in the step that ends the task, holds by an entry in each dependent's own record, and always closes: by
the reviewer's edit or "no change", by time, or earlier if no worker claims it. The time follows the limits of the
endpoint that its worker asks. An edit of the reviewer stays within the approved plan (`edit_scope`). Failures of one
cause (`cause_of`) are reviewed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.plan.batches.batch import started
from starloom.core.plan.edits import apply_edit
from starloom.core.rights.authorship import check_edit
from starloom.core.rights.edit_scope import needs_a_person, wider_than_approved
from starloom.core.state.inputs import ReviewProposed, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import COMMIT, ArmTimer, StartJob
from starloom.core.state.tasks.named_times import has_moment
from starloom.core.state.tasks.roles import is_of_goal
from starloom.core.state.work import Put, Refusal, Work, attend, check_claim, fault, named_job
from starloom_protocol.records.edits import SetPolicy
from starloom_protocol.records.entities import Attempt, GroupRecord, Job, TaskRecord, Verdict
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    Attention,
    Code,
    ConstellationState,
    GroupState,
    Reason,
    TaskState,
)

KIND = "review"
HOLD_MS = 30_000
"""The shortest hold of a review, and its wait for another worker where the one that had it is silent."""
HOLD_MOST_MS = 600_000
"""The longest hold, whatever the limits of an endpoint: longer than this, a person would rather decide alone."""
LOOKS_MS = 30_000
"""The longest round of looks. Another hold follows each, so a review with three rounds holds four times."""
UNCLAIMED_MS = 3_000
HOLDS_IN_A_ROW = 2
REVIEWS_MOST = 20
ITEMS_NAMED_MOST = 50
"""The most tasks that a review names; a group of thousands that fail alike would make each event as long as it is."""
OVER, UNCLAIMED = "review_over", "review_unclaimed"
LOOKING = "looking"
TIMERS = frozenset({OVER, UNCLAIMED})
WANTED: Final = {"on_failure": ("failed",), "always": ("failed", "succeeded")}
"""The ends of tasks that are reviewed, by the policy of the plan; any other policy wants no review."""
_ENDED = FINAL_TASK_STATES | FINAL_GROUP_STATES
_STATE = ConstellationState


def open_jobs(constellation: Constellation) -> Iterator[Job]:
    """Yield the open reviews, in order."""
    for job in constellation.jobs.values():
        if job.kind == KIND and job.state != "done":
            yield job


def is_looking(job: Job) -> bool:
    """Tell whether a review waits for its looks; no worker can claim it meanwhile."""
    return job.kind == KIND and job.state == LOOKING


def is_held(record: TaskRecord | GroupRecord) -> bool:
    """Tell whether a task or group is held for a review."""
    return record.review is not None


def begin(work: Work, constellation: Constellation, task: str, event: str) -> None:
    """Open the review of an ended task, or add the task to an open one, if the policy wants its end reviewed.

    The policy is one of `WANTED`. Like failures of the items of a group are one review, even if some come after a
    worker has claimed it.
    """
    if event not in WANTED[constellation.head.policy.review] or task not in constellation.tasks:
        return
    if constellation.specs[task].look or is_of_goal(constellation, task):
        # Its end is shown to the model in any case: the one that looked by it, or whose step it is.
        return
    _open(work, constellation, task, _failure_group(constellation, task) if event == "failed" else None)


def at_points(work: Work, name: str) -> None:
    """Open the review of each task of `review_at` that has ended and is not reviewed in this round."""
    constellation = work.shard.constellations[name]
    for point in constellation.head.policy.review_at:
        record = constellation.tasks.get(point) or constellation.groups.get(point)
        if record is not None and record.state in _ENDED:
            _open(work, constellation, point, None)


def of_the_whole(
    work: Work, constellation: Constellation, results_key: str, verdict: Verdict, results: list[str]
) -> bool:
    """Open the review of an answer that its judge refused, once for each verdict; tell whether it was opened.

    It is about the tasks of the answer (`results`). `results_key` names the state of all results that the verdict is
    about (`judgement.py`). Only the end of the constellation waits for this review; after a change the judge is asked
    again.
    """
    reviews = [job for job in constellation.jobs.values() if job.kind == KIND]
    if constellation.head.policy.review not in WANTED or constellation.head.state is not _STATE.ACTIVE:
        return False
    if len(reviews) >= REVIEWS_MOST or any(results_key in job.tasks for job in reviews):
        return False
    ended = [f"{name}/{constellation.record(name).round}" for name in results[:ITEMS_NAMED_MOST]]
    job = Job(id=f"review-{len(reviews) + 1}", kind=KIND, opened_ms=work.at_ms, tasks=[results_key, *ended])
    note = f"its judge says no: {verdict.because}"
    work.emit(constellation, EventKind.REVIEW_OPENED, "", [("job", job.id, job)], note=note, by=ENGINE)
    work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=KIND))
    for timer in timers(constellation, job):
        work.order(timer)
    return True


def _open(work: Work, constellation: Constellation, task: str, shared_cause: str | None) -> None:
    if constellation.head.state not in (_STATE.ACTIVE, _STATE.PAUSED):
        return
    reviews = [job for job in constellation.jobs.values() if job.kind == KIND]
    round_now = f"{task}/{constellation.record(task).round}"
    if any(round_now in job.tasks for job in reviews):
        return
    same_cause = next((job for job in reviews if shared_cause is not None and shared_cause in job.causes), None)
    if same_cause is not None and (same_cause.state == "done" or len(same_cause.tasks) >= ITEMS_NAMED_MOST):
        return
    open_job = same_cause or next((job for job in open_jobs(constellation) if _is_new(job)), None)
    if open_job is None and len(reviews) >= REVIEWS_MOST:
        return
    job = open_job or Job(id=f"review-{len(reviews) + 1}", kind=KIND, opened_ms=work.at_ms)
    causes = job.causes if shared_cause is None or shared_cause in job.causes else [*job.causes, shared_cause]
    job = replace(job, causes=causes, tasks=[*job.tasks, round_now])
    puts: list[Put] = [("job", job.id, job), *_holding_puts(constellation, task, job.id)]
    work.emit(constellation, EventKind.REVIEW_OPENED, task, puts, note=shared_cause or "", by=ENGINE)
    if open_job is None:
        work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=KIND))
        for timer in timers(constellation, job):
            work.order(timer)


def _failure_group(constellation: Constellation, task: str) -> str | None:
    """Return the name that like failures of items share, to be one review: their group, its round and the cause."""
    spec = constellation.specs[task]
    if spec.key is None or spec.group is None:
        return None
    cause = cause_of(constellation.tasks[task], constellation.last_attempt(task))
    return f"{spec.group}/{constellation.groups[spec.group].round} {cause}"


def _holding_puts(constellation: Constellation, task: str, job: str) -> Iterator[Put]:
    """Yield the records, held for a review, of the tasks and groups that wait for a task, or for a group around it.

    Those that have started are not held.
    """
    ended = [task]
    while (outer := constellation.specs[ended[-1]].group) is not None:
        ended.append(outer)
    targets = (edge.target for source in ended for edge in constellation.outgoing.get(source, {}).values())
    for target in dict.fromkeys(targets):
        record = constellation.tasks.get(target)
        if record is None:
            group = constellation.groups[target]
            if group.state is GroupState.WAITING and group.review is None and group.reviews < HOLDS_IN_A_ROW:
                yield "group", target, replace(group, review=job, reviews=group.reviews + 1)
        elif record.review is None and record.reviews < HOLDS_IN_A_ROW and not started(constellation, target):
            reason = Reason.REVIEW if record.state is TaskState.READY and record.reason is None else record.reason
            yield "task", target, replace(record, review=job, reviews=record.reviews + 1, reason=reason)


def _is_new(job: Job) -> bool:
    """Tell whether no model was asked yet in a review, so that another end can join it."""
    return job.claimed_by is None and not job.looks


def timers(constellation: Constellation, job: Job) -> Iterator[ArmTimer]:
    """Yield the timers that close an open review: from its beginning, or from its newest round of looks."""
    waits: dict[str, int] = {OVER: end_ms(job)}
    if not is_looking(job) and job.claimed_by is None:
        waits[UNCLAIMED] = (job.resumed_ms or job.opened_ms) + UNCLAIMED_MS
    for kind, due_ms in waits.items():
        yield ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=job.id, kind=kind)


def end_ms(job: Job) -> int:
    """Return when a review ends at the latest; a prolonged one ends earlier once no worker renews its claim."""
    if is_looking(job):
        return job.looks[-1].at_ms + LOOKS_MS + HOLD_MS
    began_ms = job.resumed_ms or job.opened_ms
    return min(began_ms + max(job.hold_ms, HOLD_MS), max(began_ms, job.expires_ms) + HOLD_MS)


def latest_end_ms(job: Job) -> int:
    """Return when a review ends at the latest while its worker renews its claim."""
    if is_looking(job) or job.claimed_by is None:
        return end_ms(job)
    return (job.resumed_ms or job.opened_ms) + max(job.hold_ms, HOLD_MS)


def prolong(work: Work, constellation: Constellation, job: Job, takes_ms: int) -> None:
    """Hold the tasks that wait for a claimed review as long as its model may take, within the longest hold."""
    hold_ms = min(takes_ms, HOLD_MOST_MS)
    if job.kind != KIND or hold_ms <= max(job.hold_ms, HOLD_MS):
        return
    note = f"the reviewer's model may take {takes_ms // 1000} s, so tasks are held for up to {hold_ms // 1000} s"
    puts: list[Put] = [("job", job.id, replace(job, hold_ms=hold_ms))]
    work.emit(constellation, EventKind.REVIEW_PROLONGED, job.id, puts, note=note, by=ENGINE)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timers that close each open review, computed from state."""
    for job in open_jobs(constellation):
        yield from timers(constellation, job)


def on_timer(work: Work, item: TimerFired) -> None:
    """Close a review that was not claimed or not finished in time."""
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.entity) if constellation else None
    if constellation is None or job is None or job.state == "done":
        work.ignore("the review is closed")
    elif item.kind == UNCLAIMED and job.claimed_by is not None:
        work.ignore("the review is claimed")
    elif not any(timer.kind == item.kind and timer.due_ms <= work.at_ms for timer in timers(constellation, job)):
        work.ignore("the review was prolonged")
        for timer in timers(constellation, job):
            if job.hold_ms and timer.kind == item.kind:
                work.order(timer)
    else:
        note = "no worker took it" if item.kind == UNCLAIMED else "the reviewer took too long"
        close(work, constellation, job, note)


def on_proposed(work: Work, item: ReviewProposed) -> None:
    """Apply the reviewer's edit, if there is one, and close the review. A refused edit leaves it open for another one.

    Raises:
        Refusal: with every fault of the edit; `needs_approval` for one that goes beyond the approved plan.
    """
    constellation, job = named_job(work, item.constellation, item.job, KIND, called="review")
    if not is_open(work, constellation, job):
        work.ignore("the review is closed")
        work.answer({"accepted": False})
        return
    check_claim(job, item.worker)
    if item.wish:
        attend(work, constellation, Attention.REVIEW_WISHES, note=item.wish)
    if any(isinstance(operation, SetPolicy) for operation in item.operations):
        raise Refusal(fault(Code.NEEDS_APPROVAL, "a review may not change the policy of a plan", "operations"))
    if item.operations:
        before = dict(constellation.specs)
        dependencies = dict(constellation.deps)
        reason = item.reason or "the plan was reviewed"
        apply_edit(
            work,
            constellation,
            item.operations,
            author=MODEL,
            base_version=item.base_version,
            reason=reason,
            trigger=job.tasks[-1].rpartition("/")[0],
            proposed=True,
        )
        fleet = work.shard.fleet
        check_edit(fleet, constellation, before, dependencies, item.operations, author=MODEL, approves=True)
        binds = bool(work.shard.settings.binds_approvals)
        wider = wider_than_approved(fleet, constellation, before, dependencies, binds=binds)
        wider += needs_a_person(fleet, constellation, before, item.operations)
        if wider:
            raise Refusal(*(fault(Code.NEEDS_APPROVAL, reason, "operations") for reason in wider))
    close(work, constellation, job, "changed" if item.operations else item.reason or "no change")
    work.answer({"accepted": True})


def is_open(work: Work, constellation: Constellation, job: Job) -> bool:
    """Tell whether a review takes an answer now; not while it looks."""
    return job.state not in ("done", LOOKING) and constellation.name in work.shard.live


def may_propose(work: Work, constellation: Constellation, job: Job, item: ReviewProposed) -> bool:
    """Tell whether a review is open for this worker."""
    return job.kind == KIND and is_open(work, constellation, job) and job.claimed_by == item.worker


def close(work: Work, constellation: Constellation, job: Job, note: str) -> None:
    """Close a review and release all tasks and groups that it held; their gates decide again."""
    puts: list[Put] = [("job", job.id, replace(job, state="done"))]
    for task, record in constellation.tasks.items():
        if record.review == job.id:
            held_reason = Reason.HELD if record.held else None
            reason = held_reason if record.reason is Reason.REVIEW else record.reason
            released = replace(record, review=None, reason=reason)
            if record.reason is Reason.REVIEW and has_moment(constellation, task):
                # Its gates decide again, and its time with them.
                released = replace(released, state=TaskState.WAITING, reason=None)
            puts.append(("task", task, released))
    for name, group in constellation.groups.items():
        if group.review == job.id:
            puts.append(("group", name, replace(group, review=None)))
    work.emit(constellation, EventKind.REVIEW_CLOSED, job.id, puts, note=note, by=ENGINE)
    for _, key, _record in puts[1:]:
        work.shard.touched[(constellation.name, key)] = None
    # The outcome of the constellation waited for the review of the last result.
    work.shard.settled[constellation.name] = None


def abandon(work: Work, constellation: Constellation) -> None:
    """Close all reviews of a constellation that is stopped."""
    for job in list(open_jobs(constellation)):
        close(work, constellation, job, "the constellation was stopped")


CAUSE_CHARS_MAX: Final = 120
_LINE_CHARS_MAX: Final = 300
"""A line is examined to here, so that a long one of a device costs no more than a short one."""
_PATH: Final = re.compile(r"(?:[A-Za-z]:)?(?:[^\s'\"(),;:=/\\]*[/\\])+[^\s'\"(),;:=]*")
_FILE: Final = re.compile(r"\b[\w-]+\.[A-Za-z][A-Za-z0-9]{0,4}\b(?!\s*\()")
_HEX: Final = re.compile(r"\b(?:0x)?[0-9a-f]{8,}\b")
_NUMBER: Final = re.compile(r"\d+")


def cause_of(record: TaskRecord, attempt: Attempt | None) -> str:
    """Return the cause in one line: equal for two failures that differ in a path, a file, a number or an address."""
    code = record.code or (attempt.code if attempt is not None else None)
    line = _error_line(attempt.detail if attempt is not None else "")[:_LINE_CHARS_MAX].lower()
    for pattern, placeholder in ((_PATH, "<file>"), (_FILE, "<file>"), (_HEX, "<hex>"), (_NUMBER, "#")):
        line = pattern.sub(placeholder, line)
    line = " ".join(line.split())[:CAUSE_CHARS_MAX]
    return f"{code or 'failed'}: {line}" if line else str(code or "failed")


def _error_line(text: str) -> str:
    """Return the line that names the error: the last one of a traceback, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    is_traceback = "Traceback (" in text or any(line.startswith('File "') for line in lines)
    return lines[-1] if is_traceback else lines[0]
