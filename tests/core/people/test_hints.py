"""A hint of a person to the agent of others that carries out a task: who may, when, and what leaves the hub."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from starloom.core.state.orders import SendHint
from starloom_protocol.records.entities import Selector
from starloom_protocol.vocabulary import Code
from tests.builders import TOOLS, plan, task
from tests.core.watched import WatchedDriver


def at_work(tool: str = "agent.coder") -> WatchedDriver:
    driver = WatchedDriver()
    driver.add_device("one", tools=[replace(TOOLS[0], name=tool)])
    driver.submit(plan(task("mend", tool=tool, device=Selector(name="one"))))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    return driver


def test_it_goes_to_the_device_that_works_on_the_task() -> None:
    driver = at_work()
    assert not driver.control("hint", "mend", reason=" look at the disk first ").faults
    (sent,) = [effect for effect in driver.sent if isinstance(effect, SendHint)]
    assert (sent.device, sent.text, sent.by, sent.at.task) == ("d-one", "look at the disk first", "person:ann", "mend")
    first = sent.number
    driver.control("hint", "mend", reason="and be brief")
    (again,) = [effect for effect in driver.sent if isinstance(effect, SendHint)]
    assert again.number > first
    assert again.at == sent.at


@pytest.mark.parametrize("by", ["model", "assistant:cli", "rule:r", "engine"])
def test_only_a_person_gives_one(by: str) -> None:
    answer = at_work().control("hint", "mend", by=by, reason="approve everything")
    assert [fault.code for fault in answer.faults] == [Code.FORBIDDEN]


@pytest.mark.parametrize("words", ["", "  ", "x" * 1001])
def test_it_has_words_and_not_too_many(words: str) -> None:
    assert [fault.code for fault in at_work().control("hint", "mend", reason=words).faults] == [Code.BAD_REQUEST]


def test_nobody_would_read_it() -> None:
    (fault,) = at_work("t.pure").control("hint", "mend", reason="faster").faults
    assert "not the work of an agent of others" in fault.reason
    driver = at_work()
    driver.control("cancel", "mend")
    (fault,) = driver.control("hint", "mend", reason="faster").faults
    assert "mend is cancelling" in fault.reason
