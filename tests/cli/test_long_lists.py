"""Lists of more tasks than there is room for: those that a person looks for come first."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from starloom.cli.text.constellation_text import page, task_table
from starloom.cli.text.matrix import ROWS_MOST, family_table
from starloom.client.view import View
from starloom_protocol.records.entities import ForEach, TaskRecord, TaskSpec
from starloom_protocol.vocabulary import Code, Reason, TaskState
from tests.cli.events import CONSTELLATION, Log

DONE = TaskRecord(since_ms=0, state=TaskState.SUCCEEDED, attempt=1)
LOUD = {
    777: TaskRecord(since_ms=0, state=TaskState.RUNNING, attempt=1),
    888: TaskRecord(since_ms=0, state=TaskState.READY, reason=Reason.MISSING_GRANT),
    999: TaskRecord(since_ms=0, state=TaskState.FAILED, attempt=1, code=Code.TOOL_FAILED),
}


def a_view(*, family: bool) -> View:
    log, view = Log(), View(CONSTELLATION)
    if family:
        log.add("planned", spec__read=TaskSpec(id="read", changed_in=1, for_each=ForEach(source="list"), family="read"))
    for number in range(1, 1201):
        more: dict[str, Any] = {"group": "read", "key": str(number), "family": "read"} if family else {}
        puts: dict[str, Any] = {
            f"spec__readDOT{number}": TaskSpec(id=f"read.{number}", changed_in=1, tool="fs.read", **more)
        }
        puts[f"task__readDOT{number}"] = LOUD.get(number, DONE)
        log.add("x", **puts)
    view.apply(log.rows)
    return view


def lines(table: object) -> list[str]:
    shown = io.StringIO()
    Console(width=120, file=shown).print(table)
    return [line.split()[0] for line in shown.getvalue().splitlines()[1:]]


def test_failed_and_stuck_items_of_a_family_come_first() -> None:
    (table,) = family_table(a_view(family=True))
    assert lines(table)[:4] == ["999", "888", "777", "1"]
    assert len(lines(table)) == ROWS_MOST + 1


def test_tasks_with_numbers_stand_in_the_order_of_the_numbers() -> None:
    log, view = Log(), View(CONSTELLATION)
    log.add("x", task__t10=DONE, task__t9=DONE, task__read_2=DONE, task__read_12=DONE, task__t1=DONE)
    view.apply(log.rows)
    assert lines(task_table(view, {})) == ["read_2", "read_12", "t1", "t9", "t10"]


def test_failed_and_stuck_tasks_come_first() -> None:
    found = lines(task_table(a_view(family=False), {}, most=5))
    assert found == ["read.999", "read.888", "read.777", "read.1", "read.2", "and"]


def test_a_constellation_without_tasks_has_no_table_of_heads_alone() -> None:
    log, view = Log(), View(CONSTELLATION)
    log.add("planned", spec__why=TaskSpec(id="why", changed_in=1))
    view.apply(log.rows)
    shown = io.StringIO()
    Console(width=120, file=shown).print(page(view, {}))
    assert not any(line.split()[:2] == ["task", "state"] for line in shown.getvalue().splitlines())
