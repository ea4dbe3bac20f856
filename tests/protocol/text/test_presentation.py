"""Every state and reason is shown, nothing by tone alone."""

from __future__ import annotations

import pytest

from starloom_protocol.text.presentation import Glyph, presentation
from starloom_protocol.vocabulary import Reason, TaskState


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
    assert presentation(TaskState.READY, Reason.APPROVAL).glyph is Glyph.HAND
    assert presentation(TaskState.SKIPPED, Reason.ENOUGH).word == "Skipped, enough done"
