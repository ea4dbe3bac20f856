"""Requests: a constellation from its request to version 1, with the claims of jobs and the questions to people.

Owns who may claim a job, what a planner's proposal becomes, and `person:` tasks. The content of an approval is
in `approvals`, looks and questions of planners are in `inquiries`.
"""

from __future__ import annotations

import dataclasses
from itertools import count

from msgspec.structs import replace

from starloom.core.people import answer_words, escalations, inquiries
from starloom.core.people.approvals import questions
from starloom.core.people.approvals.need import (
    approval_need,
    approved_puts,
    is_seen,
    plan_devices,
    plan_effects,
    wide_tasks,
)
from starloom.core.people.controls import cancel_tasks
from starloom.core.people.recipes.runs import version_now
from starloom.core.plan import review
from starloom.core.plan.goals import asking, conversation, tiers
from starloom.core.plan.starting import activate, install_plan
from starloom.core.rights.authorship import check_answerer, check_plan, check_questions, check_questions_of_model
from starloom.core.rights.consent import moved_names
from starloom.core.rights.reserved import KEPT_BY_ASSISTANT, check_devices, check_planned, words_by
from starloom.core.run import judgement, recovery
from starloom.core.state.inputs import FaultNoted, JobClaimed, PlanProposed, QuestionAnswered, RequestReceived
from starloom.core.state.model import Constellation
from starloom.core.state.orders import DURABLE, ArmTimer, StartJob
from starloom.core.state.tasks.shown import NothingToShow, files_words, shown_of
from starloom.core.state.work import (
    Refusal,
    Work,
    answer_put,
    attend,
    change_task,
    check_claim,
    fault,
    moved,
    named_constellation,
    named_job,
    unattend,
)
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, Head, Idempotency, Job, Question, TaskSpec
from starloom_protocol.stream.authors import ENGINE, MODEL, is_model, may_decide, name_of, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import listed
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    Attention,
    Code,
    ConstellationState,
    Reason,
    TaskState,
)

_STATE = ConstellationState
_PLAN_JOB = inquiries.PLAN_JOB
_PERSON = "person"


def on_request(work: Work, item: RequestReceived) -> None:
    """Accept a request once: its constellation, and a plan or a job to make one."""
    shard = work.shard
    if shard.access.right_was_taken_from(work.by):
        raise Refusal(fault(Code.FORBIDDEN, f"{name_of(work.by)} may no longer run work"))
    if item.idempotency is not None:
        key, body_hash = item.idempotency
        key_record = shard.access.idempotency.get(f"{item.caller}/{key}")
        if key_record is not None:
            if key_record.body_hash != body_hash:
                raise Refusal(fault(Code.IDEMPOTENCY_MISMATCH, f"the key {key} was used for another request"))
            _answer(work, shard.constellations[key_record.made])
            return
    _answer(work, open_request(work, item, author=work.by))


def open_request(work: Work, item: RequestReceived, *, author: str, schedule: str | None = None) -> Constellation:
    """Open the constellation of a request of `author`; `schedule` is the id of the schedule that fired it.

    Raises:
        Refusal: it exists, or its plan cannot be installed; nothing of it may be kept then.
    """
    shard = work.shard
    if item.constellation in shard.constellations:
        raise Refusal(fault(Code.CONFLICT, f"a constellation {item.constellation} exists"))
    constellation = shard.stream(item.constellation)
    assert isinstance(constellation, Constellation)  # noqa: S101 - its name is no stream of the fleet
    head = Head(
        approves=item.approves and not is_model(author),
        author=author,
        budget=item.budget,
        controls=item.controls and may_decide(author) and schedule is None,
        created_ms=work.at_ms,
        deadline_s=item.deadline_s,
        hold=item.hold,
        id=item.constellation,
        labels=dict(sorted(item.labels.items())),
        name=item.name,
        params=item.params,
        plan_hash=item.plan_hash,
        priority=item.priority,
        recipe=item.recipe,
        request=item.request,
        schedule=schedule,
        sharing=item.sharing,
        state=_STATE.PLANNING,
    )
    work.emit(constellation, EventKind.REQUEST_ACCEPTED, "", [("head", "", head)])
    if item.idempotency is not None:
        key, body_hash = item.idempotency
        entry = Idempotency(at_ms=work.at_ms, body_hash=body_hash, made=item.constellation)
        work.emit(shard.access, EventKind.KEY_USED, item.constellation, [("idem", f"{item.caller}/{key}", entry)])
    if item.plan is not None:
        check_plan(author, item.plan, approves=item.approves, controls=head.controls)
        check_questions(work.shard.access.principals, item.plan.specs)
        if is_model(author):
            check_devices(shard.fleet, item.plan)
        _install(work, constellation, item.plan, item.plan_hash, author=author, asked_in_words=False)
    else:
        job = Job(id="plan-1", kind=_PLAN_JOB, opened_ms=work.at_ms)
        work.emit(constellation, EventKind.JOB_OPENED, job.id, [("job", job.id, job)])
        work.order(StartJob(after=DURABLE, constellation=item.constellation, job=job.id, kind=_PLAN_JOB))
    if item.deadline_s:
        due = work.at_ms + item.deadline_s * 1000
        work.order(ArmTimer(constellation=item.constellation, due_ms=due, entity="", kind="deadline"))
    return constellation


