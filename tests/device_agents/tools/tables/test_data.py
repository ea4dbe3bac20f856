from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device


def test_sizes_that_read_alike_are_one_row(device: Device) -> None:
    rows = [
        {"free": 50_000_000_000, "on": "a"},
        {"free": 50_000_004_096, "on": "b"},
        {"free": 51_000_000_000, "on": "c"},
    ]
    alike = device.call("data.merge", rows=rows, key="free", show="bytes", join=["on"], separator=" and ")
    assert [row["on"] for row in alike["rows"]] == ["a and b", "c"]
    assert device.call("data.merge", rows=rows, key="free", join=["on"])["count"] == 3


def test_lists_are_joined_by_a_key_with_sums_and_reasons(device: Device) -> None:
    found = device.call(
        "data.merge",
        rows=[{"device": "a", "severity": 1, "why": "disk", "os": "linux"}, {"device": "b", "severity": 0, "why": ""}],
        second=[{"device": "a", "severity": 2, "why": "services"}],
        third=None,
        key="device",
        add=["severity"],
        join=["why"],
    )
    assert found["rows"] == [
        {"device": "a", "severity": 3, "why": "disk; services", "os": "linux"},
        {"device": "b", "severity": 0, "why": ""},
    ]


def test_without_a_key_lists_follow_each_other(device: Device) -> None:
    assert device.call("data.merge", rows=[{"n": 1}], second=[{"n": 2}])["rows"] == [{"n": 1}, {"n": 2}]
    assert device.call("data.merge")["rows"] == []


def test_a_row_without_the_key_or_with_a_text_to_add_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed, match="no field 'device'"):
        device.call("data.merge", rows=[{"name": "a"}], key="device")
    with pytest.raises(ToolFailed, match="is not a number"):
        device.call("data.merge", rows=[{"d": "a", "n": "1"}], key="d", add=["n"])


def test_rows_are_chosen_by_conditions(device: Device) -> None:
    rows = [{"n": 1, "tags": {"x": "ab"}}, {"n": 5, "tags": {"x": "b"}}, {"m": 9}]
    found = device.call("data.filter", rows=rows, where=[{"output": "/n", "op": "ge", "value": 1}])
    assert (found["count"], found["dropped"]) == (2, 1)
    both = [{"output": "/n", "op": "gt", "value": 0}, {"output": "/tags/x", "op": "contains", "value": "a"}]
    assert device.call("data.filter", rows=rows, where=both)["rows"] == [rows[0]]


def test_rows_are_ordered_by_several_fields_missing_ones_last(device: Device) -> None:
    rows = [{"s": 1, "d": "b"}, {"d": "z"}, {"s": 2, "d": "c"}, {"s": 2, "d": "A"}]
    found = device.call("data.sort", rows=rows, by=["-s", "d"], limit=3)
    assert [row["d"] for row in found["rows"]] == ["A", "c", "b"]
    assert found["count"] == 4


def test_numbers_and_texts_in_one_field_do_not_fail(device: Device) -> None:
    rows = [{"v": "b"}, {"v": 2}, {"v": None}, {"v": [1]}, {"v": True}, {"v": "a"}]
    found = device.call("data.sort", rows=rows, by=["v"])
    assert [row["v"] for row in found["rows"]] == [True, 2, "a", "b", [1], None]


def test_a_table_shows_columns_and_marks_what_differs(device: Device) -> None:
    rows = [
        {"device": "a", "out": "x", "n": {"deep": 1}},
        {"device": "b", "out": "x", "n": None},
        {"device": "=c", "out": "y"},
    ]
    columns = [{"field": "device", "title": "Device"}, {"field": "n"}]
    found = device.call("data.table", rows=rows, columns=columns, mark_differences="out", name="t.csv")
    assert [row["differs"] for row in found["rows"]] == [False, False, True]
    assert found["different"] == 1
    assert found["columns"][0] == {"field": "device", "title": "Device", "show": ""}
    text = device.store.read(found["csv"]).decode()
    assert text == 'Device,n\r\na,"{""deep"":1}"\r\nb,\r\n\'=c,\r\n'


def test_a_table_says_which_rows_differ_from_most_or_that_none_does(device: Device) -> None:
    lead = {"fields": ["device"], "differs": "says something else than most", "fine": "All say the same.", "empty": "-"}
    rows = [{"device": name, "out": "b" if name == "vps" else "a"} for name in ("laptop", "nas", "vps")]
    told = device.call("data.table", rows=rows, mark_differences="out", lead=lead)
    assert told["lead"] == "vps: says something else than most"
    assert device.call("data.table", rows=rows[:2], mark_differences="out", lead=lead)["lead"] == "All say the same."
    assert device.call("data.table", rows=[], mark_differences="out", lead=lead)["lead"] == "-"


@pytest.mark.parametrize(("outs", "values"), [("ab", 2), ("abcde", 5), ("aabb", 2)])
def test_where_most_rows_have_no_value_in_common_none_is_marked(outs: str, values: int, device: Device) -> None:
    lead = {"fields": ["device"], "differs": "says something else than most", "fine": "All say the same."}
    rows = [{"device": f"d{number}", "out": out} for number, out in enumerate(outs)]
    told = device.call("data.table", rows=rows, mark_differences="out", lead=lead)
    assert (told["different"], told["values"], told["lead"]) == (0, values, f"{values} different values.")
    assert not any(row["differs"] for row in told["rows"])


