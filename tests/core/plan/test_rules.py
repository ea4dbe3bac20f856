"""Rules: once per rule, task and round; in list order; a refused firing is told."""

from __future__ import annotations

import msgspec
import pytest

from starloom_protocol.records.edits import AddDependency, AddTask, DropItems, EditOperation, RemoveTask, SetPolicy
from starloom_protocol.records.entities import Condition, ForEach, Policy, RuleRecord
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Approval, Attention, Code, Gate, Op, Outcome
from tests.builders import Driver, edge, plan, task
from tests.core.watched import WatchedDriver

NEVER = Policy(approval=Approval.NEVER)


def rule(name: str, on: str, event: str, *operations: EditOperation, order: int = 0, **fields: object) -> RuleRecord:
    text = canonical(msgspec.to_builtins(operations))
    made = RuleRecord(name=name, task=on, event=event, operations=text, order=order, reason=f"by {name}")
    return msgspec.structs.replace(made, **fields)


def authors(driver: Driver) -> list[str]:
    return [version.author for version in driver.shard.constellations["c1"].versions.values()]


def test_a_rule_fires_once_in_a_round_and_again_in_the_next() -> None:
    driver = WatchedDriver("one")
    again = rule("again", "a", "attempt_ended", SetPolicy(policy=Policy(partial=True)))
    driver.submit(plan(task("a"), rules=[again]))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NETWORK)
    assert authors(driver) == ["person:ann", "rule:again"]
    driver.fire(driver.timers[-1])
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NETWORK)
    assert authors(driver) == ["person:ann", "rule:again"]
    driver.fire(next(timer for timer in reversed(driver.timers) if timer.kind == "backoff"))
    assert driver.run() == "succeeded"
    driver.control("retry_from", "a")
    assert driver.run() == "succeeded"
    assert authors(driver) == ["person:ann", "rule:again", "rule:again"]
    assert driver.shard.constellations["c1"].rules["again"].fired_for == {"a": 2}


def test_rules_fire_in_list_order_and_at_most_so_often() -> None:
    driver = WatchedDriver("one")
    driver.shard.settings.rule_firings_most = 1
    first = rule("z", "a", "succeeded", AddTask(spec=task("n")), order=0)
    second = rule("b", "a", "succeeded", AddTask(spec=task("m", "x=n")), order=1)
    driver.submit(plan(task("a"), rules=[second, first]))
    assert driver.run() == "succeeded"
    driver.control("retry_from", "a")
    assert driver.run() == "succeeded"
    assert authors(driver) == ["person:ann", "rule:z", "rule:b"]


def test_a_rule_may_ask_for_a_code_or_a_number_of_tries() -> None:
    driver = WatchedDriver("one")
    tries = Condition(op=Op.GE, output="", value="1")
    rules = [
        rule("code", "a", "failed", AddTask(spec=task("mend")), code=Code.NO_SPACE),
        rule("other", "a", "failed", AddTask(spec=task("no")), order=1, code=Code.NETWORK),
        rule(
            "many", "a", "failed", AddTask(spec=task("no")), order=2, attempts=Condition(op=Op.GT, output="", value="9")
        ),
        rule("tries", "a", "failed", AddTask(spec=task("yes")), order=3, attempts=tries),
        rule("met", "a", "failed", AddTask(spec=task("no")), order=4, condition=Condition(op=Op.EXISTS, output="")),
    ]
    driver.submit(plan(task("a", tool="t.never"), rules=rules))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NO_SPACE)
    assert authors(driver) == ["person:ann", "rule:code", "rule:tries"]


