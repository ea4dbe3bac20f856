"""How long `starloom up` waits for its hub."""

from __future__ import annotations

from starloom.host.supervisor import OPENING_WORDS, READY_S, TOLD_AFTER_S, StartDeadline


def test_a_hub_has_a_minute() -> None:
    patience = StartDeadline(10.0)
    assert patience.lasts(10.0 + READY_S - 1, opening=False)
    assert not patience.lasts(10.0 + READY_S, opening=False)


def test_the_minute_begins_when_the_history_is_open() -> None:
    patience = StartDeadline(0.0)
    for now_s in (0.0, 500.0, 1_000.0):
        assert patience.lasts(now_s, opening=True)
    assert patience.lasts(1_000.0 + READY_S - 1, opening=False)
    assert not patience.lasts(1_000.0 + READY_S, opening=False)


def test_a_long_opening_is_told_once_and_a_short_one_not_at_all() -> None:
    patience = StartDeadline(0.0)
    told = []
    for now_s, opening in ((0.0, True), (TOLD_AFTER_S - 1, False), (TOLD_AFTER_S, True), (TOLD_AFTER_S + 1, True)):
        patience.lasts(now_s, opening=opening)
        told.append(patience.words(now_s))
    assert told == [None] * 4
    for now_s in (2 * TOLD_AFTER_S, 3 * TOLD_AFTER_S):
        patience.lasts(now_s, opening=True)
        told.append(patience.words(now_s))
    assert told[4:] == [OPENING_WORDS, None]