def _answer(work: Work, constellation: Constellation) -> None:
    head = constellation.head
    work.answer({"id": head.id, "state": str(head.state), "version": head.version})


def _install(
    work: Work,
    constellation: Constellation,
    plan: LoweredPlan,
    approved_hash: str | None,
    *,
    author: str,
    asked_in_words: bool,
) -> None:
    by = constellation.head.author
    seen = is_seen(work, plan, approved_hash, by=by) if approved_hash is not None else None
    recipe = plan.recipe or constellation.head.recipe
    made_from = version_now(work.shard, recipe) if recipe is not None else 0
    install_plan(work, constellation, plan, author=author, trigger="request", recipe_version=made_from)
    ask_or_start(work, constellation, plan, seen=seen, words=asked_in_words)


def on_job_claimed(work: Work, item: JobClaimed) -> None:
    """Let a worker claim a job or renew its claim; one worker at a time, as long as it renews."""
    tiers.check(item.tiers)
    constellation, job = named_job(work, item.constellation, item.job)
    if job.state == "done":
        raise Refusal(fault(Code.CONFLICT, "the job is done"))
    if review.is_looking(job) or job.state in conversation.UNCLAIMABLE:
        raise Refusal(fault(Code.CONFLICT, f"the job is {job.state}: no model is asked now"))
    if constellation.head.state is _STATE.CANCELLED and job.kind != answer_words.KIND:
        # By this its worker learns of the cancel, and stops the call under way.
        raise Refusal(fault(Code.CONFLICT, "the request is cancelled: no model is asked now"))
    if job.kind == conversation.KIND and constellation.head.state is _STATE.PAUSED:
        raise Refusal(fault(Code.CONFLICT, "the constellation is paused"))
    if job.claimed_by not in (None, item.worker) and job.expires_ms > work.at_ms:
        raise Refusal(fault(Code.CONFLICT, f"the job is claimed by {job.claimed_by}"))
    renewed = job.claimed_by == item.worker
    if item.renews and not renewed:
        raise Refusal(fault(Code.CONFLICT, "the claim is over, and the job went on without its worker"))
    goal = conversation.GoalCase(work, constellation, job) if job.kind == conversation.KIND else None
    if goal is not None and not item.renews and asking.spent(goal):
        # A worker that begins the goal again asks its model again, whoever held the last claim.
        work.answer({"claimed": False})
        return
    if goal is not None and not renewed:
        job = tiers.at_claim(job, item.tiers)
    claimed = replace(
        job,
        state="claimed",
        claimed_by=item.worker,
        claims=job.claims + (0 if renewed else 1),
        expires_ms=work.at_ms + item.ttl_ms,
    )
    work.emit(
        constellation, EventKind.JOB_RENEWED if renewed else EventKind.JOB_CLAIMED, job.id, [("job", job.id, claimed)]
    )
    review.prolong(work, constellation, claimed, item.takes_ms)
    # A Redis that lost commits shows older records until it is rebuilt; the worker reads none from before its claim.
    work.answer({"claimed": True, "seq": constellation.seq})


