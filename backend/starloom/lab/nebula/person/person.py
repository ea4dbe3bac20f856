"""The person of a run: answers approvals, questions and what devices ask, as the task says, a second after each came.

Decides nothing beyond the task's `answers`. A question that they do not foresee is noted; it stays open, or is answered
with the usual choice where a live model may ask what it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from starloom.client import routes
from starloom.client.calls import Get, Post
from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.lab.nebula.task import Answers
from starloom_protocol.records.entities import Question
from starloom_protocol.vocabulary import Attention

THINKS_S: Final = 1.0
VERDICTS: Final = ("approve", "deny")
PLANNER: Final = "planner"
"""The kind of a question before the plan, which takes words of one's own."""
AS_USUAL: Final = "Take the usual value."
CHANGED: Final = frozenset({"conflict", "not_found"})
"""Codes of an answer that came too late: the question is answered, or gone."""


A = TypeVar("A")


class Asking(Protocol):
    """The part of a client that a person uses."""

    def get(self, call: Get[A], /) -> A: ...

    def post(self, call: Post[A], /, body: Any = None) -> A: ...


class Person:
    """`look` is called again and again while a task runs; `asked` are the texts of all questions seen."""

    def __init__(
        self,
        client: Asking,
        answers: Answers,
        *,
        usual: bool = False,
        thinks_s: float = THINKS_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._answers = answers
        self._usual = usual
        self._thinks_s = thinks_s
        self._now = now
        self._seen: dict[str, float] = {}
        self._done: set[str] = set()
        self.asked: list[str] = []
        self.approvals = 0
        self.unforeseen: list[str] = []

    def look(self, view: View) -> None:
        """Answer what has been open long enough."""
        for name, question in view.open_questions.items():
            identity = f"{view.constellation}:{name}"
            if self._ripe(identity, _text_of(question)):
                self._answer(identity, question)
        head = view.head
        if head is not None and Attention.OWNER_ASKED in head.attention:
            for item in self._client.get(routes.get_asks())["items"]:
                identity = item["id"]
                if not item["answer"] and self._ripe(identity, f"{item['tool']} {item['args']}"):
                    allowed = self._answers.asks == "allow"
                    self._say(identity, (routes.post_ask_approve if allowed else routes.post_ask_deny)(identity), {})

    def _ripe(self, identity: str, text: str) -> bool:
        if identity in self._done:
            return False
        if identity not in self._seen:
            self._seen[identity] = self._now()
            self.asked.append(text)
        return self._now() - self._seen[identity] >= self._thinks_s

    def _answer(self, identity: str, question: Question) -> None:
        prepared = next((one.value for one in self._answers.questions if one.holds in question.text), None)
        if prepared is None and self._usual and (question.choices or question.kind == PLANNER):
            self.unforeseen.append(question.text)
            value = question.usual or next((choice.value for choice in question.choices), AS_USUAL)
            self._say(identity, routes.post_approval_answer(identity), {"value": value})
        elif question.task is None:
            usual = "approve" if self._answers.approvals == "allow" else "deny"
            approved = (prepared if prepared in VERDICTS else usual) == "approve"
            to = routes.post_approval_approve if approved else routes.post_approval_deny
            self._say(identity, to(identity), {})
            self.approvals += 1
        elif prepared is not None:
            self._say(identity, routes.post_approval_answer(identity), {"value": prepared})
        else:
            self._done.add(identity)
            self.unforeseen.append(question.text)

    def _say(self, identity: str, call: Post[Any], body: dict[str, Any]) -> None:
        """Say it once; it counts as said only when the hub has taken it, since a hub may be away."""
        try:
            self._client.post(call, body)
        except Problem as problem:
            if problem.code not in CHANGED:
                raise
        self._done.add(identity)


def _text_of(question: Question) -> str:
    """Return all that a person is shown of a question."""
    calls = [f"{call.task}: {call.tool}" for call in question.calls]
    values = [question.shown.value] if question.shown is not None else []
    return "\n".join([question.text, *values, *calls, *question.wider])
