"""The tasks of a constellation that are on a device now are counted as its events come."""

from __future__ import annotations

import itertools

import msgspec

from starloom.edge.live.entity_json import is_at_work
from starloom.edge.live.views import AtWork
from starloom_protocol.records.entities import TaskRecord, encode_entity
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.presentation import Tone, presentation
from starloom_protocol.vocabulary import Reason, TaskState


def task(state: TaskState, reason: Reason | None = None) -> bytes:
    return encode_entity(TaskRecord(reason=reason, since_ms=1, state=state))


def event(seq: int, kind: str = "k", **tasks: bytes | None) -> Event:
    raws = {f"task/{name}": None if raw is None else msgspec.Raw(raw) for name, raw in tasks.items()}
    return Event(about="", at_ms=1, by="engine", kind=kind, puts=raws, seq=seq, stream="c1")


def test_tasks_on_devices_are_counted_from_lease_to_end() -> None:
    view = AtWork()
    view.apply(event(1, a=task(TaskState.READY), b=task(TaskState.LEASED), c=task(TaskState.CANCELLING)))
    assert view.of("c1") == 2
    view.apply(event(2, a=task(TaskState.LEASED)))
    view.apply(event(3, a=task(TaskState.RUNNING), b=task(TaskState.UNKNOWN)))
    assert view.of("c1") == 2
    view.apply(event(4, a=task(TaskState.SUCCEEDED), c=None))
    assert view.of("c1") == 0
    assert view.of("c2") == 0


def test_the_kind_of_an_event_tells_as_much_as_its_record() -> None:
    for kind, state in ((EventKind.TASK_LEASED, TaskState.LEASED), (EventKind.TASK_SUCCEEDED, TaskState.SUCCEEDED)):
        by_kind, by_record = AtWork(), AtWork()
        for view, named in ((by_kind, kind), (by_record, "k")):
            view.apply(event(1, a=task(TaskState.RUNNING)))
            view.apply(event(2, named, a=task(state), b=task(state)))
        assert by_kind.of("c1") == by_record.of("c1")


def test_a_task_that_stands_still_on_its_device_is_not_counted() -> None:
    view = AtWork()
    view.apply(event(1, a=task(TaskState.RUNNING, Reason.ABSENT), b=task(TaskState.RUNNING, Reason.TAP)))
    assert view.of("c1") == 0
    view.apply(event(2, a=task(TaskState.RUNNING)))
    assert view.of("c1") == 1


def test_committed_tasks_are_taken_whole_and_forgotten() -> None:
    view = AtWork()
    view.take("c1", {"head": b"{}", "task/a": task(TaskState.RUNNING), "task/b": task(TaskState.WAITING)})
    assert view.of("c1") == 1
    view.reset()
    assert view.of("c1") == 0


def test_a_task_at_work_is_blue_on_the_page_and_no_other_is() -> None:
    for state, reason in itertools.product(TaskState, (None, *Reason)):
        assert is_at_work(state, reason) == (presentation(state, reason).tone is Tone.BLUE), (state, reason)
