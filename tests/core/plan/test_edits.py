"""Structure edits: every operation, every conflict, and that a rejected batch leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import pytest

from starloom.core.state.orders import Answer
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    DropItems,
    EditOperation,
    Expand,
    Reassign,
    RemoveDependency,
    RemoveTask,
    SetPolicy,
    UpdateDependency,
    UpdateTask,
)
from starloom_protocol.records.entities import Choice, ForEach, Policy, Selector
from starloom_protocol.stream.feed import state_hash
from starloom_protocol.vocabulary import Code, EffectSeen, Gate, Outcome, TaskState
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver
from tests.cost import calls

CALLS_A_TASK_MOST = 36
"""The invariants that the driver checks after each step make about 25 of them."""


def edit(driver: Driver, *operations: EditOperation, base: int | None = None, name: str = "c1") -> Answer:
    found = driver.shard.constellations.get(name)
    version = base if base is not None else (found.head.version if found else 0)
    return driver.edit(*operations, base=version, name=name, reason="because")


def raws(**fields: str) -> dict[str, msgspec.Raw]:
    return {name: msgspec.Raw(text.encode()) for name, text in fields.items()}


def family() -> WatchedDriver:
    """A list of three, expanded, one child running."""
    driver = WatchedDriver("one", slots=1)
    driver.submit(
        plan(
            task("list"),
            task("g", for_each=ForEach(source="list", output="/l")),
            task("h", "x=g", for_each=ForEach(same="g")),
            task("end", "rows=h"),
        )
    )
    (dispatch,) = driver.take()
    driver.result(dispatch, {"l": [1, 2, 3]})
    return driver


def chain() -> WatchedDriver:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "y=b"), edge("a>c", Gate.FINISH)))
    return driver


def test_each_operation_makes_one_version_with_its_author_and_its_text() -> None:
    driver = chain()
    link = edge("b>c", Gate.UNLESS_FAILED)
    operations: list[EditOperation] = [
        AddTask(spec=task("d", "x=a")),
        UpdateTask(id="b", changes=raws(optional="true", args='"{}"')),
        Reassign(id="c", device=Selector(name="one")),
        AddDependency(dependency=edge("d>c")),
        UpdateDependency(id="a>c:finish", dependency=link),
        SetPolicy(policy=Policy(partial=True)),
    ]
    for number, operation in enumerate(operations, 2):
        assert edit(driver, operation).value == {"version": number}
        version = driver.shard.constellations["c1"].versions[str(number)]
        assert (version.author, version.reason) == ("person:ann", "because")
        assert msgspec.json.decode(version.operations) == [msgspec.json.decode(msgspec.json.encode(operation))]
    run = driver.shard.constellations["c1"]
    assert run.specs["b"].optional
    assert run.specs["c"].device == Selector(name="one")
    assert "a>c:finish" not in run.deps
    assert run.head.policy.partial
    assert edit(driver, RemoveDependency(id="d>c:success"), RemoveTask(id="d")).value == {"version": 8}
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_inputs_and_their_dependencies_change_together() -> None:
    driver = chain()
    edit(driver, UpdateTask(id="c", changes=raws(inputs='[{"name":"z","source":"a"}]')))
    run = driver.shard.constellations["c1"]
    assert "b>c:y" not in run.deps
    assert "a>c:z" in run.deps
    edit(driver, RemoveDependency(id="a>c:z"))
    assert run.specs["c"].inputs == []


CASES: list[tuple[str, list[EditOperation], list[Code]]] = [
    ("unknown task", [UpdateTask(id="no", changes={})], [Code.UNKNOWN_TASK]),
    ("removed twice", [RemoveTask(id="c"), RemoveTask(id="c")], [Code.UNKNOWN_TASK]),
    ("started", [Reassign(id="a", device=Selector())], [Code.TASK_STARTED]),
    ("same id", [AddTask(spec=task("b"))], [Code.DUPLICATE_ID]),
    ("no such family", [AddTask(spec=task("n", for_each=ForEach(same="b")))], [Code.UNKNOWN_TASK]),
    ("needed", [RemoveTask(id="b")], [Code.HAS_DEPENDENTS]),
    ("unknown field", [UpdateTask(id="b", changes=raws(id='"x"'))], [Code.UNKNOWN_FIELD]),
    ("wrong type", [UpdateTask(id="b", changes=raws(optional='"yes"'))], [Code.BAD_REQUEST]),
    ("from nothing", [AddDependency(dependency=edge("no>b"))], [Code.UNKNOWN_TASK]),
    ("into nothing", [AddDependency(dependency=edge("a>no"))], [Code.UNKNOWN_TASK]),
    ("twice", [AddDependency(dependency=edge("a>c", Gate.FINISH))], [Code.DUPLICATE_ID]),
    ("no such dependency", [RemoveDependency(id="a>b:no")], [Code.UNKNOWN_TASK]),
    ("into started work", [AddDependency(dependency=edge("c>a"))], [Code.TASK_STARTED]),
    ("a circle", [AddDependency(dependency=edge("c>b"))], [Code.PLAN_CYCLE]),
    ("itself", [AddDependency(dependency=edge("b>b"))], [Code.PLAN_CYCLE]),
    ("not a group", [DropItems(of="b", keys="[0]")], [Code.UNKNOWN_TASK]),
    ("nothing to expand", [Expand(id="b")], [Code.UNKNOWN_TASK]),
    ("input of nothing", [AddTask(spec=task("n", "x=no"))], [Code.UNKNOWN_TASK]),
    ("a list of its own", [UpdateTask(id="b", changes=raws(for_each='{"source":"a"}'))], [Code.BAD_REQUEST]),
    (
        "all at once",
        [RemoveTask(id="a"), UpdateTask(id="no", changes={}), AddTask(spec=task("b"))],
        [Code.TASK_STARTED, Code.UNKNOWN_TASK, Code.DUPLICATE_ID],
    ),
]


@pytest.mark.parametrize(("operations", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_refused_batch_names_every_fault_and_changes_nothing(
    operations: list[EditOperation], codes: list[Code]
) -> None:
    driver = chain()
    before = state_hash(driver.folded["c1"])
    answer = edit(driver, AddTask(spec=task("fine")), *operations)
    assert [item.code for item in answer.faults] == codes
    assert all(item.reason and item.hint for item in answer.faults)
    assert state_hash(driver.folded["c1"]) == before
    assert "fine" not in driver.shard.constellations["c1"].specs


def test_a_call_that_has_not_begun_goes_to_every_device() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    flows = [edge("b>look"), edge("look>tell", Gate.FINISH)]
    driver.submit(plan(task("b"), task("look", "x=b"), task("last", "rows=look"), task("tell"), *flows))
    assert not edit(driver, UpdateTask(id="look", changes=raws(for_each='{"devices":{}}'))).faults
    run = driver.shard.constellations["c1"]
    assert ([*run.children["look"]], "look" in run.tasks) == (["look.d-one", "look.d-two"], False)
    assert run.children["look"].keys() >= {dep.target for dep in run.deps.values() if dep.source == "b"} - {"look"}
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_a_list_over_devices_that_is_not_made_becomes_one_call_again() -> None:
    driver = WatchedDriver("one", slots=1)
    flows = [edge("b>look"), edge("look>tell", Gate.FINISH)]
    driver.submit(plan(task("b"), task("look", "x=b"), task("last", "rows=look"), task("tell"), *flows))
    run = driver.shard.constellations["c1"]
    gates = {*run.deps}
    for _ in range(2):
        assert not edit(driver, UpdateTask(id="look", changes=raws(for_each='{"devices":{},"times":1}'))).faults
        assert (run.groups["look"].state, "look" in run.tasks, {*run.deps}) == ("waiting", False, gates)
        assert not edit(driver, UpdateTask(id="look", changes=raws(for_each="null"))).faults
        assert (run.tasks["look"].state, "look" in run.groups, {*run.deps}) == ("waiting", False, gates)
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_conflicts_are_judged_by_base_version() -> None:
    driver = chain()
    edit(driver, Reassign(id="c", device=Selector(name="one")))
    assert edit(driver, Reassign(id="c", device=Selector()), base=1).faults[0].code is Code.EDIT_CONFLICT
    edit(driver, AddDependency(dependency=edge("a>b", Gate.FINISH)))
    # The source of an edge is not changed by it, its target is.
    assert edit(driver, RemoveDependency(id="a>b:finish"), base=2).faults[0].code is Code.EDIT_CONFLICT
    assert edit(driver, AddTask(spec=task("n", "x=c")), base=1).value == {"version": 4}
    assert edit(driver, AddTask(spec=task("m")), base=9).faults[0].code is Code.EDIT_CONFLICT


def test_operations_of_one_batch_do_not_collide() -> None:
    driver = chain()
    answer = edit(
        driver,
        AddTask(spec=task("d")),
        Reassign(id="d", device=Selector(name="one")),
        AddDependency(dependency=edge("d>c")),
        Reassign(id="c", device=Selector(name="one")),
        RemoveDependency(id="d>c:success"),
    )
    assert answer.value == {"version": 2}
    assert "d>c:success" not in driver.shard.constellations["c1"].deps


def test_limits_are_a_clear_error() -> None:
    settings = ShardSettings()
    settings.tasks_most, settings.dependencies_most = 4, 3
    driver = WatchedDriver("one", settings=settings)
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "y=b")))
    answer = edit(driver, AddTask(spec=task("d", "x=a", "y=b")), AddTask(spec=task("e")))
    assert [item.code for item in answer.faults] == [Code.PLAN_TOO_BIG, Code.PLAN_TOO_BIG]


def test_no_edit_of_what_is_over_or_being_cancelled_or_unknown() -> None:
    driver = chain()
    assert edit(driver, Expand(id="a"), name="no").faults[0].code is Code.NOT_FOUND
    driver.started(driver.dispatched[0])
    driver.control("cancel")
    assert edit(driver, AddTask(spec=task("n"))).faults[0].code is Code.ILLEGAL_CONTROL
    driver.receipt(driver.dispatched[0])
    assert edit(driver, AddTask(spec=task("n"))).faults[0].code is Code.ILLEGAL_CONTROL


def test_items_are_dropped_from_every_member_unless_one_has_started() -> None:
    driver = family()
    answer = edit(driver, DropItems(of="h", keys='[0,1,"7"]'))
    run = driver.shard.constellations["c1"]
    version = run.versions[str(answer.value["version"])]
    assert version.removed == ["g.1", "h.1"]
    assert version.reason == "because; kept: 0 (has started), 7 (no such item)"
    assert sorted(key for key, item in run.items.items() if not item.dropped) == ["g/0", "g/2"]
    assert edit(driver, DropItems(of="g", keys='"0"')).faults[0].code is Code.NOT_A_LIST
    assert driver.run() == "succeeded"


def test_items_made_after_the_base_version_are_a_conflict() -> None:
    driver = family()
    assert edit(driver, DropItems(of="g", keys="[2]"), base=1).faults[0].code is Code.EDIT_CONFLICT


def test_the_list_of_a_family_stays_with_its_root() -> None:
    driver = WatchedDriver("one")
    driver.submit(
        plan(
            task("list"),
            task("g", for_each=ForEach(source="list", output="/l")),
            task("h", for_each=ForEach(same="g")),
        )
    )
    assert edit(driver, RemoveTask(id="g")).faults[0].code is Code.HAS_DEPENDENTS
    assert edit(driver, RemoveDependency(id="list>g:$items")).faults[0].code is Code.BAD_REQUEST
    assert edit(driver, UpdateTask(id="g", changes=raws(for_each='{"source":"list","output":"/m"}'))).value
    assert driver.shard.constellations["c1"].specs["g"].for_each == ForEach(source="list", output="/m")
    assert edit(driver, RemoveTask(id="h"), RemoveTask(id="g")).value
    assert driver.run() == "succeeded"


def test_a_group_that_joins_later_expands_over_the_items_that_are_left() -> None:
    driver = family()
    edit(driver, DropItems(of="g", keys="[2]"))
    edit(driver, RemoveDependency(id="g.1>h.1:x"), RemoveTask(id="h.1"))
    edit(driver, AddTask(spec=task("k", "x=h", for_each=ForEach(same="g"))), Expand(id="g"))
    run = driver.shard.constellations["c1"]
    assert [name for name in run.tasks if name.startswith("k.")] == ["k.0"]
    assert "h.0>k.0:x" in run.deps
    assert driver.run() == "succeeded"


def test_an_edit_of_an_open_question_asks_anew_and_its_removal_closes_it() -> None:
    driver = WatchedDriver("one")
    choices = [Choice(value="go", label="Go")]
    driver.submit(plan(task("a"), task("ask", person="Well?", choices=choices), task("ask2", person="And?")))
    run = driver.shard.constellations["c1"]
    assert list(run.open_questions) == ["ask-1", "ask2-1"]
    edit(driver, UpdateTask(id="ask", changes=raws(person='"Really?"')))
    assert list(run.open_questions) == ["ask2-1", "ask-1-2"]
    assert run.questions["ask-1-2"].text == "Really?"
    edit(driver, AddDependency(dependency=edge("a>ask")))
    assert run.tasks["ask"].state is TaskState.WAITING
    assert list(run.open_questions) == ["ask2-1"]
    edit(driver, RemoveTask(id="ask"), RemoveTask(id="ask2"))
    assert not run.open_questions
    assert run.head.attention == []
    assert driver.run() == "succeeded"


def test_a_question_to_a_person_is_given_no_device() -> None:
    driver = WatchedDriver("one")
    driver.submit(
        plan(task("first"), task("ask", "x=first", person="Go on?", choices=[Choice(value="y", label="Yes")]))
    )
    by_name = Selector(name="one")
    for word, operation in (
        ("reassign", Reassign(device=by_name, id="ask")),
        ("update_task", UpdateTask(changes={"device": msgspec.Raw(b'{"name":"one"}')}, id="ask")),
    ):
        (fault,) = edit(driver, operation).faults
        assert (fault.code, fault.place) == (Code.PLAN_INVALID, f"operations[0].{word}.device")
        assert fault.reason == "a question to a person has no device"


def test_the_way_out_of_a_started_task_fits_its_state() -> None:
    driver = WatchedDriver("one", slots=8)
    driver.submit(plan(*(task(name, tool="t.never") for name in ("done", "runs", "stops", "doubt")), task("open")))
    taken = {item.at.task: item for item in driver.take()}
    driver.result(taken["done"], 1)
    driver.started(taken["stops"])
    driver.control("cancel", "stops")
    driver.result(taken["doubt"], outcome=Outcome.INTERRUPTED, effect=EffectSeen.MAYBE)
    hints = {}
    for name in ("done", "runs", "stops", "doubt"):
        (fault,) = edit(driver, RemoveTask(id=name)).faults
        assert fault.code is Code.TASK_STARTED
        hints[name] = f"{fault.reason}. {fault.hint}"
    assert hints == {
        "done": "done has succeeded already. Retry it to run it again, or add a task that comes after it.",
        "runs": "runs has started. Cancel it first, or edit what comes after it.",
        "stops": "stops is being stopped. Wait until it has stopped.",
        "doubt": "doubt may have happened. Mark it or retry it first.",
    }


def test_a_place_names_the_word_that_was_written() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", device="away"), task("g", for_each=ForEach(source="a", output="/l"))))
    faults = edit(
        driver,
        AddTask(spec=task("a")),
        AddTask(spec=task("n", for_each=ForEach(same="none"))),
        RemoveTask(id="none"),
        DropItems(of="g", keys="1"),
    ).faults
    assert [fault.place for fault in faults] == [
        "operations[0].add_task.id",
        "operations[1].add_task.for_each.same",
        "operations[2].remove_task",
        "operations[3].drop_items.keys",
    ]


def test_a_small_edit_of_a_large_plan_costs_little_for_each_task_that_it_leaves_alone() -> None:
    """Measured by W4 of `make bench`: comparing each task with itself once cost a third of the hub's time there."""
    made: dict[int, int] = {}
    for size in (200, 1_000):
        driver = Driver("one", slots=1)
        driver.submit(plan(*(task(f"t{number}") for number in range(size))))
        made[size] = calls(partial(edit, driver, AddTask(spec=task("more"))))
    assert made[1_000] - made[200] <= CALLS_A_TASK_MOST * 800, made


class LookedUp(dict[str, Any]):
    """Records that may be looked up one by one, and never walked through or copied."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all records were walked through")

    keys = items = values = __iter__  # type: ignore[assignment]


def test_an_edit_looks_only_at_its_own_tasks() -> None:
    driver = Driver("one", slots=1, whole=False)
    driver.submit(plan(*(task(name) for name in ("a", "b", "c"))))
    constellation = driver.shard.constellations["c1"]
    constellation.tables["spec"] = constellation.specs = LookedUp(constellation.specs)
    constellation.tables["dep"] = constellation.deps = LookedUp(constellation.deps)
    assert edit(driver, AddTask(spec=task("d")), AddDependency(dependency=edge("c>d", Gate.FINISH))).faults == []
    assert "d" in constellation.specs
