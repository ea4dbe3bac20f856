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
    GoalCase,
    back_to_work,
    end,
    job_of,
    jobs_of,
)
from starloom.core.state.inputs import QuestionAnswered, TimerFired
from starloom.core.state.model import Constellation
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Refusal, Work, answer_put, attend, fault
from starloom_protocol.records.edits import AddTask, EditOperation
from starloom_protocol.records.entities import Choice, Question
from starloom_protocol.stream.authors import ENGINE, MODEL, may_decide
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import Attention, Code, ConstellationState

KIND: Final = "goal"
ALLOW, DENY, GO_ON, STOP = "allow", "deny", "go_on", "stop"
WAIT_MS: Final = 3_600_000
"""An hour: a goal whose person is away ends with what it has found."""
HINT_CHARS_MOST: Final = 1000
"""Every later prompt of the goal has the hint."""
TURNS_MOST: Final = 200
"""Turns of all kinds, in case a person continues a goal again and again: its job is written with each of them."""
_PAUSED_MS: Final = 60_000
"""A paused goal is looked at so often; its time stands still meanwhile."""
_CALLS: Final = (Choice(label="Make the call", value=ALLOW), Choice(fails=True, label="Do not", value=DENY))
_ON: Final = (Choice(label="Go on", value=GO_ON), Choice(fails=True, label="Stop", value=STOP))
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(list[EditOperation]).decode


def used_up(case: GoalCase) -> str:
    """Return the part of its budget that a goal has used up, in words; empty if none is. Steps are judged as made."""
    job, goal, times = case.job, case.goal, 1 + case.run.more
    if job.tokens >= goal.tokens * times:
        return f"its {goal.tokens * times} tokens are used up"
    if goal.micros and job.micros >= goal.micros * times:
        return f"its {goal.micros * times / 1_000_000:.2f} dollars are used up"
    return ""


def spent(case: GoalCase) -> bool:
    """Put a goal to a person whose money is used up before another worker asks its model; True if it was.

    A worker that ends before it proposes has paid for its call, too.
    """
    why = used_up(case)
    if why:
        exhausted(case, why)
    return bool(why)


def exhausted(case: GoalCase, why: str) -> None:
    """Ask a person at once whether a goal continues that has used up a part of its budget; no other tier has more."""
    if not _ends_by_turns(case, why):
        _ask_to_continue(case, why)


def judged(case: GoalCase) -> bool:
    """Let the ladder decide about a goal whose budget is used up, or that gets nowhere; False if it gets on."""
    if why := used_up(case):
        exhausted(case, why)
    elif why := monitors.stall(case.constellation, case.job, case.goal, case.work.at_ms):
        stalled(case, why)
    return bool(why)


def stalled(case: GoalCase, why: str) -> None:
    """Go one rung up: tell the model, have the next tier continue, or ask a person; a goal with too many turns ends."""
    if _ends_by_turns(case, why):
        return
    if case.run.level and not tiers.next_of(case.run):
        _ask_to_continue(case, why)
        return
    if case.run.level:
        tiers.escalate(case, why, by=ENGINE)
        return
    warned = case.with_turn(monitors.TOLD, why, by=ENGINE).unclaimed("open")
    warned = warned.with_run(level=1, since=len(warned.run.turns))
    warned.emit(EventKind.GOAL_STALLED, note=why, by=ENGINE)
    warned.wake()


def _ends_by_turns(case: GoalCase, why: str) -> bool:
    """End a goal that has had as many turns as any may have; False if it has not."""
    if len(case.run.turns) < TURNS_MOST:
        return False
    end(case, Code.GOAL_UNMET, f"{why}, after {TURNS_MOST} turns", by=ENGINE)
    return True


def _ask_to_continue(case: GoalCase, why: str) -> None:
    text = f"The goal {case.group} gets nowhere: {why}. {_steps_words(case)} Go on?"
    _ask(case, _question(case, choices=list(_ON), text=text), EventKind.GOAL_STALLED, why)


