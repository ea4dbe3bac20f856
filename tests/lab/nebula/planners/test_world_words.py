"""Lines of two prompts are equal but for what a recording masks."""

from __future__ import annotations

import pytest

from starloom.lab.nebula.planners.world_words import same
from starloom_protocol.text.scrubbing import MASK


@pytest.mark.parametrize(
    ("recorded", "now", "equal"),
    [
        ("a b", "a b", True),
        ("a b", "a c", False),
        (f"key {MASK}.", "key k-123.", True),
        (f"key {MASK}.", "key k-123", False),
        (f"{MASK} and {MASK}", "x and y", True),
        (f"{MASK} and {MASK}", "x or y", False),
        (f"ab{MASK}ba", "aba", False),
        (f"{MASK}", "", True),
    ],
)
def test_a_mask_stands_for_any_text(recorded: str, now: str, equal: bool) -> None:
    assert same(recorded, now) is equal


def test_a_line_of_masks_is_compared_at_once() -> None:
    """As a pattern it would be tried for longer than the suite takes."""
    assert not same(f"a{MASK}" * 40 + "b", "a" * 5_000)
