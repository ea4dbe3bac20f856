"""The answer in words: before a constellation that a model planned ends, a model may tell its answer in sentences.

Owns the job, its hold and its limits. The hold is bounded: without a worker, a model or an answer in time, the
constellation ends with the sentence of the engine. Words change no state, no result and no outcome. Where looks have
shown all that was asked, a planner gives the words in place of a plan; they rest on looks alone, and nothing else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.people.inquiries import PLAN_JOB, rounds
from starloom.core.state.inputs import AnswerWorded, PlanProposed, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import COMMIT, ArmTimer, StartJob
from starloom.core.state.work import Put, Refusal, Work, check_claim, fault, named_job
from starloom_protocol.records.entities import Answer, Fault, Job
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Code, ConstellationState, Sharing, TaskState

KIND: Final = "answer"
HOLD_MS: Final = 90_000
"""Long enough for a small model on a laptop to read a few thousand tokens; the results are shown meanwhile."""
UNCLAIMED_MS: Final = 3_000
OVER, UNCLAIMED = "answer_over", "answer_unclaimed"
TIMERS: Final = frozenset({OVER, UNCLAIMED})
ANSWERS_MOST: Final = 5
"""The most answers of one constellation, which may be reopened by a person again and again."""
WORDS_CHARS_MOST: Final = 2_000
CITES_MOST: Final = 40
STRUCK_MOST: Final = 20


def _jobs(constellation: Constellation) -> list[Job]:
    return [job for job in constellation.jobs.values() if job.kind == KIND]


def open_job(constellation: Constellation) -> Job | None:
    """Return the open answer job, or None."""
    return next((job for job in _jobs(constellation) if job.state != "done"), None)


def _results_key(constellation: Constellation) -> str:
    """Return a name for the results that an answer tells of; it changes with the plan and with each further end."""
    return f"{constellation.head.version}/{len(constellation.attempts)}/{constellation.progress.ended}"


def current(constellation: Constellation) -> Answer | None:
    """Return the answer in words that tells of the present results, or None."""
    answer = constellation.tables["answer"].get("")
    if not isinstance(answer, Answer) or not answer.words:
        return None
    if not constellation.head.version:
        return answer
    jobs = _jobs(constellation)
    return answer if jobs and jobs[-1].tasks == [_results_key(constellation)] else None


def rests_on_looks(constellation: Constellation) -> bool:
    """Tell whether the words of a planner are the answer, and there is no plan."""
    head = constellation.head
    return not head.version and head.state is ConstellationState.PLANNING and current(constellation) is not None


def refuse_from_looks(constellation: Constellation, item: PlanProposed) -> None:
    """Refuse words of a planner that rest on no look, before anything of the proposal is kept.

    Raises:
        Refusal: with every fault.
    """
    _refuse_too_much(constellation, item)
    looks = {task for look in rounds(constellation) for task in look.tasks}
    states = {cite.task: constellation.tasks[cite.task].state for cite in item.cites if cite.task in looks}
    faults: list[Fault] = []
    if not item.by_model or constellation.head.sharing is Sharing.NAMES:
        faults.append(fault(Code.FORBIDDEN, "only a model that was shown looks answers without a plan", "words"))
    for at, cite in enumerate(item.cites):
        if states.get(cite.task) not in FINAL_TASK_STATES:
            faults.append(fault(Code.MODEL_ANSWER, f"{cite.task[:80]} is no look that has ended", f"cites[{at}]"))
    if TaskState.SUCCEEDED not in states.values():
        hint = "Cite a look that succeeded, or write the plan."
        faults.append(fault(Code.MODEL_ANSWER, "the answer cites no look that has a result", "cites", hint))
    if faults:
        raise Refusal(*faults)


def from_looks(work: Work, constellation: Constellation, item: PlanProposed) -> None:
    """Keep the words of a planner as the answer; the constellation ends with its looks as its tasks."""
    answer = Answer(cites=item.cites, state="partial", struck=item.struck, words=item.words)
    work.emit(constellation, EventKind.ANSWER_WORDED, "", [("answer", "", answer)], by=MODEL)
    work.shard.settled[constellation.name] = None


def hold_end(work: Work, constellation: Constellation, ended: Callable[[], Answer]) -> bool:
    """Whether the end waits for words: open a job for them if they are due, and say if one is open.

    `ended` gives the answer without words; its sentence goes to the model.
    """
    jobs = _jobs(constellation)
    standing = _results_key(constellation)
    last = jobs[-1] if jobs else None
    if last is not None and last.tasks == [standing]:
        return last.state != "done"
    if last is not None and last.state != "done":
        close(work, constellation, last, "the results changed")
    if len(jobs) >= ANSWERS_MOST or not _is_wanted(constellation):
        return False
    job = Job(id=f"{KIND}-{len(jobs) + 1}", kind=KIND, opened_ms=work.at_ms, tasks=[standing])
    puts: list[Put] = [("answer", "", replace(ended(), state="partial")), ("job", job.id, job)]
    work.emit(constellation, EventKind.JOB_OPENED, job.id, puts, by=ENGINE)
    work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=KIND))
    for timer in _timers(constellation, job):
        work.order(timer)
    return True


def _is_wanted(constellation: Constellation) -> bool:
    """Whether a person asked in words and a model made the plan: then it is reachable, and its use was agreed to."""
    head = constellation.head
    if not head.request or head.undone_from is not None:
        return False
    return any(job.kind == PLAN_JOB and job.calls for job in constellation.jobs.values())


def _timers(constellation: Constellation, job: Job) -> Iterator[ArmTimer]:
    waits = ((OVER, HOLD_MS),) if job.claimed_by is not None else ((OVER, HOLD_MS), (UNCLAIMED, UNCLAIMED_MS))
    for kind, after_ms in waits:
        yield ArmTimer(constellation=constellation.name, due_ms=job.opened_ms + after_ms, entity=job.id, kind=kind)


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timers that close an open answer job, computed from state."""
    job = open_job(constellation)
    if job is not None:
        yield from _timers(constellation, job)


