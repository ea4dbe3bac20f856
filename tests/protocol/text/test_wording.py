"""Values and places in words."""

from __future__ import annotations

import pytest

from starloom_protocol.text.wording import (
    few,
    is_agent_line,
    listed,
    natural_order,
    place_words,
    quoted,
    seconds,
    size_words,
    value_words,
)
from starloom_protocol.tools.profiles import held_back_words
from starloom_protocol.vocabulary import Profile


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("plan.tasks[1].args.folder", "Row 2, folder"),
        ("tasks[0].tool", "Row 1, tool"),
        ("/tasks/0/args/root", "Row 1, root"),
        ("tasks[2].inputs.rows", "Row 3, inputs, rows"),
        ("tasks[2].checks[0].op", "Row 3, check 1, op"),
        ("params.source", "Source"),
        ("phrases[0]", "Phrase 1"),
        ("operations[3].add_task.id", "Operation 4, add task, id"),
        ("labels[1]", "Label 2"),
        ("base_version", "Base version"),
        ("edit.\u00b3", "Edit, \u00b3"),
        pytest.param("plan." + "9" * 5000, "9" * 5000, id="a number of thousands of digits"),
        ("plan", "Plan"),
        ("", ""),
    ],
)
def test_a_place_is_told_in_words(place: str, words: str) -> None:
    assert place_words(place) == words


def test_a_place_in_a_task_is_told_by_its_id() -> None:
    assert place_words("tasks[1].retries", ["load", "train"]) == "Task train (row 2), retries"
    assert place_words("tasks[1].retries", ["load", ""]) == "Row 2, retries"
    assert place_words("tasks[5].retries", ["load"]) == "Row 6, retries"
    assert place_words("result[0].from", ["load"]) == "Answer part 1, from"


def test_values_are_told_without_python() -> None:
    said = [value_words(value) for value in (None, True, False, 3, 1.5, "it's", {"a": [None]}, ["x"])]
    assert said == ["nothing", "yes", "no", "3", "1.5", "it's", '{"a": [null]}', '["x"]']
    assert quoted("it's\n\x1b[2J") == "'it's ?[2J'"
    assert quoted(None) == "'nothing'"


def test_words_are_listed_as_in_a_sentence() -> None:
    assert [listed(["a", "b", "c"][:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_long_list_says_how_many_more_there_are() -> None:
    assert [few(["a", "b", "c"][:count], 2) for count in range(4)] == ["", "a", "a, b", "a, b and 1 more"]


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (999, "999 bytes"), (2_500_000, "2.5 MB"), (10**400, "1000000000.0 TB")]
)
def test_sizes_have_a_unit_whatever_a_result_holds(count: int, words: str) -> None:
    assert size_words(count) == words


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(0, "0.0 s"), (1, "under 0.1 s"), (99, "under 0.1 s"), (100, "0.1 s"), (59_940, "59.9 s"), (61_000, "1 min 1 s")],
)
def test_a_duration_below_a_tenth_of_a_second_is_told_as_such(milliseconds: int, said: str) -> None:
    assert seconds(milliseconds) == said


@pytest.mark.parametrize(
    ("way", "typed"),
    [
        ("starloom-agent grant files:read ~/Papers", True),
        ("/opt/venv/bin/starloom-agent grant net:reach HOST --home /x", True),
        ("'/home/a b/starloom-agent' grant files:read", True),
        ("Camera is switched off on this device; open its page and switch it on", False),
        (held_back_words(Profile.OBSERVE, "phone"), False),
    ],
)
def test_a_line_to_type_begins_with_the_agent_s_program(way: str, typed: bool) -> None:
    assert is_agent_line(way) is typed


def test_names_with_numbers_are_in_the_order_of_these() -> None:
    names = ["nas10", "read-10", "nas", "read-2", "2nd", "nas2"]
    assert sorted(names, key=natural_order) == ["2nd", "nas", "nas2", "nas10", "read-2", "read-10"]