def test_a_line_of_no_fields_says_that_all_is_well(device: Device) -> None:
    assert device.call("data.table", rows=[{}], lead={"fields": [], "fine": "All is well."})["lead"] == "All is well."


def test_a_file_of_a_table_holds_dates_and_a_cell_that_is_cut_says_so(device: Device) -> None:
    rows = [{"at_s": 1_795_732_782.5, "out": "x" * 300}, {"at_s": -1, "out": "short"}]
    found = device.call("data.table", rows=rows, columns=[{"field": "at_s", "show": "date"}, {"field": "out"}])
    assert device.store.read(found["csv"]).decode().splitlines()[1:] == [
        f"2026-11-26T22:39:42Z,{'x' * 300}",
        "-1,short",
    ]
    assert [row["at_s"] for row in found["rows"]] == [1_795_732_782.5, -1], (
        "the page shows a number as its reader's time"
    )
    assert found["rows"][0]["out"] == "x" * 199 + "\N{HORIZONTAL ELLIPSIS}"


def test_a_name_of_a_field_is_no_formula_in_the_file(device: Device) -> None:
    name = "=HYPERLINK(1,2)"
    bare = device.call("data.table", rows=[{name: 1, "@sum": 2}])
    titled = device.call("data.table", rows=[{"n": 1}], columns=[{"field": "n", "title": "+1"}])
    assert device.store.read(bare["csv"]).decode().splitlines()[0] == f"\"'{name}\",'@sum"
    assert device.store.read(titled["csv"]).decode().splitlines()[0] == "'+1"
    assert [column["field"] for column in bare["columns"]] == [name, "@sum"]


@pytest.mark.parametrize("text", ["a;=HYPERLINK(B1)", "\n=1", "a\t=1", "\N{FULLWIDTH EQUALS SIGN}1"])
def test_t233_a_spreadsheet_of_any_language_finds_no_formula(device: Device, text: str) -> None:
    """One that parts cells by semicolons or tabs took the end of a text of a device for a cell of its own."""
    found = device.call("data.table", rows=[{"name": text, "n": 1}])
    written = device.store.read(found["csv"]).decode()
    for delimiter in ",;\t":
        cells = [cell for row in csv.reader(io.StringIO(written), delimiter=delimiter) for cell in row]
        assert not [cell for cell in cells if cell.lstrip("\n")[:1] in ("=", "\N{FULLWIDTH EQUALS SIGN}")], cells


def test_a_table_of_nothing_is_a_table(device: Device) -> None:
    found = device.call("data.table", rows=[])
    assert (found["rows"], found["columns"], found["count"]) == ([], [], 0)


LEAD = {"fields": ["device", "why"], "fine": "All is well.", "empty": "Nothing is there."}


@pytest.mark.parametrize(
    ("rows", "said"),
    [([{"device": "vm", "why": "full"}], "vm: full"), ([{"device": "vm"}], LEAD["fine"]), ([], LEAD["empty"])],
)
def test_a_lead_begins_with_what_was_not_seen(device: Device, rows: list[dict[str, Any]], said: str) -> None:
    unseen = [{"unseen": "could not read 1 log on lap"}, {"unseen": ""}, {}, {"unseen": "could not read 1 log on lap"}]
    found = device.call("data.table", rows=rows, lead=LEAD, unseen=unseen)
    assert found["lead"] == f"Could not read 1 log on lap. {said}"
    assert device.call("data.table", rows=rows, lead=LEAD, unseen=[{}])["lead"] == said


def test_a_lead_with_a_fine_end_names_each_row_that_says_something(device: Device) -> None:
    def led(*rows: tuple[str, str], **lead: Any) -> str:
        given = [{"device": name, "why": why} for name, why in rows]
        return str(device.call("data.table", rows=given, lead={**LEAD, **lead})["lead"])

    full, old = ("vm", "full"), ("nas", "old")
    assert led(full, old, ("pi", "")) == "vm: full; nas: old"
    assert led(full, ("nas", "full")) == "vm and nas: full"
    assert led(*((f"n{at}", "full") for at in range(5))) == "n0, n1, n2 and 2 more: full"
    assert led(*((f"n{at}", f"full {at}") for at in range(5))) == "n0: full 0; n1: full 1; n2: full 2; and 2 more"
    assert led(full, old, fine="") == "vm: full; and 1 more"


def test_a_lead_of_the_first_row_counts_the_others(device: Device) -> None:
    lead = {"fields": ["device", "path"], "empty": "No file was found."}
    rows = [{"device": "nas", "path": f"{number}.jpg"} for number in range(3)]

    def led(count: int) -> str:
        return str(device.call("data.table", rows=rows[:count], lead=lead)["lead"])

    assert [led(count) for count in (0, 1, 3)] == ["No file was found.", "nas: 0.jpg", "nas: 0.jpg; and 2 more"]


def test_a_lead_names_few_things_and_counts_the_rest(device: Device) -> None:
    unseen = [{"unseen": f"could not read 1 log on n{number}"} for number in range(9)]
    lead = device.call("data.table", rows=[], lead=LEAD, unseen=unseen)["lead"]
    assert lead.endswith("could not read 1 log on n5; and 3 more. Nothing is there.")
