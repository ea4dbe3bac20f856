"""The answer's sentence quotes a failure so that it still reads as a sentence."""

from __future__ import annotations

import pytest

from starloom.core import story
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import NONE, Driver, plan, task

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
    sentence = story.sentence(made, driver.shard.fleet, made.head.state)
    assert sentence.endswith(quoted)
    assert len(sentence) < 300
