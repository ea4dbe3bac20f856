"""The history checker finds each kind of broken promise: an assertion that cannot fail would prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from starloom_protocol.records.entities import Attempt, Head, Record, TaskRecord
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import (
    AttemptEnd,
    Attention,
    ConstellationState,
    EffectSeen,
    Outcome,
    Repeatability,
    TaskState,
)
from tests.chaos.history import History, LedgerLine, Told
from tests.chaos.judge import Verdict, judge
from tests.chaos.sql_log import CommitLine
from tests.chaos.work import Line

NAME = "c-1"
NORTH, SOUTH = "d-north", "d-south"


def head(state: ConstellationState, **more: object) -> Head:
    plain = {"author": "person:ann", "created_ms": 1, "id": NAME, "name": "one", "state": state, "version": 1, **more}
    return msgspec.convert(plain, Head)


def task(state: TaskState, attempt: int, **more: object) -> TaskRecord:
    return msgspec.convert({"attempt": attempt, "since_ms": 1, "state": state, **more}, TaskRecord)


def attempt(end: AttemptEnd | None = None, device: str = NORTH, **more: object) -> Attempt:
    plain = {"device": device, "incarnation": 1, "leased_ms": 1, "repeatability": Repeatability.NEVER, **more}
    return msgspec.convert({**plain, "end": end}, Attempt)


def event(seq: int, by: str = "engine", **puts: Record) -> Event:
    raw = {key.replace("__", "/"): msgspec.Raw(msgspec.json.encode(record)) for key, record in puts.items()}
    return Event(at_ms=seq, by=by, kind="something", puts=dict(raw), seq=seq, stream=NAME)


def ledger(number: int, device: str = "north", **more: object) -> LedgerLine:
    line = LedgerLine(device, NAME, "a", 1, number, "finished", began=True, pending=False)
    return replace(line, **more)  # type: ignore[arg-type]


def good() -> History:
    """One constellation with one task that may not be repeated, done once."""
    events = [
        event(1, head=head(ConstellationState.ACTIVE), task__a=task(TaskState.READY, 0)),
        event(2, task__a=task(TaskState.LEASED, 1), attempt__a__1=attempt()),
        event(
            3,
            f"device:{NORTH}",
            task__a=task(TaskState.SUCCEEDED, 1),
            attempt__a__1=attempt(AttemptEnd.OK, value="1"),
            head=head(ConstellationState.SUCCEEDED),
        ),
    ]
    commits = [CommitLine(number, 1, 1) for number in (1, 2, 3)]
    return History(commits, events, [ledger(1)], [Told(NAME, "one", {1: events[0], 3: events[2]})], [])


def with_event(history: History, *more: Event) -> History:
    return replace(history, events=[*history.events, *more])


def lost_request(history: History) -> History:
    return replace(history, events=[], told=[*history.told])


def lost_result(history: History) -> History:
    return replace(history, events=history.events[:2], told=[])


def other_event(history: History) -> History:
    told = Told(NAME, "one", {2: event(2, task__a=task(TaskState.SKIPPED, 0))})
    return replace(history, told=[told])


def ended_twice(history: History) -> History:
    return with_event(history, event(4, attempt__a__1=attempt(AttemptEnd.OK, value="2")))


def final_state_changed(history: History) -> History:
    return with_event(history, event(4, task__a=task(TaskState.FAILED, 1)))


def second_late_result(history: History) -> History:
    late = [event(seq, attempt__a__1=attempt(AttemptEnd.OK, value="1", late=f"h{seq}")) for seq in (4, 5)]
    return with_event(history, *late)


def done_again(history: History) -> History:
    return replace(history, ledgers=[ledger(1), ledger(2, "south")])


def began_twice(history: History) -> History:
    return replace(history, ledgers=[ledger(1, "north"), ledger(1, "south", incarnation=2)])


def witnessed_twice(history: History) -> History:
    return replace(history, witness=[Line("begin", "one/a", number, 1, 7) for number in (1, 2)])


def nothing_moves(history: History) -> History:
    return replace(history, events=history.events[:2], told=[], ledgers=[])


def gap_in_the_log(history: History) -> History:
    return replace(history, commits=[history.commits[0], history.commits[2]])


def gap_in_the_stream(history: History) -> History:
    return replace(history, events=[history.events[0], history.events[2]], told=[])


def incarnation_fell(history: History) -> History:
    return replace(history, commits=[CommitLine(1, 2, 1), CommitLine(2, 1, 2), CommitLine(3, 1, 2)])


def two_leases(history: History) -> History:
    second = event(3, task__a=task(TaskState.LEASED, 2), attempt__a__2=attempt(device=SOUTH))
    return replace(history, events=[*history.events[:2], second], told=[], ledgers=[])


def hedged(history: History, *, device: str = SOUTH, repeatability: Repeatability = Repeatability.PURE) -> History:
    """Return it with a hedge beside its first attempt."""
    events = [
        history.events[0],
        event(2, task__a=task(TaskState.LEASED, 1), attempt__a__1=attempt(repeatability=Repeatability.PURE)),
        event(
            3,
            task__a=task(TaskState.LEASED, 1),
            attempt__a__2=attempt(device=device, repeatability=repeatability, hedge=True),
        ),
    ]
    return replace(history, events=events, told=[], ledgers=[])


def hedge_of_what_may_not_be_repeated(history: History) -> History:
    return hedged(history, repeatability=Repeatability.NEVER)


def hedge_on_the_same_device(history: History) -> History:
    return hedged(history, device=NORTH)


def second_hedge(history: History) -> History:
    third = attempt(repeatability=Repeatability.PURE, hedge=True, device="d-west")
    return with_event(hedged(history), event(4, attempt__a__3=third))


def result_of_another_device(history: History) -> History:
    return replace(history, events=[*history.events[:2], replace_by(history.events[2], f"device:{SOUTH}")], told=[])


def replace_by(one: Event, by: str) -> Event:
    return msgspec.structs.replace(one, by=by)


def redis_differs(history: History) -> History:
    return replace(history, live={NAME: {"head": b"{}"}})


@pytest.mark.parametrize(
    ("kind", "breaks"),
    [
        ("lost", lost_request),
        ("lost", lost_result),
        ("lost", other_event),
        ("applied_twice", ended_twice),
        ("applied_twice", final_state_changed),
        ("applied_twice", second_late_result),
        ("applied_twice", done_again),
        ("nonrepeatable_twice", began_twice),
        ("nonrepeatable_twice", witnessed_twice),
        ("stuck", nothing_moves),
        ("broken", gap_in_the_log),
        ("broken", gap_in_the_stream),
        ("broken", incarnation_fell),
        ("broken", two_leases),
        ("broken", hedge_of_what_may_not_be_repeated),
        ("broken", hedge_on_the_same_device),
        ("broken", second_hedge),
        ("broken", result_of_another_device),
        ("broken", redis_differs),
    ],
)
def test_a_broken_promise_is_found(kind: str, breaks: Callable[[History], History]) -> None:
    verdict = judge(breaks(good()))
    assert getattr(verdict, kind), f"only {verdict.all} was found"


def test_a_good_history_is_not_blamed() -> None:
    verdict = judge(good())
    assert verdict == Verdict(acknowledged=1)


def test_a_hedge_beside_a_slow_attempt_is_not_blamed() -> None:
    assert judge(hedged(good())).broken == []


@pytest.mark.parametrize(("leased_ms", "blamed"), [(5, 0), (9, 1), (12, 1)])
def test_a_hedge_that_began_and_lost_is_not_blamed(leased_ms: int, blamed: int) -> None:
    pure = Repeatability.PURE
    first = attempt(AttemptEnd.OK, ended_ms=9, repeatability=pure, value="1")
    second = attempt(AttemptEnd.REVOKED, SOUTH, hedge=True, leased_ms=leased_ms, ended_ms=9, repeatability=pure)
    history = good()
    ended = msgspec.structs.replace(event(3, attempt__a__1=first, attempt__a__2=second), by=f"device:{NORTH}")
    last = event(4, head=head(ConstellationState.SUCCEEDED), task__a=task(TaskState.SUCCEEDED, 1, hedge=2))
    leased = event(2, task__a=task(TaskState.LEASED, 1), attempt__a__1=attempt(repeatability=pure))
    told = replace(history, events=[history.events[0], leased, ended, last], told=[])
    told = replace(told, commits=[CommitLine(number, 1, 1) for number in (1, 2, 3, 4)])
    told = replace(told, ledgers=[ledger(1), ledger(2, "south", outcome=None)])
    assert len([one for one in judge(told).applied_twice if "began again" in one]) == blamed


def test_a_second_try_that_a_person_confirmed_is_not_blamed() -> None:
    history = good()
    confirmed = event(4, task__a=task(TaskState.SUCCEEDED, 1, confirmed=True, round=2))
    again = replace(with_event(history, confirmed), ledgers=[ledger(1), ledger(2)])
    assert judge(again).all == []


def test_what_asks_for_a_person_is_not_stuck() -> None:
    waiting = head(ConstellationState.ACTIVE, attention=[Attention.TASK_UNKNOWN])
    history = replace(good(), events=[event(1, head=waiting)], told=[], ledgers=[])
    assert judge(history).stuck == []


@pytest.mark.parametrize(
    ("outcome", "lost"), [(Outcome.INTERRUPTED, 0), (Outcome.OK, 1), (Outcome.ERROR, 1), (None, 1)]
)
def test_only_an_interruption_leaves_what_may_have_happened_open(outcome: Outcome | None, lost: int) -> None:
    history = good()
    doubt = event(3, task__a=task(TaskState.UNKNOWN, 1), attempt__a__1=attempt(effect=EffectSeen.MAYBE))
    told = replace(history, events=[*history.events[:2], doubt], ledgers=[ledger(1, outcome=outcome)], told=[])
    assert len(judge(told).lost) == lost
