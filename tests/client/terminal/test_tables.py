"""Tables of an answer: titles and units where the tool gave them, rows as they are where it did not; names for ids."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from starloom.cli.text.constellation_text import answer_text
from starloom.cli.text.task_names import task_name
from starloom.client.terminal.tables import cell, is_table, value_table, without_rows
from starloom_protocol.records.entities import Answer, AnswerItem
from starloom_protocol.values import canonical

TABLE = {
    "columns": [
        {"field": "device", "title": "Device", "show": ""},
        {"field": "bytes", "title": "Size", "show": "bytes"},
    ],
    "rows": [{"bytes": 2500, "device": "nas", "differs": True}, {"bytes": 7, "device": "vps", "differs": False}],
}


def printed(thing: RenderableType, width: int = 120) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(thing)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_table_keeps_its_order_titles_and_units_and_says_what_differs() -> None:
    head, first, second = (line.split() for line in printed(value_table(TABLE)))
    assert head == ["Device", "Size"]
    assert first == ["nas", "2.5", "kB", "differs"]
    assert second == ["vps", "7", "bytes"]


def test_plain_rows_are_shown_with_their_fields() -> None:
    head, first = (line.split() for line in printed(value_table([{"a": 1, "b": None}])))
    assert (head, first) == (["a", "b"], ["1"])


def test_plain_rows_of_artifacts_have_each_hash_once() -> None:
    one, other = "ab" * 32, "cd" * 32
    assert printed(value_table([{"artifact": one, "sha256": one}]))[0].split() == ["artifact"]
    assert printed(value_table([{"artifact": one, "sha256": other}]), 200)[0].split() == ["artifact", "sha256"]


def test_a_long_table_says_how_much_is_left() -> None:
    assert printed(value_table([{"a": number} for number in range(40)]))[-1].strip() == (
        "and 10 more rows; --json has all"
    )
    wide = value_table([{f"c{number}": number for number in range(13)}])
    assert printed(wide)[-1].strip() == "and 3 more columns; --json has all"


def test_a_narrow_table_wraps_texts_keeps_numbers_and_names_what_it_leaves_out() -> None:
    row = {"folder": "/home/ann/Pictures of the village school", "used_bytes": 512_345_678, "why": "it holds films"}
    rows = [{**row, "files": 123_456_789, "share": "51 %"}]
    for width in (24, 32, 40, 60):
        lines = printed(value_table(rows), width)
        assert not any("…" in line for line in lines), lines
        assert all(len(line) <= width for line in lines)
        text = " ".join(" ".join(lines).split())
        for number, title in (("512.3 MB", "used_bytes"), ("123456789", "files"), ("51 %", "share")):
            assert number in text or title in text.partition("Left out in this width:")[2]
    assert "Left out" in " ".join(printed(value_table(rows), 40))
    assert "Left out" not in " ".join(printed(value_table(rows), 120))


@pytest.mark.parametrize(
    ("value", "show", "text"),
    [
        (12345.67, "", "12345.67"),
        (1234567.89, "", "1234567.89"),
        (0.1 + 0.2, "", "0.3"),
        (None, "bytes", ""),
        (True, "", "yes"),
        (False, "bytes", "no"),
        (12, "percent", "12 %"),
        (45, "duration", "45 s"),
        (4000, "duration", "1 h 06 min"),
        (864_000, "duration", "10 days"),
        (1.5, "", "1.5"),
        (["a", 2], "", "a, 2"),
        ({"a": 1}, "", "a: 1"),
        ("two\n", "", "two"),
        ("n/a", "bytes", "n/a"),
    ],
)
def test_a_cell_is_read_as_people_write_it(value: object, show: str, text: str) -> None:
    assert cell(value, show) == text


def test_a_date_is_shown_as_a_local_time() -> None:
    assert cell(1_767_225_600, "date")[:4] in ("2025", "2026")


def test_what_is_no_table_is_not_taken_for_one() -> None:
    assert not is_table([])
    assert not is_table([1])
    assert not is_table({"rows": []})
    assert without_rows({"count": 0, "rows": []})
    assert not without_rows({"note": "x", "rows": []})
    assert is_table(TABLE)


def test_an_answer_calls_devices_by_their_names() -> None:
    names = {"d-abc": "nas"}
    assert task_name("info.d-abc", names) == "info on nas"
    assert task_name("send.3", names) == "send.3"
    empty = {**TABLE, "rows": []}
    items = [
        AnswerItem(title="Sizes", show="table", task="info.d-abc", device="d-abc", value=canonical(TABLE)),
        AnswerItem(title="None", show="table", task="table", device="d-abc", value=canonical(empty)),
    ]
    lines = printed(answer_text(Answer(items=items, sentence="Done.", state="final"), names))
    assert lines[1] == "Sizes  (info on nas)"
    assert lines[-2:] == ["None  (table on nas)", "  nothing"]


def test_the_columns_of_a_query_are_names_and_its_rows_maps_or_lists() -> None:
    for rows in ([{"n": 3, "who": "ann"}], [[3, "ann"]]):
        head, first = (line.split() for line in printed(value_table({"columns": ["n", "who"], "rows": rows})))
        assert (head, first) == (["n", "who"], ["3", "ann"])


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
FIELDS = st.sampled_from(["field", "title", "show", "differs", "a"])
PARTS = st.recursive(
    SCALARS | st.sampled_from(["bytes", "date", "duration"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
)


@given(columns=PARTS, rows=PARTS)
def test_no_value_of_a_device_ends_the_command(columns: object, rows: object) -> None:
    for value in (rows, {"columns": columns, "rows": rows}, {"columns": [columns], "rows": [rows]}):
        if is_table(value):
            printed(value_table(value))


def test_bytes_of_a_result_without_columns_have_units() -> None:
    assert cell({"free_bytes": 5_000_000_000, "files": 3}, "") == "free_bytes: 5.0 GB, files: 3"
    lines = printed(value_table([{"name": "a", "bytes": 2_500_000}]))
    assert [line.split() for line in lines] == [["name", "bytes"], ["a", "2.5", "MB"]]


def test_times_since_1970_of_own_plans_are_dates_and_durations_are_numbers() -> None:
    columns = [{"field": name, "title": name, "show": ""} for name in ("mtime_s", "seen_ms", "took_s")]
    row = {"mtime_s": 1_795_629_076, "seen_ms": 1_795_629_076_000, "took_s": 12}
    for table in ({"columns": columns, "rows": [row]}, [row]):
        text = "\n".join(printed(value_table(table)))
        assert text.count("2026-11-2") == 2
        assert "17956" not in text
        assert " 12" in text
    assert cell({"mtime_s": 10**20}, "") == f"mtime_s: {10**20}"
