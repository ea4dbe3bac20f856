"""An error that no kind of job expects is the outcome of its job, in the log, and ends what would be repeated."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.jobs.kinds.answering import AnswerJobs
from starloom.jobs.kinds.judging import JudgeJobs
from starloom.jobs.kinds.planning import PlanJobs
from starloom.jobs.kinds.pursuing import GoalJobs
from starloom.jobs.kinds.reviewing import ReviewJobs
from starloom.jobs.modelling import ModelJobs
from starloom.jobs.running import JobKind, carried_out
from starloom.planner.recipes.catalogue import Catalogue
from starloom.store.port import Unavailable
from starloom_protocol.vocabulary import Code, ConstellationState, TaskState
from tests.jobs.kinds import test_judging as judging
from tests.jobs.kinds.test_answering import ONE, ended
from tests.jobs.kinds.test_looking import HEADS
from tests.jobs.kinds.test_looking import hub_of as looking_hub
from tests.jobs.kinds.test_pursuing import hub_of as pursuing_hub
from tests.jobs.test_modelling import TWO, Hub, claimed, failed, models, plan
from tests.models.server import fake_model

WORDS = "the worker met an error that it did not expect (ZeroDivisionError); its log has it"


class Broken(ModelJobs):
    """Models whose settings end with an error that nobody expects."""

    def __init__(self) -> None:
        super().__init__({})

    def owned(self, *_: Any) -> Any:
        raise ZeroDivisionError


async def broke(hub: Hub, kind: JobKind, job: str) -> None:
    await carried_out(kind, await claimed(hub, job))


async def test_a_plan_that_breaks_fails_with_a_reason_and_is_not_repeated() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    await broke(hub, PlanJobs(Catalogue([]), models=Broken()), "plan-1")
    assert constellation.jobs["plan-1"].state == "done"
    assert (constellation.head.fault.code, constellation.head.fault.reason) == (Code.INTERNAL, WORDS)


async def test_a_review_that_breaks_changes_nothing_and_holds_nothing() -> None:
    hub = Hub()
    async with fake_model(TWO) as fake:
        constellation: Any = await failed(hub, fake)
    await broke(hub, ReviewJobs(Broken()), "review-1")
    assert constellation.jobs["review-1"].state == "done"
    assert constellation.tasks["then"].state is TaskState.SKIPPED
    assert WORDS in [event.note for event in hub.driver.events]


async def test_a_judgement_that_breaks_is_unclear() -> None:
    hub = looking_hub()
    constellation: Any = hub.ask("why is one slow?")
    async with fake_model(judging.says(judging.PLAN)) as fake:
        await plan(hub, models(fake, hub, **HEADS))
    for dispatch in hub.driver.take():
        hub.driver.result(dispatch, judging.VALUE)
    await broke(hub, JudgeJobs(Broken()), "judge-1")
    verdict = constellation.jobs["judge-1"].verdict
    assert (verdict.holds, verdict.because) == ("unclear", WORDS)


async def test_an_answer_that_breaks_is_none_and_the_run_ends() -> None:
    hub = Hub()
    async with fake_model(ONE) as fake:
        constellation: Any = await ended(hub, fake)
    await broke(hub, AnswerJobs(Broken()), "answer-1")
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert WORDS in [event.note for event in hub.driver.events]


async def test_turns_of_a_goal_that_break_in_a_row_ask_a_person() -> None:
    hub, constellation = pursuing_hub()
    for _ in range(20):
        if constellation.open_questions:
            break
        await broke(hub, GoalJobs(Broken()), "goal-1")
    assert WORDS in [turn.note for turn in constellation.jobs["goal-1"].goal.turns]
    assert constellation.open_questions


async def test_a_store_that_is_away_leaves_the_job_to_the_next_worker() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")

    class Away(PlanJobs):
        async def carry_out(self, _: Any) -> None:
            raise Unavailable("gone")

    with pytest.raises(Unavailable):
        await broke(hub, Away(), "plan-1")
    assert constellation.jobs["plan-1"].state == "claimed"
