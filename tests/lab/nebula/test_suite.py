"""A world that is kept for a person: how a signal ends it, with the real handler and no process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from starloom.lab.nebula import suite
from starloom.lab.nebula.world.nebula_world import NebulaWorld
from starloom.process.signals import stop_at_a_signal


@pytest.fixture
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    stop_at_a_signal()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("word", ["ready", "stopping"])
def test_a_signal_at_a_word_of_a_ready_world_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signals: None, word: str
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(NebulaWorld, "start", lambda _world: None)
    monkeypatch.setattr(NebulaWorld, "close", lambda _world: closed.append(True))

    def say(told: str) -> None:
        if told.startswith(word):
            signal.raise_signal(signal.SIGINT)

    try:
        suite.up(tmp_path / "world", 1, date(2026, 11, 25), say, lambda: None)
    except KeyboardInterrupt:
        pytest.fail(f"interrupted at {word!r}")
    assert closed == [True]
