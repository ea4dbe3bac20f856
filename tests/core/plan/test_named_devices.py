"""Devices by a result: the one that it names, within those that the plan allows."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.why import explain
from starloom.core.rights.consent import may_run_on
from starloom.core.rights.edit_scope import wider_than_approved
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import Reassign
from starloom_protocol.records.entities import ForEach, Selector
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, plan, task
from tests.core.watched import WatchedDriver

WITHIN = {"any": [{"name": "a"}, {"name": "b"}]}


def begun(*more: dict[str, Any], within: Any = WITHIN, dependencies: Any = ()) -> Driver:
    """Return a driver over three devices with a task that decides and one that runs where it says."""
    driver = WatchedDriver("a", "b", "c")
    where = {"from": "fast", "output": "/rows/0/device", "within": within}
    tasks = [{"id": "fast", "tool": "t.pure"}, {"id": "full", "tool": "t.never", "device": where}, *more]
    check = check_plan({"starloom": 1, "name": "Chosen", "tasks": tasks, "dependencies": list(dependencies)})
    assert check.plan is not None, check.faults
    driver.submit(check.plan)
    return driver


def decide(driver: Driver, name: Any) -> None:
    (first,) = driver.take()
    driver.result(first, {"rows": [{"device": name}]})


@pytest.mark.parametrize("name", ["b", "d-b"])
def test_a_result_names_the_device_by_name_or_id(name: str) -> None:
    driver = begun({"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "full", "output": "/n"}}})
    decide(driver, name)
    (full,) = driver.take()
    assert (full.at.task, full.device, full.tool) == ("full.d-b", "d-b", "t.never")
    assert parse(full.item or "")["name"] == "b"
    driver.result(full, {"n": 7})
    (use,) = driver.take()
    (read,) = use.inputs
    assert (read.many, read.sources[0].task) == (False, "full.d-b")
    driver.result(use, {})
    assert driver.state() == "succeeded"
    driver.folded_equals_state()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("c", Code.DEVICE_OUTSIDE),
        ("d-c", Code.DEVICE_OUTSIDE),
        ("nobody", Code.DEVICE_OUTSIDE),
        ("", Code.DEVICE_OUTSIDE),
        (None, Code.NO_VALUE),
        (["a"], Code.NO_VALUE),
        ({"id": "d-a"}, Code.NO_VALUE),
    ],
)
def test_a_result_that_names_no_allowed_device_fails_the_task(name: Any, code: Code) -> None:
    driver = begun()
    decide(driver, name)
    assert driver.take() == []
    assert driver.shard.constellations["c1"].groups["full"].code is code
    assert driver.state() == "failed"
    assert explain(driver.shard, "c1", "full").sentence
    driver.folded_equals_state()


def test_a_name_that_is_the_id_of_another_device_means_that_device() -> None:
    driver = begun(within={"labels": ["x"]})
    driver.add_device("x", labels=["x"])
    # This device calls itself by the id of another one, and only the other one is meant.
    device = driver.shard.fleet.devices["d-x"]
    driver.shard.fleet.devices["d-x"] = type(device)(
        **{field: getattr(device, field) for field in device.__struct_fields__} | {"name": "d-c"}
    )
    decide(driver, "d-c")
    assert driver.take() == []
    assert driver.shard.constellations["c1"].groups["full"].code is Code.DEVICE_OUTSIDE


def test_a_condition_reads_the_one_call() -> None:
    gate = {"from": "full", "to": "use", "when": {"output": "/n", "op": "eq", "value": 7}}
    driver = begun({"id": "use", "tool": "t.pure"}, dependencies=[gate])
    decide(driver, "a")
    (full,) = driver.take()
    driver.result(full, {"n": 7})
    assert [item.at.task for item in driver.take()] == ["use"]


def test_all_that_may_be_named_are_approved_together() -> None:
    driver = begun()
    specs = driver.shard.constellations["c1"].specs
    assert may_run_on(driver.shard.fleet, specs["full"], specs) == ["d-a", "d-b"]


def test_another_result_moves_the_task_to_another_device() -> None:
    driver = begun()
    decide(driver, "a")
    (full,) = driver.take()
    driver.result(full, {"n": 1})
    assert not driver.control("retry_from", "fast", confirm=["full.d-a"]).faults
    decide(driver, "b")
    (again,) = driver.take()
    assert (again.at.task, again.device) == ("full.d-b", "d-b")
    driver.result(again, {"n": 2})
    assert driver.state() == "succeeded"
    driver.folded_equals_state()


def test_a_task_that_a_person_puts_elsewhere_goes_there() -> None:
    driver = begun()
    assert not driver.edit(Reassign(id="full", device=Selector(name="c"))).faults
    decide(driver, "a")
    assert [item.device for item in driver.take()] == ["d-c"]


def test_a_device_outside_the_set_is_more_than_was_approved() -> None:
    driver = begun()
    run = driver.shard.constellations["c1"]
    before, flows = dict(run.specs), dict(run.deps)
    assert not driver.edit(Reassign(id="full", device=Selector(name="c"))).faults
    assert may_run_on(driver.shard.fleet, run.specs["full"], run.specs) == ["d-c"]
    (wider, *_) = wider_than_approved(driver.shard.fleet, run, before, flows)
    assert wider.startswith("full would")
    assert wider.endswith("on c")


def test_a_group_over_devices_is_judged_by_the_device_where_it_goes() -> None:
    driver = WatchedDriver("a", "b", "c")
    new_plan = plan(task("g", for_each=ForEach(devices=Selector(name="a")), device="c"))
    assert may_run_on(driver.shard.fleet, new_plan.specs[0], {"g": new_plan.specs[0]}) == ["d-c"]
    driver.submit(new_plan)
    assert [item.device for item in driver.take()] == ["d-c"]