def test_a_rule_of_a_group_fires_for_each_child_with_its_sibling_or_once_for_the_whole() -> None:
    driver = WatchedDriver("one", slots=8)
    each = rule(
        "each",
        "g",
        "succeeded",
        AddTask(spec=task("look", "x=h")),
        AddDependency(dependency=edge("look>end")),
        AddDependency(dependency=edge("g>look", Gate.FINISH, all=True)),
        RemoveTask(id="spare"),
    )
    whole = rule("whole", "g", "succeeded", AddTask(spec=task("once")), order=1, whole=True)
    driver.submit(
        plan(
            task("l"),
            task("g", for_each=ForEach(source="l", output="/l")),
            task("h", "y=g", for_each=ForEach(same="g")),
            task("spare", for_each=ForEach(same="g"), device="nobody"),
            task("end", "rows=h"),
            rules=[each, whole],
        )
    )
    driver.result(driver.take()[0], {"l": [1, 2]})
    driver.run(value={"l": []})
    run = driver.shard.constellations["c1"]
    assert sorted(name for name in run.specs if name.startswith("look")) == ["look-0", "look-1"]
    assert run.specs["look-1"].inputs[0].source == "h.1"
    assert "g>look-0:finish" in run.deps
    assert [name for name in run.tasks if name.startswith("spare")] == []
    assert authors(driver).count("rule:whole") == 1
    assert run.head.state == "succeeded"


def test_a_rule_on_a_number_of_failed_tasks_fires_once() -> None:
    driver = WatchedDriver("one", slots=20)
    many = rule("many", "g", "failed", AddTask(spec=task("tell")), failed=Condition(op=Op.GT, output="", value="2"))
    driver.submit(plan(task("g", tool="t.never", for_each=ForEach(times=6)), rules=[many], policy=NEVER))
    dispatches = driver.take()
    for dispatch in dispatches[:2]:
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NO_SPACE)
    assert authors(driver) == ["person:ann", "expand"]
    for dispatch in dispatches[2:5]:
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NO_SPACE)
    assert authors(driver) == ["person:ann", "expand", "rule:many"]
    run = driver.shard.constellations["c1"]
    assert "tell" in run.tasks, "it is of the whole list, so it has no name of an item"
    assert run.rules["many"].fired_for == {"g": 1}
    assert Attention.RULE_REFUSED not in run.head.attention


@pytest.mark.parametrize("text", ['["output" for x in y]', '{"output": "/x"}', '{"output"', '[{"output":"/x"}]'])
def test_a_text_of_the_author_stays_as_it_is_whatever_it_looks_like(text: str) -> None:
    driver = Driver("one")
    args = canonical({"code": text, "n": {"output": "/x"}, "more": [{"value": text}]})
    added = task("b", args=args)
    driver.submit(plan(task("a"), rules=[rule("next", "a", "succeeded", AddTask(spec=added))]))
    driver.result(driver.take()[0], {"x": 7})
    assert parse(driver.shard.constellations["c1"].specs["b"].args) == {
        "code": text,
        "n": 7,
        "more": [{"value": text}],
    }


def test_an_output_that_finds_nothing_is_null_and_the_refusal_is_told() -> None:
    driver = WatchedDriver("one", slots=8)
    drop = rule("drop", "a", "succeeded", DropItems(of="g", keys='{"output":"/no"}'))
    driver.submit(plan(task("a"), task("l"), task("g", for_each=ForEach(source="l", output="/l")), rules=[drop]))
    by_task = {item.at.task: item for item in driver.take()}
    assert by_task["a"].wants == ["/no"]
    driver.result(by_task["a"], {"yes": 1})
    run = driver.shard.constellations["c1"]
    assert Attention.RULE_REFUSED in run.head.attention
    assert run.head.version == 1
    driver.result(by_task["l"], {"l": [1]})
    assert driver.run() == "succeeded"


def test_nothing_fires_in_what_is_being_cancelled() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), rules=[rule("late", "a", "succeeded", AddTask(spec=task("n")))]))
    (dispatch,) = driver.take()
    driver.control("cancel")
    driver.result(dispatch, 1)
    assert authors(driver) == ["person:ann"]
    assert driver.shard.constellations["c1"].head.state == "cancelled"


def test_a_task_made_ready_and_removed_in_one_step_is_not_told_as_ready() -> None:
    driver = WatchedDriver("one", slots=8)
    gone = rule("gone", "g", "succeeded", RemoveTask(id="x"), whole=True)
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l")), task("x", "y=l"), rules=[gone]))
    driver.result(driver.take()[0], {"l": []})
    assert "x" not in driver.states()
    assert driver.run() == "succeeded"
