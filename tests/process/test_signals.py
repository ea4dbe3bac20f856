"""Signals of a command that runs processes: each is one wish to stop, also while an earlier one is on its way."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from starloom.process.signals import stop_at_a_signal, undisturbed

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def at(monkeypatch: pytest.MonkeyPatch, now_s: float) -> None:
    monkeypatch.setattr("starloom.process.signals.time.monotonic", lambda: now_s)


def test_signals_shortly_after_each_other_are_one_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 5.0)
    stop_at_a_signal()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    at(monkeypatch, 5.5)
    signal.raise_signal(signal.SIGINT)
    at(monkeypatch, 6.5)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_while_another_is_on_its_way_stops_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of C fails with `SystemError` while an exception is pending in an extension module."""

    def fails() -> float:
        raise SystemError("<built-in function monotonic> returned a result with an exception set")

    stop_at_a_signal()
    monkeypatch.setattr("starloom.process.signals.time.monotonic", fails)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_no_signal_disturbs_the_tidying() -> None:
    stop_at_a_signal()
    with undisturbed():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
