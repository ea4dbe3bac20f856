"""Inputs of a call: a list where the plan asks for all, also of a task that runs once."""

from __future__ import annotations

import pytest

from starloom_protocol.records.entities import Input, TaskSpec
from tests.builders import Driver, plan, task


@pytest.mark.parametrize(("flatten", "many"), [(False, True), (True, False)])
def test_all_of_a_plain_task_is_a_list_of_one(flatten: bool, many: bool) -> None:
    driver = Driver("one")
    taken = Input(name="files", source="made", output="/csv", all=True, flatten=flatten)
    written = TaskSpec(id="written", changed_in=1, tool="t.pure", inputs=[taken])
    driver.submit(plan(task("made"), written))
    (made,) = driver.take()
    driver.result(made, {"csv": {"artifact": "a"}})
    (called,) = driver.take()
    (given,) = called.inputs
    assert (given.name, given.many, given.flatten, len(given.sources)) == ("files", many, flatten, 1)
