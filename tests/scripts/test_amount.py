"""A machine of the expected speed runs all; a slow one waits longer, and with little time left it runs a share."""

from __future__ import annotations

import pytest

import amount
from amount import SHARE_LEAST, SLOWER_LEAST, SLOWER_MOST, Amount


@pytest.fixture(autouse=True)
def _nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONG", raising=False)
    monkeypatch.setenv("TESTS_SEED", "4")


def given(monkeypatch: pytest.MonkeyPatch, pace: float, left_s: float | None = None) -> Amount:
    monkeypatch.setattr(amount, "pace", lambda: pace)
    return amount.amount(left_s, 0.0)


@pytest.mark.parametrize("pace", [0.6, 1.0, 2.0])
def test_a_machine_of_the_expected_speed_runs_all_and_waits_as_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pace: float
) -> None:
    assert given(monkeypatch, pace, left_s=60.0) == Amount(seed=4)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("pace", "slower"), [(0.59, SLOWER_LEAST), (0.1, 10), (0.01, SLOWER_MOST)])
def test_a_slow_machine_waits_longer_and_leaves_the_long_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pace: float, slower: int
) -> None:
    assert given(monkeypatch, pace) == Amount(slower, short=True, seed=4)
    assert "LONG=1" in capsys.readouterr().out


@pytest.mark.parametrize(("asked", "short"), [("1", False), ("0", True)])
def test_who_asks_decides_what_is_left_out(monkeypatch: pytest.MonkeyPatch, asked: str, short: bool) -> None:
    monkeypatch.setenv("LONG", asked)
    assert given(monkeypatch, 1.0).short is short
    assert given(monkeypatch, 0.2).short is short
    if not short:
        assert given(monkeypatch, 0.2, left_s=60.0).share == 1


def test_the_share_falls_with_the_time_and_the_pace_and_never_to_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert given(monkeypatch, 0.5, left_s=3600.0).share == 1
    shares = [given(monkeypatch, 0.2, left_s=left_s).share for left_s in (4000.0, 3000.0, 2000.0, 0.0)]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == len(shares)
    assert shares[-1] == SHARE_LEAST
    assert given(monkeypatch, 0.1, left_s=3000.0).share < shares[1]
    assert "TESTS_SEED=4" in capsys.readouterr().out
