"""Facts asked after the end: a late condition is decided by what the device says, or by its having nothing."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import SendFetch
from starloom_protocol.records.edits import AddDependency, AddTask
from starloom_protocol.vocabulary import Op, Outcome
from starloom_protocol.wire.frames import FactsFrame, ResultFrame
from tests.builders import Driver, plan, task, when


def with_a_late_condition(driver: Driver) -> SendFetch:
    """Finish `a` with a result kept as an artifact, then hang `c` on a pointer into it."""
    driver.submit(plan(task("a"), task("b")))
    first = next(item for item in driver.take() if item.at.task == "a")
    frame = ResultFrame(at=first.at, report=1, outcome=Outcome.OK, artifact="f" * 64, bytes=99_999)
    driver.do(i.ResultReported(id=driver.ident(), by="device:d-one", device="d-one", frame=frame))
    operations: list[Any] = [
        AddTask(spec=task("c")),
        AddDependency(dependency=when("a>c", "/enough", Op.EQ, True)),
    ]
    edit = i.EditProposed(id=driver.ident(), by="person:ann", constellation="c1", base_version=1, operations=operations)
    assert not driver.do(edit).faults
    assert driver.states()["c"] == "waiting"
    (asked,) = [effect for effect in driver.sent if isinstance(effect, SendFetch)]
    return asked


def told(driver: Driver, asked: SendFetch, device: str = "d-one", **fields: Any) -> None:
    frame = FactsFrame(at=asked.at, **fields)
    driver.do(i.FactsReported(id=driver.ident(), by=f"device:{device}", device=device, frame=frame))


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({"facts": {"/enough": "true"}}, "leased"),
        ({"facts": {"/enough": "false"}}, "skipped"),
        ({}, "skipped"),
        ({"facts_too_big": {"/enough": 5_000}}, "skipped"),
        ({"kept": False}, "skipped"),
    ],
)
def test_the_devices_word_decides_the_gate(answer: dict[str, Any], state: str) -> None:
    driver = Driver("one")
    asked = with_a_late_condition(driver)
    assert (asked.device, asked.wants) == ("d-one", ["/enough"])
    told(driver, asked, **answer)
    assert driver.states()["c"] == state
    driver.folded_equals_state()


def test_it_is_asked_again_when_the_device_connects_and_only_its_own_word_counts() -> None:
    driver = Driver("one")
    asked = with_a_late_condition(driver)
    driver.connect("one")
    assert [effect.wants for effect in driver.sent if isinstance(effect, SendFetch)] == [["/enough"]]
    told(driver, asked, device="d-two", facts={"/enough": "true"})
    assert driver.states()["c"] == "waiting"
    told(driver, asked, facts={"/enough": "true"})
    assert driver.states()["c"] == "leased"
    told(driver, asked, facts={"/enough": "false"})
    assert driver.ignored["facts that were not asked for"] == 1
