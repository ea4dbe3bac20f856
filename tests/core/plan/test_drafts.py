"""A person's draft holds back the edits of others on the tasks it names, for as long as it is renewed."""

from __future__ import annotations

import pytest

from starloom.core.plan.drafts import DRAFTS_MOST
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation, Reassign, RemoveTask
from starloom_protocol.records.entities import ForEach, Principal, RuleRecord, Selector
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, Code, Role
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver

ANN, BOB = "person:ann", "person:bob"


def drafted(*tasks: str, ttl_s: int = 120, driver: Driver | None = None) -> Driver:
    if driver is None:
        driver = WatchedDriver("one", slots=1)
        driver.submit(plan(task("a"), task("b", "x=a"), task("c", "x=b")))
    assert not opened(driver, *tasks, ttl_s=ttl_s).faults
    return driver


def opened(driver: Driver, *tasks: str, ttl_s: int = 120, by: str = ANN, name: str = "c1") -> Answer:
    item = i.DraftOpened(id=driver.ident(), by=by, constellation=name, tasks=list(tasks), ttl_s=ttl_s)
    return driver.do(item)


def closed(driver: Driver, by: str = ANN, name: str = "c1") -> Answer:
    return driver.do(i.DraftClosed(id=driver.ident(), by=by, constellation=name))


def edit(driver: Driver, *operations: EditOperation, by: str = BOB) -> Answer:
    return driver.edit(*operations, by=by)


MOVE = Reassign(id="b", device=Selector(name="one"))


@pytest.mark.parametrize("operation", [MOVE, AddDependency(dependency=edge("c>b"))])
def test_an_edit_by_anyone_else_that_names_a_task_of_it_is_refused(operation: EditOperation) -> None:
    driver = drafted("b")
    (fault,) = edit(driver, operation).faults
    assert (fault.code, fault.place) == (Code.PERSON_EDITING, "b")
    assert fault.reason == "b is being edited by ann"


def test_a_person_edits_the_tasks_of_an_own_draft_in_another_browser() -> None:
    driver = drafted("c")
    assert not opened(driver, "b", by=f"{ANN}#laptop").faults
    assert not edit(driver, MOVE, by=f"{ANN}#phone").faults
    assert edit(driver, MOVE, by=f"{BOB}#laptop").faults[0].code is Code.PERSON_EDITING
    assert edit(driver, MOVE, by="assistant:ann").faults[0].code is Code.PERSON_EDITING


def test_what_it_does_not_name_is_free_and_its_own_edit_closes_it() -> None:
    driver = drafted("b")
    assert not edit(driver, AddTask(spec=task("d", "x=a"))).faults
    assert not edit(driver, MOVE, by=ANN).faults
    run = driver.shard.constellations["c1"]
    assert run.drafts == {}
    assert not edit(driver, MOVE).faults
    driver.folded_equals_state()


def test_it_ends_by_itself_unless_it_is_renewed() -> None:
    driver = drafted("b", ttl_s=60)
    began = driver.shard.constellations["c1"].drafts[ANN].opened_ms
    driver.now_ms += 50_000
    drafted("b", ttl_s=60, driver=driver)
    assert driver.shard.constellations["c1"].drafts[ANN].opened_ms == began
    driver.now_ms += 59_999
    assert edit(driver, MOVE).faults[0].code is Code.PERSON_EDITING
    driver.now_ms += 1
    assert not edit(driver, MOVE).faults
    drafted("b", ttl_s=60, driver=driver)
    assert driver.shard.constellations["c1"].drafts[ANN].opened_ms == driver.now_ms
    driver.now_ms += 60_000
    assert not opened(driver, "c", by=BOB).faults
    assert list(driver.shard.constellations["c1"].drafts) == [BOB], "what has expired is swept by the next one"


def test_it_is_closed_by_its_person_twice_if_need_be() -> None:
    driver = drafted("b")
    assert not closed(driver).faults
    assert not closed(driver).faults
    assert not edit(driver, MOVE).faults
    assert closed(driver, name="none").faults[0].code is Code.NOT_FOUND


def test_it_ends_with_the_right_of_its_person_to_run_work() -> None:
    driver = drafted("c")
    for name, role in (("ann", Role.OPERATOR), ("bob", Role.OWNER)):
        put(
            driver.shard, driver.shard.access, "principal", name, Principal(created_ms=1, id=name, name=name, role=role)
        )
    assert edit(driver, AddDependency(dependency=edge("c>b"))).faults[0].code is Code.PERSON_EDITING
    driver.do(i.RoleGiven(id=driver.ident(), by=BOB, principal="ann", role=Role.VIEWER))
    assert driver.shard.constellations["c1"].drafts == {}
    assert not edit(driver, Reassign(id="c", device=Selector(name="one"))).faults


def test_a_group_that_is_edited_stands_for_its_children() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l"))))
    driver.result(driver.take()[0], {"l": ["a", "b"]})
    drafted("g", driver=driver)
    assert edit(driver, RemoveTask(id="g.1")).faults[0].code is Code.PERSON_EDITING


def test_a_rule_that_names_a_task_of_it_is_refused_where_people_see_it() -> None:
    operations = canonical([{"op": "remove_task", "id": "c"}])
    rule = RuleRecord(name="r", task="a", event="succeeded", operations=operations, order=0, reason="because")
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "x=b"), rules=[rule]))
    drafted("c", driver=driver)
    driver.result(driver.take()[0], 1)
    run = driver.shard.constellations["c1"]
    assert Attention.RULE_REFUSED in run.head.attention
    assert "c is being edited by ann" in next(event.note for event in driver.events if event.kind == "rule_refused")


def test_drafts_are_of_tasks_that_are_there_while_there_is_something_to_edit() -> None:
    driver = drafted("b")
    assert [fault.code for fault in opened(driver, "x", "y").faults] == [Code.UNKNOWN_TASK, Code.UNKNOWN_TASK]
    assert opened(driver, "b", ttl_s=121).faults[0].code is Code.BAD_REQUEST
    assert opened(driver, "b", name="none").faults[0].code is Code.NOT_FOUND
    for number in range(DRAFTS_MOST - 1):
        assert not opened(driver, "b", by=f"person:p{number}").faults
    assert opened(driver, "b", by=BOB).faults[0].code is Code.CONFLICT
    assert not opened(driver, "c").faults
    driver.run()
    assert opened(driver, "b").faults[0].code is Code.ILLEGAL_CONTROL
