"""Judgements: a model in the role of judge answers the plan's question about a result, after the checks by code.

Owns the job of a judgement, its time and its rounds, and the consequence of a verdict, for a task and for the whole
answer. A task that is judged has its result and is not done: it is ready with the reason `judge`. Only *yes* lets it
succeed, from its judge or from a person who is asked where the verdict is unclear. No verdict in time is unclear. *No*
fails the task as a failed check does; its attempt keeps its end and its value. A judge may also choose one result of a
vote: its *yes* cites that result and no other, *no* is none of them. The text of a judge is data: it decides nothing
but its verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.run import recovery
from starloom.core.state.inputs import TimerFired, VerdictGiven
from starloom.core.state.model import Constellation
from starloom.core.state.orders import COMMIT, ArmTimer, StartJob
from starloom.core.state.tasks.gates import successes
from starloom.core.state.tasks.roles import called
from starloom.core.state.tasks.shown import shown_beside
from starloom.core.state.work import (
    Case,
    Put,
    Refusal,
    Work,
    answer_put,
    attend,
    change_task,
    check_claim,
    close_question,
    fault,
    moved,
    named_job,
    present,
)
from starloom_protocol.records.entities import (
    Choice,
    Cite,
    Job,
    Judge,
    Question,
    TaskRecord,
    TaskSpec,
    Verdict,
)
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    Attention,
    Code,
    ConstellationState,
    Reason,
    TaskState,
)

KIND: Final = "judge"
TIMER: Final = "judge_over"
HOLD_MS: Final = 90_000
"""Long enough for a small model on a laptop to read one result, and for a second worker where the first was killed."""
ROUNDS_MOST: Final = 2
"""A result that its judge refused twice does not become right by a third attempt of the same work. A first no to the
whole answer may be reviewed; the second one is final."""
JUDGEMENTS_MOST: Final = 100
"""The most judgements of one constellation; each further result counts as unclear, so that a person sees it."""
BECAUSE_CHARS_MOST: Final = 500
CITES_MOST: Final = 40
YES, NO, UNCLEAR = "yes", "no", "unclear"
_WHOLE: Final = "whole "
_CHOICES: Final = (Choice(label="It holds", value=YES), Choice(fails=True, label="It does not hold", value=NO))
NONE: Final = "none"
"""The answer of a judge or a person that no result of a vote is taken; the id of a call is never this word."""


def _jobs(constellation: Constellation) -> list[Job]:
    return [job for job in constellation.jobs.values() if job.kind == KIND]


def open_jobs(constellation: Constellation) -> list[Job]:
    """Return the open judgements, in order."""
    return [job for job in _jobs(constellation) if job.state != "done"]


def ask(done: Case) -> None:
    """Ask the judge of a task whose result has passed its checks; the task waits for the verdict."""
    spec, record = done.spec, done.record
    waits = done.moved(TaskState.READY, reason=Reason.JUDGE, code=None, cause=None, checked=True, judged=0)
    job = _job(done.work, done.constellation, _judged_name(spec.id, record))
    note = spec.judge.question if spec.judge is not None else ""
    # With the attempt, so that a review, a rule and a person read the result like that of an ended task.
    done.emit(EventKind.JUDGE_ASKED, waits, ("job", job.id, job), note=note, by=ENGINE)
    _start(done.work, done.constellation, job)


def ask_about(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, *, note: str) -> None:
    """Ask the judge of a result that no device made, which its record has; the task waits for the verdict."""
    waits = moved(work, record, TaskState.READY, reason=Reason.JUDGE)
    job = _job(work, constellation, _judged_name(spec.id, record))
    change_task(work, constellation, spec.id, EventKind.JUDGE_ASKED, waits, ("job", job.id, job), note=note, by=ENGINE)
    _start(work, constellation, job)


def choose(work: Work, constellation: Constellation, spec: TaskSpec) -> None:
    """Ask the judge of a vote which result is taken; where no call gave one, the vote has no winner."""
    record = constellation.tasks[spec.id]
    # An edit may have had it wait once more, with its judge or a person asked already.
    for job in open_jobs(constellation):
        if job.tasks == [_judged_name(spec.id, record)]:
            close(work, constellation, job, "it is asked again")
    close_question(work, constellation, spec.id)
    if branches(constellation, spec):
        ask_about(work, constellation, spec, record, note=spec.person or "")
        return
    failed = moved(work, record, TaskState.FAILED, code=Code.NO_WINNER, checked=False)
    note = "no call of the vote gave a result"
    change_task(work, constellation, spec.id, EventKind.TASK_FAILED, failed, note=note, by=ENGINE)
    work.fire_rules(constellation, spec.id, "failed")


def branches(constellation: Constellation, spec: TaskSpec) -> list[str]:
    """Return the results between which a choice is made, in order; empty for a task that is no choice."""
    if spec.person is None or spec.judge is None or spec.shows is None:
        return []
    return successes(constellation, spec.shows.source)


def verdict_words(constellation: Constellation, task: str) -> str:
    """Return the newest verdict on a task in one sentence."""
    start = f"{task}/"
    judged = [job for job in _jobs(constellation) if job.tasks[0].startswith(start) and job.verdict is not None]
    verdict = judged[-1].verdict if judged else None
    return words(constellation.specs[task].judge, verdict) if verdict is not None else "it was not judged"


def _job(work: Work, constellation: Constellation, judged: str) -> Job:
    return Job(id=f"{KIND}-{len(_jobs(constellation)) + 1}", kind=KIND, opened_ms=work.at_ms, tasks=[judged])


def _start(work: Work, constellation: Constellation, job: Job) -> None:
    """Wake a worker, or decide without one where the judge was asked often enough."""
    if len(_jobs(constellation)) > JUDGEMENTS_MOST or _rounds(constellation, job) > ROUNDS_MOST:
        because = "its judge was asked as often as a plan may"
        _take(work, constellation, job, Verdict(because=because, by=ENGINE, holds=UNCLEAR))
        return
    work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=KIND))
    work.order(_timer(constellation, job))


def _rounds(constellation: Constellation, job: Job) -> int:
    """Return how often this round of a task, or the whole answer, was judged, with this judgement."""
    (judged,) = job.tasks
    if judged.startswith(_WHOLE):
        return sum(other.tasks[0].startswith(_WHOLE) for other in _jobs(constellation))
    start = f"{judged.rpartition('/')[0]}/"
    return sum(other.tasks[0].startswith(start) for other in _jobs(constellation))


def _timer(constellation: Constellation, job: Job) -> ArmTimer:
    return ArmTimer(constellation=constellation.name, due_ms=job.opened_ms + HOLD_MS, entity=job.id, kind=TIMER)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timers that end each open judgement, computed from state."""
    for job in open_jobs(constellation):
        yield _timer(constellation, job)


