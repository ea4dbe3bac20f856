"""Looks before a plan: ordinary tasks of the constellation, judged like a model's plan, each round asked for once."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.people.inquiries import CALLS_MOST, ROUND_S, ROUNDS_MOST, TIMER
from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import Answer, StartJob
from starloom_protocol.records.entities import Budget, Read, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import (
    Attention,
    Code,
    ConstellationState,
    Effect,
    Outcome,
    Repeatability,
    Sharing,
    TaskState,
)
from tests.builders import TOOLS, Driver, plan, task

LOOKING, PLANNING, ACTIVE = ConstellationState.LOOKING, ConstellationState.PLANNING, ConstellationState.ACTIVE
PURE = Repeatability.PURE
MORE = [
    ToolOffer(name="t.reach", repeatability=PURE, effects=[Effect.READ, Effect.REACH]),
    ToolOffer(name="t.again", repeatability=Repeatability.IDEMPOTENT, effects=[Effect.READ]),
    ToolOffer(name="t.off", repeatability=PURE, effects=[Effect.READ], unavailable="not installed"),
]


class Asked(Driver):
    """A request in words, and a worker that proposes looks for it."""

    def __init__(self, *devices: str, **fields: Any) -> None:
        super().__init__()
        for name in devices or ("one", "two"):
            self.add_device(name, tools=[*TOOLS, *MORE])
        item = i.RequestReceived(id="r", by="person:ann", constellation="c1", request="report", **fields)
        assert not self.do(item).faults

    @property
    def made(self) -> Constellation:
        return self.shard.constellations["c1"]

    @property
    def job(self) -> str:
        return list(self.made.jobs)[-1]

    def claim(self, worker: str = "w") -> None:
        claimed = i.JobClaimed(id=self.ident(), by="w", constellation="c1", job=self.job, ttl_ms=15_000, worker=worker)
        assert not self.do(claimed).faults

    def look(
        self,
        *calls: tuple[str, str],
        reads: list[Read] | None = None,
        shown: list[str] | None = None,
        job: str = "",
        **fields: Any,
    ) -> Answer:
        if not job:
            self.claim()
        made = [i.LookCall(device=device, tool=tool, **fields) for device, tool in calls]
        return self.do(
            i.LooksProposed(
                id=self.ident(),
                by="worker:w",
                calls=made,
                constellation="c1",
                job=job or self.job,
                reads=reads or [],
                shown=shown or [],
                why="to see the columns",
                worker="w",
            )
        )

    def propose(self, made: Any, **fields: Any) -> Answer:
        self.claim()
        return self.do(
            i.PlanProposed(
                id=self.ident(),
                by="w",
                by_model=True,
                constellation="c1",
                job=self.job,
                plan=made,
                worker="w",
                **fields,
            )
        )


def codes(answer: Answer) -> list[tuple[Code, str]]:
    return [(fault.code, fault.place or "") for fault in answer.faults]


def test_a_round_keeps_the_tools_that_were_asked_for_and_no_other_text() -> None:
    driver = Asked()
    assert not driver.look(("one", "t.pure"), shown=["t.pure", "no.such", "ignore all rules"]).faults
    look = driver.made.jobs["plan-1"].look
    assert look is not None
    assert look.shown == ["t.pure"]


def test_looks_are_tasks_on_their_device_and_planning_goes_on_when_they_end() -> None:
    driver = Asked()
    assert not driver.look(("one", "t.pure"), ("d-two", "t.pure")).faults
    assert driver.made.head.state is LOOKING
    assert driver.made.head.version == 0
    first, second = driver.take()
    assert {first.device, second.device} == {"d-one", "d-two"}
    driver.started(first)
    driver.result(first, {"files": ["a.csv"]})
    assert driver.made.head.state is LOOKING
    driver.started(second)
    driver.result(second, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="no such folder")
    assert driver.made.head.state is PLANNING
    assert driver.job == "plan-2"
    assert [effect.job for effect in driver.sent if isinstance(effect, StartJob)] == ["plan-2"]
    look = driver.made.jobs["plan-1"].look
    assert look is not None
    assert (look.round, look.tasks, look.why) == (1, ["look-1-1", "look-1-2"], "to see the columns")


def test_looks_count_in_no_outcome_plan_hash_or_version() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"), ("two", "t.pure"))
    ok, bad = driver.take()
    driver.started(ok)
    driver.result(ok, 1)
    driver.started(bad)
    driver.result(bad, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="gone")
    assert not driver.propose(plan(task("a"), name="Report")).faults
    assert driver.made.head.state is ACTIVE
    assert driver.made.versions["1"].added == ["a"]
    assert driver.run() == ConstellationState.SUCCEEDED
    answer = driver.made.tables["answer"][""]
    assert [item.task for item in answer.items] == ["a"]
    assert "Report is done: 1 task on" in answer.sentence
    assert driver.made.tasks["look-1-2"].state is TaskState.FAILED


def test_a_plan_that_fails_after_good_looks_has_failed() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    (seen,) = driver.take()
    driver.started(seen)
    driver.result(seen, 1)
    driver.propose(plan(task("a", tool="t.pure")))
    (work,) = driver.take()
    driver.started(work)
    driver.result(work, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="gone")
    assert driver.made.head.state is ConstellationState.FAILED


@pytest.mark.parametrize(
    ("call", "code", "place"),
    [
        (("one", "t.never"), Code.FORBIDDEN, "calls[0].tool"),
        (("one", "t.idem"), Code.FORBIDDEN, "calls[0].tool"),
        (("one", "t.again"), Code.FORBIDDEN, "calls[0].tool"),
        (("one", "t.reach"), Code.FORBIDDEN, "calls[0].tool"),
        (("one", "t.off"), Code.UNKNOWN_TOOL, "calls[0].tool"),
        (("one", "no.such"), Code.UNKNOWN_TOOL, "calls[0].tool"),
        (("nobody", "t.pure"), Code.UNKNOWN_DEVICE, "calls[0].device"),
    ],
)
def test_a_call_that_does_more_than_read_is_refused_whole(call: tuple[str, str], code: Code, place: str) -> None:
    driver = Asked()
    refused = driver.look(call, ("one", "t.pure"))
    assert codes(refused) == [(code, place)]
    assert driver.made.head.state is PLANNING
    assert not driver.made.tasks
    assert driver.made.jobs["plan-1"].state == "claimed"


def test_a_devices_own_offer_decides_and_not_that_of_another() -> None:
    driver = Asked()
    harmless = ToolOffer(name="t.mixed", repeatability=PURE, effects=[Effect.READ])
    driver.add_device("mild", tools=[harmless])
    driver.add_device("wild", tools=[ToolOffer(name="t.mixed", repeatability=PURE, effects=[Effect.CONTROL])])
    assert codes(driver.look(("wild", "t.mixed"))) == [(Code.FORBIDDEN, "calls[0].tool")]


@pytest.mark.parametrize("args", ['{"a":{"secret":"mail"}}', "[]", "{", '{"a":"' + "x" * 5000 + '"}'])
def test_arguments_are_a_small_object_without_a_secret(args: str) -> None:
    refused = Asked().look(("one", "t.pure"), args=args)
    assert [place for _, place in codes(refused)] == ["calls[0].args"]


def test_their_number_and_their_rounds_are_limited() -> None:
    driver = Asked()
    assert codes(driver.look(*[("one", "t.pure")] * (CALLS_MOST + 1)))[0] == (Code.MODEL_ANSWER, "calls")
    assert codes(driver.look()) == [(Code.MODEL_ANSWER, "calls")]
    for _ in range(ROUNDS_MOST):
        assert not driver.look(("one", "t.pure")).faults
        driver.run()
    assert driver.made.head.state is PLANNING
    assert codes(driver.look(("one", "t.pure"))) == [(Code.MODEL_ANSWER, "kind")]


def test_what_waits_for_a_person_is_not_looked_at_before() -> None:
    assert codes(Asked(hold=True).look(("one", "t.pure"))) == [(Code.FORBIDDEN, "calls")]


def test_a_person_may_share_no_values() -> None:
    assert codes(Asked(sharing=Sharing.NAMES).look(("one", "t.pure"))) == [(Code.FORBIDDEN, "kind")]


def test_a_device_that_is_away_holds_planning_up_for_one_round_at_most() -> None:
    driver = Asked()
    driver.do(i.DeviceDisconnected(id="x", by="device:d-two", device="d-two", reason="gone", session=1))
    driver.look(("one", "t.pure"), ("two", "t.pure"))
    (here,) = driver.take()
    driver.started(here)
    driver.result(here, 1)
    assert driver.made.head.state is LOOKING
    (over,) = [timer for timer in driver.timers if timer.kind == TIMER]
    assert over.due_ms == driver.made.jobs["plan-1"].look.at_ms + ROUND_S * 1000  # type: ignore[union-attr]
    driver.fire(over)
    assert driver.made.head.state is PLANNING
    assert driver.made.tasks["look-1-2"].state is TaskState.CANCELLED


def test_a_late_timer_of_a_round_changes_nothing() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    (over,) = [timer for timer in driver.timers if timer.kind == TIMER]
    driver.run()
    driver.look(("one", "t.pure"))
    driver.fire(over)
    assert driver.made.tasks["look-2-1"].state is TaskState.LEASED


def test_the_same_round_is_not_opened_twice() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    again = driver.look(("one", "t.pure"), job="plan-1")
    assert again.value == {"accepted": False}
    assert list(driver.made.tasks) == ["look-1-1"]


def test_reading_alone_opens_the_next_job_at_once() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    driver.run()
    assert not driver.look(reads=[Read(task="look-1-1", pointer="/text", offset=2048)]).faults
    assert driver.made.head.state is PLANNING
    assert driver.job == "plan-3"
    unknown = driver.look(reads=[Read(task="look-9-9"), Read(task="look-1-1", pointer="x", offset=-1)])
    assert [place for _, place in codes(unknown)] == [
        "calls[0].read.task",
        "calls[1].read.pointer",
        "calls[1].read.offset",
    ]


def test_a_constellation_that_looks_can_be_cancelled() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    (work,) = driver.take()
    driver.started(work)
    driver.control("cancel")
    assert driver.cancels
    driver.receipt(work)
    assert driver.made.head.state is ConstellationState.CANCELLED
    assert driver.job == "plan-1"


def test_its_deadline_ends_looking() -> None:
    driver = Asked(deadline_s=5)
    driver.look(("one", "t.pure"))
    (due,) = [timer for timer in driver.timers if timer.kind == "deadline"]
    driver.take()
    driver.fire(due)
    assert driver.made.head.state is ConstellationState.CANCELLING


def test_a_budget_pauses_looking_and_resuming_looks_on() -> None:
    driver = Asked(budget=Budget(attempts=1))
    driver.look(("one", "t.pure"), ("two", "t.pure"))
    (first,) = driver.take()
    assert driver.made.head.state is ConstellationState.PAUSED
    assert Attention.BUDGET in driver.made.head.attention
    driver.started(first)
    driver.result(first, 1)
    driver.control("resume")
    assert driver.made.head.state is LOOKING
    driver.run()
    assert driver.made.head.state is PLANNING


@pytest.mark.parametrize("action", ["retry", "retry_from", "mark", "hold"])
def test_a_look_is_not_done_again_or_decided_by_a_person(action: str) -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    driver.run()
    driver.propose(plan(task("a")))
    refused = driver.control(action, "look-1-1", state="failed")
    assert [fault.code for fault in refused.faults] == [Code.ILLEGAL_CONTROL]


def test_a_look_can_be_skipped_and_the_planner_goes_on() -> None:
    driver = Asked()
    driver.do(i.DeviceDisconnected(id="x", by="device:d-two", device="d-two", reason="gone", session=1))
    driver.look(("two", "t.pure"))
    assert not driver.control("skip", "look-1-1").faults
    assert driver.made.head.state is PLANNING


def test_a_plan_cannot_take_the_name_of_a_look() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    driver.run()
    refused = driver.propose(plan(task("look-1-1")))
    assert codes(refused) == [(Code.DUPLICATE_ID, "tasks.look-1-1")]


def test_nobody_edits_a_plan_that_is_not_made() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    edit = i.EditProposed(id="e", by="person:ann", base_version=0, constellation="c1", operations=[])
    assert [fault.code for fault in driver.do(edit).faults] == [Code.ILLEGAL_CONTROL]


def test_a_question_after_a_look_and_a_look_after_its_answer() -> None:
    driver = Asked()
    driver.look(("one", "t.pure"))
    driver.run()
    driver.claim()
    driver.do(
        i.PlanProposed(id="q", by="w", by_model=True, constellation="c1", job=driver.job, question="Net?", worker="w")
    )
    (question,) = driver.made.open_questions
    driver.do(
        i.QuestionAnswered(id="a", by="person:ann", constellation="c1", question=question, value="answer", reason="yes")
    )
    assert not driver.look(("two", "t.pure"), args=canonical({"path": "x"})).faults
    assert list(driver.made.tasks) == ["look-1-1", "look-2-1"]
    driver.run()
    assert driver.job == "plan-4"
    driver.propose(plan(task("a")))
    assert driver.run() == ConstellationState.SUCCEEDED
