"""The table of gates, every cell of it, through the one function that decides."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from starloom.core.state.apply import put
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.tasks.gates import decide, is_known
from starloom_protocol.records.entities import Attempt, Condition, Dependency, GroupRecord, Head, TaskRecord
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    ConstellationState,
    Gate,
    GateState,
    GroupState,
    Op,
    Reason,
    Repeatability,
    TaskState,
)
from tests.builders import edge, task

O, S, U = GateState.OPEN, GateState.SHUT, GateState.UNDECIDED  # noqa: E741 - the letters of the table
UNFINISHED = ["waiting", "ready", "leased", "running", "cancelling", "unknown"]
ENDS = [
    "succeeded",
    "failed",
    "cancelled",
    "not_chosen",
    "enough",
    "by_person",
    "upstream_failed",
    "upstream_cancelled",
]
REASONS = {
    "not_chosen": Reason.NOT_CHOSEN,
    "enough": Reason.ENOUGH,
    "by_person": Reason.SKIPPED_BY_PERSON,
    "upstream_failed": Reason.UPSTREAM_FAILED,
    "upstream_cancelled": Reason.UPSTREAM_CANCELLED,
}
TABLE: dict[str, list[GateState]] = {
    "success": [O, S, S, S, S, S, S, S],
    "failure": [S, O, S, S, S, S, S, S],
    "finish": [O, O, O, O, O, O, O, O],
    "unless_failed": [O, S, S, O, O, O, S, S],
    "data": [O, S, S, S, S, S, S, S],
    "data_optional": [O, S, S, O, O, O, S, S],
    "output_true": [O, S, S, S, S, S, S, S],
    "output_false": [S, S, S, S, S, S, S, S],
}
# An optional task's failure, and what it took with it, counts as not chosen.
OPTIONAL: dict[str, list[GateState]] = TABLE | {
    "unless_failed": [O, O, S, O, O, O, O, O],
    "data_optional": [O, O, S, O, O, O, O, O],
}


def gate_of(name: str) -> Dependency:
    if name.startswith("data"):
        return Dependency(
            source="a", target="b", gate=Gate.DATA, changed_in=1, input="x", optional=name == "data_optional"
        )
    if name.startswith("output"):
        value = canonical(name == "output_true")
        return edge("a>b", Gate.OUTPUT, condition=Condition(op=Op.EQ, output="/ok", value=value))
    return edge("a>b", Gate(name))


def source_in(end: str, *, optional: bool = False) -> Constellation:
    shard = Shard()
    run = shard.stream("c")
    assert isinstance(run, Constellation)
    put(shard, run, "head", "", Head(author="a", created_ms=1, id="c", name="c", state=ConstellationState.ACTIVE))
    put(shard, run, "spec", "a", replace(task("a"), optional=optional))
    state = TaskState.SKIPPED if end in REASONS else TaskState(end)
    attempt = Attempt(device="d", incarnation=1, leased_ms=1, repeatability=Repeatability.PURE, value='{"ok":true}')
    put(shard, run, "attempt", "a/1", attempt)
    record = TaskRecord(state=state, since_ms=1, attempt=1, reason=REASONS.get(end))
    put(shard, run, "task", "a", record)
    return run


@pytest.mark.parametrize("name", list(TABLE))
@pytest.mark.parametrize("optional", [False, True])
def test_the_whole_table(name: str, optional: bool) -> None:
    row = OPTIONAL[name] if optional else TABLE[name]
    for end, wanted in zip(ENDS, row, strict=True):
        assert decide(source_in(end, optional=optional), gate_of(name)) is wanted, f"{name} of {end}"
    for state in UNFINISHED:
        assert decide(source_in(state, optional=optional), gate_of(name)) is U


def test_a_source_that_does_not_stand_decides_nothing() -> None:
    found = Shard().stream("c")
    assert isinstance(found, Constellation)
    assert decide(found, edge("a>b")) is U


def test_a_group_is_a_source_like_any_other() -> None:
    shard = Shard()
    run = shard.stream("c")
    assert isinstance(run, Constellation)
    for state, wanted in ((GroupState.EXPANDED, U), (GroupState.SUCCEEDED, O), (GroupState.FAILED, S)):
        put(shard, run, "group", "a", GroupRecord(state=state, since_ms=1))
        assert decide(run, edge("a>b")) is wanted
    put(shard, run, "group", "a", GroupRecord(state=GroupState.SUCCEEDED, since_ms=1))
    assert decide(run, gate_of("output_true")) is S


def test_a_fact_that_was_never_asked_for_leaves_its_gate_undecided_and_one_that_found_nothing_shuts_it() -> None:
    shard = Shard()
    run = shard.stream("c")
    assert isinstance(run, Constellation)
    attempt = Attempt(
        device="d", incarnation=1, leased_ms=1, repeatability=Repeatability.PURE, artifact="a" * 64, facts={"!/no": "0"}
    )
    put(shard, run, "attempt", "a/1", attempt)
    put(shard, run, "task", "a", TaskRecord(state=TaskState.SUCCEEDED, since_ms=1, attempt=1))
    assert not is_known(run, "a", "/ok")
    assert decide(run, gate_of("output_true")) is U
    nothing = edge("a>b", Gate.OUTPUT, condition=Condition(op=Op.EQ, output="/no", value="1"))
    assert decide(run, nothing) is S