def on_timer(work: Work, item: TimerFired) -> None:
    """End a judgement that has no verdict in its time, as unclear."""
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.entity) if constellation else None
    if constellation is None or job is None or job.state == "done":
        work.ignore("the judgement is over")
        return
    late = "no worker took it" if job.claimed_by is None else "the judge took too long"
    _take(work, constellation, job, Verdict(because=late, by=ENGINE, holds=UNCLEAR))


def on_given(work: Work, item: VerdictGiven) -> None:
    """Take the verdict of a judge, or the reason why there is none.

    Raises:
        Refusal: there is no such judgement, another worker has it, or the verdict has not the form of one.
    """
    constellation, job = named_job(work, item.constellation, item.job, KIND, called="judgement")
    if job.state == "done" or constellation.name not in work.shard.live:
        work.ignore("the judgement is over")
        work.answer({"accepted": False})
        return
    check_claim(job, item.worker)
    if item.holds not in (YES, NO, UNCLEAR, ""):
        raise Refusal(fault(Code.BAD_REQUEST, f"a verdict is yes, no or unclear, not {item.holds[:40]}", "holds"))
    if len(item.because) > BECAUSE_CHARS_MOST or len(item.cites) > CITES_MOST:
        raise Refusal(fault(Code.TOO_LARGE, f"a verdict has at most {BECAUSE_CHARS_MOST} characters", "because"))
    for at, cite in enumerate(item.cites):
        if cite.task not in constellation.tasks:
            raise Refusal(fault(Code.NOT_FOUND, f"there is no task {cite.task[:80]}", f"cites[{at}]"))
    if item.holds == YES and not item.cites:
        raise Refusal(fault(Code.MODEL_ANSWER, "a yes cites the result that it rests on", "cites"))
    choice = constellation.specs.get(_waiting(constellation, job) or "")
    if item.holds == YES and choice is not None and choice.person is not None:
        results = branches(constellation, choice)
        if len(item.cites) != 1 or item.cites[0].task not in results:
            raise Refusal(fault(Code.MODEL_ANSWER, f"a choice is one of {', '.join(results)}, or none", "cites"))
    by = MODEL if item.holds else ENGINE
    verdict = Verdict(because=item.because, by=by, cites=item.cites, holds=item.holds or UNCLEAR)
    _take(work, constellation, job, verdict)
    work.answer({"accepted": True})


