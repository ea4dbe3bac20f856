"""`starloom activity`: rows newest first, filters, the end in time, pages, and the line that shows more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from starloom_protocol.api.history import ActivityRow
from starloom_protocol.stream.events import Category
from tests.cli.test_commands import StubHub, starloom


@pytest.fixture
def hub() -> Iterator[StubHub]:
    stub = StubHub()
    yield stub
    stub.close()


def row(number: int, age_s: float = 0, **fields: Any) -> ActivityRow:
    at = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
    made = ActivityRow(
        pos=number, stream="fleet", seq=number, at=at, by="person:ann", kind="device_revoked",
        category=Category.DEVICES, about="d-1", about_name="nas", note="",
    )  # fmt: skip
    made.update(fields)  # type: ignore[typeddict-item]
    return made


def test_rows_say_who_did_what_and_where(hub: StubHub) -> None:
    rows = [row(2, note="sold"), row(1, by="", stream="c-1", kind="task_ended", about="copy", about_name="")]
    hub.answers["GET", "/audit"] = (200, {"items": rows, "next": None})
    code, said = starloom(hub, "activity", "--by", "ann", "--device", "nas", "--kind", "devices")
    assert code == 0
    first, second = said.splitlines()
    assert first.endswith("person:ann: nas  sold")
    assert second.endswith("the hub: copy  task ended  (c-1)")
    asked = parse_qs(urlsplit(hub.urls[-1]).query)
    assert asked == {"person": ["ann"], "device": ["nas"], "kind": ["devices"], "limit": ["40"]}


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
