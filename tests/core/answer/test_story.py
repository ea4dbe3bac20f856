"""The answer's sentence quotes a failure so that it still reads as a sentence."""

from __future__ import annotations

import pytest

from starloom.core.answer import story
from starloom_protocol.entities import ForEach, ResultSpec, Selector
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import NONE, Driver, edge, plan, task

LONG = "it is outside the folders " + "of this device " * 12


@pytest.mark.parametrize(
    ("detail", "quoted"),
    [
        ("no such file.", "no such file."),
        ("no such file\nwhat is there", "no such file."),
        (f"It may not be read. {LONG}", "It may not be read."),
        (LONG, "of this ..."),
    ],
)
def test_the_first_cause_is_quoted_whole_or_shortened_at_a_word(detail: str, quoted: str) -> None:
    driver = Driver("one")
    made = driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail=detail)
    sentence = story.sentence(made, driver.shard.fleet, made.head.state, driver.now_ms)
    assert sentence.endswith(quoted)
    assert len(sentence) < 300


def test_the_work_of_a_device_is_called_by_the_device_s_name() -> None:
    driver = Driver("nas", "vps")
    each = ForEach(devices=Selector())
    made = driver.submit(
        plan(
            task("look", for_each=each),
            task("then", for_each=ForEach(same="look")),
            edge("look>then"),
            results=[ResultSpec(source="look", title="Seen")],
        )
    )
    for dispatch in driver.take():
        if dispatch.at.task == "look.d-nas":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail="no disk")
        else:
            driver.result(dispatch, {"n": 1})
    driver.run()
    sentence = story.sentence(made, driver.shard.fleet, made.head.state, driver.now_ms)
    assert "First cause: look on nas - " in sentence
    assert "Skipped because look on nas failed: then on nas." in sentence
    answer = made.tables["answer"][""]
    assert [item.title for item in answer.items] == ["Seen, look on vps"]


def test_the_first_cause_is_what_failed_first_not_what_stands_first() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", tool="t.never"), task("b", tool="t.never")))
    first, second = driver.take()
    driver.result(second, outcome=Outcome.ERROR, code=Code.NO_SPACE, detail="the disk is full")
    driver.now_ms += 1_000
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="what followed")
    said = driver.folded["c1"]["answer"].decode()
    assert f"First cause: {second.at.task} - " in said
    assert "the disk is full; 1 more failed" in said


def test_a_group_that_fails_by_itself_is_the_first_cause() -> None:
    driver = Driver("one")
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/rows"))))
    driver.result(driver.take()[0], {"rows": "no list"})
    assert driver.states()["g"] == "failed"
    assert "First cause: g - " in driver.folded["c1"]["answer"].decode()
