"""Clarifications: the questions of a planner to the person who made the request, and the job after each answer.

The constellation stays in `planning`; each answer opens the next job, which reads all questions and answers.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.state.effects import DURABLE, StartJob
from starloom.core.state.inputs import QuestionAnswered
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, attend, fault
from starloom_protocol.entities import Job, Question
from starloom_protocol.events import EventKind
from starloom_protocol.vocabulary import Attention, Code

KIND = "planner"
PLAN_JOB = "plan"
QUESTIONS_MOST = 3
ANSWER_CHARS_MOST = 2_000
_BARE = frozenset({"allow", "always", "answer"})
"""Values that a button sends; the answer is the text beside them."""


def may_ask(constellation: Constellation) -> bool:
    """Tell whether the planner may ask another question; their number is bounded."""
    return sum(1 for question in constellation.questions.values() if question.kind == KIND) < QUESTIONS_MOST


def ask_person(work: Work, constellation: Constellation, text: str) -> None:
    """Put the planner's question to a person, durably."""
    number = 1 + sum(1 for question in constellation.questions.values() if question.kind == KIND)
    question = Question(id=f"plan-question-{number}", kind=KIND, opened_ms=work.at_ms, text=text)
    work.emit(constellation, EventKind.QUESTION_ASKED, question.id, [("question", question.id, question)], by="planner")
    attend(work, constellation, Attention.QUESTION_OPEN, note=text)


def on_answered(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Keep the answer and open the next planning job.

    Raises:
        Refusal: the answer has no text.
    """
    text = item.reason.strip() or ("" if item.value in _BARE else item.value.strip())
    if not text or len(text) > ANSWER_CHARS_MOST:
        reason = f"the planner needs an answer in words, at most {ANSWER_CHARS_MOST} characters"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "reason", "Write it as the reason."))
    answered = replace(question, answer=text, answered_by=work.by, answered_ms=work.at_ms)
    job = Job(id=f"plan-{len(constellation.jobs) + 1}", kind=PLAN_JOB, opened_ms=work.at_ms)
    puts: list[Put] = [("question", question.id, answered), ("job", job.id, job)]
    work.emit(constellation, EventKind.QUESTION_ANSWERED, question.id, puts)
    work.order(StartJob(after=DURABLE, constellation=constellation.name, job=job.id, kind=PLAN_JOB))
