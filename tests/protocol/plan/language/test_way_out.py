"""Faults of those who know another language of plans: the hint says how it is said here."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_protocol.plan import check_plan, signatures_of
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Repeatability

TAKES = {
    "additionalProperties": False,
    "properties": {
        "columns": {
            "items": {"properties": {"field": {"type": "string"}}, "required": ["field"], "type": "object"},
            "type": "array",
        },
        "rows": {"items": {"type": "object"}, "type": "array"},
        "what": {"enum": ["page", "port"]},
    },
    "type": "object",
}
GIVES = {"properties": {"rows": {"items": {"type": "object"}, "type": "array"}}, "type": "object"}
OFFER = ToolOffer(args=canonical(TAKES), name="t", repeatability=Repeatability.PURE, returns=canonical(GIVES))


def hints(document: dict[str, Any]) -> dict[str, str]:
    found = check_plan({"starloom": 1, **document}, known_signatures=signatures_of([OFFER]))
    return {fault.place: fault.hint for fault in found.faults}


def of_task(**fields: Any) -> dict[str, str]:
    return hints({"tasks": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", **fields}]})


def test_a_repetition_of_another_language_is_answered_with_the_group_of_like_calls() -> None:
    assert of_task(count=3) == {"tasks[1].count": "Like calls are a group: `for_each: {times: N}`."}
    assert "`repeat: {max: N, until:" in of_task(repeat=3)["tasks[1].repeat"]
    assert "`for_each: {times: N}`" in of_task(repeat=3)["tasks[1].repeat"]


@pytest.mark.parametrize(
    ("gate", "said"),
    [("failed", "Write `failure`."), ("always", "Write `finish`."), ("Succeeded", "Write `success`."), ("a > 1", "op")],
)
def test_a_gate_of_another_language_is_told_how_it_is_said_here(gate: str, said: str) -> None:
    tasks = [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t"}]
    (hint,) = hints({"tasks": tasks, "dependencies": [{"from": "a", "to": "b", "when": gate}]}).values()
    assert said in hint


def test_a_sign_is_told_as_its_operator() -> None:
    (hint,) = of_task(checks=[{"output": "/rows", "op": "!=", "value": 1}]).values()
    assert hint == "Write `ne`."


@pytest.mark.parametrize(("value", "said"), [([1, 2], "{from: ID, output: POINTER}"), (3, "Write `{times: 3}`.")])
def test_a_list_of_ones_own_is_told_where_it_comes_from(value: Any, said: str) -> None:
    assert said in of_task(for_each=value)["tasks[1].for_each"]


def test_a_value_of_another_form_is_told_how_it_becomes_the_right_one() -> None:
    assert of_task(args={"rows": {"x": 1}}) == {"tasks[1].args.rows": "Write it as a list, a single value too."}
    assert of_task(args={"columns": ["x"]}) == {"tasks[1].args.columns[0]": "Write a map with some of: field."}


def test_a_word_outside_of_a_closed_list_is_shown() -> None:
    document: dict[str, Any] = {"starloom": 1, "tasks": [{"id": "a", "tool": "t", "args": {"what": "http"}}]}
    (found,) = check_plan(document, known_signatures=signatures_of([OFFER])).faults
    assert (found.reason, found.hint) == ("`t` takes 'page' or 'port' here, not 'http'", "For example `what: page`.")
    document["tasks"] = [{"id": "a", "tool": "t", "args": {"what": "pag"}}]
    (found,) = check_plan(document, known_signatures=signatures_of([OFFER])).faults
    assert found.hint == "Did you mean `page`?"
    document["tasks"] = [{"id": "a", "tool": "t", "args": {"what": 3}}]
    (found,) = check_plan(document, known_signatures=signatures_of([OFFER])).faults
    assert found.reason == "`t` takes 'page' or 'port' here, not 3"


def test_a_map_that_lacks_a_name_is_told_that() -> None:
    document: dict[str, Any] = {"starloom": 1, "tasks": [{"id": "a", "tool": "t", "args": {"columns": [{"width": 3}]}}]}
    (found,) = check_plan(document, known_signatures=signatures_of([OFFER])).faults
    assert (found.reason, found.hint) == ("`t` does not take this map: it lacks field", "Its names are: field.")


def test_lists_within_a_list_are_told_to_be_joined() -> None:
    tasks = [
        {"id": "a", "tool": "t"},
        {"id": "b", "tool": "t", "for_each": {"from": "a", "output": "/rows"}},
        {"id": "c", "tool": "t", "inputs": {"rows": {"from": "b", "output": "/rows"}}},
    ]
    assert hints({"tasks": tasks}) == {"tasks[2].inputs.rows": "Join the lists: add `flatten: true` beside `output`."}


def test_a_single_result_where_a_list_is_taken_is_told_a_way_that_can_be_followed() -> None:
    one: dict[str, Any] = {"from": "a", "output": "/rows/0"}
    tasks: list[dict[str, Any]] = [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "inputs": {"rows": one}}]
    said = hints({"tasks": tasks})
    assert said == {"tasks[1].inputs.rows": "Add `all: true` beside `output`: it comes as a list of one."}
    one["all"] = True
    assert hints({"tasks": tasks}) == {}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("rows", "Write it as `/rows`."),
        ("rows/0", "Write it as `/rows/0`."),
        ("$.rows[0].name", "Write it as `/rows/0/name`; a dot that belongs to a name stays: `/rows[0].name`."),
        ("rows.name", "Write it as `/rows/name`; a dot that belongs to a name stays: `/rows.name`."),
        ("#/rows", "Write it as `/rows`."),
    ],
)
def test_a_path_of_another_language_is_told_as_a_pointer(path: str, said: str) -> None:
    (hint,) = of_task(checks=[{"output": path, "op": "not_empty"}]).values()
    assert hint == said
