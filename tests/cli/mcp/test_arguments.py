"""The check of arguments: each fault in a sentence with the way out, and texts that stand for values."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.cli.mcp.arguments import ArgumentsRefused, checked
from starloom.cli.mcp.own_tools import TOOLS


def check(tool: str, **given: Any) -> dict[str, Any]:
    return checked(tool, TOOLS[tool].schema, given)


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("watch", {}, "`constellation` is missing"),
        ("watch", {"constelation": "c-1"}, "there is no argument 'constelation'; did you mean `constellation`?"),
        ("watch", {"constellation": None}, "`constellation` is empty"),
        ("watch", {"constellation": "c-1", "after": "soon"}, "`after` is a whole number, not 'soon'"),
        ("watch", {"constellation": "c-1", "after": 1.5}, "`after` is a whole number, not '1.5'"),
        ("watch", {"constellation": "c-1", "wait_s": True}, "`wait_s` is a number, not 'true'"),
        ("goal", {"goal": "x", "devices": [1]}, "`devices` is a list of texts, not '[1]'"),
        ("submit", {"plan": 7}, "`plan` is a map of fields or a text, not '7'"),
        ("submit", {"request": {"a": 1}}, "`request` is a text, not"),
        ("watch", {"constellation": "c-1", "wait_s": 10**400}, "`wait_s` is a number, not '1000"),
        ("watch", {"constellation": "c-1", "after": 10**400}, "`after` is a whole number, not '1000"),
        ("watch", {"constellation": "c-1", "wait_s": "NaN"}, "`wait_s` is a number, not 'NaN'"),
        ("watch", {"constellation": "c-1", "after": "-Infinity"}, "`after` is a whole number, not '-Infinity'"),
        ("goal", {"goal": "x", "devices": "[" * 100_000}, "`devices` is a list of texts, not '[[["),
    ],
)
def test_a_wrong_argument_is_told_in_a_sentence_with_the_way_out(tool: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        checked(tool, TOOLS[tool].schema, given)
    said = str(refused.value)
    assert words in said
    assert said.splitlines()[-1].startswith(f"{tool} takes `")
    assert "pydantic" not in said


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(ArgumentsRefused, match=r"no argument 'x'; `after` is .*; `constellation` is missing"):
        check("watch", x=1, after="z")


def test_a_text_counts_as_the_value_that_it_writes() -> None:
    """Some models write each argument as a text."""
    assert check("watch", constellation="c-1", after="5", wait_s="2.5") == {
        "constellation": "c-1",
        "after": 5,
        "wait_s": 2.5,
    }
    assert check("goal", goal="7", devices='["one"]') == {"goal": "7", "devices": ["one"]}
    assert check("submit", plan='{"starloom": 1}') == {"plan": '{"starloom": 1}'}
    assert check("submit", request="x", plan=None) == {"request": "x"}