def _take(work: Work, constellation: Constellation, job: Job, verdict: Verdict) -> None:
    """Close a judgement with its verdict, and let it have its consequence if its result still waits."""
    task = _waiting(constellation, job)
    put: Put = ("job", job.id, replace(job, state="done", verdict=verdict))
    note = f"{verdict.holds}: {verdict.because}"
    work.emit(constellation, EventKind.JUDGED, task or "", [put], note=note, by=verdict.by)
    if task is None:
        return
    judge = constellation.specs[task].judge if task else constellation.head.policy.judge
    if verdict.holds == UNCLEAR and judge is not None and judge.unclear == "ask":
        _ask_person(work, constellation, constellation.jobs[job.id], task, judge)
    elif task:
        _apply(work, constellation, task, verdict)
    work.shard.settled[constellation.name] = None


def _judged_name(task: str, record: TaskRecord) -> str:
    """Return the name by which the job of a judgement has the result of a task: its round and attempt, too."""
    return f"{task}/{record.round}/{record.attempt}"


def judged_task(judged: str) -> str:
    """Return the task in the name of a judged result; that of the whole answer gives a name that no task has."""
    return judged.rpartition("/")[0].rpartition("/")[0]


def _waiting(constellation: Constellation, job: Job) -> str | None:
    """Return the task whose result waits for this judgement, "" for the whole answer, None if nothing waits for it."""
    (judged,) = job.tasks
    if judged.startswith(_WHOLE):
        return "" if judged == _results_key(constellation) else None
    task = judged_task(judged)
    record = constellation.tasks.get(task)
    if record is None or record.state is not TaskState.READY or record.reason not in (Reason.JUDGE, Reason.PERSON):
        return None
    return task if judged == _judged_name(task, record) else None


def _apply(work: Work, constellation: Constellation, task: str, verdict: Verdict) -> None:
    """Let a task succeed by a yes, or fail its check by anything else."""
    spec, record = constellation.specs[task], constellation.tasks[task]
    if spec.person is not None:
        _end_choice(work, constellation, spec, record, verdict)
        return
    if verdict.holds == YES:
        done = moved(work, record, TaskState.SUCCEEDED, judged=record.attempt)
        change_task(work, constellation, task, EventKind.TASK_SUCCEEDED, done, by=verdict.by)
        work.fire_rules(constellation, task, "succeeded")
        return
    if spec.tool is None:
        # The answer of a goal: no device made it, and its goal decides how it continues.
        failed = moved(work, record, TaskState.FAILED, code=Code.CHECK_FAILED)
        note = words(spec.judge, verdict)[:2000]
        change_task(work, constellation, task, EventKind.TASK_FAILED, failed, note=note, by=verdict.by)
        return
    # The attempt keeps its end: its device ended it well, and an attempt has one end.
    refused = present(work, constellation, task).with_attempt(
        code=Code.CHECK_FAILED, detail=words(spec.judge, verdict)[:2000]
    )
    last = sum(job.tasks[0].startswith(f"{task}/{record.round}/") for job in _jobs(constellation)) >= ROUNDS_MOST
    recovery.broke(refused, last=last)


