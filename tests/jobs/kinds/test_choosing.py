"""The choice between the results of a vote: the job, the real core behind its inbox, a fake model on a socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Reason, Repeatability, TaskState
from tests.builders import TOOLS
from tests.jobs.kinds.test_judging import judge, says, told
from tests.jobs.kinds.test_looking import HEADS
from tests.jobs.kinds.test_looking import READ as FILE
from tests.jobs.test_modelling import Hub, models, plan
from tests.jobs.test_roles import calls_of, endpoint
from tests.models.server import FakeModel, Say, fake_model

QUESTION = "Which text is the newest draft?"
READ: dict[str, Any] = {
    "id": "draft",
    "tool": "fs.read",
    "device": {"name": "one"},
    "args": {"path": "draft.txt"},
    "vote": {"n": 3, "on": "/text", "rule": {"judge": QUESTION}},
}
PLAN = {"starloom": 1, "name": "The planner is certain of this", "tasks": [READ]}
TEXTS = ["the first draft", "the second draft", "the third draft"]
SECOND = {"choice": "draft-calls.2", "because": "It says so of its date."}
NONE = {"choice": "none", "because": "All of them are old."}


async def chosen(
    *says_of_the_judge: Say, texts: list[str] | None = None, document: Any = PLAN, **variables: str
) -> tuple[Any, Any, FakeModel]:
    """Return the hub, the constellation and the judge after its job."""
    hub = Hub()
    hub.driver.add_device("one", tools=[*TOOLS, FILE, ToolOffer(name="data.vote", repeatability=Repeatability.PURE)])
    constellation: Any = hub.ask("what is in the newest draft?")
    async with fake_model(says(document)) as planner, fake_model(*says_of_the_judge) as other:
        made = models(planner, hub, **{**HEADS, **endpoint("JUDGE", other.url, "judge-1"), **variables})
        await plan(hub, made)
        assert constellation.versions, constellation.head.fault
        given = list(texts or TEXTS)
        while given:
            for dispatch in hub.driver.take():
                hub.driver.result(dispatch, {"text": given.pop(0)})
        await judge(hub, made)
    return hub, constellation, other


async def test_a_judge_sees_the_results_beside_each_other_and_takes_one() -> None:
    hub, constellation, other = await chosen(Say(tool=SECOND))
    choice = constellation.tasks["draft-choice"]
    assert (choice.state, parse(choice.marked)["value"]) == (TaskState.SUCCEEDED, "draft-calls.2")
    seen = told(other)
    for word in (QUESTION, "what is in the newest draft?", *TEXTS, "draft-calls.1", "draft-calls.3"):
        assert word in seen, f"the judge was not shown {word}"
    for word in ("certain of this", "starloom: 1", "You write one plan"):
        assert word not in seen
    assert calls_of(constellation)[-1] == ("choosing", "judge-1", False)
    assert constellation.jobs["judge-1"].calls == 1
    assert [item.at.task for item in hub.driver.take()] == ["draft"]
    hub.driver.folded_equals_state()


async def test_none_of_them_is_an_answer() -> None:
    _, constellation, _ = await chosen(Say(tool=NONE))
    choice = constellation.tasks["draft-choice"]
    assert (choice.state, choice.code) == (TaskState.FAILED, Code.NO_WINNER)


@pytest.mark.parametrize(
    "answer",
    [
        Say(text="I take the second one."),
        Say(tool={**SECOND, "choice": "draft-calls.4"}),
        Say(tool={**SECOND, "choice": "draft"}),
        Say(tool={**SECOND, "choice": "draft-choice"}),
        Say(tool={**SECOND, "choice": "NONE"}),
        Say(tool={**SECOND, "choice": ["draft-calls.1", "draft-calls.2"]}),
        Say(tool={**SECOND, "choice": ""}),
        Say(tool={**SECOND, "because": ""}),
        Say(tool={**SECOND, "approval": "never"}),
        Say(tool={"choice": "draft-calls.2"}),
        Say(tool={"holds": "yes", "because": "x", "cites": [{"task": "draft-calls.2"}]}),
        Say(tool=SECOND, stop="length"),
        Say(text=""),
        Say(status=500, body=b"{}"),
    ],
)
async def test_a_babbling_judge_is_asked_once_more_and_then_a_person(answer: Say) -> None:
    _, constellation, other = await chosen(answer)
    assert constellation.tasks["draft-choice"].reason is Reason.PERSON
    assert constellation.jobs["judge-1"].verdict.by == "engine"
    assert len(other.asked) <= 2
    (question,) = [constellation.questions[key] for key in constellation.open_questions]
    assert [row["value"] for row in parse(question.shown.value)] == TEXTS


async def test_a_wrong_name_is_mended() -> None:
    _, constellation, other = await chosen(Say(tool={**SECOND, "choice": "the second"}), Say(tool=SECOND))
    assert constellation.tasks["draft-choice"].state is TaskState.SUCCEEDED
    assert "draft-calls.1, draft-calls.2, draft-calls.3, none" in told(other, 1)


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"STARLOOM_LLM_SHARE": "names"}, "no result is shared"),
        ({"STARLOOM_LLM_JUDGE_URL": "ftp://x"}, "STARLOOM_LLM_JUDGE_URL must be"),
        ({"STARLOOM_LLM_TOKENS_PER_DAY": "1"}, ""),
    ],
)
async def test_a_judge_that_may_not_be_asked_leaves_it_to_a_person(variables: dict[str, Any], why: str) -> None:
    _, constellation, other = await chosen(Say(tool=SECOND), **variables)
    assert not other.asked
    assert constellation.tasks["draft-choice"].reason is Reason.PERSON
    assert why in constellation.jobs["judge-1"].verdict.because


async def test_results_that_are_too_large_together_are_not_half_shown() -> None:
    document = {**PLAN, "tasks": [{**READ, "vote": {**READ["vote"], "n": 12}}]}
    _, constellation, other = await chosen(Say(tool=SECOND), texts=["x" * 9_000] * 12, document=document)
    assert not other.asked
    assert "too large" in constellation.jobs["judge-1"].verdict.because
    assert constellation.tasks["draft-choice"].reason is Reason.PERSON


async def test_a_judge_decides_by_schema_of_two_texts() -> None:
    _, _, other = await chosen(Say(tool=SECOND))
    (tool,) = other.asked[0]["tools"]
    schema = tool["function"]["parameters"]
    assert sorted(schema["properties"]) == schema["required"][::-1] == ["because", "choice"]
    assert json.dumps(schema).count('"additionalProperties": false') == 1
