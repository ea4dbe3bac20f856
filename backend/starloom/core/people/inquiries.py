"""Inquiries: what a model may find out before it answers. A planner asks the person; planner and reviewer look.

Each answer and each round of looks opens the next planning job, which reads all of them; a review goes on with its own
job. Looks are ordinary tasks of the same constellation; their rounds are state, so a new worker goes on where the last
one was killed. Decides nothing about the plan or the edit that comes after, and shows nothing to a model: cards are
made by the planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from starloom.core.people.approvals.need import approval_need
from starloom.core.plan import review
from starloom.core.rights.call_effects import effects_of_call, offers_in
from starloom.core.rights.reserved import look_faults
from starloom.core.run.attempts import ask_to_stop
from starloom.core.state.inputs import LookCall, LooksProposed, QuestionAnswered, TimerFired
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import COMMIT, DURABLE, ArmTimer, StartJob
from starloom.core.state.work import Put, Refusal, Work, answer_put, attend, check_claim, fault, named_job
from starloom_protocol.records.entities import (
    Choice,
    Fault,
    Job,
    Look,
    OnAbsence,
    Policy,
    Question,
    Read,
    Retry,
    Selector,
    TaskRecord,
    TaskSpec,
    Timeouts,
    ToolOffer,
)
from starloom_protocol.stream.authors import ENGINE, MODEL
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import has_node, parse, pointer_fault
from starloom_protocol.vocabulary import (
    FINAL_TASK_STATES,
    Attention,
    Code,
    ConstellationState,
    Effect,
    Repeatability,
    Sharing,
    TaskState,
)

KIND = "planner"
PLAN_JOB = "plan"
QUESTIONS_MOST = 3
"""A planner that must ask more often does not understand the request."""
ANSWER_CHARS_MOST = 2_000
"""Every later prompt of the request holds the answer."""
CHOICES_MOST: Final = 4
"""More choices are a list, and a person answers in words."""
CHOICE_CHARS_MOST: Final = 80
"""A choice is a button."""
_BARE = frozenset({"allow", "always", "answer"})
"""Values that a button sends; the answer is the text beside them."""
TIMER: Final = "looks_over"
ROUNDS_MOST: Final = 3
"""Three rounds find a place, read its beginning and check one doubt. A planner that needs more then asks a person."""
CALLS_MOST: Final = 12
ARGS_BYTES_MOST: Final = 4096
WHY_CHARS_MOST: Final = 500
SHOWN_MOST: Final = 24
"""The tools asked for by words that the next round still shows; the context has no room for more."""
ROUND_S: Final = 30
"""A person waits for the plan meanwhile. It is enough for a listing or the head of a file on a slow device, and a
device that is away is not waited for longer: the planner gets its card and plans without it."""
_HINT: Final = "Look by a tool that only reads, or put the call into the plan."
_STATE = ConstellationState


def _next_job(work: Work, constellation: Constellation) -> Job:
    return Job(id=f"plan-{len(constellation.jobs) + 1}", kind=PLAN_JOB, opened_ms=work.at_ms)


def may_ask(constellation: Constellation) -> bool:
    """Tell whether the planner may ask another question; their number is bounded."""
    return sum(1 for question in constellation.questions.values() if question.kind == KIND) < QUESTIONS_MOST


def last_answered(constellation: Constellation) -> Question | None:
    """Return the newest question of the planner that a person has answered, or None."""
    questions = [item for item in constellation.questions.values() if item.kind == KIND and item.answer]
    return max(questions, key=lambda item: (item.answered_ms, item.id), default=None)


def ask_person(
    work: Work, constellation: Constellation, text: str, offered: Sequence[str] = (), default: str = ""
) -> None:
    """Put the planner's question to a person, durably, with the answers that it offers."""
    answers = list(dict.fromkeys(one for one in offered if one.strip() and len(one) <= CHOICE_CHARS_MOST))
    choices = [Choice(label=one, value=one) for one in answers[:CHOICES_MOST]]
    number = 1 + sum(1 for question in constellation.questions.values() if question.kind == KIND)
    question = Question(
        choices=choices,
        id=f"plan-question-{number}",
        kind=KIND,
        opened_ms=work.at_ms,
        text=text,
        usual=default if default in answers[:CHOICES_MOST] else "",
    )
    work.emit(constellation, EventKind.QUESTION_ASKED, question.id, [("question", question.id, question)], by="planner")
    attend(work, constellation, Attention.QUESTION_OPEN, note=text)


