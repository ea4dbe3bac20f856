"""A request that looks have answered ends without a plan; one that a person takes back ends as withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.entities import Cite
from starloom_protocol.vocabulary import Code, ConstellationState, Outcome, Sharing
from tests.core.people.test_looks import Asked

WORDS = "one has 3 files [1]."


def looked(**fields: Any) -> Asked:
    """Return a request whose two looks have ended, the second without a result."""
    driver = Asked(**fields)
    assert not driver.look(("one", "t.pure"), ("two", "t.pure")).faults
    first, second = driver.take()
    driver.result(first, {"count": 3})
    driver.result(second, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="no such folder")
    return driver


def propose(driver: Asked, *, claims: bool = True, **fields: Any) -> Answer:
    if claims:
        driver.claim()
    fields = {"by_model": True, **fields}
    return driver.do(
        i.PlanProposed(by="worker:w", constellation="c1", id=driver.ident(), job=driver.job, worker="w", **fields)
    )


def answer(driver: Asked, *cites: str, words: str = WORDS, **fields: Any) -> Answer:
    return propose(driver, words=words, cites=[Cite(pointer="", task=task) for task in cites], **fields)


def test_an_answer_of_looks_ends_the_request_without_a_plan_or_an_approval() -> None:
    driver = looked()
    assert not answer(driver, "look-1-1", "look-1-2", struck=["It froze."]).faults
    made = driver.made
    assert made.head.state is ConstellationState.SUCCEEDED
    assert (made.head.version, made.head.attention, made.questions) == (0, [], {})
    told: Any = made.tables["answer"][""]
    assert (told.state, told.words, told.struck) == ("final", WORDS, ["It froze."])
    assert [cite.task for cite in told.cites] == ["look-1-1", "look-1-2"]
    assert told.sentence == (
        "The request was answered by one look on one; nothing was changed, and no plan was needed."
    )
    assert not driver.dispatched, "nothing runs after the answer"


@pytest.mark.parametrize(
    ("cites", "places"),
    [((), ["cites"]), (("look-1-2",), ["cites"]), (("ghost",), ["cites[0]"])],
)
def test_an_answer_that_cites_no_look_with_a_result_is_refused_whole(cites: tuple[str, ...], places: list[str]) -> None:
    driver = looked()
    assert [fault.place for fault in answer(driver, *cites).faults] == places
    assert driver.made.head.state is ConstellationState.PLANNING
    assert driver.made.jobs[driver.job].state == "claimed", "its worker has it mended"
    assert "" not in driver.made.tables["answer"]
    assert not answer(driver, "look-1-1").faults


def test_an_answer_before_any_look_is_refused() -> None:
    driver = Asked()
    assert [fault.code for fault in answer(driver).faults] == [Code.MODEL_ANSWER]
    assert driver.made.head.state is ConstellationState.PLANNING


def test_an_answer_that_is_too_long_or_not_of_a_model_is_refused() -> None:
    driver = looked()
    assert [fault.code for fault in answer(driver, "look-1-1", words="a" * 2_001).faults] == [Code.TOO_LARGE]
    assert Code.FORBIDDEN in [fault.code for fault in answer(driver, "look-1-1", by_model=False).faults]
    assert driver.made.head.state is ConstellationState.PLANNING


def test_an_answer_where_only_names_are_shared_is_refused() -> None:
    driver = Asked(sharing=Sharing.NAMES)
    assert Code.FORBIDDEN in [fault.code for fault in answer(driver).faults]


def test_an_answer_that_comes_after_a_cancel_changes_nothing() -> None:
    driver = looked()
    driver.claim()
    driver.control("cancel")
    assert answer(driver, "look-1-1", claims=False).value == {"accepted": False}
    told: Any = driver.made.tables["answer"][""]
    assert (driver.made.head.state, told.words) == (ConstellationState.CANCELLED, "")
    assert told.sentence == "The request was withdrawn before it had a plan."


def test_a_request_that_passes_its_deadline_was_not_withdrawn() -> None:
    driver = Asked(deadline_s=60)
    driver.fire(next(timer for timer in driver.timers if timer.kind == "deadline"))
    told: Any = driver.made.tables["answer"][""]
    assert driver.made.head.state is ConstellationState.CANCELLED
    assert told.sentence == "The request had no plan when its deadline of 60 s had passed."


def asked_and_answered() -> Asked:
    driver = Asked()
    assert not propose(driver, question="Which folder?").faults
    request = i.QuestionAnswered(
        id="q", by="person:ann", constellation="c1", question="plan-question-1", reason="never mind", value="answer"
    )
    assert not driver.do(request).faults
    return driver


def test_an_answer_to_a_question_takes_the_request_back() -> None:
    driver = asked_and_answered()
    assert not propose(driver, withdrawn=True).faults
    told: Any = driver.made.tables["answer"][""]
    assert (driver.made.head.state, driver.made.head.cancelled_by) == (ConstellationState.CANCELLED, "person:ann")
    assert "withdrawn" in told.sentence
    assert not driver.made.head.attention


def test_a_model_cannot_say_that_a_person_withdrew_who_was_not_asked() -> None:
    driver = Asked()
    assert not propose(driver, withdrawn=True).faults
    assert driver.made.head.state is ConstellationState.FAILED
