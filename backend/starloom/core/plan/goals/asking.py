"""The ladder of a goal that gets nowhere, and its questions to a person: a call beyond reading, and whether to go on.

The model hears of a stall first. The next one has the next tier go on, where there is one; then a person is asked, who
lets the goal go on with as much again, adds a hint, or stops it. A budget that is used up asks a person at once. No
answer in time is a stop for a stall and a no for a call. A hint is data of the next turn.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from starloom.core.plan.edits import apply_edit
from starloom.core.plan.goals import monitors, tiers
from starloom.core.plan.goals.conversation import (
    ASKING,
    OVER,
    STEPPING,
    back_to_work,
    end,
    goal_of,
    group_of,
    job_of,
    jobs_of,
    run_of,
    timer,
    wake,
    with_turn,
)
from starloom.core.state.inputs import QuestionAnswered, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Refusal, Work, answered, attend, fault
from starloom_protocol.records.edits import AddTask, EditOperation
from starloom_protocol.records.entities import Choice, Goal, GoalTurn, Job, Question
from starloom_protocol.stream.authors import ENGINE, MODEL, may_decide
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import Attention, Code, ConstellationState

KIND: Final = "goal"
ALLOW, DENY, GO_ON, STOP = "allow", "deny", "go_on", "stop"
WAIT_MS: Final = 3_600_000
"""An hour: a goal whose person is away ends with what it has found."""
HINT_CHARS_MOST: Final = 1000
"""A hint stands in every later prompt of the goal."""
TURNS_MOST: Final = 200
"""Turns of all kinds, in case a person lets a goal go on again and again: its job is written with each of them."""
_PAUSED_MS: Final = 60_000
"""A paused goal is looked at so often; its time stands still meanwhile."""
_CALLS: Final = (Choice(label="Make the call", value=ALLOW), Choice(fails=True, label="Do not", value=DENY))
_ON: Final = (Choice(label="Go on", value=GO_ON), Choice(fails=True, label="Stop", value=STOP))
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(list[EditOperation]).decode


# -- the ladder


def used_up(goal: Goal, job: Job) -> str:
    """Return the part of its budget that a goal has used up, in words; empty if none is. Steps are judged as made."""
    run = run_of(job)
    times = 1 + run.more
    if job.tokens >= goal.tokens * times:
        return f"its {goal.tokens * times} tokens are used up"
    if goal.micros and job.micros >= goal.micros * times:
        return f"its {goal.micros * times / 1_000_000:.2f} dollars are used up"
    return ""


def spent(work: Work, constellation: Constellation, job: Job) -> bool:
    """Put a goal to a person whose money is used up before another worker asks its model; True if it was.

    A worker that ends before it proposes has paid for its call, too.
    """
    why = used_up(goal_of(constellation, group_of(job)) or Goal(aim=""), job)
    if why:
        exhausted(work, constellation, job, why)
    return bool(why)


def exhausted(work: Work, constellation: Constellation, job: Job, why: str) -> None:
    """Ask a person at once whether a goal goes on that has used up a part of its budget; no other tier has more."""
    if not _ends_by_turns(work, constellation, job, why):
        _ask_on(work, constellation, job, why)


def judged(work: Work, constellation: Constellation, job: Job, goal: Goal) -> bool:
    """Let the ladder decide about a goal whose budget is used up, or that gets nowhere; False if it gets on."""
    if why := used_up(goal, job):
        exhausted(work, constellation, job, why)
    elif why := monitors.stall(constellation, job, goal, work.at_ms):
        stalled(work, constellation, job, why)
    return bool(why)


def stalled(work: Work, constellation: Constellation, job: Job, why: str) -> None:
    """Go one rung up: tell the model, have the next tier go on, or ask a person; a goal with too many turns ends."""
    run, group = run_of(job), group_of(job)
    if _ends_by_turns(work, constellation, job, why):
        return
    if run.level and not tiers.next_of(run):
        _ask_on(work, constellation, job, why)
        return
    if run.level:
        tiers.escalate(work, constellation, job, why, by=ENGINE)
        return
    told = GoalTurn(at_ms=work.at_ms, by=ENGINE, kind=monitors.TOLD, note=why)
    job = with_turn(job, told)
    run = run_of(job)
    job = replace(job, state="open", claimed_by=None, expires_ms=0, goal=replace(run, level=1, since=len(run.turns)))
    work.emit(constellation, EventKind.GOAL_STALLED, group, [("job", job.id, job)], note=why, by=ENGINE)
    wake(work, constellation, job)


def _ends_by_turns(work: Work, constellation: Constellation, job: Job, why: str) -> bool:
    """End a goal that has had as many turns as any may have; False if it has not."""
    if len(run_of(job).turns) < TURNS_MOST:
        return False
    end(work, constellation, job, Code.GOAL_UNMET, f"{why}, after {TURNS_MOST} turns", by=ENGINE)
    return True


def _ask_on(work: Work, constellation: Constellation, job: Job, why: str) -> None:
    text = f"The goal {group_of(job)} gets nowhere: {why}. {_made(job)} Go on?"
    question = _question(work, constellation, job, choices=list(_ON), text=text)
    _ask(work, constellation, job, question, EventKind.GOAL_STALLED, why)


def ask_for_model(work: Work, constellation: Constellation, job: Job, why: str) -> None:
    """Ask a person whether a goal goes on whose model hands over to them."""
    job = with_turn(job, GoalTurn(at_ms=work.at_ms, kind=monitors.HANDED, note=why))
    run = run_of(job)
    job = replace(job, goal=replace(run, handed=run.tier or tiers.TIERS[-1]))
    ends = "" if why.endswith(("?", "!", ".")) else "."
    text = f"The model of the goal {group_of(job)} hands over to you. It says: {why}{ends} {_made(job)} Go on?"
    question = _question(work, constellation, job, choices=list(_ON), text=text)
    _ask(work, constellation, job, question, EventKind.QUESTION_ASKED, why)


def _made(job: Job) -> str:
    return f"It has made {counted(monitors.used(run_of(job)), 'step')}."


def ask_call(
    work: Work, constellation: Constellation, job: Job, operations: list[AddTask], turn: GoalTurn, asks: list[str]
) -> None:
    """Ask a person about a step with a call beyond reading, with its arguments."""
    calls = "; ".join(f"{one.spec.tool} {one.spec.args[:1500]}" for one in operations)
    text = f"The goal {group_of(job)} would make a call. {'. '.join(asks)}: {calls}"
    made = _encode(operations).decode()
    question = _question(work, constellation, job, choices=list(_CALLS), text=text)
    question = replace(
        question,
        action=sha256(made.encode()).hexdigest(),
        operations=made,
        reason=turn.note,
        version=constellation.head.version,
        wider=asks,
    )
    _ask(work, constellation, job, question, EventKind.QUESTION_ASKED, turn.note)


def _question(work: Work, constellation: Constellation, job: Job, *, choices: list[Choice], text: str) -> Question:
    number = 1 + sum(1 for question in constellation.questions.values() if question.kind == KIND)
    return Question(
        choices=choices,
        expires_ms=work.at_ms + min(WAIT_MS, work.shard.settings.approval_ms),
        id=f"{KIND}-question-{number}",
        kind=KIND,
        opened_ms=work.at_ms,
        task=group_of(job),
        text=text,
    )


def _ask(work: Work, constellation: Constellation, job: Job, question: Question, kind: EventKind, why: str) -> None:
    run = replace(run_of(job), asked_ms=work.at_ms)
    asking = replace(job, state=ASKING, claimed_by=None, expires_ms=0, goal=run)
    puts: list[Put] = [("job", job.id, asking), ("question", question.id, question)]
    work.emit(constellation, kind, group_of(job), puts, note=why, by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN, note=question.text[:500])
    work.order(_due(constellation, question))


def _due(constellation: Constellation, question: Question) -> ArmTimer:
    # The timer of any open question: a starting hub arms it again from the question alone.
    return ArmTimer(constellation=constellation.name, due_ms=question.expires_ms, entity=question.id, kind="approval")


# -- answers of a person


def decide(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Carry out a person's answer to a question of a goal.

    Raises:
        Refusal: the answer is none of the choices, or the goal has ended.
    """
    job = _asking(constellation, question)
    if job is None:
        raise Refusal(fault(Code.CONFLICT, "the goal does not wait for an answer any more"))
    offered = [choice.value for choice in question.choices]
    if item.value not in offered:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.value} is not one of the choices: {', '.join(offered)}", "value"))
    _answered(work, constellation, question, item.value, item.reason, by=work.by)
    _carry_out(work, constellation, job, question, item.value, item.reason, by=work.by)


