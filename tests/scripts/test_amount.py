"""A machine of the expected speed runs all; a slow one waits longer, and with little time left it runs a share."""

from __future__ import annotations

import random

import pytest

import amount
from amount import LATE, SHARE_LEAST, SLOWER_LEAST, SLOWER_MOST, TAKES_S, UNDIVIDED, Amount, Shares


@pytest.fixture(autouse=True)
def _nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONG", raising=False)
    monkeypatch.setenv("TESTS_SEED", "4")


def given(monkeypatch: pytest.MonkeyPatch, pace: float) -> Amount:
    monkeypatch.setattr(amount, "pace", lambda: pace)
    return amount.amount(3600.0)


@pytest.mark.parametrize("pace", [0.6, 1.0, 2.0])
def test_a_machine_of_the_expected_speed_runs_all_and_waits_as_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pace: float
) -> None:
    assert given(monkeypatch, pace) == Amount(seed=4, found=pace)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("pace", "slower"), [(0.59, SLOWER_LEAST), (0.1, 10), (0.01, SLOWER_MOST)])
def test_a_slow_machine_waits_longer_and_leaves_the_long_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pace: float, slower: int
) -> None:
    assert given(monkeypatch, pace) == Amount(slower, short=True, until_s=3600.0, seed=4, found=pace)
    assert f"tests wait {slower} times as long" in capsys.readouterr().out


@pytest.mark.parametrize(("asked", "short"), [("1", False), ("0", True)])
def test_who_asks_decides_what_is_left_out(monkeypatch: pytest.MonkeyPatch, asked: str, short: bool) -> None:
    monkeypatch.setenv("LONG", asked)
    assert given(monkeypatch, 1.0).short is short
    assert given(monkeypatch, 0.2).short is short
    assert given(monkeypatch, 1.0).until_s is None
    assert given(monkeypatch, 0.2).until_s == (3600.0 if short else None)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def shares(clock: Clock, until_s: float | None, found: float = 0.2) -> Shares:
    return Shares(Amount(slower=5, short=True, until_s=until_s, found=found), [*TAKES_S, "format"], clock)


def test_everything_runs_where_there_is_time_or_no_end() -> None:
    for until_s in (None, sum(TAKES_S.values()) / 0.2 / LATE):
        drawn = shares(Clock(), until_s)
        assert {drawn.begin(name) for name in (*TAKES_S, "format")} == {1.0}


def test_the_share_falls_with_the_time_that_is_left_and_never_to_nothing() -> None:
    found = [shares(Clock(), until_s).begin("guard") for until_s in (4800.0, 3600.0, 2400.0, 0.0)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)
    assert found[-1] == SHARE_LEAST


def test_what_cannot_be_divided_runs_whole() -> None:
    drawn = shares(Clock(), 60.0)
    assert {drawn.begin(name) for name in UNDIVIDED} == {1.0}


@pytest.mark.parametrize(("slower", "more"), [(0.5, True), (4.0, False)])
def test_the_pace_of_what_has_ended_decides_on_what_begins(slower: float, more: bool) -> None:
    """Time passes as was expected but for this factor, so that what is left to the others is more, or less."""
    clock = Clock()
    drawn = shares(clock, 3600.0)
    first = drawn.begin("guard")
    clock.now_s = TAKES_S["guard"] * first / 0.2 * slower
    drawn.end("guard")
    assert (drawn.begin("tests") > first) is more


@pytest.mark.parametrize("seed", range(20))
def test_a_host_whose_pace_changes_is_done_in_time(seed: int) -> None:
    """Two lanes of layers at a pace that is drawn for each; where the least share fits, the end is kept."""
    chance = random.Random(seed)
    clock, until_s = Clock(), 3600.0
    drawn = shares(clock, until_s, 0.2)
    free_s = [0.0, 0.0]
    for name, takes_s in TAKES_S.items():
        lane = free_s.index(min(free_s))
        clock.now_s = free_s[lane]
        share = drawn.begin(name)
        free_s[lane] = clock.now_s = clock.now_s + takes_s * share / chance.uniform(0.12, 0.3)
        drawn.end(name)
    assert max(free_s) < until_s
