"""A judge of a result: the job, the real core behind its inbox, a fake model on a socket; nobody judges himself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom.jobs.kinds.judging import JudgeJobs
from starloom.jobs.modelling import ModelJobs
from starloom_protocol.vocabulary import Code, Reason, TaskState
from tests.jobs.kinds.test_looking import HEADS, hub_of
from tests.jobs.test_modelling import Hub, claimed, models, plan
from tests.jobs.test_roles import calls_of, endpoint
from tests.models.server import FakeModel, Say, fake_model

QUESTION = "Does the evidence show the cause?"
CAUSE: dict[str, Any] = {
    "id": "cause-that-is-surely-right",
    "tool": "fs.read",
    "device": {"name": "one"},
    "args": {"path": "findings.json"},
}
PLAN = {"starloom": 1, "name": "The planner is certain of this", "tasks": [{**CAUSE, "judge": QUESTION}]}
VALUE = {"cause": "the disk is full", "evidence": ["df says 99 %"]}
YES = {"holds": "yes", "because": "The evidence names the disk.", "cites": [{"task": CAUSE["id"], "pointer": "/cause"}]}
NO = {**YES, "holds": "no", "because": "Nothing shows it."}
UNCLEAR = {"holds": "unclear", "because": "The evidence is cut off.", "cites": []}


def says(document: Any) -> Say:
    return Say(tool={"kind": "plan", "plan": document})


async def judge(hub: Hub, made: ModelJobs, job: str = "judge-1") -> None:
    await JudgeJobs(made).carry_out(await claimed(hub, job))


async def judged(*says_of_the_judge: Say, document: Any = PLAN, value: Any = VALUE, **variables: str) -> Any:
    """Return the constellation, and what the planner and the judge were asked."""
    hub = hub_of()
    constellation: Any = hub.ask("why is one slow?")
    async with fake_model(says(document)) as planner, fake_model(*says_of_the_judge) as other:
        made = models(planner, hub, **{**HEADS, **endpoint("JUDGE", other.url, "judge-1"), **variables})
        await plan(hub, made)
        assert constellation.versions, constellation.head.fault
        for dispatch in hub.driver.take():
            hub.driver.result(dispatch, value)
        await judge(hub, made)
    return hub, constellation, planner, other


def told(fake: FakeModel, number: int = 0) -> str:
    return json.dumps(fake.asked[number]["messages"])


async def test_a_judge_of_its_own_sees_the_question_and_the_result_and_no_word_of_the_planner() -> None:
    hub, constellation, planner, other = await judged(Say(tool=YES))
    assert constellation.tasks[CAUSE["id"]].state is TaskState.SUCCEEDED
    assert (len(planner.asked), len(other.asked)) == (1, 1)
    seen = told(other)
    for word in (QUESTION, "why is one slow?", "df says 99 %", "findings.json"):
        assert word in seen, f"the judge was not shown {word}"
    for word in ("certain of this", "starloom: 1", "You write one plan"):
        assert word not in seen
    assert calls_of(constellation)[-1] == ("judging", "judge-1", False)
    assert constellation.jobs["judge-1"].calls == 1
    hub.driver.folded_equals_state()


async def test_without_a_judge_of_its_own_the_planners_model_judges_in_a_fresh_context() -> None:
    hub = hub_of()
    constellation: Any = hub.ask("why is one slow?")
    async with fake_model(says(PLAN), Say(tool=YES)) as fake:
        made = models(fake, hub, **HEADS)
        await plan(hub, made)
        for dispatch in hub.driver.take():
            hub.driver.result(dispatch, VALUE)
        await judge(hub, made)
        assert "certain of this" not in told(fake, 1)
        assert [turn["role"] for turn in fake.asked[1]["messages"]] == ["system", "user"]
    assert constellation.tasks[CAUSE["id"]].state is TaskState.SUCCEEDED


async def test_no_fails_the_check_and_unclear_asks_a_person() -> None:
    _, constellation, _, _ = await judged(Say(tool=NO))
    record = constellation.tasks[CAUSE["id"]]
    assert (record.state, record.code) == (TaskState.FAILED, Code.CHECK_FAILED)
    _, constellation, _, _ = await judged(Say(tool=UNCLEAR))
    assert constellation.tasks[CAUSE["id"]].reason is Reason.PERSON


@pytest.mark.parametrize(
    "answer",
    [
        Say(text="Yes, it surely holds."),
        Say(tool={**YES, "cites": []}),
        Say(tool={**YES, "cites": [{"task": "invented"}]}),
        Say(tool={**YES, "cites": [{"task": CAUSE["id"], "pointer": "/proof"}]}),
        Say(tool={**YES, "holds": "definitely"}),
        Say(tool={**YES, "state": "succeeded"}),
        Say(tool={"kind": "no_change"}),
        Say(tool={"kind": "answer", "text": "yes", "cites": []}),
        Say(tool=YES, stop="length"),
        Say(text=""),
        Say(status=500, body=b"{}"),
    ],
)
async def test_a_babbling_judge_is_asked_once_more_and_lets_nothing_pass(answer: Say) -> None:
    _, constellation, _, other = await judged(answer)
    assert constellation.tasks[CAUSE["id"]].reason is Reason.PERSON
    assert constellation.jobs["judge-1"].verdict.by == "engine"
    assert len(other.asked) <= 2


async def test_a_wrong_cite_is_mended() -> None:
    wrong = {**YES, "cites": [{"task": CAUSE["id"], "pointer": "/proof"}]}
    _, constellation, _, other = await judged(Say(tool=wrong), Say(tool=YES))
    assert constellation.tasks[CAUSE["id"]].state is TaskState.SUCCEEDED
    assert "has nothing at this pointer" in told(other, 1)


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"STARLOOM_LLM_SHARE": "names"}, "no result is shared"),
        ({"STARLOOM_LLM_JUDGE_URL": "ftp://x"}, "STARLOOM_LLM_JUDGE_URL must be"),
        ({"STARLOOM_LLM_SHARE": "cards"}, "no usable verdict"),
    ],
)
async def test_a_judge_that_cannot_see_lets_nothing_pass(variables: dict[str, str], why: str) -> None:
    _, constellation, _, _ = await judged(Say(tool=YES), **variables)
    assert constellation.tasks[CAUSE["id"]].reason is Reason.PERSON
    assert why in constellation.jobs["judge-1"].verdict.because


async def test_the_whole_answer_is_judged_with_all_results() -> None:
    tasks = [CAUSE, {**CAUSE, "id": "second"}]
    document = {"starloom": 1, "tasks": tasks, "judge": {"question": QUESTION, "unclear": "fail"}}
    _, constellation, _, other = await judged(Say(tool=NO), document=document)
    assert '\\"task\\":\\"second\\"' in told(other)
    assert constellation.jobs["judge-1"].verdict.holds == "no"


async def test_a_budget_that_is_used_up_pays_for_no_judge() -> None:
    _, constellation, _, other = await judged(Say(tool=YES), STARLOOM_LLM_TOKENS_PER_DAY="1")
    assert other.asked == []
    assert constellation.tasks[CAUSE["id"]].reason is Reason.PERSON
