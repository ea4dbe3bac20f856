"""The ledger: numbers that never repeat, fences and outbox that survive a crash, one transaction for a turn."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom_agent.platforms import processes
from starloom_agent.work.ledger import DecisionRow, Ledger
from starloom_agent.work.outbox import Outbox
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import LeaseRef, ResultFrame, Started


def lease(task: str = "t", attempt: int = 1, incarnation: int = 1) -> LeaseRef:
    return LeaseRef(constellation="c", task=task, attempt=attempt, incarnation=incarnation)


def result(at: LeaseRef, number: int) -> ResultFrame:
    return ResultFrame(at=at, outcome=Outcome.OK, report=number, value="1")


OPENED: list[Ledger] = []


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "ledger.sqlite"
    while OPENED:
        OPENED.pop().close()


def opened(path: Path) -> Ledger:
    """Open a ledger that is closed at the end of the test."""
    OPENED.append(Ledger(path))
    return OPENED[-1]


def crash_and_open(ledger: Ledger, path: Path) -> Ledger:
    """Open the file as the next process would after this one was killed: what was not flushed is gone."""
    ledger._db.close()
    OPENED.remove(ledger)
    return opened(path)


def test_numbers_rise_over_crashes_even_of_reports_kept_in_memory(path: Path) -> None:
    ledger = opened(path)
    numbers = [ledger.take_number() for _ in range(5)]
    ledger = crash_and_open(ledger, path)
    assert ledger.take_number() > max(numbers)


def test_the_same_file_has_the_same_id(path: Path) -> None:
    first = opened(path)
    identity = first.id
    assert crash_and_open(first, path).id == identity


def test_a_copy_of_the_file_has_an_id_of_its_own_from_then_on(path: Path) -> None:
    """It may lack what began beside the first, so nothing that it says is a proof."""
    first = opened(path)
    first.accepted(lease("before"), effect="maybe", once=True)
    first.flush()
    copy = path.with_name("copy.sqlite")
    with sqlite3.connect(copy) as database:
        first._db.backup(database)
    database.close()
    first.accepted(lease("after"), effect="maybe", once=True)
    first.flush()
    second = opened(copy)
    assert (second.is_copy, second.id == first.id) == (True, False)
    assert [second.state_of(lease(name)) for name in ("before", "after")] == ["accepted", "unknown"]
    kept = second.id
    again = crash_and_open(second, copy)
    assert (again.is_copy, again.id) == (False, kept)
    identity = first.id
    assert crash_and_open(first, path).id == identity


def test_the_same_file_on_another_machine_is_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image of a disk keeps the numbers of its files."""
    first = opened(path)
    identity = first.id
    moved = path.with_name("moved.sqlite")
    OPENED.pop().close()
    ledger = opened(path.rename(moved))
    assert ledger.id == identity
    monkeypatch.setattr(processes, "machine_mark", lambda: "another")
    other = crash_and_open(ledger, moved)
    assert (other.is_copy, other.id == identity) == (True, False)


def test_what_was_flushed_survives_and_the_rest_does_not(path: Path) -> None:
    ledger = opened(path)
    ledger.accepted(lease("a"), effect="maybe")
    ledger.started(lease("a"))
    ledger.grouped(lease("a"), 123, "mark", "boot")
    ledger.flush(lazy=True)
    ledger.accepted(lease("b"), effect="none")
    ledger = crash_and_open(ledger, path)
    (item,) = ledger.unfinished()
    assert (item.at, item.state, item.effect, item.group, item.group_mark) == (
        lease("a"), "started", "maybe", 123, "mark",
    )  # fmt: skip
    assert ledger.state_of(lease("b")) == "unknown"


def test_a_turn_is_one_transaction(path: Path) -> None:
    ledger = opened(path)
    for number in range(50):
        ledger.accepted(lease(str(number)), effect="none")
        ledger.started(lease(str(number)))
    ledger.flush()
    assert ledger.writes == 1


def test_decisions_wait_for_a_write_that_must_be_synced(path: Path) -> None:
    ledger = opened(path)
    ledger.decided(DecisionRow(1.0, "c/t/1.1", "x", True, "because", "observe"))
    ledger.flush()
    assert ledger.writes == 0
    ledger.flush(lazy=True)
    assert [row.tool for row in ledger.decisions()] == ["x"]


def test_a_task_is_known_by_its_highest_fence_and_what_began(path: Path) -> None:
    ledger = opened(path)
    for at in (lease(attempt=3), lease(attempt=1, incarnation=2), lease(attempt=9), lease("u")):
        ledger.accepted(at, effect="none")
    ledger.flush()
    assert ledger.fences_of("c", "t") == ((2, 1), None)
    assert ledger.fences_of("c", "v") is None
    ledger.started(lease(attempt=3))
    ledger.started(lease("u"))
    ledger.flush()
    assert (ledger.fences_of("c", "t"), ledger.fences_of("c", "u")) == (((2, 1), (1, 3)), ((1, 1), (1, 1)))


def test_only_work_that_may_not_be_repeated_is_told_as_begun(path: Path) -> None:
    ledger = opened(path)
    for at, once in ((lease("once"), True), (lease("again"), False), (lease("waits"), True)):
        ledger.accepted(at, effect="maybe", once=once)
    for at in (lease("once"), lease("again")):
        ledger.started(at)
    ledger.flush()
    assert ledger.begun_lately() == [lease("once")]


