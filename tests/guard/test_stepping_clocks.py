"""T223: a device's clock that is set back makes no allowance of its owner last."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.policy.approvals import ANSWER_WITHIN_S, Asks, CannotAnswer
from starloom_agent.policy.policy import Always, Decision
from starloom_protocol.vocabulary import Code

DAY = 24 * 3600.0
NOW = 1_800_000_000.0
ASKED = Decision(False, "asks the owner of this device first", Code.NEEDS_APPROVAL, asks=True)
CALL = Always(tool="shell.run", args='{"argv":["make"]}')


class Clock:
    """The clock of a device, which somebody sets."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def settled(asks: Asks) -> Decision:
    return asks.settle(ASKED, "0123abcd", CALL, "c-one/make")


@pytest.mark.parametrize(
    ("ahead_s", "allowed"),
    [(0.0, True), (3 * 3600.0, True), (DAY + 60, False), (365 * DAY, False), (-365 * DAY, False)],
)
def test_t223_an_allowance_from_another_year_allows_nothing(tmp_path: Path, ahead_s: float, allowed: bool) -> None:
    clock = Clock(NOW + ahead_s)
    asks = Asks(tmp_path, clock)
    assert settled(asks).asks
    asks.answer("0123abcd", "allow")
    clock.now_s = NOW
    found = settled(asks)
    assert (found.allowed, found.asks) == (allowed, False)
    assert settled(asks).asks, "an allowance is good once, and a question that is over is asked again"


def test_t223_a_question_from_another_year_is_answered_by_nobody(tmp_path: Path) -> None:
    clock = Clock(NOW + 365 * DAY)
    asks = Asks(tmp_path, clock)
    assert settled(asks).asks
    clock.now_s = NOW
    with pytest.raises(CannotAnswer, match="waited too long"):
        asks.answer("0123abcd", "allow")
    assert asks.offered() == []
    assert ANSWER_WITHIN_S == DAY
