"""The figures of a run hold on random plans, and say of small runs what one counts by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom.core.answer.report import covered, report
from starloom.core.answer.spans import RunLog, fold_log
from starloom.core.state.inputs import EditProposed, OfferReceived, QuestionAnswered
from starloom.core.state.orders import SendDispatch
from starloom.edge.live.entity_json import Constellation, metrics
from starloom_protocol.records.edits import AddTask, EditOperation
from starloom_protocol.records.entities import Choice, ForEach, Offer, Policy
from starloom_protocol.records.run_report import FOR_A_PERSON, ON_A_DEVICE, Phase, RunReport
from starloom_protocol.stream.feed import Event, decode_event
from starloom_protocol.vocabulary import Approval, Code, Outcome, Profile
from tests.builders import TOOLS, Driver, edge, plan, task
from tests.core.golden_logs import FOLDER
from tests.core.plan.goals.pursued import Pursued, call

GOLDEN = Path(__file__).with_name("spans.json")


def of(driver: Driver, *, spans: bool = False) -> RunReport:
    record = fold_log(event for event in driver.events if event.stream == "c1")
    return report(record, driver.now_ms, created_at="", names={"d-one": "one"}, spans=spans)


def seeded(seed: int) -> Driver:
    """A run of a random plan on three unlike devices, in virtual time; some attempts fail and are made again."""
    dice = random.Random(seed)
    driver = Driver("one", "two", "three", slots=dice.randint(1, 3))
    names = [f"t{at}" for at in range(dice.randint(1, 14))]
    edges = [edge(f"{a}>{b}") for at, b in enumerate(names) for a in names[:at] if dice.random() < 0.3]
    driver.submit(plan(*(task(name) for name in names), *edges))
    going: list[tuple[int, SendDispatch]] = []
    while True:
        for dispatch in driver.take():
            begin = driver.now_ms + dice.randint(0, 200)
            going.append((begin + dice.randint(1, 5_000), dispatch))
        if not going:
            due = [timer for timer in driver.timers if timer.kind == "backoff"]
            driver.timers = []
            if not due:
                return driver
            for timer in due:
                driver.fire(timer)
            continue
        going.sort(key=lambda item: item[0])
        at_ms, dispatch = going.pop(0)
        driver.now_ms = max(driver.now_ms, at_ms - 1)
        driver.started(dispatch)
        driver.now_ms += 1
        if dice.random() < 0.1:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK, detail="no")
        else:
            driver.result(dispatch, {"n": 1})
        if dice.random() < 0.05 and driver.state() == "active":
            driver.control("pause")
            driver.now_ms += dice.randint(1, 500)
            driver.control("resume")


@pytest.mark.parametrize("seed", range(60))
def test_the_figures_of_random_runs_hold(seed: int) -> None:
    driver = seeded(seed)
    figures = of(driver, spans=True)
    assert figures.path_ms <= figures.makespan_ms
    assert figures.path_ms <= figures.work_ms
    assert sum(step.time_ms for step in figures.path) <= figures.path_ms
    assert figures.busy_ms <= min(figures.makespan_ms, figures.work_ms)
    assert figures.one_at_a_time_ms == figures.work_ms + figures.makespan_ms - figures.busy_ms >= figures.makespan_ms
    assert 0 <= figures.gain < 1
    assert figures.width_mean <= figures.width_most <= figures.tasks
    assert figures.repeated_ms + figures.starting_ms <= 2 * figures.work_ms
    for before, after in zip(figures.path, figures.path[1:], strict=False):
        assert before.released_ms <= before.ended_ms <= after.released_ms
    for step in figures.path:
        assert step.time_ms + sum(step.waits.values()) == step.ended_ms - step.released_ms
    assert figures.spans is not None
    by_phase: dict[Phase, int] = {}
    for phase, begin, end, owner in zip(
        figures.spans.phase, figures.spans.from_ms, figures.spans.to_ms, figures.spans.task, strict=True
    ):
        if owner >= 0:
            by_phase[phase] = by_phase.get(phase, 0) + end - begin
    assert sum(by_phase.get(phase, 0) for phase in ON_A_DEVICE) == figures.work_ms
    waits = {wait.cause: wait.total_ms for wait in figures.waits if wait.total_ms}
    assert waits == {phase: total for phase, total in by_phase.items() if phase not in ON_A_DEVICE}
    assert all(wait.wall_ms <= figures.makespan_ms for wait in figures.waits)


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_a_report_of_a_part_of_a_run_holds_as_well(seed: int) -> None:
    events = [event for event in seeded(seed).events if event.stream == "c1"]
    for count in range(1, len(events) + 1, 3):
        record = fold_log(events[:count])
        figures = report(record, record.at_ms + 10, created_at="", names={})
        assert figures.path_ms <= figures.makespan_ms
        assert figures.busy_ms <= figures.work_ms <= figures.one_at_a_time_ms


def test_two_at_once_gain_what_their_overlap_is() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), task("c"), edge("a>c"), edge("b>c")))
    first, second = driver.take()
    driver.now_ms += 3_000
    driver.result(first, 1)
    driver.now_ms += 2_000
    driver.result(second, 1)
    (third,) = driver.take()
    driver.now_ms += 4_000
    driver.result(third, 1)
    figures = of(driver)
    assert (figures.makespan_ms, figures.work_ms, figures.busy_ms, figures.path_ms) == (9_000, 12_000, 9_000, 9_000)
    assert [step.task for step in figures.path] == [second.at.task, "c"]
    assert (figures.one_at_a_time_ms, figures.gain) == (12_000, 0.25)
    assert (figures.width_most, figures.width_mean, figures.parallelism) == (2, 1.33, 1.33)
    assert (figures.tasks, figures.devices, figures.attempts, figures.versions) == (3, 1, 3, 1)
    assert figures.device_names == {"d-one": "one"}


def test_an_approval_is_time_that_a_person_took() -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("a", tool="t.never"), policy=Policy(approval=Approval.ALWAYS)))
    assert driver.state() == "awaiting_approval"
    driver.now_ms += 7_000
    assert [(wait.cause, wait.wall_ms) for wait in of(driver).waits] == [(Phase.APPROVAL, 7_000)]
    (question,) = run.questions
    answer(driver, question, "allow")
    driver.now_ms += 1_000
    driver.run()
    figures = of(driver)
    assert (figures.for_person_ms, figures.makespan_ms, figures.work_ms) == (7_000, 8_000, 1_000)
    assert (figures.one_at_a_time_ms, figures.gain) == (8_000, 0.0)


def test_the_days_before_a_retry_are_no_time_of_the_run() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), edge("a>b")))

    def carry_out() -> None:
        while taken := driver.take():
            driver.now_ms += 2_000
            driver.result(taken[0], 1)

    carry_out()
    assert of(driver).makespan_ms == 4_000
    for round_number in (1, 2):
        driver.now_ms += 2 * 86_400_000
        assert of(driver).makespan_ms == 2_000 + 2_000 * round_number
        assert not driver.control("retry_from", "b").faults
        carry_out()
    found = of(driver)
    assert (found.makespan_ms, found.busy_ms, found.work_ms, found.gain) == (8_000, 8_000, 8_000, 0.0)
    assert metrics(Constellation("c1", 0, driver.folded["c1"]))["wall_ms"] == found.makespan_ms
    driver.folded_equals_state()


def answer(driver: Driver, question: str, choice: str) -> None:
    driver.do(QuestionAnswered(id=driver.ident(), by="person:ann", constellation="c1", question=question, value=choice))


def test_a_question_of_the_plan_waits_for_a_person_and_is_on_the_path() -> None:
    driver = Driver("one")
    ask = task("ask", person="Which?", choices=[Choice(value="x", label="X")])
    run = driver.submit(plan(ask, task("a"), edge("ask>a")))
    driver.now_ms += 5_000
    answer(driver, next(iter(run.questions)), "x")
    (dispatch,) = driver.take()
    driver.now_ms += 1_000
    driver.result(dispatch, 1)
    figures = of(driver)
    assert [(step.task, step.time_ms, step.waits) for step in figures.path] == [
        ("ask", 0, {"person": 5_000}),
        ("a", 1_000, {}),
    ]
    assert figures.for_person_ms == 5_000


def test_a_full_device_is_waited_for() -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(task("a"), task("b")))
    driver.now_ms += 2_000
    driver.run()
    (wait,) = of(driver).waits
    assert (wait.cause, wait.tasks, wait.total_ms, wait.wall_ms) == (Phase.QUEUE, 1, 2_000, 2_000)


def test_an_attempt_that_is_made_again_is_a_retry_or_a_move() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.now_ms += 1_000
    driver.result(first, outcome=Outcome.ERROR, code=Code.NETWORK, detail="no route")
    driver.fire(driver.timers.pop())
    (second,) = driver.take()
    driver.now_ms += 2_000
    driver.result(second, 1)
    figures = of(driver)
    moved = first.device != second.device
    assert (figures.recoveries.retried, figures.recoveries.moved) == (int(not moved), int(moved))
    assert (figures.work_ms, figures.repeated_ms, figures.attempts) == (3_000, 1_000, 2)
    assert [wait.cause for wait in figures.waits] == [Phase.RETRY]


def test_a_change_by_a_person_after_a_failure_is_a_recovery() -> None:
    """A task that does the work of a failed one was put there by somebody: the run did not mend itself."""
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), policy=Policy(partial=True)))
    first, _ = driver.take()
    added: list[EditOperation] = [AddTask(spec=task("c"))]
    driver.do(EditProposed(id="e1", by="person:ann", base_version=1, constellation="c1", operations=added))
    assert of(driver).recoveries.person == 0, "nothing had failed yet"
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="no")
    again: list[EditOperation] = [AddTask(spec=task("a-2"))]
    driver.do(EditProposed(id="e2", by="person:ann", base_version=2, constellation="c1", operations=again))
    assert of(driver).recoveries.person == 1


def test_an_owner_who_was_asked_is_no_failure_that_was_mended() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.result(first, outcome=Outcome.REFUSED, code=Code.NEEDS_APPROVAL, detail="asked")
    session = driver.shard.fleet.devices["d-one"].session
    told = Offer(digest="answered", facts={"answered": "yes"}, slots=4, tools=TOOLS)
    driver.do(
        OfferReceived(
            id="offer",
            by="device:d-one",
            device="d-one",
            offer=told,
            os="linux",
            profile=Profile.OPERATE,
            session=session,
        )
    )
    (second,) = driver.take()
    driver.result(second, 1)
    figures = of(driver)
    assert (figures.attempts, figures.recoveries.retried, figures.recoveries.moved) == (2, 0, 0)


def test_a_second_attempt_that_was_faster_is_a_hedge_and_nothing_else() -> None:
    record = fold_log(log("hedge"))
    figures = report(record, record.at_ms, created_at="", names={}).recoveries
    assert (figures.hedged, figures.retried, figures.moved) == (1, 0, 0)


def test_the_children_of_a_group_stand_between_what_is_before_and_behind_it() -> None:
    driver = Driver("one", slots=8)
    driver.submit(
        plan(
            task("list"),
            task("each", for_each=ForEach(source="list", output="/l")),
            task("sum"),
            edge("each>sum"),
        )
    )
    driver.now_ms += 1_000
    driver.result(driver.take()[0], {"l": ["x", "y"]})
    children = driver.take()
    for dispatch in children:
        driver.now_ms += 1_000
        driver.result(dispatch, 1)
    driver.now_ms += 1_000
    driver.run()
    figures = of(driver)
    assert [step.task for step in figures.path] == ["list", children[-1].at.task, "sum"]
    assert figures.path_ms == 4_000


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [([], (0, 0)), ([(0, 0)], (0, 0)), ([(0, 2), (2, 3)], (3, 1)), ([(0, 4), (1, 2), (1, 3)], (4, 3))],
)
def test_what_is_covered_is_counted_once(intervals: list[tuple[int, int]], expected: tuple[int, int]) -> None:
    assert covered(intervals) == expected


def test_a_wait_is_ended_by_a_person_or_not_and_never_on_a_device() -> None:
    assert not FOR_A_PERSON & ON_A_DEVICE


def golden() -> dict[str, Any]:
    """The spans of the golden logs, as both the core and the page fold them."""
    logs = {path.stem: log(path.stem) for path in sorted(FOLDER.glob("*.json"))}
    return {name: rows(fold_log(events)) for name, events in logs.items() if events[0].stream == "c1"}


def log(name: str) -> list[Event]:
    raw = msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=dict[str, msgspec.Raw])["events"]
    return [decode_event(event) for event in msgspec.json.decode(raw, type=list[msgspec.Raw])]


def rows(record: RunLog) -> list[list[Any]]:
    return [
        [span.task, str(span.phase), span.device, span.attempt, span.from_ms, span.to_ms, int(span.hedge)]
        for span in record.spans
    ]


def test_the_spans_of_golden_logs_are_those_that_the_page_is_held_to() -> None:
    assert golden() == json.loads(GOLDEN.read_text())


def test_turns_of_goals_and_escalations_are_counted_by_tier() -> None:
    one = Pursued()
    one.tiers = ("small", "worker")
    one.step(call(number=1))
    one.end_calls()
    one.claim()
    one.propose("hand_over", to="next_tier", note="it is too long")
    one.answer()
    used = of(one).model
    assert (used.turns, used.escalations) == ({"small": 2, "worker": 1}, 1)
    alone = Pursued()
    alone.answer(cites=())
    assert (of(alone).model.turns, of(alone).model.escalations) == ({}, 0)
