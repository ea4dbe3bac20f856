"""No value of a row makes a `data` tool end without words: it is taken, or refused with its row and its column.

NaN, infinities and numbers of more than 4,300 digits are no values: what reads a result refuses them before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

ODD: dict[str, Any] = {
    "huge": 10**400,
    "far below zero": -(10**400),
    "of 4,300 digits": 10**4299,
    "the largest float": 1.7e308,
    "the smallest float": 5e-324,
    "beyond 64 bits": 2**64,
    "nested": {"a": [1, {"b": 10**400}]},
    "a list": [1, "2", None],
    "nothing": None,
    "digits": "12",
    "other digits": "\N{ARABIC-INDIC DIGIT ONE}",
    "an empty text": "",
    "yes": True,
}
SHOWN = ("", "bytes", "percent", "duration", "date")


def calls(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = [{"k": "x", "n": value}, {"k": "x", "n": 1.5}, {"k": "x", "n": 1.7e308}, {"k": "y"}]
    for way in ("add", "most", "join"):
        yield "data.merge", {"rows": rows, "key": "k", way: ["n"]}
    yield "data.merge", {"rows": rows[:3], "key": "n"}
    yield "data.group", {"rows": rows, "by": ["k"], "add": ["n"], "collect": ["n"]}
    yield "data.group", {"rows": rows[:3], "by": ["n"]}
    for op in ("eq", "gt", "contains", "not_empty"):
        yield "data.filter", {"rows": rows, "where": [{"output": "/n", "op": op, "value": value}]}
    for by in ("n", "-n"):
        yield "data.sort", {"rows": rows, "by": [by]}
    for show in SHOWN:
        columns = [{"field": "n", "show": show}]
        yield "data.table", {"rows": rows, "columns": columns, "mark_differences": "n", "lead": {"fields": ["n"]}}
    for tolerance in (None, 0.5):
        yield "data.vote", {"ballots": [value, value, 1.5], "tolerance": tolerance}
    size = value if isinstance(value, int) and not isinstance(value, bool) else 1
    files = [{"path": path, "sha256": "0" * 64, "bytes": size} for path in ("a", "b")]
    yield "data.compare", {"first": files, "second": files[:1]}
    yield "data.duplicates", {"files": files}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_each_odd_value_is_taken_or_refused_in_words(value: Any, device: Device) -> None:
    for tool, args in calls(value):
        with contextlib.suppress(ToolFailed):
            device.call(tool, **args)


@pytest.mark.parametrize(("tool", "by"), [("data.merge", {"key": "k"}), ("data.group", {"by": ["k"]})])
@pytest.mark.parametrize(
    "odd", [10**400, 1.7e308, 10**4299, True, "12", {"a": 1}], ids=["huge", "float", "long", "yes", "digits", "nested"]
)
def test_a_sum_that_is_no_number_names_its_row_and_column(
    tool: str, by: dict[str, Any], odd: Any, device: Device
) -> None:
    rows = [{"k": "x", "size": 1.7e308, "name": "first"}, {"k": "x", "size": odd, "name": "second"}]
    with pytest.raises(ToolFailed, match=r"size is to be added up.*second") as failed:
        device.call(tool, rows=rows, **by, add=["size"])
    assert failed.value.code is Code.BAD_ARGUMENTS