def on_timer(work: Work, item: TimerFired) -> None:
    """Close an answer job that was not claimed or not finished in time."""
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.entity) if constellation else None
    if constellation is None or job is None or job.state == "done":
        work.ignore("the answer is closed")
    elif item.kind == UNCLAIMED and job.claimed_by is not None:
        work.ignore("the answer is claimed")
    else:
        late = "no worker took it" if item.kind == UNCLAIMED else "the model took too long"
        close(work, constellation, job, late)


def on_worded(work: Work, item: AnswerWorded) -> None:
    """Take the model's answer in words, or the reason why there is none; close the job either way.

    Words about results that have changed meanwhile are dropped.

    Raises:
        Refusal: there is no such job, another worker has it, or the answer is larger than an answer may be.
    """
    constellation, job = named_job(work, item.constellation, item.job, KIND, called="answer job")
    if job.state == "done" or constellation.name not in work.shard.live:
        work.ignore("the answer is closed")
        work.answer({"accepted": False})
        return
    check_claim(job, item.worker)
    _refuse_too_much(constellation, item)
    if job.tasks != [_results_key(constellation)] or not item.words:
        close(work, constellation, job, item.reason or "the results changed")
        work.answer({"accepted": False})
        return
    present = constellation.tables["answer"].get("")
    answer = present if isinstance(present, Answer) else Answer(state="partial")
    answer = replace(answer, cites=item.cites, struck=item.struck, words=item.words)
    puts: list[Put] = [("job", job.id, replace(job, state="done")), ("answer", "", answer)]
    work.emit(constellation, EventKind.ANSWER_WORDED, job.id, puts, by=MODEL)
    work.shard.settled[constellation.name] = None
    work.answer({"accepted": True})


def _refuse_too_much(constellation: Constellation, item: AnswerWorded | PlanProposed) -> None:
    if len(item.words) > WORDS_CHARS_MOST or sum(map(len, item.struck)) > WORDS_CHARS_MOST:
        raise Refusal(fault(Code.TOO_LARGE, f"an answer in words has at most {WORDS_CHARS_MOST} characters", "words"))
    if len(item.cites) > CITES_MOST or len(item.struck) > STRUCK_MOST:
        raise Refusal(fault(Code.TOO_LARGE, f"an answer cites at most {CITES_MOST} results", "cites"))
    for number, cite in enumerate(item.cites):
        if cite.task not in constellation.tasks and cite.task not in constellation.groups:
            raise Refusal(fault(Code.NOT_FOUND, f"there is no task {cite.task[:80]}", f"cites[{number}]"))


def close(work: Work, constellation: Constellation, job: Job, note: str) -> None:
    """Close an answer job without words; the constellation may end."""
    work.emit(constellation, EventKind.JOB_DONE, job.id, [("job", job.id, replace(job, state="done"))], note=note)
    work.shard.settled[constellation.name] = None


def at_deadline(work: Work, constellation: Constellation) -> bool:
    """End a constellation whose work is done and that only waits for words; False if there is more to wait for."""
    job = open_job(constellation)
    if job is None or constellation.unfinished_top or constellation.head.state is not ConstellationState.ACTIVE:
        return False
    close(work, constellation, job, "its deadline has passed")
    return True


def abandon(work: Work, constellation: Constellation) -> None:
    """Close the answer job of a constellation that is stopped."""
    job = open_job(constellation)
    if job is not None:
        close(work, constellation, job, "the constellation was stopped")
