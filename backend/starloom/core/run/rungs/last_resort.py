"""The last rung of the recovery ladder: a plan may require that a person is asked before a task fails.

The person is asked only if no rule of the plan handles the failure. The task waits with its question; the answer tries
it again, skips it, or lets it fail with its first cause.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.names import called
from starloom.core.state.work import Put, Refusal, Work, attend, change_task, fault, moved
from starloom_protocol.records.entities import Attempt, Choice, Question, TaskRecord, TaskSpec
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    CODES,
    REPEATABLE,
    Attention,
    Code,
    EffectSeen,
    Reason,
    TaskState,
)

KIND = "recovery"
ASK = "ask"
RETRY, SKIP, FAIL = "retry", "skip", "fail"


def asks(constellation: Constellation, spec: TaskSpec, record: TaskRecord) -> bool:
    """Tell whether a person must be asked before this task fails."""
    if constellation.head.policy.on_failure != ASK or spec.optional or record.state is TaskState.CANCELLING:
        return False
    for owner in (spec.id, spec.group):
        for name in constellation.rules_by_task.get(owner, ()) if owner else ():
            if constellation.rules[name].event == "failed":
                return False
    return True


def ask(work: Work, constellation: Constellation, spec: TaskSpec, record: TaskRecord, ended: Attempt) -> None:
    """Record the failed attempt and wait for a person."""
    title = CODES[ended.code].title if ended.code else "It failed"
    detail = f": {ended.detail.splitlines()[0][:200]}" if ended.detail else ""
    risky = ended.repeatability not in REPEATABLE and ended.effect is not EffectSeen.NONE
    again = "Run it again, though it may have had its effect" if risky else "Try again"
    question = Question(
        choices=[
            Choice(value=RETRY, label=again),
            Choice(value=SKIP, label="Go on without it"),
            Choice(value=FAIL, label="Let it fail", fails=True),
        ],
        id=f"{spec.id}-{record.round}-after-{record.attempt}",
        kind=KIND,
        opened_ms=work.at_ms,
        task=spec.id,
        text=f"{called(constellation, work.shard.fleet, spec.id)} failed. {title}{detail}. What now?",
        version=constellation.head.version,
    )
    waits = moved(work, record, TaskState.READY, reason=Reason.PERSON, code=ended.code, checked=False)
    puts: list[Put] = [("attempt", f"{spec.id}/{record.attempt}", ended), ("question", question.id, question)]
    change_task(work, constellation, spec.id, EventKind.RECOVERY_ASKED, waits, *puts, note=question.text, by="engine")
    attend(work, constellation, Attention.QUESTION_OPEN, note=question.text)


def decide(work: Work, constellation: Constellation, question: Question, value: str, said: str) -> None:
    """Carry out a person's answer about a failed task.

    Raises:
        Refusal: the task no longer waits, or the answer is none of the choices.
    """
    task = question.task or ""
    record = constellation.tasks.get(task)
    if record is None or record.reason is not Reason.PERSON:
        raise Refusal(fault(Code.CONFLICT, f"{task} does not wait for an answer any more"))
    answered: Put = (
        "question",
        question.id,
        replace(question, answer=value, answered_by=work.by, answered_ms=work.at_ms, reason=said),
    )
    if value == RETRY:
        # The person has seen that the task may have had its effect.
        now = moved(work, record, TaskState.READY, started=0, refusals=0, code=None, confirmed=True)
        now = replace(now, reason=Reason.HELD if record.held else None)
    elif value == SKIP:
        skipped = Reason.SKIPPED_BY_PERSON
        now = moved(work, record, TaskState.SKIPPED, reason=skipped, cause="not_chosen", code=None)
    elif value == FAIL:
        now = moved(work, record, TaskState.FAILED)
        work.rules_due.append((constellation.name, task, "failed"))
    else:
        raise Refusal(fault(Code.BAD_REQUEST, f"{value} is not one of the choices: retry, skip, fail", "value"))
    change_task(work, constellation, task, EventKind.RECOVERY_ANSWERED, now, answered, note=said)