def on_answered(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Keep the answer and open the next planning job.

    Raises:
        Refusal: the answer has no text.
    """
    offered = any(choice.value == item.value for choice in question.choices)
    text = item.reason.strip() or ("" if item.value in _BARE and not offered else item.value.strip())
    if not text or len(text) > ANSWER_CHARS_MOST:
        reason = f"the planner needs an answer in words, at most {ANSWER_CHARS_MOST} characters"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "reason", "Write it as the reason."))
    job = _next_job(work, constellation)
    puts: list[Put] = [answer_put(work, question, text), ("job", job.id, job)]
    work.emit(constellation, EventKind.QUESTION_ANSWERED, question.id, puts)
    work.order(StartJob(after=DURABLE, constellation=constellation.name, job=job.id, kind=PLAN_JOB))


def rounds(constellation: Constellation, job: Job | None = None) -> list[Look]:
    """Return the rounds of looks so far, in order: those of a review, else those of the planning."""
    if job is not None and job.kind == review.KIND:
        return job.looks
    return [job.look for job in constellation.jobs.values() if job.look is not None]


def on_proposed(work: Work, item: LooksProposed) -> None:
    """Open a round of looks, or refuse it whole with every fault, which leaves the job to the same worker.

    Raises:
        Refusal: there is no such job, another worker has it, or a call is beyond what a model may do unasked.
    """
    constellation, job = named_job(
        work, item.constellation, item.job, PLAN_JOB, review.KIND, called="planning job or review"
    )
    if not _takes_looks(work, constellation, job):
        work.ignore("the job is done")
        work.answer({"accepted": False})
        return
    check_claim(job, item.worker)
    rounds_before = rounds(constellation, job)
    number = 1 + len(rounds_before)
    specs, faults = _specs(work, item.calls, number, _first_name(constellation, job, number))
    faults = [
        *_round_faults(constellation, item, number),
        *faults,
        *look_faults(work.shard.fleet, constellation, specs),
        *_read_faults(constellation, item.reads, len(item.calls), rounds_before),
    ]
    if (
        not faults
        and approval_need(
            work.shard.fleet, specs, (), Policy(), strict=True, hold=constellation.head.hold, by=MODEL
        ).asks
    ):
        reason = "a plan with these calls waits for a person here, so they are not made without one"
        faults = [fault(Code.FORBIDDEN, reason, "calls", _HINT)]
    if faults:
        raise Refusal(*faults)
    why = item.why[:WHY_CHARS_MOST]
    look = Look(
        at_ms=work.at_ms,
        reads=item.reads,
        round=number,
        shown=_offered(work, item.shown[:SHOWN_MOST]),
        tasks=[spec.id for spec in specs],
        why=why,
    )
    _open(work, constellation, replace(job, claimed_by=item.worker), look, specs)
    work.answer({"accepted": True})


def _offered(work: Work, names: list[str]) -> list[str]:
    """Return the names that some device offers; another text of a worker is not kept."""
    offers = work.shard.fleet.tools.values()
    return [name for name in names if any(name in tools for tools in offers)]


def _takes_looks(work: Work, constellation: Constellation, job: Job) -> bool:
    """Tell whether a job is open and its constellation is where its models look."""
    if job.kind == review.KIND:
        return review.is_open(work, constellation, job) and constellation.head.state in (_STATE.ACTIVE, _STATE.PAUSED)
    return job.state != "done" and constellation.head.state is _STATE.PLANNING


def _first_name(constellation: Constellation, job: Job, number: int) -> str:
    """Return the beginning of the names of a round. A plan may have a task with the name of a look of its review."""
    if job.kind != review.KIND:
        return f"look-{number}"
    start = f"{job.id}-look-{number}"
    while any(f"{start}-{at}" in constellation.specs for at in range(1, CALLS_MOST + 1)):
        start += "x"
    return start


def _open(work: Work, constellation: Constellation, job: Job, look: Look, specs: list[TaskSpec]) -> None:
    is_review = job.kind == review.KIND
    if is_review:
        job = replace(job, state=review.LOOKING, claimed_by=None, expires_ms=0, looks=[*job.looks, look])
    else:
        job = replace(job, state="done", look=look)
    puts: list[Put] = [("job", job.id, job)]
    for spec in specs:
        puts.append(("spec", spec.id, spec))
        puts.append(("task", spec.id, TaskRecord(since_ms=work.at_ms, state=TaskState.WAITING)))
    if not is_review:
        puts.append(("head", "", replace(constellation.head, state=_STATE.LOOKING)))
    work.emit(constellation, EventKind.LOOKS_OPENED, job.id, puts, note=look.why, by=MODEL)
    for timer in (*due_moments(constellation), *(review.timers(constellation, job) if is_review else ())):
        work.order(timer)
    # A round that only reads has no task whose end would let the review continue.
    work.shard.settled[constellation.name] = None


def ended(work: Work, constellation: Constellation) -> None:
    """Open the next planning job: every look of the round has ended, or the round only read."""
    job = _next_job(work, constellation)
    planning = replace(constellation.head, state=_STATE.PLANNING)
    puts: list[Put] = [("job", job.id, job), ("head", "", planning)]
    work.emit(constellation, EventKind.LOOKS_ENDED, job.id, puts, by=ENGINE)
    work.order(StartJob(after=DURABLE, constellation=constellation.name, job=job.id, kind=PLAN_JOB))


def resume_reviews(work: Work, constellation: Constellation) -> None:
    """Let each review continue whose round of looks has ended; any worker takes it."""
    for job in list(review.open_jobs(constellation)):
        if not review.is_looking(job) or any(_is_open(constellation, task) for task in job.looks[-1].tasks):
            continue
        resumed = replace(job, state="open", resumed_ms=work.at_ms)
        work.emit(constellation, EventKind.LOOKS_ENDED, job.id, [("job", job.id, resumed)], by=ENGINE)
        work.order(StartJob(after=COMMIT, constellation=constellation.name, job=job.id, kind=review.KIND))
        for timer in review.timers(constellation, resumed):
            work.order(timer)


def _open_rounds(constellation: Constellation) -> Iterator[tuple[str, Look]]:
    """Yield each round whose looks have not all ended, with the name of its timer."""
    planning = rounds(constellation)
    newest = [] if constellation.head.version or not planning else [(str(planning[-1].round), planning[-1])]
    newest += [(f"{job.id}/{len(job.looks)}", job.looks[-1]) for job in constellation.jobs.values() if job.looks]
    for name, look in newest:
        if any(_is_open(constellation, task) for task in look.tasks):
            yield name, look


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield the timers that end the open rounds, computed from state."""
    for name, look in _open_rounds(constellation):
        due_ms = look.at_ms + ROUND_S * 1000
        yield ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=name, kind=TIMER)


