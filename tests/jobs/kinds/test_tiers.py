"""A goal of two tiers and its workers: the real core behind its inbox, and two fake models on sockets."""

from __future__ import annotations

import json

import pytest

from starloom.jobs.kinds.pursuing import GoalJobs
from starloom.jobs.modelling import ModelJobs
from starloom.planner.model.answers import Stage, answer_schema
from starloom.planner.model.conversations.pursuing import ABOUT
from tests.jobs.kinds.test_pursuing import end_calls, hub_of, reached, read, step
from tests.jobs.test_modelling import Hub, claimed, models
from tests.models.server import FakeModel, Json, Say, fake_model


def both(small: FakeModel, large: FakeModel, hub: Hub, **variables: str) -> ModelJobs:
    """Return the models of a worker whose small model is another than its planner's."""
    given = {"STARLOOM_LLM_SMALL_URL": small.url, "STARLOOM_LLM_SMALL_MODEL": "tiny", **variables}
    return models(large, hub, **given)


async def turn(hub: Hub, made: ModelJobs, worker: str = "w") -> None:
    await GoalJobs(made).carry_out(await claimed(hub, "goal-1", worker, tiers=made.tiers()))


def over(to: str = "next_tier", because: str = "the log is too long for me") -> Say:
    return Say(tool={"kind": "hand_over", "to": to, "because": because})


def told(asked: Json) -> str:
    return json.dumps(asked["messages"])


def tool_of(asked: Json) -> Json:
    found: Json = asked["tools"][0]["function"]
    return found


async def test_a_small_model_begins_and_hands_over_to_the_large_one() -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log")), over()) as small, fake_model(reached("why.1")) as large:
        made = both(small, large, hub)
        await turn(hub, made)
        end_calls(hub, {"text": "df says 99 %"})
        await turn(hub, made)
        await turn(hub, made, worker="other")
    assert (len(small.asked), len(large.asked)) == (2, 1)
    assert str(constellation.head.state) == "succeeded"
    first, last = told(small.asked[0]), told(large.asked[0])
    assert "larger model that sees what you have seen" in first
    assert "You are the largest model for this goal" in last
    assert "A smaller model made the turns so far" in last
    assert "the log is too long for me" in last
    assert "df says 99 %" in last
    calls = constellation.tables["call"].values()
    assert [(call.tier, call.model, call.stage) for call in calls] == [
        ("small", "tiny", "tiered"),
        ("small", "tiny", "tiered"),
        ("worker", "fake-1", "tiered"),
    ]
    assert constellation.jobs["goal-1"].calls == 3
    hub.driver.folded_equals_state()


async def test_a_goal_of_one_tier_has_the_prompt_and_schema_of_before() -> None:
    hub, _ = hub_of()
    async with fake_model(step(read("a.log"))) as fake:
        await turn(hub, models(fake, hub))
    (asked,) = fake.asked
    assert asked["messages"][0]["content"] == ABOUT
    assert "hand" not in json.dumps(tool_of(asked))
    assert tool_of(asked)["parameters"] == answer_schema(Stage.WORKING)
    assert answer_schema(Stage.WORKING)["properties"]["kind"]["enum"] == ["step", "answer", "give_up"]


async def test_the_role_worker_makes_the_turns_of_goals() -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log"))) as planner, fake_model(step(read("a.log"))) as worker:
        given = {"STARLOOM_LLM_WORKER_URL": worker.url, "STARLOOM_LLM_WORKER_MODEL": "large"}
        await turn(hub, models(planner, hub, **given))
    assert (len(planner.asked), len(worker.asked)) == (0, 1)
    assert worker.asked[0]["messages"][0]["content"] == ABOUT
    assert [call.tier for call in constellation.tables["call"].values()] == [""]


