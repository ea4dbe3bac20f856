"""What is told of a run: effects counted from ledgers, the story in order, and each way to miss an expectation."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from starloom.client.view import View
from starloom.lab.attempt_counts import AttemptCounts, count, read_ledger
from starloom.lab.scenarios.verdict import misses
from starloom.lab.story import FAULT, LINES_MAX, Story
from starloom_agent.work.ledger import Ledger
from starloom_protocol.plan.scenario import ExpectDoc
from starloom_protocol.records.entities import Attempt, Head, Record, TaskRecord
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import AttemptEnd, ConstellationState, EffectSeen, Repeatability, TaskState
from starloom_protocol.wire.frames import LeaseRef


def event(seq: int, kind: str, at_ms: int, puts: dict[str, Record], **more: Any) -> Event:
    raw: dict[str, msgspec.Raw | None] = {key: msgspec.Raw(msgspec.json.encode(one)) for key, one in puts.items()}
    return Event(stream="c-1", seq=seq, kind=kind, at_ms=at_ms, by="engine", puts=raw, **more)


def head(state: ConstellationState) -> Head:
    return Head(author="person:a", created_ms=0, id="c-1", name="One", state=state)


def task(state: TaskState, device: str | None = "d-1", attempt: int = 1) -> TaskRecord:
    return TaskRecord(since_ms=0, state=state, device=device, attempt=attempt)


def attempt(**more: Any) -> Attempt:
    return Attempt(device="d-1", incarnation=1, leased_ms=0, **{"repeatability": Repeatability.NEVER, **more})


def ended(state: ConstellationState = ConstellationState.SUCCEEDED, **attempts: Attempt) -> View:
    view = View("c-1")
    puts: dict[str, Record] = {"head": head(state), "task/strike": task(TaskState.SUCCEEDED)}
    view.apply([event(1, "ended", 1_000, puts | {f"attempt/{name}/1": one for name, one in attempts.items()})])
    return view


def expect(**more: Any) -> ExpectDoc:
    return ExpectDoc.model_validate({"state": "succeeded", "within_s": 10, **more})


ONCE = count([("north", "strike", True)])
TWICE = count([("north", "strike", True), ("south", "strike", True)])


def test_only_what_was_begun_counts_and_each_device_is_told() -> None:
    found = count([("north", "a", True), ("south", "a", True), ("north", "a", True), ("north", "b", False)])
    assert found.count("a") == 3
    assert found.count("b") == 0
    assert found.lines() == ["a: begun 3 times (north 2, south 1)"]


def test_a_ledger_tells_accepted_from_begun_and_one_constellation_from_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    for constellation, name, begun in (("c-1", "a", True), ("c-1", "b", False), ("c-2", "c", True)):
        at = LeaseRef(constellation=constellation, task=name, incarnation=1, attempt=1)
        ledger.accepted(at, effect="maybe")
        if begun:
            ledger.started(at)
    ledger.flush()
    assert read_ledger("north", path, "c-1") == [("north", "a", True), ("north", "b", False)]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM attempts").fetchone() == (3,)
    ledger.close()


def test_what_was_expected_is_met() -> None:
    assert misses(expect(), ended(strike=attempt()), ONCE, 1.0, []) == []


def test_every_way_to_miss_is_told() -> None:
    view = ended(strike=attempt())
    assert "begun 2 times" in misses(expect(), view, TWICE, 1.0, [])[0]
    assert misses(expect(at_most_once=False), view, TWICE, 1.0, []) == []
    assert "begun 2 times" in misses(expect(at_most_once=["strike"]), view, TWICE, 1.0, [])[0]
    assert "only after 11.0 s" in misses(expect(), view, ONCE, 11.0, [])[0]
    assert "held nothing up" in misses(expect(not_before_s=3), view, ONCE, 2.9, [])[0]
    assert misses(expect(not_before_s=3), view, ONCE, 3.0, []) == []
    assert "it is succeeded" in misses(expect(state="failed"), view, ONCE, 1.0, [])[0]
    assert "task strike is succeeded" in misses(expect(tasks={"strike": "unknown"}), view, ONCE, 1.0, [])[0]
    assert "task gone is not there" in misses(expect(tasks={"gone": "unknown"}), view, ONCE, 1.0, [])[0]
    assert misses(expect(), view, ONCE, 1.0, ["x"]) == ["a fault did not happen: x"]


def test_what_may_be_repeated_may_be_begun_twice_unless_it_is_named() -> None:
    view = ended(strike=attempt(repeatability=Repeatability.IDEMPOTENT))
    assert misses(expect(), view, TWICE, 1.0, []) == []
    assert len(misses(expect(at_most_once=["strike"]), view, TWICE, 1.0, [])) == 1


def test_pure_work_that_is_to_be_counted_is_no_silent_success() -> None:
    view = ended(strike=attempt(repeatability=Repeatability.PURE))
    assert "no ledger" in misses(expect(at_most_once=["strike"]), view, AttemptCounts({}), 1.0, [])[0]


def test_the_story_is_in_order_and_says_what_the_engine_did() -> None:
    story = Story()
    lost = attempt(end=AttemptEnd.LOST, effect=EffectSeen.MAYBE, detail="silent")
    story.read([event(1, "task_started", 10_000, {"task/strike": task(TaskState.RUNNING)})], {"d-1": "north"})
    story.read([event(2, "task_unknown", 13_000, {"attempt/strike/1": lost})], {"d-1": "north"})
    story.note(11_500, FAULT, "the link of north is cut")
    assert [(line.at_s, line.text) for line in story.lines()] == [
        (0.0, "strike: Running on north"),
        (1.5, "the link of north is cut"),
        (3.0, "strike: attempt 1 on north ended: lost; effect maybe; silent"),
    ]
    assert "FAULT the link" in story.text()


def test_a_large_plan_makes_no_endless_story() -> None:
    story = Story()
    puts: dict[str, Record] = {f"task/t{number}": task(TaskState.RUNNING) for number in range(LINES_MAX + 5)}
    story.read([event(1, "task_started", 0, puts)], {})
    assert len(story.lines()) == LINES_MAX + 1
    assert story.lines()[-1].text == "5 further lines of the engine are left out"
    assert story.lines()[0].text == "t0: Running on d-1"