def on_timer(work: Work, item: TimerFired) -> None:
    """Stop the looks of a round that have not ended in its time; those that did not begin end at once."""
    constellation = work.shard.constellations.get(item.constellation)
    look = dict(_open_rounds(constellation)).get(item.entity) if constellation else None
    if constellation is None or look is None:
        work.ignore("the round of looks is over")
        return
    if constellation.head.state is _STATE.PAUSED:
        due_ms = work.at_ms + ROUND_S * 1000
        work.order(ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=item.entity, kind=TIMER))
        return
    for task in look.tasks:
        if _is_open(constellation, task):
            ask_to_stop(work, constellation, task, f"a model waits at most {ROUND_S} s for a look")


def _is_open(constellation: Constellation, task: str) -> bool:
    return constellation.tasks[task].state not in FINAL_TASK_STATES


def _round_faults(constellation: Constellation, item: LooksProposed, number: int) -> Iterator[Fault]:
    if constellation.head.sharing is Sharing.NAMES:
        reason = "the person who asked shares no values with a model, so there is nothing to look at"
        yield fault(Code.FORBIDDEN, reason, "kind", "Answer without a look.")
    if number > ROUNDS_MOST:
        yield fault(Code.MODEL_ANSWER, f"you have looked {ROUNDS_MOST} times", "kind", "Answer without another look.")
    count = len(item.calls) + len(item.reads)
    if not 1 <= count <= CALLS_MOST:
        yield fault(Code.MODEL_ANSWER, f"a look has 1 to {CALLS_MOST} calls, not {count}", "calls")