def on_plan_proposed(work: Work, item: PlanProposed) -> None:
    """Take the planner's answer: a plan that becomes version 1, a question, words about looks, or why there is none.

    Raises:
        Refusal: no such job, a job of another worker, a plan that cannot be installed, or words that rest on no look.
    """
    constellation, job = named_job(work, item.constellation, item.job)
    if job.state == "done" or constellation.head.state is not _STATE.PLANNING:
        work.ignore("the job is done")
        work.answer({"accepted": False})
        return
    check_claim(job, item.worker)
    if item.words:
        answer_words.refuse_from_looks(constellation, item)
    done_job = replace(job, state="done", claimed_by=item.worker, fault=item.fault)
    work.emit(constellation, EventKind.JOB_DONE, job.id, [("job", job.id, done_job)])
    if item.words:
        answer_words.from_looks(work, constellation, item)
    elif item.withdrawn and item.plan is None and (question := inquiries.last_answered(constellation)) is not None:
        _withdraw(work, constellation, question)
    elif item.question and item.plan is None and inquiries.may_ask(constellation):
        inquiries.ask_person(work, constellation, item.question, item.choices, item.usual)
    elif item.plan is None and item.question:
        too_often = f"the model asks too often; its last question was: {item.question}"
        _planning_failed(work, constellation, fault(Code.MODEL_ANSWER, too_often))
    elif item.plan is None:
        missing = fault(Code.INTERNAL, "the planner gave neither a plan nor a reason")
        _planning_failed(work, constellation, item.fault or missing)
    else:
        head = constellation.head
        words = item.by_model or (bool(head.request) and head.recipe is None)
        author = MODEL if item.by_model else "planner"
        if item.by_model:
            check_plan(author, item.plan, approves=False, controls=head.controls)
            check_questions(work.shard.access.principals, item.plan.specs)
            check_questions_of_model(work.shard.fleet, constellation, item.plan)
        check_planned(work.shard.fleet, constellation, item.plan, by_model=item.by_model)
        try:
            _install(work, constellation, item.plan, head.plan_hash, author=author, asked_in_words=words)
        except Refusal as refusal:
            if refusal.faults[0].code is Code.PLAN_HASH_MISMATCH:
                _planning_failed(work, constellation, refusal.faults[0])
            else:
                raise
    work.answer({"accepted": True})


def _withdraw(work: Work, constellation: Constellation, question: Question) -> None:
    """End a request that a person took back in the answer to a question."""
    reason = f"withdrawn by the answer to \u201c{question.text}\u201d"
    cancelling = replace(constellation.head, state=_STATE.CANCELLING, cancelled_by=question.answered_by)
    work.emit(constellation, EventKind.CANCELLING, "", [("head", "", cancelling)], note=reason, by=MODEL)
    cancel_tasks(work, constellation, reason)


def _planning_failed(work: Work, constellation: Constellation, why: Fault) -> None:
    failed = replace(
        constellation.head,
        state=_STATE.FAILED,
        fault=why,
        ended_ms=work.at_ms,
        attention=[Attention.PLANNING_FAILED],
    )
    work.emit(constellation, EventKind.PLANNING_FAILED, "", [("head", "", failed)], note=why.reason)


def open_person_task(work: Work, constellation: Constellation, spec: TaskSpec) -> None:
    """Ask, durably, the question of a `person:` task whose gates are open; that of a vote goes to its judge first."""
    if spec.judge is not None:
        judgement.choose(work, constellation, spec)
        return
    record = constellation.tasks[spec.id]
    try:
        shown = shown_of(constellation, spec.shows) if spec.shows is not None else None
        files = files_words(constellation, spec.shows) if spec.shows is not None else ""
    except NothingToShow as error:
        failed = moved(work, record, TaskState.FAILED, code=error.code, checked=False)
        change_task(work, constellation, spec.id, EventKind.TASK_FAILED, failed, note=str(error), by=ENGINE)
        work.fire_rules(constellation, spec.id, "failed")
        return
    question_id = name = f"{spec.id}-{record.round}"
    for number in count(2):
        # An answer to what was asked or shown before does not count for what is asked now.
        if question_id not in constellation.questions:
            break
        question_id = f"{name}-{number}"
    question = Question(
        choices=spec.choices,
        id=question_id,
        kind=_PERSON,
        opened_ms=work.at_ms,
        shown=shown,
        task=spec.id,
        text=f"{spec.person or ''}{f' (for {listed(spec.ask)})' if spec.ask else ''}{files}",
        version=constellation.head.version,
    )
    ready = moved(work, record, TaskState.READY, reason=Reason.PERSON)
    also = ("question", question.id, question)
    change_task(work, constellation, spec.id, EventKind.QUESTION_ASKED, ready, also, by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN, note=question.text)


