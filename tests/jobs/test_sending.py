from __future__ import annotations

import threading
from typing import Any

import pytest
from celery import Celery
from redis.exceptions import ConnectionError as RedisDown

from starloom.jobs.broker import PLAN_TASK, CelerySender, make_celery
from starloom.jobs.worker import Watchdog, WorkerPlaces
from tests.waiting import PATIENCE_S


class Slow(Celery):  # type: ignore[misc]
    """An application whose broker takes messages when it is let."""

    def __init__(self) -> None:
        super().__init__("test", broker="memory://")
        self.taken: list[tuple[str, list[str]]] = []
        self.let = threading.Event()
        self.entered = threading.Event()
        self.failing = 0

    def send_task(self, name: str, args: list[str], **_: Any) -> None:
        self.entered.set()
        assert self.let.wait(PATIENCE_S)
        if self.failing:
            self.failing -= 1
            raise ConnectionError("away")
        self.taken.append((name, args))


def test_wake_ups_are_sent_in_order_and_a_lost_one_is_counted() -> None:
    app = Slow()
    sender = CelerySender(lambda: app)
    app.failing = 1
    for number in range(3):
        sender.wake("plan", "c-1", f"j-{number}")
    app.let.set()
    sender.close(10)
    assert app.taken == [(PLAN_TASK, ["c-1", "j-1"]), (PLAN_TASK, ["c-1", "j-2"])]
    assert (sender.sent, sender.dropped) == (2, 1)


def test_a_slow_broker_never_holds_the_caller() -> None:
    app = Slow()
    sender = CelerySender(lambda: app, queued_most=2)
    sender.wake("plan", "c", "j-0")
    assert app.entered.wait(PATIENCE_S)
    for number in range(1, 10):
        sender.wake("plan", "c", f"j-{number}")
    assert sender.dropped == 7
    app.let.set()
    sender.close(10)
    assert sender.sent + sender.dropped == 10


def test_an_unknown_kind_is_a_fault_of_the_caller() -> None:
    made: list[Celery] = []

    def make() -> Celery:
        made.append(make_celery("memory://"))
        return made[-1]

    sender = CelerySender(make)
    with pytest.raises(KeyError):
        sender.wake("dance", "c", "j")
    sender.close(10)
    assert not made


def test_the_watchdog_ends_the_worker_after_too_long_a_silence() -> None:
    now = [0.0]
    answers: list[Exception | None] = [None, RedisDown("x"), None, RedisDown("x"), RedisDown("x")]

    def ping() -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    ended = threading.Event()
    dog = Watchdog(ping, ended.set, silence_s=30, every_s=0.001, now=lambda: now[0])
    for at, alive in ((5, True), (34, True), (40, True), (69, True), (71, False)):
        now[0] = at
        assert dog.check() is alive


def test_the_watchdog_calls_its_end() -> None:
    ended = threading.Event()

    def ping() -> None:
        raise RedisDown("x")

    dog = Watchdog(ping, ended.set, silence_s=0, every_s=0.001)
    dog.start()
    assert ended.wait(PATIENCE_S)
    dog.join(60)
    assert not dog.is_alive()


def test_a_worker_without_its_places_says_which() -> None:
    with pytest.raises(SystemExit, match="STARLOOM_DATABASE_URL"):
        WorkerPlaces.from_environment({"STARLOOM_REDIS_URL": "redis://x"})
    places = WorkerPlaces.from_environment({"STARLOOM_REDIS_URL": "redis://x", "STARLOOM_DATABASE_URL": "sqlite:///y"})
    assert places.broker_url == "redis://x/1"
