"""A planner that has seen the answer gives it in words: the real core, a fake model on a socket, checked by code."""

from __future__ import annotations

from typing import Any

from starloom.core.state import inputs as i
from starloom_protocol.vocabulary import ConstellationState
from tests.jobs.kinds.test_looking import CSV, HEADS, answer, call, hub_of, looks, turns
from tests.jobs.test_modelling import READING, Hub, models, plan, says
from tests.models.modes import HOSTILE
from tests.models.server import Say, fake_model

LOOK = looks(call(path="sales.csv"))


def words(text: str, *cites: tuple[str, str]) -> Say:
    rows = [{"task": task, "pointer": pointer} for task, pointer in cites]
    return Say(tool={"kind": "answer", "text": text, "cites": rows})


def told(constellation: Any) -> Any:
    return constellation.tables["answer"][""]


async def ended(*replies: Say, value: Any = CSV, **variables: str) -> tuple[Any, Hub, list[list[str]]]:
    """Return the constellation after a look and these replies, with the hub and the turns of each call."""
    hub = hub_of()
    constellation: Any = hub.ask("how much did Nord sell")
    async with fake_model(LOOK, *replies) as fake:
        made = models(fake, hub, **(variables or HEADS))
        await plan(hub, made)
        answer(hub, value)
        await plan(hub, made, "plan-2")
        return constellation, hub, [turns(fake, at) for at in range(len(fake.asked))]


async def test_a_planner_answers_from_its_looks_and_nothing_else_runs() -> None:
    constellation, hub, asked = await ended(words("Nord sold 12 [1].", ("look-1-1", "/text")))
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert told(constellation).words == "Nord sold 12 [1]."
    assert list(constellation.specs) == ["look-1-1"]
    assert not constellation.questions
    assert not hub.driver.take()
    assert "no need of a plan" in asked[1][0]
    assert "no need of a plan" not in asked[0][0], "before a look there is nothing to answer from"


async def test_a_figure_that_no_look_shows_comes_back_and_is_struck_in_the_end() -> None:
    wrong = words("Nord sold 12 [1]. Sued sold 99 [1].", ("look-1-1", "/text"))
    constellation, _, asked = await ended(wrong, wrong, wrong)
    assert len(asked) == 4
    assert "no cited value has 99" in asked[2][-1]
    assert told(constellation).words == "Nord sold 12 [1]."
    assert told(constellation).struck == ["Sued sold 99 ."]


async def test_an_answer_that_rests_on_nothing_is_no_answer() -> None:
    empty = words("It is all right.")
    constellation, _, asked = await ended(empty, empty, empty)
    assert "cites the looks" in asked[2][-1]
    assert constellation.head.state is ConstellationState.FAILED


async def test_an_answer_without_a_look_is_told_to_look_or_plan() -> None:
    hub = hub_of()
    constellation: Any = hub.ask("how much did Nord sell")
    async with fake_model(words("12"), says(READING)) as fake:
        await plan(hub, models(fake, hub))
    assert "rests on looks" in turns(fake)[-1]
    assert constellation.head.state is ConstellationState.ACTIVE


async def test_a_value_that_is_not_shared_is_filled_in() -> None:
    value = {**CSV, "text": "12 pieces"}
    share = {"STARLOOM_LLM_SHARE": "cards"}
    constellation, _, asked = await ended(words("Nord sold {1} [1].", ("look-1-1", "/text")), value=value, **share)
    assert told(constellation).words == "Nord sold 12 pieces [1]."
    assert not any("12 pieces" in turn for talk in asked for turn in talk)


async def test_a_result_that_gives_orders_is_data_of_the_answer() -> None:
    constellation, hub, _ = await ended(
        words("Nord sold 12 [1].", ("look-1-1", "/text")), value={**CSV, "text": f"{HOSTILE} 12 Nord"}
    )
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert not hub.driver.take()


async def test_a_plan_after_a_look_is_still_a_plan() -> None:
    constellation, hub, _ = await ended(says(READING))
    assert constellation.head.state is ConstellationState.ACTIVE
    (dispatch,) = hub.driver.take()
    assert dispatch.at.task == "look"


async def test_a_request_that_the_person_takes_back_ends_as_withdrawn() -> None:
    hub = hub_of()
    constellation: Any = hub.ask("report")
    back = Say(tool={"kind": "cannot", "text": "it is not needed any more", "withdrawn": True})
    async with fake_model(Say(tool={"kind": "question", "text": "Which?"}), back) as fake:
        made = models(fake, hub)
        await plan(hub, made)
        said = i.QuestionAnswered(
            by="person:ann",
            constellation="c1",
            id="q",
            question="plan-question-1",
            reason="never mind",
            value="answer",
        )
        assert not hub.driver.do(said).faults
        await plan(hub, made, "plan-2")
    assert constellation.head.state is ConstellationState.CANCELLED
    assert "withdrawn" in told(constellation).sentence