def _specs(work: Work, calls: list[LookCall], number: int, name: str) -> tuple[list[TaskSpec], list[Fault]]:
    """Return the tasks of the calls that are permitted, and a fault for each other one."""
    fleet = work.shard.fleet
    specs: list[TaskSpec] = []
    faults: list[Fault] = []
    for at, call in enumerate(calls[: CALLS_MOST + 1]):
        target = fleet.devices.get(call.device) or fleet.named(call.device)
        device = target.id if target is not None else ""
        offer = fleet.tools.get(device, {}).get(call.tool)
        place = f"calls[{at}]"
        if target is None or target.revoked:
            faults.append(fault(Code.UNKNOWN_DEVICE, f"there is no device {call.device[:64]}", f"{place}.device"))
            continue
        if offer is None or offer.unavailable is not None:
            reason = f"{target.name} does not offer {call.tool[:64]}"
            faults.append(fault(Code.UNKNOWN_TOOL, reason, f"{place}.tool"))
            continue
        spec = TaskSpec(
            args=call.args,
            changed_in=0,
            device=Selector(id=device),
            id=f"{name}-{at + 1}",
            look=number,
            on_absence=OnAbsence(then="fail"),
            optional=True,
            retry=Retry(max_attempts=2),
            timeouts=Timeouts(start_to_close_s=ROUND_S),
            tool=call.tool,
        )
        faults.extend([*_args_faults(call.args, f"{place}.args")] or _effect_faults(fleet, offer, spec, place))
        specs.append(spec)
    return specs, faults


def _args_faults(text: str, place: str) -> Iterator[Fault]:
    if len(text.encode()) > ARGS_BYTES_MOST:
        yield fault(Code.MODEL_ANSWER, f"the arguments of a look have at most {ARGS_BYTES_MOST} bytes", place)
        return
    try:
        args = parse(text)
    except ValueError as error:
        yield fault(Code.BAD_REQUEST, str(error), place)
        return
    if not isinstance(args, dict):
        yield fault(Code.BAD_REQUEST, "arguments are an object", place)
    elif has_node(args, ("secret",)):
        yield fault(Code.FORBIDDEN, "a look may not name a secret", place)


def _effect_faults(fleet: Fleet, offer: ToolOffer, spec: TaskSpec, place: str) -> Iterator[Fault]:
    """Judge a call by the device's own offer: it only reads, and may be repeated at will."""
    effects = effects_of_call(offer, spec, offers_in(fleet))
    beyond = sorted(effect.value for effect in effects - {Effect.READ})
    if beyond:
        yield fault(Code.FORBIDDEN, f"{offer.name} may {', '.join(beyond)}; a look only reads", f"{place}.tool", _HINT)
    elif offer.repeatability is not Repeatability.PURE:
        reason = f"{offer.name} is {offer.repeatability}; a look may be repeated at will"
        yield fault(Code.FORBIDDEN, reason, f"{place}.tool", _HINT)


def _read_faults(constellation: Constellation, reads: list[Read], calls: int, rounds: list[Look]) -> Iterator[Fault]:
    """Yield the faults of reads of earlier looks; a proposal lists them behind its `calls`."""
    for at, read in enumerate(reads[: CALLS_MOST + 1]):
        place = f"calls[{calls + at}].read"
        spec, record = constellation.specs.get(read.task), constellation.tasks.get(read.task)
        looks = [task for look in rounds for task in look.tasks]
        if spec is None or record is None or read.task not in looks:
            reason = f"{read.task[:64]} is not a look of yours; there is {', '.join(looks) or 'none'}"
            yield fault(Code.UNKNOWN_TASK, reason, f"{place}.task")
        elif record.state is not TaskState.SUCCEEDED:
            yield fault(Code.BAD_REQUEST, f"{read.task} is {record.state} and has no result", f"{place}.task")
        pointer_reason = pointer_fault(read.pointer)
        if pointer_reason is not None:
            yield fault(Code.BAD_REQUEST, pointer_reason, f"{place}.pointer")
        if read.offset < 0:
            yield fault(Code.BAD_REQUEST, "an offset is 0 or more", f"{place}.offset")