async def test_a_hand_over_is_no_answer_where_there_is_one_tier() -> None:
    hub, constellation = hub_of()
    async with fake_model(over()) as fake:
        await turn(hub, models(fake, hub))
    assert constellation.jobs["goal-1"].goal.turns[-1].note == "`kind` must be step, answer or give_up"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "hand_over", "to": "planner", "because": "x"},
        {"kind": "hand_over", "to": "next_tier"},
        {"kind": "hand_over", "because": "x"},
        {"kind": "hand_over", "to": "next_tier", "because": "\u0007"},
        {"kind": "hand_over", "to": ["next_tier"], "because": "x"},
    ],
)
async def test_a_hand_over_that_cannot_be_read_is_repaired_once_and_then_refused(wrong: Json) -> None:
    hub, constellation = hub_of()
    async with fake_model(Say(tool=wrong)) as small, fake_model(step(read("a.log"))) as large:
        await turn(hub, both(small, large, hub))
    assert (len(small.asked), len(large.asked)) == (2, 0)
    run = constellation.jobs["goal-1"].goal
    assert (run.turns[-1].kind, run.tier) == ("refused", "small")
    assert "needs `to`, which is next_tier or person" in run.turns[-1].note


async def test_the_ladder_takes_a_babbling_small_model_to_the_large_one() -> None:
    hub, constellation = hub_of()
    async with fake_model(Say(text="Well, it depends.")) as small, fake_model(step(read("a.log"))) as large:
        made = both(small, large, hub)
        for _ in range(7):
            await turn(hub, made)
            if large.asked:
                break
    assert len(large.asked) == 1
    kinds = [turn.kind for turn in constellation.jobs["goal-1"].goal.turns]
    assert kinds == ["refused"] * 3 + ["told"] + ["refused"] * 3 + ["escalated", "step"]
    assert not constellation.open_questions


async def test_a_small_model_shares_no_more_than_the_next_tier_may_see() -> None:
    """Its notes and arguments go to the next tier with the goal, and may repeat what it was shown."""
    hub, _ = hub_of()
    async with fake_model(step(read("a.log"))) as small:
        given = {
            "STARLOOM_LLM_SMALL_URL": small.url,
            "STARLOOM_LLM_SMALL_MODEL": "tiny",
            "STARLOOM_LLM_URL": "https://models.test/v1",
            "STARLOOM_LLM_MODEL": "large",
        }
        made = ModelJobs(given, now_s=lambda: hub.driver.now_ms / 1000)
        await turn(hub, made)
        end_calls(hub, {"text": "the secret recipe"})
        await turn(hub, made)
    assert len(small.asked) == 2
    assert "DATA results of step 1" in told(small.asked[1])
    assert "the secret recipe" not in told(small.asked[1])


async def test_a_small_model_that_is_away_has_the_fallback_in_its_place() -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log"))) as spare, fake_model(step(read("b.log"))) as large:
        given = {
            "STARLOOM_LLM_SMALL_URL": "http://127.0.0.1:9/v1",
            "STARLOOM_LLM_SMALL_MODEL": "tiny",
            "STARLOOM_LLM_FALLBACK_URL": spare.url,
            "STARLOOM_LLM_FALLBACK_MODEL": "spare",
        }
        await turn(hub, models(large, hub, **given))
    assert (len(spare.asked), len(large.asked)) == (1, 0)
    assert [(call.model, call.tier) for call in constellation.tables["call"].values()] == [
        ("tiny", "small"),
        ("spare", "small"),
    ]


async def test_a_small_model_that_is_not_set_any_more_leaves_its_turn_to_the_worker() -> None:
    hub, constellation = hub_of()
    async with fake_model(step(read("a.log"))) as small, fake_model(step(read("b.log"))) as large:
        await GoalJobs(models(large, hub)).carry_out(await claimed(hub, "goal-1", tiers=("small", "worker")))
    assert (len(small.asked), len(large.asked)) == (0, 1)
    assert constellation.jobs["goal-1"].goal.turns[-1].kind == "step"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_both_wires_offer_the_hand_over_with_its_schema(wire: str) -> None:
    hub, constellation = hub_of()
    async with fake_model(over("person", "who owns it?")) as small, fake_model(step(read("a.log"))) as large:
        await turn(hub, both(small, large, hub, STARLOOM_LLM_SMALL_WIRE=wire))
    (asked,) = small.asked
    tool = asked["tools"][0]
    schema = tool["input_schema"] if wire == "anthropic" else tool["function"]["parameters"]
    assert schema == answer_schema(Stage.TIERED)
    assert schema["properties"]["to"] == {"type": "string", "enum": ["next_tier", "person"]}
    assert schema["properties"]["kind"]["enum"] == ["step", "answer", "hand_over", "give_up"]
    (question,) = constellation.open_questions
    assert "who owns it?" in constellation.questions[question].text