def on_answer(work: Work, item: QuestionAnswered) -> None:
    """Carry out a person's answer to a question, once."""
    constellation = work.shard.constellations.get(item.constellation)
    question = constellation.questions.get(item.question) if constellation else None
    if constellation is None or question is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no question {item.question}"))
    if not may_decide(work.by):
        raise Refusal(fault(Code.FORBIDDEN, f"only a person answers a question, not {work.by}"))
    if question.answer is not None:
        if (question.answer, who(question.answered_by or "")) != (item.value, who(work.by)):
            hint = "Nothing is left to decide; `starloom cancel` stops what was allowed."
            raise Refusal(fault(Code.CONFLICT, _how_answered(constellation, question), "", hint))
        # The same person repeats the answer, for example because the first reply was lost.
        work.answer({"answer": item.value})
        return
    if question.kind == inquiries.KIND:
        inquiries.on_answered(work, constellation, question, item)
    elif question.kind == escalations.KIND:
        escalations.decide(work, constellation, question, item)
    elif question.kind == recovery.QUESTION_KIND:
        recovery.decide_answer(work, constellation, question, item.value, item.reason)
    elif question.kind == judgement.KIND:
        judgement.decide(work, constellation, question, item.value, item.reason)
    elif question.kind == asking.KIND:
        asking.decide(work, constellation, question, item)
    elif question.kind == questions.KIND:
        questions.decide(work, constellation, question, item)
    else:
        _decide_person(work, constellation, question, item)
    if not constellation.open_questions:
        unattend(work, constellation, Attention.QUESTION_OPEN)
    work.answer({"answer": item.value})


def _how_answered(constellation: Constellation, question: Question) -> str:
    if question.answer:
        by = name_of(question.answered_by or "") or "the engine"
        return f"the question was answered by {by} with {question.answer}"
    why = question.reason or "nobody needs its answer any more"
    open_names = ", ".join(f"{constellation.name}:{key}" for key in constellation.open_questions)
    return f"the question is void: {why}{'; asked now: ' + open_names if open_names else ''}"


def _decide_person(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    task = question.task or ""
    record = constellation.tasks.get(task)
    if record is None or record.reason is not Reason.PERSON:
        raise Refusal(fault(Code.CONFLICT, f"{task} does not wait for an answer any more"))
    check_answerer(constellation.specs[task], work.by)
    choices = {choice.value: choice for choice in question.choices}
    choice = choices.get(item.value)
    if choice is None:
        names = ", ".join(choices)
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.value} is not one of the choices: {names}", "value"))
    also = answer_put(work, question, item.value, reason=item.reason)
    value = canonical({"by": work.by, "text": item.reason, "value": item.value})
    if choice.fails:
        failed = moved(work, record, TaskState.FAILED, code=Code.DECLINED, marked=value)
        change_task(work, constellation, task, EventKind.QUESTION_ANSWERED, failed, also, note=item.reason)
        work.fire_rules(constellation, task, "failed")
    else:
        done = moved(work, record, TaskState.SUCCEEDED, marked=value)
        change_task(work, constellation, task, EventKind.QUESTION_ANSWERED, done, also, note=item.reason)
        work.fire_rules(constellation, task, "succeeded")


def on_fault_noted(work: Work, item: FaultNoted) -> None:
    """Note a fault of the lab in a constellation that ran meanwhile, so that a reader of its log sees it."""
    constellation = named_constellation(work, item.constellation)
    work.emit(constellation, EventKind.FAULT_INJECTED, "", [("head", "", constellation.head)], note=item.note)
    work.answer({"seq": constellation.seq})


def ask_or_start(
    work: Work, constellation: Constellation, plan: LoweredPlan, *, seen: bool | None, words: bool
) -> None:
    """Ask a person about an installed plan, or start it. `seen`: a preview was approved, and shows the same devices."""
    fleet, head = work.shard.fleet, constellation.head
    schedule = fleet.schedules.get(head.schedule or "")
    # A firing is judged as strictly as its schedule was: its recipe, or the effects of a tool, may have changed since.
    strict = words or (schedule is not None and (schedule.strict or schedule.consent is not None))
    by = words_by(fleet, plan.recipe, head.author) if plan.recipe else head.author
    wide = wide_tasks(fleet, plan, by, approves=head.approves)
    verdict = approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=strict, hold=head.hold, by=by, wide=wide)
    effects = plan_effects(fleet, plan)
    wider = questions.beyond_consent(work, constellation, plan, effects) if verdict.asks and head.schedule else None
    moved = moved_names(schedule.devices, plan_devices(fleet, plan)) if schedule is not None else []
    if (seen and head.approves) or (not moved and (not verdict.asks or wider == [])):
        activate(work, constellation, EventKind.STARTED, "", *approved_puts(work, constellation, verdict))
        return
    wider = list(dict.fromkeys([*(wider or []), *moved]))
    if wider:
        # It is allowed for more than this once, whatever keeps single calls from being allowed for good.
        verdict = dataclasses.replace(verdict, once_because="")
    again = f" Its schedule asks because {'; '.join(wider)}. Allowing it allows its later firings too." if wider else ""
    again += questions.OTHER_DEVICES if seen is False else ""
    again += KEPT_BY_ASSISTANT if by != head.author else ""
    questions.ask(work, constellation, verdict, effects, action=plan.hash, note=again)
