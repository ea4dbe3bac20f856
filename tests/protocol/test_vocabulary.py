"""Every code has its row, every state and reason is shown, nothing by tone alone."""

from __future__ import annotations

import pytest

from starloom_protocol import vocabulary as v
from starloom_protocol.vocabulary import CODES, Code, Reason, TaskState, presentation


def test_every_code_has_a_row_with_a_way_out() -> None:
    assert set(CODES) == set(Code)
    for info in CODES.values():
        assert info.title
        assert info.hint.endswith(".")
        assert 400 <= info.status < 600


@pytest.mark.parametrize("state", TaskState)
def test_every_state_is_shown_with_every_reason(state: TaskState) -> None:
    shown = [presentation(state, reason, checked=checked) for reason in [None, *Reason] for checked in (False, True)]
    assert all(item.word for item in shown)


def test_states_are_told_apart_without_colour() -> None:
    glyphs = [presentation(state).glyph for state in TaskState]
    assert len(set(glyphs)) == len(glyphs)


def test_words_that_matter() -> None:
    assert presentation(TaskState.RUNNING, attempt=2).word == "Running, attempt 2"
    assert presentation(TaskState.RUNNING, attempt=1).word == "Running"
    assert presentation(TaskState.CANCELLING).word.startswith("Stopping")
    assert presentation(TaskState.SUCCEEDED, checked=True) != presentation(TaskState.SUCCEEDED)
    assert presentation(TaskState.READY, Reason.APPROVAL).glyph is v.Glyph.HAND
    assert presentation(TaskState.SKIPPED, Reason.ENOUGH).word == "Skipped, enough done"


def test_final_and_started_states_do_not_meet() -> None:
    assert not v.FINAL_TASK_STATES & v.STARTED_TASK_STATES
    assert frozenset({v.Repeatability.PURE, v.Repeatability.IDEMPOTENT}) == v.REPEATABLE