def ask_for_model(case: GoalCase, why: str) -> None:
    """Ask a person whether a goal continues whose model hands over to them."""
    case = case.with_turn(monitors.HANDED, why).with_run(handed=case.run.tier or tiers.TIERS[-1])
    ends = "" if why.endswith(("?", "!", ".")) else "."
    text = f"The model of the goal {case.group} hands over to you. It says: {why}{ends} {_steps_words(case)} Go on?"
    _ask(case, _question(case, choices=list(_ON), text=text), EventKind.QUESTION_ASKED, why)


def _steps_words(case: GoalCase) -> str:
    return f"It has made {counted(monitors.used(case.run), 'step')}."


def ask_call(case: GoalCase, operations: list[AddTask], note: str, asks: list[str]) -> None:
    """Ask a person about a step with a call beyond reading, with its arguments."""
    calls = "; ".join(f"{one.spec.tool} {one.spec.args[:1500]}" for one in operations)
    text = f"The goal {case.group} would make a call. {'. '.join(asks)}: {calls}"
    encoded = _encode(operations).decode()
    question = replace(
        _question(case, choices=list(_CALLS), text=text),
        action=sha256(encoded.encode()).hexdigest(),
        operations=encoded,
        reason=note,
        version=case.constellation.head.version,
        wider=asks,
    )
    _ask(case, question, EventKind.QUESTION_ASKED, note)


def _question(case: GoalCase, *, choices: list[Choice], text: str) -> Question:
    work = case.work
    number = 1 + sum(1 for question in case.constellation.questions.values() if question.kind == KIND)
    return Question(
        choices=choices,
        expires_ms=work.at_ms + min(WAIT_MS, work.shard.settings.approval_ms),
        id=f"{KIND}-question-{number}",
        kind=KIND,
        opened_ms=work.at_ms,
        task=case.group,
        text=text,
    )


def _ask(case: GoalCase, question: Question, kind: EventKind, why: str) -> None:
    asking = case.unclaimed(ASKING).with_run(asked_ms=case.work.at_ms)
    asking.emit(kind, ("question", question.id, question), note=why, by=ENGINE)
    attend(case.work, case.constellation, Attention.QUESTION_OPEN, note=question.text[:500])
    # The timer of any open question: a starting hub arms it again from the question alone.
    due_ms, name = question.expires_ms, case.constellation.name
    case.work.order(ArmTimer(constellation=name, due_ms=due_ms, entity=question.id, kind="approval"))


