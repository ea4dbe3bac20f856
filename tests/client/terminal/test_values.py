from __future__ import annotations

import pytest

from starloom.client.exits import Exit, exit_of_refusal, exit_of_state
from starloom.client.problems import Problem
from starloom.client.terminal.values import duration_s, json_or_text, parameters


def test_parameters_are_text_unless_said_to_be_json() -> None:
    assert parameters(["folder=Pictures", "count:=3", "query=a=b", 'hosts:=["x"]']) == {
        "folder": "Pictures",
        "count": 3,
        "query": "a=b",
        "hosts": ["x"],
    }


@pytest.mark.parametrize("given", [["folder"], ["=x"], [":=1"], ["a=1", "a=2"], ["n:=oops"]])
def test_parameters_that_cannot_be_meant_are_usage(given: list[str]) -> None:
    with pytest.raises(Problem) as caught:
        parameters(given)
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.hint


@pytest.mark.parametrize(("text", "expected"), [("90", 90), ("90s", 90), ("30m", 1800), ("2 h", 7200), ("7d", 604800)])
def test_durations(text: str, expected: int) -> None:
    assert duration_s(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "0", "-3s", "1.5h", "3w"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(Problem):
        duration_s(text)


def test_json_or_text() -> None:
    assert json_or_text('{"a": 1}') == {"a": 1}
    assert json_or_text("plain words") == "plain words"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("succeeded", 0),
        ("failed", 1),
        ("partial", 3),
        ("cancelled", 6),
        ("active", None),
        ("paused", None),
        ("awaiting_approval", None),
        ("cancelling", None),
        ("planning", None),
    ],
)
def test_only_final_states_have_an_exit_code(state: str, code: int | None) -> None:
    assert exit_of_state(state) == code


def test_statuses() -> None:
    assert exit_of_refusal(422, "plan_invalid") is Exit.USAGE
    assert exit_of_refusal(503, "overloaded") is Exit.UNREACHABLE
    assert exit_of_refusal(409, "needs_approval") is Exit.ATTENTION
    assert exit_of_refusal(409, "conflict") is Exit.FAILED
    assert exit_of_refusal(401, "bad_token") is Exit.USAGE
