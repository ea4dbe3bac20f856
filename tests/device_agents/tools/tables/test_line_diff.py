"""`data.diff`: two texts line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.tools.tables.line_diff import Diff, diff
from tests.device_agents.tools.conftest import Device

FIRST = "port 80\nworkers 4\n}\nlog on\n}\n"
SECOND = "port 80\nworkers 8  \n}\n}\nuser www\n"


def test_lines_have_their_numbers_in_the_text_that_they_are_in(device: Device) -> None:
    found = device.call("data.diff", first=FIRST, second=SECOND)
    assert found["rows"] == [
        {"first_line": 2, "state": "only in the first", "text": "workers 4"},
        {"second_line": 2, "state": "only in the second", "text": "workers 8"},
        {"first_line": 4, "state": "only in the first", "text": "log on"},
        {"second_line": 5, "state": "only in the second", "text": "user www"},
    ]
    counts = {name: found[name] for name in ("count", "equal", "only_first", "only_second", "same")}
    assert counts == {"count": 4, "equal": False, "only_first": 2, "only_second": 2, "same": 3}


def test_blanks_at_the_ends_and_kinds_of_line_ends_are_no_difference(device: Device) -> None:
    assert device.call("data.diff", first="a\r\nb", second="a  \nb\n")["equal"] is True
    assert device.call("data.diff", first="", second="")["equal"] is True


def test_the_rows_are_bounded_and_the_counts_are_not(device: Device) -> None:
    found = device.call("data.diff", first="a\nb\nc", second="x" * 5_000, limit=2)
    assert (len(found["rows"]), found["count"], found["only_first"], found["only_second"]) == (2, 4, 3, 1)
    whole = device.call("data.diff", first="", second="x" * 5_000)
    assert len(whole["rows"][0]["text"]) == 1_000


def test_a_text_of_too_many_lines_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed, match="the second text has 10001 lines; at most 10000 are compared"):
        device.call("data.diff", first="a", second="a\n" * 10_001)


@given(st.lists(st.sampled_from("ab}"), max_size=12), st.lists(st.sampled_from("ab}"), max_size=12))
def test_the_second_text_is_the_first_with_its_rows(first: list[str], second: list[str]) -> None:
    found = diff(ToolContext.__new__(ToolContext), Diff(first="\n".join(first), second="\n".join(second)))
    gone = {row["first_line"] for row in found["rows"] if "first_line" in row}
    new = {row["second_line"]: row["text"] for row in found["rows"] if "second_line" in row}
    kept = iter([line for at, line in enumerate(first, 1) if at not in gone])
    made = [new[at] if at in new else next(kept) for at in range(1, len(second) + 1)]
    assert (made, list(kept)) == (second, [])


@pytest.mark.timeout(60)
def test_t271_two_texts_of_few_common_lines_take_no_hours(device: Device) -> None:
    first, second = ("".join(f"}}\n}}\n}}\n{sign}{at}\n" for at in range(2_500)) for sign in "ab")
    found = device.call("data.diff", first=first, second=second)
    assert (found["same"], found["count"]) == (7_500, 5_000)
