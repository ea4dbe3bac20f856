"""Times of the hub are shown by the clock of the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from starloom.client.terminal.style import clock, own_times
from starloom_protocol.text.wording import utc_words

AT_MS = 1_790_000_000_000


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_a_sentence_of_the_hub_has_the_times_of_the_terminal() -> None:
    sentence = f"night waits: it begins at {utc_words(AT_MS)}, not at 2026-09-21 14:13."
    assert own_times(sentence) == f"night waits: it begins at {clock(AT_MS)}, not at 2026-09-21 14:13."
    assert clock(AT_MS) == "2026-09-21 16:13"
    assert own_times("nothing of the kind") == "nothing of the kind"
    assert datetime.fromtimestamp(AT_MS / 1000, UTC).hour == 14
