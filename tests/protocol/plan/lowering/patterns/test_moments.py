"""Moments in plans: the form of `not_before`, its limits, and what it goes with."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.types.signatures import built_in_results
from starloom_protocol.records.entities import Fault
from starloom_protocol.records.specs import Moment

READ = {"id": "note", "tool": "fs.read"}
FROM: dict[str, Any] = {"from": "note", "output": "/text"}


def check(*tasks: Any) -> Any:
    document = {"starloom": 1, "name": "Test", "tasks": list(tasks)}
    return check_plan(document, known_signatures=built_in_results())


def faults(*tasks: Any) -> list[Fault]:
    found: list[Fault] = check(*tasks).faults
    return found


def test_a_moment_is_lowered_with_its_bound() -> None:
    task = {"id": "w", "tool": "notify", "not_before": {**FROM, "zone": "Europe/Berlin", "past": "fail"}}
    plan = check(READ, task).plan
    assert plan.specs[1].not_before == Moment(
        output="/text", past="fail", source="note", within_s=604_800, zone="Europe/Berlin"
    )


def test_a_time_that_is_written_waits_for_no_task() -> None:
    written = {"at": "2026-11-29 02:00", "zone": "Europe/Berlin"}
    plan = check({"id": "w", "tool": "notify", "not_before": written}).plan
    assert plan.specs[0].not_before == Moment(at="2026-11-29 02:00", within_s=2_592_000, zone="Europe/Berlin")
    assert plan.dependencies == []


def test_a_name_within_a_plan_is_the_nearest() -> None:
    inner = {"tasks": [READ, {"id": "w", "tool": "notify", "not_before": FROM}]}
    plan = check({"id": "g", "plan": inner}).plan
    assert plan.specs[2].not_before.source == "g.note"


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"tool": "notify", "not_before": {"output": "/text"}}, "tasks[1].not_before", "`at`"),
        ({"tool": "notify", "not_before": {**FROM, "at": "2026-11-29 02:00"}}, "tasks[1].not_before", "`at`"),
        ({"tool": "notify", "not_before": {"at": "at two"}}, "tasks[1].not_before.at", "no time such as"),
        ({"tool": "notify", "not_before": {"at": "2026-02-30 02:00Z"}}, "tasks[1].not_before.at", "calendar"),
        ({"tool": "notify", "not_before": {"at": "2026-11-29 02:00"}}, "tasks[1].not_before.at", "names no zone"),
        ({"tool": "notify", "not_before": {**FROM, "from": "nobody"}}, "tasks[1].not_before.from", "no task"),
        ({"tool": "notify", "not_before": {**FROM, "from": "w"}}, "tasks[1].not_before.from", "wait for each other"),
        ({"tool": "notify", "not_before": {**FROM, "zone": "Europe/Berlni"}}, "tasks[1].not_before.zone", "time zone"),
        ({"tool": "notify", "not_before": {**FROM, "past": "wait"}}, "tasks[1].not_before.past", "go, fail"),
        ({"tool": "notify", "not_before": {**FROM, "within_s": 0}}, "tasks[1].not_before.within_s", "1"),
        ({"tool": "notify", "not_before": {**FROM, "within_s": 2_592_001}}, "tasks[1].not_before.within_s", "2592000"),
        ({"tool": "notify", "not_before": {**FROM, "output": "/txet"}}, "tasks[1].not_before.output", "/txet"),
        ({"tool": "notify", "not_before": {**FROM, "output": ""}}, "tasks[1].not_before.output", "names no time"),
        ({"person": "Well?", "not_before": FROM}, "tasks[1].not_before", "only a call of a tool"),
        (
            {"tool": "notify", "not_before": {**FROM, "past": "fail"}, "repeat": {"max": 2, "every_s": 1}},
            "tasks[1].not_before.past",
            "every turn but the first",
        ),
    ],
)
def test_a_moment_that_cannot_be_meant_is_refused(fields: dict[str, Any], place: str, words: str) -> None:
    found = faults(READ, {"id": "w", **fields})
    assert any(one.place == place and words in one.reason for one in found), found


def test_a_time_is_read_from_one_result() -> None:
    group = {**READ, "for_each": {"times": 2}}
    (found,) = faults(group, {"id": "w", "tool": "notify", "not_before": FROM})
    assert "is a group" in found.reason


def test_an_edit_does_not_give_a_task_a_time() -> None:
    found, _ = check_edit([{"update_task": {"id": "w", "not_before": FROM}}])
    assert ["cannot be set by an edit" in one.reason for one in found] == [True]
