"""A beat sends one short-lived hint at each interval and keeps no file; a worker hands it to the engine's inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from celery import Celery

from starloom.core.inputs import AnyInput, SchedulesPoked
from starloom.jobs.beat import beat_of
from starloom.jobs.broker import make_celery
from starloom.jobs.poking import POKE_TASK, PokeJobs, add_poke, poke
from starloom.store.port import Unavailable


class Kept(Celery):  # type: ignore[misc]
    """An application that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__("test", broker="memory://")
        self.sent: list[tuple[str, Any]] = []

    def send_task(self, name: str, *_: Any, **options: Any) -> None:
        self.sent.append((name, options.get("expires")))


def test_a_beat_hints_at_its_interval_and_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = Kept()
    scheduler = beat_of(app, 30.0).scheduler
    (entry,) = scheduler.schedule.values()
    assert entry.schedule.run_every.total_seconds() == 30
    scheduler.apply_async(entry, producer=None, advance=False)
    scheduler.close()
    assert app.sent == [(POKE_TASK, 30.0)]
    assert list(tmp_path.iterdir()) == []


class Inbox:
    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.posted: list[Any] = []

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes | None:
        self.posted.append(msgspec.json.decode(raw, type=AnyInput))
        return self.answer


async def test_a_poke_is_an_input_and_says_how_many_were_due() -> None:
    inbox = Inbox(b'{"value": {"due": 2}}')
    assert await poke(inbox, "w1") == 2  # type: ignore[arg-type]
    (posted,) = inbox.posted
    assert isinstance(posted, SchedulesPoked)
    assert (posted.by, posted.scope) == ("worker:w1", "worker")


async def test_a_hub_that_is_away_leaves_it_to_the_next_beat() -> None:
    with pytest.raises(Unavailable):
        await poke(Inbox(None), "w1")  # type: ignore[arg-type]


def test_a_worker_has_the_task_and_outlives_a_store_that_is_away(tmp_path: Path) -> None:
    app = make_celery("memory://")
    add_poke(app, PokeJobs(f"unix://{tmp_path}/none.sock", f"sqlite:///{tmp_path}/none.db", "w1"))
    app.tasks[POKE_TASK]()
