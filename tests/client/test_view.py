"""The fold of a constellation's events at a client: entities are read once, until they change."""

from __future__ import annotations

from starloom.client.view import View
from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.vocabulary import TaskState
from tests.cli.events import CONSTELLATION, Log


def test_the_entities_of_a_kind_are_read_once_until_one_of_them_changes() -> None:
    log, view = Log(), View(CONSTELLATION)
    ready = TaskRecord(since_ms=0, state=TaskState.READY)
    log.add("x", task__a=ready, task__b=ready)
    view.apply(log.rows)
    tasks, specs = view.tasks, view.specs
    assert view.tasks is tasks
    log.add("x", task__b=TaskRecord(since_ms=0, state=TaskState.RUNNING))
    view.apply(log.rows)
    assert (tasks["b"].state, view.tasks["b"].state) == (TaskState.READY, TaskState.RUNNING)
    assert view.specs is specs
