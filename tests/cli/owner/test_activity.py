"""`starloom activity`: rows newest first, filters, the end in time, pages, and the line that shows more."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starloom_protocol.api.history import ActivityRow
from starloom_protocol.stream.events import Category
from tests.cli.test_commands import StubHub, starloom


def row(number: int, age_s: float = 0, **fields: Any) -> ActivityRow:
    at = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
    made = ActivityRow(
        pos=number, stream="fleet", seq=number, at=at, by="person:ann", kind="device_revoked",
        category=Category.DEVICES, about="d-1", about_name="nas", note="", by_name="ann", stream_name="",
        files=[], files_count=0,
    )  # fmt: skip
    made.update(fields)  # type: ignore[typeddict-item]
    return made


def test_rows_say_who_did_what_and_where_by_names(hub: StubHub) -> None:
    of_a_plan: dict[str, Any] = {"stream": "c-1", "stream_name": "Copy a folder", "about": "copy", "about_name": ""}
    rows = [
        row(5, note="sold"),
        row(4, by="", by_name="", kind="task_succeeded", **of_a_plan, files=["a.jpg", "b.jpg"], files_count=7),
        row(3, by="device:d-1", by_name="nas", kind="device_online"),
        row(3, by="device:d-1", by_name="nas", kind="device_joined"),
        row(2, kind="token_revoked", about="3" * 20, about_name=""),
        row(1, kind="of_a_later_version", about="d-2", about_name="laptop"),
    ]
    hub.answers["GET", "/audit"] = (200, {"items": rows, "next": None})
    code, said = starloom(hub, "activity", "--by", "ann", "--device", "nas", "--kind", "devices")
    assert code == 0
    assert [line.split("  ", 1)[1] for line in said.splitlines()] == [
        "ann revoked nas: sold",
        "the hub finished copy; changed a.jpg, b.jpg and 5 more  (Copy a folder, c-1)",
        "nas came online",
        "nas joined",
        "ann revoked a token",
        "ann of a later version laptop",
    ]
    asked = parse_qs(urlsplit(hub.urls[-1]).query)
    assert asked == {"person": ["ann"], "device": ["nas"], "kind": ["devices"], "limit": ["40"]}


def of_work(number: int, kind: str, device: str = "nas", **fields: Any) -> ActivityRow:
    work = {"category": Category.WORK, "stream": "c-1", "stream_name": "Copy", "about": "copy", "about_name": ""}
    return row(number, kind=kind, by=f"device:{device}", by_name=device, **{**work, **fields})


def test_the_work_of_one_constellation_is_one_line_as_on_the_page(hub: StubHub) -> None:
    run = [of_work(9, "task_succeeded"), of_work(8, "task_failed"), of_work(7, "task_started")]
    rows = [
        *run,
        of_work(6, "task_succeeded", "vps"),
        row(5, kind="recipe_proposed", category=Category.RECIPES, about="0a" * 12, about_name="", by="", by_name=""),
        of_work(4, "task_started"),
        of_work(3, "task_started", stream="c-2"),
    ]
    hub.answers["GET", "/audit"] = (200, {"items": rows, "next": None})
    _, said = starloom(hub, "activity")
    assert [line.split("  ", 1)[1] for line in said.splitlines()] == [
        "2 devices: 1 task failed, 2 finished, on nas, vps  (Copy, c-1)",
        "the hub proposed a recipe",
        "nas started copy  (Copy, c-1)",
        "nas started copy  (Copy, c-2)",
    ]


def test_events_of_one_commit_that_are_no_work_stand_alone(hub: StubHub) -> None:
    hub.answers["GET", "/audit"] = (200, {"items": [row(7, seq=number) for number in range(4)], "next": None})
    _, said = starloom(hub, "activity")
    assert [line.split("  ", 1)[1] for line in said.splitlines()] == ["ann revoked nas"] * 4


def test_what_is_older_is_left_out(hub: StubHub) -> None:
    hub.answers["GET", "/audit"] = (200, {"items": [row(2, 60), row(1, 7200)], "next": "more"})
    code, said = starloom(hub, "activity", "--since", "1h", "--json")
    assert code == 0
    assert [item["pos"] for item in json.loads(said)["items"]] == [2]


def test_an_empty_record_and_a_wrong_age_are_told(hub: StubHub) -> None:
    hub.answers["GET", "/audit"] = (200, {"items": [], "next": None})
    assert starloom(hub, "activity") == (0, "Nothing is on record for that.\n")
    code, _ = starloom(hub, "activity", "--since", "soon")
    assert code == 2


def test_the_line_for_more_is_shown_where_there_is_more(hub: StubHub) -> None:
    hub.answers["GET", "/audit"] = (200, {"items": [row(3), row(2), row(1)], "next": None})
    _, said = starloom(hub, "activity", "-n", "3")
    assert said.splitlines()[-1].endswith("activity --last 15")


def test_a_note_of_a_device_does_not_steer_the_terminal(hub: StubHub) -> None:
    hub.answers["GET", "/audit"] = (200, {"items": [row(1, note="\x1b[2J\x1b]0;owned\x07gone")], "next": None})
    _, said = starloom(hub, "activity")
    assert "\x1b" not in said
    assert "gone" in said


def test_an_approval_is_told_without_its_id_and_a_schedule_by_its_name(hub: StubHub) -> None:
    of_a_plan: dict[str, Any] = {"stream": "c-1", "stream_name": "Copy", "about": "approve-plan", "about_name": ""}
    rows = [
        row(3, kind="approval_answered", category=Category.APPROVALS, **of_a_plan),
        row(2, kind="schedule_made", category=Category.SCHEDULES, about="s-" + "a" * 12, about_name="nachts"),
        row(1, kind="schedule_made", category=Category.SCHEDULES, about="s-" + "b" * 12, about_name=""),
    ]
    hub.answers["GET", "/audit"] = (200, {"items": rows, "next": None})
    said = starloom(hub, "activity")[1]
    assert "approve-plan" not in said
    assert "nachts" in said
    assert "s-b" not in said