def test_no_date_makes_a_ledger_forget_what_began(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(path)
    ledger.accepted(lease(), effect="none", once=True)
    ledger.started(lease())
    ledger.finished(lease(), ResultFrame(at=lease(), outcome=Outcome.OK, report=1, value="1"))
    ledger.prune()
    ledger.flush(lazy=True)
    assert ledger.result_of(lease()) is not None
    later_s = time.time() + 61 * 24 * 3600
    monkeypatch.setattr("starloom_agent.work.ledger.time.time", lambda: later_s)
    ledger.prune()
    ledger.flush(lazy=True)
    assert ledger.result_of(lease()) is None
    assert ledger.fences_of("c", "t") == ((1, 1), (1, 1))
    assert ledger.begun_lately() == [lease()]


def test_what_a_ledger_keeps_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("DECISIONS_KEPT", 5), ("RESULTS_KEPT", 3), ("ATTEMPTS_KEPT", 7), ("PRUNED_AT_ONCE", 4)):
        monkeypatch.setattr(f"starloom_agent.work.ledger.{name}", most)
    ledger = opened(path)
    for number in range(40):
        at = lease(f"t{number}")
        ledger.accepted(at, effect="none", once=True)
        ledger.started(at)
        ledger.finished(at, ResultFrame(at=at, outcome=Outcome.OK, report=number + 1, value=str(number)))
        ledger.decided(DecisionRow(1.0, "c/t", "fs.read", True, "", "work"))
        ledger.prune_if_due()
        ledger.flush(lazy=True)
    assert len(ledger.decisions(100)) <= 5 + 4
    assert len(ledger.started_attempts()) <= 7 + 4
    kept = [number for number in range(40) if ledger.result_of(lease(f"t{number}")) is not None]
    assert len(kept) <= 3 + 4
    assert kept[-1] == 39, "the newest stay"
    assert ledger.fences_of("c", "t39") is not None


def test_a_finished_attempt_keeps_its_result(path: Path) -> None:
    ledger = opened(path)
    ledger.accepted(lease(), effect="none")
    ledger.finished(lease(), result(lease(), 7))
    ledger.flush()
    assert ledger.unfinished() == []
    assert ledger.result_of(lease()) == result(lease(), 7)
    assert ledger.state_of(lease()) == "finished"


def test_started_attempts_are_those_that_began(path: Path) -> None:
    ledger = opened(path)
    ledger.accepted(lease("a"), effect="none")
    ledger.started(lease("a"))
    ledger.finished(lease("a"), result(lease("a"), 1))
    ledger.finished(lease("never"), result(lease("never"), 2))
    ledger.flush()
    assert ledger.started_attempts() == [lease("a")]


def test_the_outbox_resends_what_is_not_durable_after_a_crash(path: Path) -> None:
    ledger = opened(path)
    outbox = Outbox(ledger)
    for task in ("a", "b"):
        outbox.add(lambda number, task=task: result(lease(task), number), durable=True)  # type: ignore[misc]
    outbox.add(lambda number: Started(at=lease("pure"), report=number), durable=False)
    ledger.flush()
    outbox.acknowledged(next(iter(outbox.pending)))
    ledger.flush(lazy=True)
    ledger = crash_and_open(ledger, path)
    outbox = Outbox(ledger)
    assert [report.at for report in outbox.unsent()] == [lease("b")]
    assert outbox.unsent() == []
    assert outbox.connected(0)
    assert outbox.has_unsent


def test_a_hub_that_knows_another_ledger_drops_nothing(path: Path) -> None:
    ledger = opened(path)
    outbox = Outbox(ledger)
    outbox.add(lambda number: result(lease(), number), durable=True)
    assert not outbox.connected(10_000_000)
    assert len(outbox.pending) == 1


def test_batches_are_bounded_and_in_order(path: Path) -> None:
    outbox = Outbox(opened(path))
    for index in range(40):
        outbox.add(
            lambda number, index=index: ResultFrame(  # type: ignore[misc]
                at=lease(str(index)), outcome=Outcome.OK, report=number, value='"' + "x" * 16_000 + '"'
            ),
            durable=False,
        )
    numbers: list[int] = []
    batches = 0
    while batch := outbox.unsent():
        assert sum(len(getattr(report, "value", "")) for report in batch) < 512 * 1024
        numbers += [report.report for report in batch]
        batches += 1
    assert batches > 1
    assert numbers == sorted(numbers)
    assert len(numbers) == 40


def test_a_call_is_known_by_its_digest_after_its_end_too(path: Path) -> None:
    ledger = opened(path)
    ledger.accepted(lease(), effect="maybe", once=True, call="abc")
    ledger.started(lease())
    ledger.finished(lease(), result(lease(), 1))
    ledger.flush()
    ledger = crash_and_open(ledger, path)
    assert (ledger.call_of(lease()), ledger.call_of(lease("u"))) == ("abc", "")


def test_rows_of_an_older_agent_have_no_digest_and_stay(path: Path) -> None:
    ledger = opened(path)
    ledger.accepted(lease(), effect="maybe", once=True)
    ledger.started(lease())
    ledger.finished(lease(), result(lease(), 1))
    ledger.flush()
    ledger._db.execute("ALTER TABLE attempts DROP COLUMN call")
    ledger = crash_and_open(ledger, path)
    assert (ledger.call_of(lease()), ledger.result_of(lease())) == ("", result(lease(), 1))
    assert ledger.begun_lately() == [lease()]
    ledger.accepted(lease("new"), effect="maybe", call="abc")
    ledger.flush()
    assert ledger.call_of(lease("new")) == "abc"
