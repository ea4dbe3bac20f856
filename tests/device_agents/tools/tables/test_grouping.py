"""`data.group`, and the one line that `data.table` makes of its first row."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device

ROWS = [
    {"sha": "a", "bytes": 3, "path": "x", "device": "nas"},
    {"sha": "b", "bytes": 9, "path": "y", "device": "nas"},
    {"sha": "a", "bytes": 3, "path": "z", "device": "vps"},
    {"sha": "a", "bytes": 3, "path": "w", "device": "vps"},
]


def test_rows_that_share_a_value_become_one(device: Device) -> None:
    found = device.call("data.group", rows=ROWS, by=["sha"], add=["bytes"], collect=["device"], at_least=2)
    assert found["rows"] == [
        {**ROWS[0], "count": 3, "total_bytes": 9, "extra_bytes": 6, "each_device": "nas, vps"},
    ]
    assert [row["path"] for row in found["rest"]] == ["z", "w"]
    assert found["extra_bytes"] == 6


def test_groups_stand_in_the_order_of_their_first_rows(device: Device) -> None:
    found = device.call("data.group", rows=ROWS, by=["sha"])
    assert [(row["sha"], row["count"]) for row in found["rows"]] == [("a", 3), ("b", 1)]
    assert device.call("data.group", rows=[], by=["sha"], add=["bytes"]) == {
        "rows": [],
        "count": 0,
        "rest": [],
        "extra_bytes": 0,
    }


def test_many_different_values_are_cut(device: Device) -> None:
    rows = [{"a": 1, "name": f"n{number}"} for number in range(25)]
    (row,) = device.call("data.group", rows=rows, by=["a"], collect=["name"])["rows"]
    assert row["each_name"].endswith("n19, and 5 more")


@pytest.mark.parametrize(
    ("args", "word"),
    [({"by": ["nothing"]}, "no field 'nothing'"), ({"by": ["sha"], "add": ["path"]}, "is not a number")],
)
def test_what_cannot_be_grouped_is_refused(device: Device, args: dict[str, Any], word: str) -> None:
    with pytest.raises(ToolFailed, match=word):
        device.call("data.group", rows=ROWS, **args)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([{"device": "vps", "why": "disk full"}, {"device": "a", "why": ""}], "vps: disk full"),
        ([{"device": "vps", "why": ""}], "all is well"),
        ([{"device": "vps"}], "all is well"),
        ([], "nobody answered"),
    ],
)
def test_a_table_says_its_first_row_in_one_line(device: Device, rows: list[dict[str, str]], line: str) -> None:
    lead = {"fields": ["device", "why"], "fine": "all is well", "empty": "nobody answered"}
    assert device.call("data.table", rows=rows, lead=lead)["lead"] == line


def test_the_worst_of_several_rows_stays(device: Device) -> None:
    first, second = [{"device": "nas", "bad": 2, "why": "a"}], [{"device": "nas", "bad": 1, "why": "b"}]
    found = device.call("data.merge", rows=first, second=second, key="device", most=["bad"], join=["why"])
    assert found["rows"] == [{"device": "nas", "bad": 2, "why": "a; b"}]


def test_the_largest_of_several_numbers_below_zero_is_none_of_the_absent_ones(device: Device) -> None:
    rows = [{"k": "cellar", "t": value} for value in (None, -9, "", -5)]
    assert device.call("data.merge", rows=rows, key="k", most=["t"])["rows"] == [{"k": "cellar", "t": -5}]


def test_a_table_is_ordered_by_its_fields(device: Device) -> None:
    found = device.call("data.table", rows=ROWS, by=["device", "-path"], columns=[{"field": "path"}])
    assert [row["path"] for row in found["rows"]] == ["y", "x", "z", "w"]
    assert device.store.read(found["csv"]) == b"path\r\ny\r\nx\r\nz\r\nw\r\n"
