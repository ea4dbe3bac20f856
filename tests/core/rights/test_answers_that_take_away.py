"""Answers of a person after which files leave their place, by the calls that they let run."""

from __future__ import annotations

import pytest

from starloom.core.rights.call_effects import taking_away
from starloom_protocol.records.entities import Choice, Condition, Dependency, TaskSpec
from starloom_protocol.vocabulary import Gate, Op
from tests.builders import task

GO, STAY = Choice(label="Yes", value="go"), Choice(label="No", value="stay")
NO = Choice(fails=True, label="No", value="no")


def _asked(*choices: Choice) -> TaskSpec:
    return TaskSpec(changed_in=1, choices=list(choices), id="ask", person="Shall it go?")


def _gate(source: str, target: str, gate: Gate = Gate.SUCCESS, *, op: Op | None = None) -> Dependency:
    condition = None if op is None else Condition(op=op, output="/value", value='"go"')
    return Dependency(changed_in=1, condition=condition, gate=gate, source=source, target=target)


def _taking(specs: list[TaskSpec], *edges: Dependency, destroying: tuple[str, ...] = ()) -> list[str]:
    return taking_away("ask", {spec.id: spec for spec in specs}, edges, destroying)


TRASH = task("clear", tool="fs.trash")


@pytest.mark.parametrize(("op", "taken"), [(Op.EQ, ["go"]), (Op.NE, ["stay"])])
def test_the_condition_of_a_gate_decides(op: Op, taken: list[str]) -> None:
    assert _taking([_asked(GO, STAY), TRASH], _gate("ask", "clear", Gate.OUTPUT, op=op)) == taken


def test_an_answer_that_fails_lets_nothing_on() -> None:
    assert _taking([_asked(GO, NO), TRASH], _gate("ask", "clear")) == ["go"]
    assert _taking([_asked(GO, NO), TRASH], _gate("ask", "clear", Gate.FAILURE)) == ["no"]


def test_a_call_far_behind_the_answer_counts() -> None:
    edges = _gate("ask", "list", Gate.OUTPUT, op=Op.EQ), _gate("list", "clear")
    assert _taking([_asked(GO, STAY), task("list"), TRASH], *edges) == ["go"]


def test_an_answer_that_changes_nothing_is_not_named() -> None:
    assert _taking([_asked(GO, STAY), TRASH], _gate("ask", "clear")) == []
    assert _taking([_asked(GO, NO), TRASH], _gate("ask", "clear", Gate.FINISH)) == []
    assert _taking([_asked(GO, STAY)]) == []
    assert _taking([TRASH]) == []


def test_calls_that_overwrite_or_destroy_count() -> None:
    copy = task("copy", tool="fs.copy", args='{"on_clash":"replace","to":"b"}')
    assert _taking([_asked(GO, NO), copy], _gate("ask", "copy")) == ["go"]
    assert _taking([_asked(GO, NO), task("kill")], _gate("ask", "kill"), destroying=("kill",)) == ["go"]
    assert _taking([_asked(GO, NO), task("kill")], _gate("ask", "kill")) == []
