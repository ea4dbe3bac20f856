"""Repeats in plans: their form, their limits, and what they go with."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.types.signatures import built_in_results
from starloom_protocol.records.entities import Fault
from starloom_protocol.records.specs import Repeat
from starloom_protocol.vocabulary import Code, Op, Repeatability

PURE = Repeatability.PURE
TOOLS = {"log.search": PURE, "http.request": Repeatability.NEVER, "data.sort": PURE}
UNTIL = {"output": "/count", "op": "ge", "value": 3}


def repeated(repeat: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "look", "tool": "log.search", "repeat": repeat, **fields}


def plan(*tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "Test", "tasks": list(tasks), **fields}


def faults(document: dict[str, Any]) -> list[Fault]:
    return check_plan(document, known_tools=TOOLS, known_signatures=built_in_results()).faults


def turns(document: dict[str, Any]) -> Repeat:
    check = check_plan(document, known_tools=TOOLS, known_signatures=built_in_results())
    assert check.plan is not None, check.faults
    each = check.plan.specs[0].for_each
    assert each is not None
    assert each.repeat is not None
    return each.repeat


def test_a_repeat_is_lowered_to_a_group_of_turns() -> None:
    made = turns(plan(repeated({"max": 9, "every_s": 5, "until": UNTIL, "in_a_row": 2})))
    assert (made.most, made.every_s, made.in_a_row, made.during) == (9, 5, 2, False)
    assert made.until is not None
    assert (made.until.op, made.until.output, made.until.value) == (Op.GE, "/count", "3")


def test_while_is_the_condition_turned_round() -> None:
    assert turns(plan(repeated({"max": 9, "while": UNTIL}))).during


def test_carry_is_kept_in_order_of_names() -> None:
    made = turns(plan(repeated({"max": 9, "carry": {"since": "/source", "contains": "/source"}})))
    assert list(made.carry) == ["contains", "since"]


@pytest.mark.parametrize(
    ("task", "place", "words"),
    [
        (repeated({}), "tasks[0].repeat.max", "missing"),
        (repeated({"max": 1001, "until": UNTIL}), "tasks[0].repeat.max", "1000"),
        (repeated({"max": 0, "until": UNTIL}), "tasks[0].repeat.max", "1"),
        (repeated({"max": 3, "until": UNTIL, "while": UNTIL}), "tasks[0].repeat", "`until` or `while`"),
        (repeated({"max": 3}), "tasks[0].repeat", "the same call at once"),
        (repeated({"max": 3, "every_s": 1, "in_a_row": 2}), "tasks[0].repeat.in_a_row", "meet a condition"),
        (repeated({"max": 3, "until": UNTIL, "in_a_row": 4}), "tasks[0].repeat.in_a_row", "do not fit"),
        (repeated({"max": 1000, "every_s": 86_400, "until": UNTIL}), "tasks[0].repeat", "longer than 30 days"),
        (
            repeated({"max": 3, "until": {"output": "/cuont", "op": "ge", "value": 3}}),
            "tasks[0].repeat.until.output",
            "gives no `/cuont`",
        ),
        (
            repeated({"max": 3, "until": {"output": "/count", "op": "ge"}}),
            "tasks[0].repeat.until.value",
            "needs a value",
        ),
        (repeated({"max": 3, "carry": {"since": "/nowhere"}}), "tasks[0].repeat.carry.since", "gives no `/nowhere`"),
        (
            repeated({"max": 3, "carry": {"since": "/source"}}, inputs={"since": {"from": "a"}}),
            "tasks[0].repeat.carry.since",
            "input of each turn",
        ),
        (repeated({"max": 3, "until": UNTIL}, for_each={"times": 2}), "tasks[0].repeat", "`for_each` does not go"),
        (repeated({"max": 3, "until": UNTIL}, vote={"n": 3}), "tasks[0].repeat", "`repeat` does not go with `vote`"),
        (repeated({"max": 3, "until": UNTIL}, judge="Is it?"), "tasks[0].repeat", "`judge` does not go"),
        (repeated({"max": 3, "until": UNTIL}, device={"from": "a"}), "tasks[0].repeat", "device by a result"),
        (
            {"id": "p", "person": "Well?", "repeat": {"max": 3, "until": UNTIL}},
            "tasks[0].repeat",
            "only a call of a tool",
        ),
    ],
)
def test_a_repeat_that_cannot_be_meant_is_refused(task: dict[str, Any], place: str, words: str) -> None:
    found = faults(plan(task, {"id": "a", "tool": "log.search"}))
    assert any(one.place.startswith(place.removesuffix(".repeat")) and words in one.reason for one in found), found
    assert all(one.hint for one in found)


def test_an_unknown_argument_is_not_carried() -> None:
    from starloom_protocol.plan.types.signatures import Arguments, Signature

    known = {"log.search": Signature(names=Arguments(frozenset({"since"})))}
    found = check_plan(
        plan(repeated({"max": 3, "carry": {"sinse": "/source"}})), known_tools=TOOLS, known_signatures=known
    ).faults
    assert [(one.code, one.hint) for one in found] == [(Code.UNKNOWN_FIELD, "Did you mean `since`?")]


def test_turns_are_no_list_that_another_task_shares() -> None:
    found = faults(
        plan(repeated({"max": 3, "until": UNTIL}), {"id": "b", "tool": "log.search", "for_each": {"same": "look"}})
    )
    assert ["its turns are no list" in one.reason for one in found] == [True]


def test_a_reader_gets_the_last_turn_or_all_of_them() -> None:
    def read(**fields: Any) -> list[Fault]:
        reader = {"id": "s", "tool": "data.sort", "inputs": {"rows": {"from": "look", "output": "/rows", **fields}}}
        return faults(plan(repeated({"max": 3, "until": UNTIL}), reader))

    assert read() == []
    assert read(all=True, flatten=True) == []


def test_an_edit_does_not_turn_a_task_into_a_repeat() -> None:
    found, _ = check_edit([{"update_task": {"id": "look", "repeat": {"max": 3, "until": UNTIL}}}])
    assert ["cannot be set by an edit" in one.reason for one in found] == [True]
