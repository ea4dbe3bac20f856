"""One call of a goal for each entry of a list that it found: each is a step, a task, and judged like any other."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.plan.goals.spreading import ENTRIES_MOST
from starloom.core.state.inputs import EachOf, LookCall
from starloom.core.state.orders import Answer
from starloom_protocol.values import parse
from tests.core.plan.goals.pursued import Pursued, call

READ = call("fs.read", path={"each": "/path"})
READS: dict[str, Any] = {
    "may": {"tools": ["fs.read", "fs.write", "t.pure"], "paths": ["logs"]},
    "budget": {"steps": 10},
}


def listed(*paths: Any, goal: dict[str, Any] | None = None) -> Pursued:
    one = Pursued(goal={**READS, **(goal or {})})
    if one.made.open_questions:
        one.reply("allow")
    one.step(call(number=1))
    one.end_calls({"files": [{"path": path} for path in paths]})
    return one


def spread(one: Pursued, *calls: LookCall, task: str = "why.1", pointer: str = "/files") -> Answer:
    one.claim()
    over = EachOf(pointer=pointer, task=task)
    return one.propose("step", calls=list(calls or (READ,)), each_of=over, note="to read them all")


def test_each_entry_becomes_an_ordinary_task_of_one_step() -> None:
    one = listed("logs/a", "logs/b", "logs/c")
    spread(one)
    sent = one.take()
    assert [(work.at.task, parse(work.args)) for work in sent] == [
        ("why.2", {"path": "logs/a"}),
        ("why.3", {"path": "logs/b"}),
        ("why.4", {"path": "logs/c"}),
    ]
    for work in sent:
        one.result(work, {"text": work.at.task})
    assert one.job.goal is not None
    assert [turn.uses for turn in one.job.goal.turns] == [1, 3]
    one.answer(cites=("why.3",))
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_entries_use_up_the_steps_of_the_goal() -> None:
    one = listed("logs/a", "logs/b", "logs/c", goal={"budget": {"steps": 4}})
    spread(one)
    one.end_calls()
    one.step(call(number=2))
    assert not one.take()
    assert one.made.open_questions


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"task": "info"}, "no result of this goal"),
        ({"pointer": "/else"}, "not known here"),
        ({"pointer": "/files/0"}, "no list"),
        ({"pointer": "files"}, ""),
    ],
)
def test_what_is_no_list_of_the_goal_is_refused(fields: dict[str, str], word: str) -> None:
    one = listed("logs/a")
    spread(one, **fields)
    assert one.turns[-1][0] == "refused"
    assert word in one.turns[-1][1]
    assert not one.take()


@pytest.mark.parametrize(
    ("paths", "calls", "word"),
    [
        (["logs/a", "../secrets"], (READ,), ""),
        (["logs/a", {"secret": "mail"}], (READ,), ""),
        (["logs/a"], (READ, READ), "one call"),
        (["logs/a"], (call("fs.read", path={"each": "/name"}),), "has nothing at /name"),
        (["logs/a"], (call("fs.write", path={"each": "/path"}, text="x"),), "only read"),
        (["logs/a"], (call("svc.restart", path={"each": "/path"}),), ""),
        ([f"logs/{number}" for number in range(ENTRIES_MOST + 1)], (READ,), "narrow the list"),
        ([], (READ,), "no list with entries"),
    ],
)
def test_a_spread_beyond_the_envelope_is_refused_whole(
    paths: list[Any], calls: tuple[LookCall, ...], word: str
) -> None:
    one = listed(*paths)
    spread(one, *calls)
    assert one.turns[-1][0] == "refused"
    assert word in one.turns[-1][1]
    assert not one.take()
    one.folded_equals_state()