def _end_choice(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, verdict: Verdict) -> None:
    """End a choice with the result that its judge or a person took, as a question to a person ends; else it failed."""
    choice = verdict.cites[0].task if verdict.holds == YES else NONE
    value = canonical({"by": verdict.by, "text": verdict.because, "value": choice})
    because = verdict.because.strip().rstrip(".") or "no reason was given"
    if verdict.holds == UNCLEAR:
        note = words(spec.judge, verdict)
    else:
        note = f"{'The judge' if verdict.by == MODEL else 'A person'} chose {choice}: {because}."
    if verdict.holds == YES:
        ended = moved(work, record, TaskState.SUCCEEDED, marked=value)
        kind, outcome = EventKind.TASK_SUCCEEDED, "succeeded"
    else:
        ended = moved(work, record, TaskState.FAILED, code=Code.NO_WINNER, marked=value)
        kind, outcome = EventKind.TASK_FAILED, "failed"
    change_task(work, constellation, spec.id, kind, ended, note=note[:2000], by=verdict.by)
    work.fire_rules(constellation, spec.id, outcome)


def words(judge: Judge | None, verdict: Verdict) -> str:
    """Return a verdict in one sentence."""
    question = judge.question if judge is not None else ""
    because = verdict.because.strip().rstrip(".") or "no reason was given"
    if verdict.holds == UNCLEAR:
        return f"There is no clear verdict on \u201c{question}\u201d: {because}."
    who = "The judge" if verdict.by == MODEL else "A person"
    return f"{who} says {verdict.holds} to \u201c{question}\u201d: {because}."


def _ask_person(work: Work, constellation: Constellation, job: Job, task: str, judge: Judge) -> None:
    """Put the question to a person, beside the reason why the verdict is unclear."""
    about = called(constellation, work.shard.fleet, task) if task else constellation.head.name
    why = job.verdict.because.strip().rstrip(".") if job.verdict is not None else ""
    spec = constellation.specs.get(task)
    results = branches(constellation, spec) if spec is not None else []
    beside = shown_beside(constellation, spec.shows, results) if spec is not None and spec.shows is not None else None
    question = Question(
        choices=_choices_between(work, constellation, results) if results else list(_CHOICES),
        id=f"{KIND}-question-{job.id.rpartition('-')[2]}",
        kind=KIND,
        opened_ms=work.at_ms,
        reason=why,
        shown=beside,
        task=task or None,
        text=f"{judge.question} The judge of {about} does not say{f': {why}' if why else ''}.",
        version=constellation.head.version,
    )
    put: Put = ("question", question.id, question)
    if task:
        waits = moved(work, constellation.tasks[task], TaskState.READY, reason=Reason.PERSON)
        change_task(work, constellation, task, EventKind.QUESTION_ASKED, waits, put, by=ENGINE)
    else:
        work.emit(constellation, EventKind.QUESTION_ASKED, question.id, [put], by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN, note=question.text)


def _choices_between(work: Work, constellation: Constellation, results: list[str]) -> list[Choice]:
    """Return the choices between results, each with the device that made it."""
    devices = work.shard.fleet.devices
    choices = []
    for task in results:
        device = devices.get(constellation.tasks[task].device or "")
        choices.append(Choice(label=f"{task}, by {device.name}" if device is not None else task, value=task))
    return [*choices, Choice(fails=True, label="None of them", value=NONE)]


def decide(work: Work, constellation: Constellation, question: Question, value: str, reason: str) -> None:
    """Carry out a person's answer about a result whose verdict is unclear.

    Raises:
        Refusal: the answer is none of the choices, or the result does not wait for it any more.
    """
    values = [choice.value for choice in question.choices]
    if value not in values:
        raise Refusal(fault(Code.BAD_REQUEST, f"{value} is not one of the choices: {', '.join(values)}", "value"))
    job = constellation.jobs[f"{KIND}-{question.id.rpartition('-')[2]}"]
    task = _waiting(constellation, job)
    if task is None:
        raise Refusal(fault(Code.CONFLICT, "the result does not wait for an answer any more"))
    if NONE in values:
        holds, cites = (NO, []) if value == NONE else (YES, [Cite(task=value)])
    else:
        holds, cites = value, job.verdict.cites if job.verdict is not None else []
    verdict = Verdict(because=reason[:BECAUSE_CHARS_MOST], by=work.by, cites=cites, holds=holds)
    puts: list[Put] = [answer_put(work, question, value), ("job", job.id, replace(job, verdict=verdict))]
    work.emit(constellation, EventKind.QUESTION_ANSWERED, question.id, puts, note=reason)
    if task:
        _apply(work, constellation, task, verdict)
    work.shard.settled[constellation.name] = None


