"""The trial of a model: what passes, what each failure says, and that nothing of the owner is in its prompts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from starloom.planner.model.answers import Stage
from starloom.planner.model.port import Reply, Turn
from starloom.planner.model.trial_world import BUSIEST, DESK, ERRORS, OTHER_BALLOT, STORE, trial_fleet
from starloom.planner.model.trials import CALLS_MOST, Outcome, all_trials, expected_bytes, uses
from tests.models import tried
from tests.models.server import Json
from tests.models.tried import RIGHT, answered


class Answering:
    """A model without a wire."""

    def __init__(self, answers: Json) -> None:
        self._answers = {**RIGHT, **answers}
        self.asked: list[str] = []

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        self.asked.append("\n".join((instructions, *(turn.text for turn in turns))))
        return Reply(answered(self.asked[-1], self._answers))


async def outcomes(answers: Json) -> tuple[list[Outcome], Answering]:
    model = Answering(answers)
    return [await trial(model) for _, trial in all_trials()], model


async def test_a_good_model_passes_all_thirteen_with_one_call_each() -> None:
    found, model = await outcomes({})
    assert [item.missing for item in found] == [""] * 13
    assert len(model.asked) == 13
    assert list(uses(found).values()) == [
        "plans: yes (5 of 5)",
        "reviews: yes (1 of 1)",
        "answers in words: yes (1 of 1)",
        "verdicts: yes (1 of 1)",
        "choices between results: yes (1 of 1)",
        "turns of goals: yes (2 of 2)",
        "first turns of goals: yes (2 of 2)",
    ]


@pytest.mark.parametrize(
    ("words", "answer", "told"),
    [
        (tried.TOOL_WORDS, tried.plan(tried.task("a", "disk.usage", DESK)), "lacks process.list on desk"),
        (tried.TOOL_WORDS, tried.plan({"id": "a", "tool": "process.list"}), "lacks process.list on desk and nowhere"),
        (tried.DEVICE_WORDS, tried.plan(tried.task("a", "disk.usage", DESK)), "the machine with the label storage"),
        (tried.ORDER_WORDS, tried.plan(tried.FIND, tried.PACK), "waits for the success of fs.find"),
        (tried.CONDITION_WORDS, tried.plan(tried.USAGE, tried.TELL), "only if /used_percent"),
        (
            tried.CONDITION_WORDS,
            tried.plan(
                tried.USAGE,
                tried.TELL,
                dependencies=[{"from": "look", "to": "tell", "when": {**tried.FULL, "op": "lt"}}],
            ),
            "is above 90",
        ),
        (tried.QUESTION_WORDS, tried.plan(tried.USAGE), "a question"),
        (tried.TOOL_WORDS, {"kind": "question", "text": "Which programs?"}, "in place of the question: Which programs"),
        (tried.TOOL_WORDS, tried.plan(tried.task("a", "ps.list", DESK)), "after 2 repairs"),
        (tried.REVIEW_WORDS, {"kind": "no_change"}, "no change"),
        (
            tried.REVIEW_WORDS,
            {"kind": "edit", "text": "again", "operations": [{"add_task": tried.MENDED}]},
            "that supersedes pack",
        ),
        (tried.ANSWER_WORDS, {"kind": "answer", "text": "thyme-api has 99 errors [1].", "cites": []}, "99"),
        (tried.ANSWER_WORDS, {"kind": "cannot", "text": "no idea"}, "no idea"),
        (tried.CHOICE_WORDS, {"choice": OTHER_BALLOT, "because": "it says so"}, f"in place of: {OTHER_BALLOT}"),
        (tried.CHOICE_WORDS, {"choice": "none", "because": "unsure"}, "in place of: no"),
        (tried.CHOICE_WORDS, {"choice": "the second"}, "no usable choice"),
    ],
)
async def test_each_failure_is_named(words: str, answer: Json, told: str) -> None:
    found, model = await outcomes({words: answer})
    (failed,) = [item for item in found if not item.passed]
    assert told in failed.missing
    assert len(model.asked) <= CALLS_MOST


ELSEWHERE = {"kind": "step", "calls": [{"device": DESK, "tool": "log.search"}]}
GUESS = {"kind": "answer", "value": {"service": "cron", "errors": 3}, "cites": []}
UNCITED = {"kind": "answer", "value": {"service": BUSIEST, "errors": ERRORS}, "cites": []}


@pytest.mark.parametrize(
    ("words", "answer", "told"),
    [
        (tried.STEP_WORDS, ELSEWHERE, "log.search on attic and nothing else"),
        (tried.STEP_WORDS, GUESS, "nothing was looked at yet"),
        (tried.STEP_WORDS, {"kind": "plan"}, "`kind` must be step, answer"),
        (tried.REACHED_WORDS, GUESS, "thyme-api and its 1412 errors"),
        (tried.REACHED_WORDS, UNCITED, "a cite of busiest.1"),
        (tried.REACHED_WORDS, ELSEWHERE, "the result of busiest.1 shows it"),
    ],
)
async def test_each_failure_of_a_turn_is_named_for_both_tiers(words: str, answer: Json, told: str) -> None:
    found, _ = await outcomes({words: answer})
    failed = [item for item in found if not item.passed]
    assert [item.stage for item in failed] == [Stage.WORKING, Stage.TIERED]
    assert all(told in item.missing for item in failed)


async def test_a_rule_that_tells_under_the_condition_is_right_too() -> None:
    rule = {
        "name": "full",
        "reason": "the disk is nearly full",
        "when": {"task": "look", "event": "succeeded", **tried.FULL},
        "edit": [{"add_task": tried.TELL}],
    }
    found, _ = await outcomes({tried.CONDITION_WORDS: tried.plan(tried.USAGE, rules=[rule])})
    assert all(item.passed for item in found), found


async def test_a_model_that_fails_two_plans_is_for_simple_ones() -> None:
    wrong = tried.plan(tried.task("a", "log.search", DESK))
    found, _ = await outcomes({tried.TOOL_WORDS: wrong, tried.ORDER_WORDS: wrong})
    assert uses(found)[Stage.PLANNING].startswith("plans: simple ones")
    found, _ = await outcomes(dict.fromkeys(RIGHT, wrong))
    assert [told.partition(" (")[0] for told in uses(found).values()] == [
        "plans: no",
        "reviews: no",
        "answers in words: no",
        "verdicts: no",
        "choices between results: no",
        "turns of goals: no",
        "first turns of goals: no",
    ]


async def test_the_whole_prompt_is_known_before_and_names_only_the_imaginary_devices() -> None:
    _, model = await outcomes({})
    sizes = [size for stage in expected_bytes().values() for size in stage]
    assert all(abs(len(asked.encode()) - size) < 100 for asked, size in zip(model.asked, sizes, strict=True))
    assert {device.name for device in trial_fleet().devices} == {DESK, STORE, "garden"}
