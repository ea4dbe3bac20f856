"""A review and an answer in words have a bounded prompt and a known price, whatever the fleet and the plan."""

from __future__ import annotations

import pytest

from tests.planner.costs import ANSWER_TOKENS_MOST, MANY, REVIEW_TOKENS_MOST, answer, review, table
from tests.planner.prompts import CASES


@pytest.mark.parametrize("name", CASES)
def test_a_review_is_bounded_on_every_fleet(name: str) -> None:
    fleet = CASES[name].fleet()
    usual, largest = review(fleet), review(fleet, MANY)
    assert usual.tokens < largest.tokens <= REVIEW_TOKENS_MOST
    assert review(fleet, 2 * MANY).total <= largest.total + 100, "more tasks make no larger prompt"
    assert usual.stable > 0.6 * usual.total, "the next review begins with the same text"


def test_an_answer_is_bounded_whatever_has_ended() -> None:
    assert answer().tokens < answer(MANY).tokens <= ANSWER_TOKENS_MOST


def test_each_call_has_its_price() -> None:
    for cost in (review(CASES["nebula"].fleet()), answer()):
        assert 0 < cost.dollars("small") < 0.002 < cost.dollars("large") < 0.05
    assert len(list(table())) == 2 + 2 * len(CASES) + 2
