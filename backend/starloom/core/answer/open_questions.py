"""The open questions of a constellation, as its explanations tell them: who asks, and the values that answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from starloom.core.people import escalations, inquiries
from starloom.core.people.approvals import questions
from starloom.core.plan.goals import asking
from starloom.core.rights.consent import is_unapproved
from starloom.core.run import judgement, recovery
from starloom.core.state.model import Constellation
from starloom_protocol.records.entities import Question

_YES_AND_NO: Final = ("allow", "deny")
"""The answers of a question without choices of its own."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One open question. `task` is the task or group that waits for its answer, None for the whole constellation.

    `values` answer it, in the order in which they are offered. With `words` a person may answer in words as well.
    """

    id: str
    task: str | None
    by: str
    text: str
    values: tuple[str, ...]
    words: bool


def open_questions(constellation: Constellation) -> Iterator[OpenQuestion]:
    """Yield the questions that nobody has answered, the oldest first."""
    questions = [one for one in constellation.questions.values() if one.answer is None]
    for question in sorted(questions, key=lambda one: (one.opened_ms, one.id)):
        by_choice = tuple(choice.value for choice in question.choices)
        words = question.kind == inquiries.KIND
        yield OpenQuestion(
            id=question.id,
            task=question.task,
            by=_asker(constellation, question),
            text=question.text,
            values=by_choice or (() if words else _YES_AND_NO),
            words=words,
        )


def _asker(constellation: Constellation, question: Question) -> str:
    """Return who asks a question, as the subject of a sentence."""
    match question.kind:
        case questions.KIND:
            return f"the hub, before the plan {'begins' if is_unapproved(constellation) else 'goes on'}"
        case inquiries.KIND:
            return "the model that plans"
        case escalations.KIND:
            return "the model that reviews the plan"
        case asking.KIND:
            return f"the goal {question.task}"
        case judgement.KIND:
            return f"the judge of {question.task}" if question.task else "the judge of the answer"
        case recovery.QUESTION_KIND:
            return f"the hub, since {question.task} failed"
        case _:
            return f"the plan, by its task {question.task}"
