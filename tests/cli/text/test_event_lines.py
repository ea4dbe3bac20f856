"""The lines of `starloom events`: devices and authors by their names."""

from __future__ import annotations

import msgspec

from starloom.cli.text.constellation_text import Changes, event_line, progress
from starloom.client.view import View
from starloom_protocol.records.entities import TaskRecord, encode_entity
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.presentation import presentation
from starloom_protocol.vocabulary import Reason, TaskState

DEVICES = {"d-1": "wolke7"}


def line(kind: EventKind, about: str, by: str, note: str = "") -> str:
    event = Event(about=about, at_ms=0, by=by, kind=kind, note=note, puts={}, seq=7, stream="c-1")
    return event_line(event, DEVICES).strip().split("  ", 2)[2]


def test_the_author_of_an_event_has_no_token_and_no_kind() -> None:
    assert line(EventKind.PLAN_MADE, "", "person:ines#t-1") == "plan_made  by ines"
    assert line(EventKind.PLAN_MADE, "", "program:ci#t-1") == "plan_made  by program:ci"
    assert line(EventKind.TASK_STARTED, "copy", "device:d-1") == "task_started copy  by wolke7"


def test_a_task_of_a_device_is_named_by_it() -> None:
    said = line(EventKind.TASK_FAILED, "run.d-1", "engine", "run.d-1 has failed")
    assert "run on wolke7" in said
    assert "d-1" not in said


def test_a_task_that_a_person_marked_is_no_plain_done() -> None:
    assert presentation(TaskState.SUCCEEDED, Reason.MARKED).word == "Marked done by a person"
    # Calls that the hub answers keep their answer in the same field, without that reason.
    assert presentation(TaskState.SUCCEEDED).word == "Done"
    record = TaskRecord(marked="null", reason=Reason.MARKED, since_ms=1, state=TaskState.SUCCEEDED)
    puts = {"task/copy": msgspec.Raw(encode_entity(record))}
    event = Event(
        about="copy", at_ms=0, by="person:ines#t", kind=EventKind.TASK_MARKED, puts=dict(puts), seq=7, stream="c-1"
    )
    changes = Changes({})
    assert [line.partition("  ")[2] for line in changes.lines(event)] == ["copy: Marked done by ines"]
    later = msgspec.structs.replace(event, kind=EventKind.PLAN_EDITED, by="engine", seq=8)
    assert changes.lines(later) == []


def test_a_task_that_waits_for_a_tap_does_not_count_as_running() -> None:
    record = TaskRecord(device="d-1", reason=Reason.TAP, since_ms=1, state=TaskState.RUNNING)
    puts = {"task/take": msgspec.Raw(encode_entity(record))}
    event = Event(
        about="take", at_ms=0, by="device:d-1", kind=EventKind.TASK_AWAITS_TAP, puts=dict(puts), seq=1, stream="c-1"
    )
    assert [line.partition("  ")[2] for line in Changes(DEVICES).lines(event)] == ["take: Waits for a tap on wolke7"]
    view = View("c-1")
    view.apply([event])
    assert progress(view) == "0 of 1 tasks done, 0 running, 1 waits for a tap"


def test_work_of_a_part_of_the_hub_is_starlooms() -> None:
    event = Event(about="", at_ms=1, by="engine", kind=EventKind.ENDED, puts={}, seq=7, stream="c-1")
    assert event_line(event, {}).endswith("by Starloom")
    assert event_line(msgspec.structs.replace(event, by="rule:again"), {}).endswith("by rule:again")
    assert event_line(msgspec.structs.replace(event, by="worker:vm-8701-7f"), {}).endswith("by Starloom")
    assert event_line(msgspec.structs.replace(event, by="person:ines#t"), {}).endswith("by ines")