def decide(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Carry out a person's answer to a question of a goal.

    Raises:
        Refusal: the answer is none of the choices, or the goal has ended.
    """
    asking = _asking(work, constellation, question)
    if asking is None:
        raise Refusal(fault(Code.CONFLICT, "the goal does not wait for an answer any more"))
    offered = [choice.value for choice in question.choices]
    if item.value not in offered:
        raise Refusal(fault(Code.BAD_REQUEST, f"{item.value} is not one of the choices: {', '.join(offered)}", "value"))
    _answered(asking, question, item.value, item.reason, by=work.by)


def _asking(work: Work, constellation: Constellation, question: Question) -> GoalCase | None:
    """Return the case of the goal that waits for the answer to a question, or None."""
    job = job_of(constellation, question.task or "") if question.task in constellation.groups else None
    return GoalCase(work, constellation, job) if job is not None and job.state == ASKING else None


def _answered(case: GoalCase, question: Question, value: str, reason: str, *, by: str) -> None:
    """Note an answer and do as it says; the time of the goal did not run while a person was asked."""
    work, constellation = case.work, case.constellation
    put = answer_put(work, question, value, by=by)
    work.emit(constellation, EventKind.QUESTION_ANSWERED, question.id, [put], note=reason, by=by)
    run = case.run
    case = case.with_run(due_ms=run.due_ms + work.at_ms - run.asked_ms, asked_ms=0)
    _carry_out(case, question, value, reason, by=by)
    now = GoalCase(work, constellation, constellation.jobs[case.job.id])
    if now.job.state != "done":
        now.arm()


def _carry_out(case: GoalCase, question: Question, value: str, reason: str, *, by: str) -> None:
    if value == STOP:
        end(case, Code.GOAL_UNMET, reason or "a person stopped it", by=by)
    elif value == GO_ON:
        run = case.run
        due_ms = max(run.due_ms, case.work.at_ms + case.goal.within_s * 1000)
        continued = case.with_run(due_ms=due_ms, level=0, more=run.more + 1, since=len(run.turns))
        if reason.strip():
            continued = _with_hint(continued, reason, by=by)
        back_to_work(continued, EventKind.GOAL_STEPPED, reason, by=by)
    elif value == ALLOW:
        make_step(case, _decode(question.operations), question.reason, author=by)
    else:
        why = f"a person said no{': ' + reason if reason else ''}"
        refused = case.with_turn(monitors.REFUSED, why[:HINT_CHARS_MOST], by=by, said=question.text[:2000])
        back_to_work(refused, EventKind.GOAL_REFUSED, why, by=by)


def _with_hint(case: GoalCase, words: str, *, by: str) -> GoalCase:
    return case.with_turn(monitors.HINT, words.strip()[:HINT_CHARS_MOST], by=by)


def hint(work: Work, constellation: Constellation, group: str, words: str) -> None:
    """Take a person's hint into the next turn of a goal.

    Raises:
        Refusal: it has no words or too many, or the goal is not carried out now.
    """
    if not may_decide(work.by):
        # Its words reach the model as those of the person whose goal it is.
        raise Refusal(fault(Code.FORBIDDEN, f"only a person gives a hint, not {work.by}"))
    hint_words = words.strip()
    if not hint_words or len(hint_words) > HINT_CHARS_MOST:
        raise Refusal(fault(Code.BAD_REQUEST, f"a hint has 1 to {HINT_CHARS_MOST} characters", "reason"))
    job = job_of(constellation, group)
    if job is None or job not in jobs_of(constellation):
        state = constellation.groups[group].state
        reason = f"{group} is {state}, and a hint is for a goal that is carried out"
        raise Refusal(fault(Code.ILLEGAL_CONTROL, reason))
    case = GoalCase(work, constellation, job)
    if len(case.run.turns) >= TURNS_MOST:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{group} has had {TURNS_MOST} turns"))
    _with_hint(case, hint_words, by=work.by).emit(EventKind.GOAL_HINTED, note=hint_words)


def make_step(
    case: GoalCase,
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
    stepping = case.with_turn(monitors.STEP, note, cites=cites or [], tasks=tasks, uses=uses).unclaimed(STEPPING)
    apply_edit(
        case.work,
        case.constellation,
        operations,
        author=author,
        reason=note or f"a step of {case.group}",
        trigger=case.group,
        also=(stepping.put,),
        proposed=True,
        # The people of a question before a goal agreed to the goal, whatever its steps.
        owner=True,
    )


def is_asked(constellation: Constellation | None, question: str) -> bool:
    """Tell whether a question, open or not, is one of a goal."""
    record = constellation.questions.get(question) if constellation is not None else None
    return record is not None and record.kind == KIND


def on_unanswered(work: Work, item: TimerFired) -> None:
    """Take no answer in time for a stop, or for a no to a call."""
    constellation = work.shard.constellations[item.constellation]
    question = constellation.questions[item.entity]
    asking = _asking(work, constellation, question)
    if question.answer is not None or work.at_ms < question.expires_ms or asking is None:
        work.ignore("the timer is stale")
        return
    value = DENY if question.operations else STOP
    _answered(asking, question, value, "nobody answered in time", by=ENGINE)


def on_timer(work: Work, item: TimerFired) -> None:
    """Ask a person about a goal whose time is over; time stands still while it is paused or a person is asked."""
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.entity) if constellation else None
    if constellation is None or job is None or job.state not in ("open", "claimed", STEPPING):
        work.ignore("the goal has ended, or waits")
        return
    case = GoalCase(work, constellation, job)
    if constellation.head.state is ConstellationState.PAUSED:
        due_ms = work.at_ms + _PAUSED_MS
        work.order(ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=job.id, kind=OVER))
    elif work.at_ms < case.run.due_ms:
        work.ignore("a person gave the goal more time")
    else:
        exhausted(case, f"its {case.goal.within_s * (1 + case.run.more)} s are used up")
