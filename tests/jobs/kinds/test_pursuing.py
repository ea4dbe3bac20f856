"""A goal and its worker: the real core behind its inbox, a fake model on a socket, another worker for each turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.jobs.kinds.pursuing import GoalJobs
from starloom.jobs.modelling import ModelJobs
from starloom_protocol.plan import check_plan
from starloom_protocol.vocabulary import Code
from tests.core.plan.goals.pursued import GOAL, OFFERS, VALUE
from tests.jobs.kinds.test_judging import judge
from tests.jobs.kinds.test_looking import HEADS, turns
from tests.jobs.test_modelling import Hub, claimed, models
from tests.models.server import FakeModel, Say, fake_model


def hub_of(*tasks: dict[str, Any], **goal: Any) -> tuple[Hub, Any]:
    hub = Hub()
    for name in ("one", "two"):
        hub.driver.add_device(name, tools=OFFERS)
    check = check_plan({"starloom": 1, "name": "Why", "tasks": [{**GOAL, **goal}, *tasks]})
    assert check.plan is not None, check.faults
    return hub, hub.driver.submit(check.plan)


async def turn(hub: Hub, made: ModelJobs, job: str = "goal-1", worker: str = "w") -> None:
    await GoalJobs(made).carry_out(await claimed(hub, job, worker))


def step(*calls: dict[str, Any], note: str = "to see", **fields: Any) -> Say:
    return Say(tool={"kind": "step", "note": note, "calls": list(calls), **fields})


def read(path: str, device: str = "one") -> dict[str, Any]:
    return {"device": device, "tool": "fs.read", "args": {"path": path}}


def reached(*tasks: str, value: Any = VALUE) -> Say:
    return Say(tool={"kind": "answer", "value": value, "cites": [{"task": task, "pointer": ""} for task in tasks]})


def end_calls(hub: Hub, value: Any) -> None:
    for work in hub.driver.take():
        hub.driver.result(work, value)


async def test_a_model_steps_twice_and_answers() -> None:
    hub, constellation = hub_of()
    async with fake_model(
        step(read("a.log"), read("b.log")), step(read("c.log"), note="b names c"), reached("why.3")
    ) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        end_calls(hub, {"text": "df says 99 %"})
        await turn(hub, made, worker="other")
        end_calls(hub, {"text": "the disk is full"})
        await turn(hub, made)
    assert str(constellation.head.state) == "succeeded"
    assert [str(constellation.tasks[f"why.{at}"].state) for at in (1, 2, 3)] == ["succeeded"] * 3
    assert [turn.note for turn in constellation.jobs["goal-1"].goal.turns] == ["to see", "b names c"]
    assert constellation.jobs["goal-1"].calls == 3
    first, last = json.dumps(fake.asked[0]["messages"]), turns(fake)
    assert "Find out why one is slow." in first
    assert "fs.read(" in first
    assert "svc.restart" not in first
    assert "df says 99 %" in "".join(last)
    assert "the disk is full" in last[-1]
    hub.driver.folded_equals_state()


@pytest.mark.parametrize(
    "babble",
    [
        Say(text="I would look at the logs now."),
        Say(tool={"kind": "step", "calls": []}),
        Say(tool={"kind": "step", "calls": ["fs.read"]}),
        Say(tool={"kind": "answer"}),
        Say(tool={"kind": "answer", "value": VALUE, "cites": "why.1"}),
        Say(tool={"kind": "plan", "plan": {}}),
        Say(tool=reached().tool, stop="length"),
        Say(text=""),
        Say(status=500, body=b"{}"),
        Say(text=r'{"kind": "step", "calls": [{"device": "one", "tool": "fs.read", "args": {"path": "\ud83d"}}]}'),
        Say(text=r'{"kind": "answer", "value": {"cause": "\ud83d"}, "cites": ["why.1"]}'),
    ],
)
async def test_a_babbling_model_is_told_then_a_person_is_asked_and_then_it_ends(babble: Say) -> None:
    hub, constellation = hub_of()
    async with fake_model(babble) as fake:
        made = models(fake, hub, **HEADS)
        for _ in range(6):
            await turn(hub, made)
        (question,) = constellation.open_questions
        assert "3 like errors in a row" in constellation.questions[question].text
        assert len(fake.asked) <= 12
    answered = i.QuestionAnswered(
        by="person:ann", constellation="c1", id=hub.driver.ident(), question=question, value="stop"
    )
    assert not hub.driver.do(answered).faults
    assert constellation.groups["why"].code is Code.GOAL_UNMET
    assert [task for task in constellation.tasks if task.startswith("why.")] == []


async def test_a_refused_step_is_told_to_the_model_and_to_the_next_worker() -> None:
    hub, constellation = hub_of()
    wrong = step({"device": "two", "tool": "svc.restart", "args": {}})
    async with fake_model(wrong, step(read("a.log"))) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        await turn(hub, made, worker="other")
        said = turns(fake)
    assert "svc.restart" in said[-2]
    assert "outside of the devices of why: one" in said[-1]
    assert list(constellation.jobs["goal-1"].goal.turns[1].tasks) == ["why.1"]


@pytest.mark.parametrize(
    ("variables", "code"),
    [({"STARLOOM_LLM_SHARE": "names"}, Code.FORBIDDEN), ({"STARLOOM_LLM_TOKENS_PER_DAY": "1"}, Code.MODEL_BUDGET)],
)
async def test_a_goal_that_no_model_may_pursue_ends_with_the_reason(variables: dict[str, str], code: Code) -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log"))) as fake:
        made = models(fake, hub, **variables)
        await turn(hub, made)
        if code is Code.MODEL_BUDGET:
            end_calls(hub, {"text": "the first call was paid for"})
            await turn(hub, made)
    assert constellation.groups["why"].code is code


async def test_without_a_model_a_goal_ends_at_once() -> None:
    hub, constellation = hub_of()
    await turn(hub, ModelJobs({}, now_s=lambda: hub.driver.now_ms / 1000))
    assert constellation.groups["why"].code is Code.MODEL_NOT_SET


def prompts(fake: FakeModel) -> str:
    return json.dumps([asked["messages"] for asked in fake.asked])


async def test_a_hint_reaches_the_model_as_the_persons() -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log")), reached("why.1")) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        assert not hub.driver.control("hint", "why", reason="look at the disk").faults
        end_calls(hub, {"text": "x"})
        await turn(hub, made)
        assert "DATA hint of the person whose goal it is" in prompts(fake)
        assert "look at the disk" in prompts(fake)
    assert str(constellation.head.state) == "succeeded"


YES = {"holds": "yes", "because": "The log says so.", "cites": [{"task": "why.1", "pointer": "/text"}]}
NO = {"holds": "no", "because": "No result names the disk.", "cites": []}


async def test_a_judge_sees_the_answer_as_a_claim_beside_its_evidence() -> None:
    hub, constellation = hub_of(judge="Does the evidence show the cause?")
    own = {**YES, "cites": [{"task": "why.answer", "pointer": "/cause"}]}
    async with fake_model(step(read("a.log")), reached("why.1"), Say(tool=own), Say(tool=YES)) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        end_calls(hub, {"text": "df says 99 %"})
        await turn(hub, made)
        assert str(constellation.head.state) == "active"
        await judge(hub, made, "judge-1")
        first, second = (json.dumps(fake.asked[at]["messages"]) for at in (2, 3))
    assert "the disk is full" in first
    assert "df says 99 %" in first
    assert "cannot be cited" in second
    assert str(constellation.head.state) == "succeeded"
    hub.driver.folded_equals_state()


async def test_a_no_of_the_judge_goes_back_once_and_then_ends_the_goal() -> None:
    hub, constellation = hub_of(judge="Does the evidence show the cause?")
    script = [step(read("a.log")), reached("why.1"), Say(tool=NO), reached("why.1"), Say(tool=NO)]
    async with fake_model(*script) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        end_calls(hub, {"text": "nothing"})
        await turn(hub, made)
        await judge(hub, made, "judge-1")
        assert str(constellation.groups["why"].state) == "expanded"
        await turn(hub, made)
        assert "No result names the disk." in json.dumps(fake.asked[3]["messages"])
        await judge(hub, made, "judge-2")
    assert constellation.groups["why"].code is Code.CHECK_FAILED
    assert str(constellation.head.state) == "partial"
    hub.driver.folded_equals_state()


async def test_a_goal_publishes_a_part_of_its_result_and_another_sees_it_as_data() -> None:
    other = {
        "id": "other",
        "goal": "Find out why two is slow.",
        "device": {"name": "two"},
        "inputs": {"seen": {"finding": "cause"}},
    }
    hub, constellation = hub_of(other, finds={"topics": ["cause"]})
    part = {"topic": "cause", "task": "why.1", "pointer": "/text"}
    asked = [step(read("a.log")), step(read("b.log"), finds=[part]), step(read("c.log", "two"))]
    async with fake_model(*asked) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        end_calls(hub, {"text": "the disk is full"})
        await turn(hub, made)
        assert [finding.value for finding in constellation.findings.values()] == ['"the disk is full"']
        await turn(hub, made, job="goal-2")
    first, last = (json.dumps(fake.asked[at]["messages"]) for at in (0, -1))
    assert "Others wait for findings of these topics" in first
    assert "the disk is full" in last
    assert "DATA findings" in last
    assert [work.at.task for work in hub.driver.take()] == ["why.2", "other.1"]


async def test_a_model_makes_one_call_for_each_entry_of_a_list() -> None:
    hub, constellation = hub_of()
    each = {"device": "one", "tool": "fs.read", "args": {"path": {"each": "/path"}}}
    over = {"task": "why.1", "pointer": "/files"}
    async with fake_model(step(read("list")), step(each, for_each=over), reached("why.3")) as fake:
        made = models(fake, hub, **HEADS)
        await turn(hub, made)
        end_calls(hub, {"files": [{"path": "a"}, {"path": "b"}]})
        await turn(hub, made)
        end_calls(hub, {"text": "seen"})
        await turn(hub, made)
    assert json.loads(constellation.specs["why.3"].args) == {"path": "b"}
    assert constellation.groups["why"].state == "succeeded"