def _results_key(constellation: Constellation) -> str:
    """Return a name for the results that a verdict is about; it changes with the plan and with each further end.

    The looks of a review of the whole change no result.
    """
    reviews = (job for job in constellation.jobs.values() if job.looks and is_of_the_whole(job))
    look_tasks = (task for job in reviews for look in job.looks for task in look.tasks)
    attempts = len(constellation.attempts) - sum(constellation.tasks[task].attempt for task in look_tasks)
    return f"{_WHOLE}{constellation.head.version}/{attempts}/{constellation.progress.ended}"


def is_of_the_whole(job: Job) -> bool:
    """Tell whether a judgement or a review is about the answer as a whole."""
    return bool(job.tasks) and job.tasks[0].startswith(_WHOLE)


def reviewable_no(constellation: Constellation, state: ConstellationState) -> tuple[str, Verdict] | None:
    """Return the no of its judge to the whole, with a name for the results, where it may be asked once more."""
    verdict = current(constellation)
    if not _is_due(constellation, state) or verdict is None or (verdict.holds, verdict.by) != (NO, MODEL):
        return None
    return (_results_key(constellation), verdict) if len(_of_the_whole(constellation)) < ROUNDS_MOST else None


def _of_the_whole(constellation: Constellation) -> list[Job]:
    return [job for job in _jobs(constellation) if is_of_the_whole(job)]


def hold_end(work: Work, constellation: Constellation, state: ConstellationState) -> bool:
    """Whether the end waits for the verdict on the whole: open its judgement if it is due, and say if one is open."""
    if not _is_due(constellation, state):
        return False
    jobs = _of_the_whole(constellation)
    if not jobs or jobs[-1].tasks != [_results_key(constellation)] or _was_dropped(constellation, jobs[-1]):
        _void(work, constellation)
        job = _job(work, constellation, _results_key(constellation))
        judge = constellation.head.policy.judge
        note = judge.question if judge is not None else ""
        work.emit(constellation, EventKind.JUDGE_ASKED, "", [("job", job.id, job)], note=note, by=ENGINE)
        _start(work, constellation, job)
    return current(constellation) is None or any(_questions(constellation))


def _was_dropped(constellation: Constellation, job: Job) -> bool:
    """Whether a judgement of the whole ended without a verdict and asks nobody: its constellation ended meanwhile."""
    return job.state == "done" and job.verdict is None and not any(_questions(constellation))


def _is_due(constellation: Constellation, state: ConstellationState) -> bool:
    head = constellation.head
    return head.policy.judge is not None and state is ConstellationState.SUCCEEDED and head.undone_from is None


def _questions(constellation: Constellation) -> Iterator[Question]:
    for key in constellation.open_questions:
        question = constellation.questions[key]
        if question.kind == KIND and question.task is None:
            yield question


def _void(work: Work, constellation: Constellation) -> None:
    """Close the judgement of results that have changed, and its question."""
    for job in _of_the_whole(constellation):
        if job.state != "done":
            close(work, constellation, job, "the results changed")
    for question in list(_questions(constellation)):
        put = answer_put(work, question, "", by=ENGINE)
        work.emit(constellation, EventKind.QUESTION_CLOSED, question.id, [put])


def current(constellation: Constellation) -> Verdict | None:
    """Return the verdict on the present results as a whole, or None."""
    jobs = _of_the_whole(constellation)
    return jobs[-1].verdict if jobs and jobs[-1].tasks == [_results_key(constellation)] else None


def outcome(constellation: Constellation, state: ConstellationState) -> ConstellationState:
    """Return how a constellation has ended: without a yes of its judge it has not succeeded."""
    verdict = current(constellation)
    if not _is_due(constellation, state) or (verdict is not None and verdict.holds == YES):
        return state
    return ConstellationState.PARTIAL if constellation.head.policy.partial else ConstellationState.FAILED


def close(work: Work, constellation: Constellation, job: Job, note: str) -> None:
    """Close a judgement without a verdict; nothing waits for it."""
    work.emit(constellation, EventKind.JOB_DONE, job.id, [("job", job.id, replace(job, state="done"))], note=note)


def abandon(work: Work, constellation: Constellation) -> None:
    """Close the open judgements of a constellation that ends."""
    for job in open_jobs(constellation):
        close(work, constellation, job, "the constellation has ended")
