from __future__ import annotations

from collections.abc import Callable

import pytest

from starloom.cli.text.constellation_text import Changes
from starloom.client.exits import Exit
from starloom.client.problems import Problem, unreachable, usage
from starloom.client.view import View
from starloom.client.watching import follow, outcome
from starloom_protocol.records.entities import Head, Question, TaskRecord
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Attention, ConstellationState, Reason, TaskState
from tests.cli.events import CONSTELLATION, Log


def head(state: ConstellationState, *attention: Attention) -> Head:
    return Head(author="person:me", created_ms=1, id=CONSTELLATION, name="Test", state=state, attention=list(attention))


def task(state: TaskState, reason: Reason | None = None) -> TaskRecord:
    return TaskRecord(since_ms=1, state=state, reason=reason)


class Flaky:
    """An event source that fails as told, then answers from a log; `between` runs before each answer."""

    def __init__(self, log: Log, failures: list[Problem], between: Callable[[int], None] = lambda _: None) -> None:
        self.log = log
        self.failures = failures
        self.between = between
        self.calls = 0

    def events(self, constellation: str, after: int, *, wait_s: float = 0, limit: int = 500) -> list[Event]:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        self.between(self.calls)
        return self.log.events(constellation, after, wait_s=wait_s, limit=limit)


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def watch(source: Flaky | Log, view: View, clock: Clock | None = None) -> list[int]:
    clock = clock or Clock()
    found = follow(source, view, now=clock.now, sleep=clock.sleep, say=lambda _: None)
    return [event.seq for batch in found for event in batch.events]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ConstellationState.SUCCEEDED, Exit.SUCCEEDED),
        (ConstellationState.FAILED, Exit.FAILED),
        (ConstellationState.PARTIAL, Exit.PARTIAL),
        (ConstellationState.CANCELLED, Exit.CANCELLED),
    ],
)
def test_a_watch_ends_with_the_result(state: ConstellationState, code: Exit) -> None:
    log = Log()
    log.add("created", head=head(ConstellationState.ACTIVE))
    log.add("ended", head=head(state))
    view = View(CONSTELLATION)
    assert watch(log, view) == [1, 2]
    assert outcome(view) is code


def test_a_cut_loses_nothing_and_repeats_nothing() -> None:
    log = Log()
    log.add("created", head=head(ConstellationState.ACTIVE))

    def grow(call: int) -> None:
        if call == 4:
            log.add("ended", head=head(ConstellationState.SUCCEEDED))

    source = Flaky(log, [], grow)
    view = View(CONSTELLATION)
    stream = follow(source, view, now=Clock().now, sleep=lambda _: None, say=lambda _: None)
    first = next(stream)
    source.failures = [unreachable("cut", ""), unreachable("cut", "")]
    rest = [event.seq for batch in stream for event in batch.events]
    assert [event.seq for event in first.events] == [1]
    assert rest == [2]


def test_a_hub_that_stays_away_is_never_a_success() -> None:
    clock = Clock()
    with pytest.raises(Problem) as caught:
        watch(Flaky(Log(), [unreachable("gone", "")] * 200), View(CONSTELLATION), clock)
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert clock.at >= 59


def test_a_refusal_is_not_waited_for() -> None:
    source = Flaky(Log(), [usage("no such constellation")])
    with pytest.raises(Problem):
        watch(source, View(CONSTELLATION))
    assert source.calls == 1


def test_it_stops_when_only_a_person_can_go_on() -> None:
    log = Log()
    question = Question(id="q-1", kind="person", opened_ms=1, text="Really?", task="ask")
    log.add(
        "asked",
        head=head(ConstellationState.ACTIVE, Attention.QUESTION_OPEN),
        task__ask=task(TaskState.READY, Reason.PERSON),
        question__q=question,
    )
    view = View(CONSTELLATION)
    watch(log, view)
    assert outcome(view) is Exit.ATTENTION
    assert [item.text for item in view.open_questions.values()] == ["Really?"]


@pytest.mark.parametrize(
    "other", [task(TaskState.RUNNING), task(TaskState.LEASED), task(TaskState.READY), task(TaskState.CANCELLING)]
)
def test_it_goes_on_while_anything_else_moves(other: TaskRecord) -> None:
    view = View(CONSTELLATION)
    log = Log()
    log.add(
        "asked",
        head=head(ConstellationState.ACTIVE, Attention.QUESTION_OPEN),
        task__ask=task(TaskState.READY, Reason.PERSON),
        task__other=other,
    )
    view.apply(log.rows)
    assert not view.needs_person()


def test_paused_and_held_need_a_person() -> None:
    for state in (ConstellationState.PAUSED, ConstellationState.AWAITING_APPROVAL):
        view, log = View(CONSTELLATION), Log()
        log.add("x", head=head(state), task__a=task(TaskState.READY))
        view.apply(log.rows)
        assert view.needs_person()


@pytest.mark.parametrize("lacking", [Attention.NO_CAPABLE_DEVICE, Attention.MISSING_SECRET, Attention.MISSING_GRANT])
def test_a_task_that_no_device_can_take_needs_a_person(lacking: Attention) -> None:
    view, log = View(CONSTELLATION), Log()
    log.add(
        "x",
        head=head(ConstellationState.ACTIVE, lacking),
        task__a=task(TaskState.READY),
    )
    view.apply(log.rows)
    assert view.needs_person()


def test_events_seen_already_are_left_out() -> None:
    view, log = View(CONSTELLATION), Log()
    log.add("created", head=head(ConstellationState.ACTIVE))
    assert len(view.apply(log.rows)) == 1
    assert view.apply(log.rows) == []


def test_a_whole_log_in_one_batch_is_told_step_by_step() -> None:
    log = Log()
    log.add("planned", head=head(ConstellationState.ACTIVE), task__a=task(TaskState.WAITING))
    log.add("leased", task__a=task(TaskState.LEASED))
    log.add("started", task__a=task(TaskState.RUNNING), task__b=task(TaskState.WAITING))
    log.add("told again", task__a=task(TaskState.RUNNING))
    log.add("ended", head=head(ConstellationState.SUCCEEDED), task__a=task(TaskState.SUCCEEDED))
    changes = Changes({})
    lines = [line.partition("  ")[2] for event in log.rows for line in changes.lines(event)]
    assert lines == ["a: Starting", "a: Running", "a: Done"]


def test_a_result_that_was_taken_over_is_told_with_its_run() -> None:
    log = Log()
    log.add("task_reused", about="a", note="from b of c-earlier", task__a=task(TaskState.SUCCEEDED))
    changes = Changes({})
    lines = [line.partition("  ")[2] for event in log.rows for line in changes.lines(event)]
    assert lines == ["a: Done", "a: its result was taken over from b of c-earlier"]


def test_a_quiet_time_is_told_once_until_something_moves() -> None:
    log = Log()
    log.add("created", head=head(ConstellationState.ACTIVE), task__a=task(TaskState.RUNNING))
    quiet: list[int] = []

    def grow(call: int) -> None:
        if call == 6:
            log.add("ended", head=head(ConstellationState.SUCCEEDED))

    view = View(CONSTELLATION)
    for _ in follow(Flaky(log, [], grow), view, sleep=lambda _: None, quiet=lambda: quiet.append(view.seq)):
        pass
    assert quiet == [1]
    waits = [wait_s for after, wait_s in log.asked if after == 1]
    assert waits[0] < waits[1]
