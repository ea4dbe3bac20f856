"""The answer's sentence quotes a failure so that it still reads as a sentence."""

from __future__ import annotations

import pytest

from starloom.core import story
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
