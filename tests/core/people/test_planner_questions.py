"""A planner's question with the answers that it offers: bounded, answered by one of them or in other words."""

from __future__ import annotations

import pytest

from starloom.core.people.inquiries import CHOICES_MOST
from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Question
from starloom_protocol.vocabulary import Code, ConstellationState
from tests.builders import plan, task
from tests.core.people.test_looks import Asked


def asked(driver: Asked, choices: list[str], usual: str = "") -> Question:
    driver.claim()
    driver.do(
        i.PlanProposed(
            id="q",
            by="w",
            by_model=True,
            choices=choices,
            constellation="c1",
            job=driver.job,
            question="Which folder?",
            usual=usual,
            worker="w",
        )
    )
    (name,) = driver.made.open_questions
    return driver.made.questions[name]


def answered(driver: Asked, value: str, reason: str = "") -> str | None:
    request = i.QuestionAnswered(
        id="a", by="person:ann", constellation="c1", question="plan-question-1", reason=reason, value=value
    )
    assert not driver.do(request).faults
    return driver.made.questions["plan-question-1"].answer


def test_a_question_keeps_its_choices_and_the_usual_one() -> None:
    question = asked(Asked(), ["Photos", "Papers"], "Papers")
    assert [(choice.value, choice.label) for choice in question.choices] == [("Photos", "Photos"), ("Papers", "Papers")]
    assert question.usual == "Papers"


@pytest.mark.parametrize(
    ("value", "reason", "answer"),
    [("Photos", "", "Photos"), ("answer", "neither: Music", "neither: Music"), ("allow", "", "allow")],
)
def test_it_is_answered_by_a_choice_or_in_other_words(value: str, reason: str, answer: str) -> None:
    driver = Asked()
    asked(driver, ["Photos", "allow"])
    assert answered(driver, value, reason) == answer
    driver.claim()
    driver.propose(plan(task("a")))
    assert driver.run() == ConstellationState.SUCCEEDED


def test_a_bare_button_is_no_answer_where_it_is_no_choice() -> None:
    driver = Asked()
    asked(driver, ["Photos"])
    request = i.QuestionAnswered(id="a", by="person:ann", constellation="c1", question="plan-question-1", value="allow")
    assert [fault.code for fault in driver.do(request).faults] == [Code.BAD_REQUEST]


def test_choices_are_few_short_and_different() -> None:
    question = asked(Asked(), ["a", "a", " ", "x" * 81, *"bcdefgh"], usual="h")
    assert [choice.value for choice in question.choices] == ["a", "b", "c", "d"]
    assert len(question.choices) == CHOICES_MOST
    assert question.usual == ""