def _asking(constellation: Constellation, question: Question) -> Job | None:
    job = job_of(constellation, question.task or "") if question.task in constellation.groups else None
    return job if job is not None and job.state == ASKING else None


def _answered(
    work: Work, constellation: Constellation, question: Question, value: str, reason: str, *, by: str
) -> None:
    put = answered(work, question, value, by=by)
    work.emit(constellation, EventKind.QUESTION_ANSWERED, question.id, [put], note=reason, by=by)


def _carry_out(
    work: Work, constellation: Constellation, job: Job, question: Question, value: str, reason: str, *, by: str
) -> None:
    """Go on as the answer says; the time of the goal did not run while a person was asked."""
    run = run_of(job)
    job = replace(job, goal=replace(run, due_ms=run.due_ms + work.at_ms - run.asked_ms, asked_ms=0))
    goal = goal_of(constellation, group_of(job)) or Goal(aim="")
    if value == STOP:
        end(work, constellation, job, Code.GOAL_UNMET, reason or "a person stopped it", by=by)
    elif value == GO_ON:
        run = run_of(job)
        due_ms = max(run.due_ms, work.at_ms + goal.within_s * 1000)
        again = replace(run, due_ms=due_ms, level=0, more=run.more + 1, since=len(run.turns))
        _hinted_on(work, constellation, replace(job, goal=again), reason, by=by)
    elif value == ALLOW:
        make_step(work, constellation, job, _decode(question.operations), question.reason, author=by)
    else:
        why = f"a person said no{': ' + reason if reason else ''}"
        said = question.text[:2000]
        turn = GoalTurn(at_ms=work.at_ms, by=by, kind=monitors.REFUSED, note=why[:HINT_CHARS_MOST], said=said)
        back_to_work(work, constellation, with_turn(job, turn), EventKind.GOAL_REFUSED, why, by=by)
    if constellation.jobs[job.id].state != "done":
        work.order(timer(constellation, constellation.jobs[job.id]))


def _hinted_on(work: Work, constellation: Constellation, job: Job, words: str, *, by: str) -> None:
    if words.strip():
        job = with_turn(job, _hint(work, words, by=by))
    back_to_work(work, constellation, job, EventKind.GOAL_STEPPED, words, by=by)


def _hint(work: Work, words: str, *, by: str) -> GoalTurn:
    return GoalTurn(at_ms=work.at_ms, by=by, kind=monitors.HINT, note=words.strip()[:HINT_CHARS_MOST])


def hint(work: Work, constellation: Constellation, group: str, words: str) -> None:
    """Take a person's hint into the next turn of a goal.

    Raises:
        Refusal: it has no words or too many, or the goal is not carried out now.
    """
    if not may_decide(work.by):
        # Its words reach the model as those of the person whose goal it is.
        raise Refusal(fault(Code.FORBIDDEN, f"only a person gives a hint, not {work.by}"))
    said = words.strip()
    if not said or len(said) > HINT_CHARS_MOST:
        raise Refusal(fault(Code.BAD_REQUEST, f"a hint has 1 to {HINT_CHARS_MOST} characters", "reason"))
    job = job_of(constellation, group)
    if job is None or job not in jobs_of(constellation):
        state = constellation.groups[group].state
        reason = f"{group} is {state}, and a hint is for a goal that is carried out"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    if len(run_of(job).turns) >= TURNS_MOST:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{group} has had {TURNS_MOST} turns"))
    hinted = with_turn(job, _hint(work, said, by=work.by))
    work.emit(constellation, EventKind.GOAL_HINTED, group, [("job", job.id, hinted)], note=said)


# -- steps


def make_step(
    work: Work,
    constellation: Constellation,
    job: Job,
    operations: list[EditOperation],
    note: str,
    *,
    author: str = MODEL,
    cites: list[str] | None = None,
    uses: int = 1,
) -> None:
    """Add the calls of a step to the plan; with its turn it is one event.

    Raises:
        Refusal: a call cannot be added; nothing is kept then.
    """
    tasks = [one.spec.id for one in operations if isinstance(one, AddTask)]
    turn = GoalTurn(at_ms=work.at_ms, cites=cites or [], kind=monitors.STEP, note=note, tasks=tasks, uses=uses)
    stepping = replace(with_turn(job, turn), state=STEPPING, claimed_by=None, expires_ms=0)
    apply_edit(
        work,
        constellation,
        operations,
        author=author,
        reason=note or f"a step of {group_of(job)}",
        trigger=group_of(job),
        also=(("job", job.id, stepping),),
        proposed=True,
    )


# -- time


def is_asked(constellation: Constellation | None, question: str) -> bool:
    """Tell whether a question, open or not, is one of a goal."""
    found = constellation.questions.get(question) if constellation is not None else None
    return found is not None and found.kind == KIND


def on_unanswered(work: Work, item: TimerFired) -> None:
    """Take no answer in time for a stop, or for a no to a call."""
    constellation = work.shard.constellations[item.constellation]
    question = constellation.questions[item.entity]
    job = _asking(constellation, question)
    if question.answer is not None or work.at_ms < question.expires_ms or job is None:
        work.ignore("the timer is stale")
        return
    value = DENY if question.operations else STOP
    why = "nobody answered in time"
    _answered(work, constellation, question, value, why, by=ENGINE)
    _carry_out(work, constellation, job, question, value, why, by=ENGINE)


def on_timer(work: Work, item: TimerFired) -> None:
    """Ask a person about a goal whose time is over; time stands still while it is paused or a person is asked."""
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.entity) if constellation else None
    if constellation is None or job is None or job.state not in ("open", "claimed", STEPPING):
        work.ignore("the goal has ended, or waits")
    elif constellation.head.state is ConstellationState.PAUSED:
        due_ms = work.at_ms + _PAUSED_MS
        work.order(ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=job.id, kind=OVER))
    elif work.at_ms < run_of(job).due_ms:
        work.ignore("a person gave the goal more time")
    else:
        goal = goal_of(constellation, group_of(job)) or Goal(aim="")
        exhausted(work, constellation, job, f"its {goal.within_s * (1 + run_of(job).more)} s are used up")
