"""Controls and the rounds they open; jobs, approvals and questions."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, ArmTimer, StartJob
from starloom.core.state.transitions import Trigger, Verdict, look_up
from starloom_protocol.records.entities import Choice, Fault, ForEach, Policy
from starloom_protocol.vocabulary import (
    CONTROLS,
    FINAL_TASK_STATES,
    Approval,
    Attention,
    Code,
    Gate,
    Outcome,
    Reason,
    TaskState,
)
from tests.builders import MAYBE, TOOLS, Driver, edge, plan, task
from tests.core.watched import WatchedDriver

CHOICES = [Choice(value="go", label="Go"), Choice(value="stop", label="Stop", fails=True)]


def codes(answer: Answer) -> list[Code]:
    return [item.code for item in answer.faults]


def do(driver: Driver, kind: Any, by: str = "person:ann", **fields: Any) -> Answer:
    return driver.do(kind(id=driver.ident(), by=by, constellation=fields.pop("constellation", "c1"), **fields))


@pytest.mark.parametrize(
    ("action", "fields", "code"),
    [
        ("explode", {}, Code.BAD_REQUEST),
        ("explode", {"task_id": "a"}, Code.BAD_REQUEST),
        ("pause", {"name": "no"}, Code.NOT_FOUND),
        ("skip", {"task_id": "no"}, Code.UNKNOWN_TASK),
        ("resume", {}, Code.ILLEGAL_CONTROL),
        ("retry_from", {"task_id": "a"}, Code.ILLEGAL_CONTROL),
        ("mark", {"task_id": "g"}, Code.BAD_REQUEST),
        ("release", {"task_id": "g"}, Code.ILLEGAL_CONTROL),
        ("retry", {"task_id": "g"}, Code.ILLEGAL_CONTROL),
    ],
)
def test_what_is_not_possible_is_refused(action: str, fields: dict[str, str], code: Code) -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("g", for_each=ForEach(source="a", output="/l"))))
    assert codes(driver.control(action, **fields)) == [code]


def test_pause_and_cancel_of_what_is_over_or_cancelling() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    driver.control("pause")
    assert codes(driver.control("pause")) == [Code.ILLEGAL_CONTROL]
    driver.control("cancel")
    assert not driver.control("cancel").faults
    assert codes(driver.control("retry", "a")) == [Code.ILLEGAL_CONTROL]
    driver.receipt(driver.dispatched[0])
    assert codes(driver.control("cancel")) == [Code.ILLEGAL_CONTROL]
    assert codes(driver.control("retry", "a")) == [Code.ILLEGAL_CONTROL]


def test_a_round_is_not_opened_over_work_under_way() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "x=a")))
    driver.result(driver.take()[0], 1)
    assert codes(driver.control("retry_from", "a")) == [Code.DOWNSTREAM_STARTED]
    assert driver.run() == "succeeded"
    assert not driver.control("retry_from", "a").faults
    assert driver.run() == "succeeded"
    assert driver.shard.constellations["c1"].tasks["b"].round == 2


def test_work_that_may_not_be_repeated_runs_again_only_with_a_persons_word() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("n", "x=a", tool="t.never")))
    assert driver.run() == "succeeded"
    assert codes(driver.control("retry_from", "a")) == [Code.NEEDS_CONFIRM]
    assert codes(driver.control("retry_from", "a", by="planner", confirm=["n"])) == [Code.NEEDS_CONFIRM]
    assert not driver.control("retry_from", "a", confirm=["n"]).faults
    assert driver.run() == "succeeded"
    assert driver.shard.constellations["c1"].attempts["n/2"].round == 2


def test_an_unknown_fate_is_retried_with_confirm_in_its_round_or_marked_without() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b", tool="t.never"), task("c", "x=b")))
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    refused = driver.control("retry", "a")
    assert (codes(refused), refused.value) == ([Code.NEEDS_CONFIRM], {"repeats": ["a"]})
    # The title says that it would run again, so the reason does not.
    assert refused.faults[0].reason == "a has begun before"
    assert not driver.control("retry", "a", confirm=["a"]).faults
    run = driver.shard.constellations["c1"]
    assert (run.tasks["a"].round, run.tasks["a"].state) == (1, TaskState.LEASED)
    assert codes(driver.control("mark", "b", state="cancelled")) == [Code.BAD_REQUEST]
    assert codes(driver.control("mark", "b", value="{")) == [Code.BAD_REQUEST]
    driver.control("mark", "b", state="failed")
    assert run.tasks["c"].state is TaskState.SKIPPED
    assert (run.tasks["b"].code, run.attempts["b/1"].detail) == (
        Code.MARKED_FAILED,
        "ann says that it did not happen",
    )
    assert run.head.attention == []
    # A marked task does not run: no confirm for itself.
    assert not driver.control("mark", "b", value="5").faults
    assert run.tasks["b"].round == 2
    assert codes(driver.control("mark", "b", state="skipped")) == [Code.DOWNSTREAM_STARTED]
    driver.run()
    driver.control("mark", "b", state="skipped")
    assert (run.tasks["b"].reason, run.tasks["c"].reason) == (Reason.SKIPPED_BY_PERSON, Reason.NOT_CHOSEN)
    assert driver.run() == "succeeded"


def test_controls_of_a_group_act_on_its_children() -> None:
    driver = WatchedDriver("one", slots=1)
    driver.submit(plan(task("l"), task("g", for_each=ForEach(source="l", output="/l")), task("end", "rows=g")))
    driver.control("skip", "g")
    run = driver.shard.constellations["c1"]
    assert driver.states()["g"] == "skipped"
    driver.result(driver.take()[0], {"l": [1, 2, 3]})
    assert run.tally == {}
    assert run.head.state == "succeeded"
    driver.control("retry", "g")
    (first,) = driver.take()
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.control("hold", "g")
    driver.control("release", "g")
    assert driver.run() == "failed"
    assert driver.states()["end"] == "skipped"
    driver.control("retry", "g")
    states = [run.tasks[f"g.{n}"].round for n in range(3)]
    assert states == [2, 1, 1]
    assert driver.run() == "succeeded"
    driver.control("retry_from", "g")
    assert [run.tasks[f"g.{n}"].round for n in range(3)] == [3, 2, 2]
    driver.control("cancel", "g")
    driver.receipt(driver.take()[-1])
    assert driver.states()["g"] == "cancelled"
    driver.folded_equals_state()


def broken_list(*broken: int) -> WatchedDriver:
    """Return a driver whose group of five checks has ended, and failed at these."""
    driver = WatchedDriver("one")
    parts = [task("l"), task("g", for_each=ForEach(source="l", output="/l")), task("store", "rows=g")]
    driver.submit(plan(*parts, edge("g>store")))
    driver.result(driver.take()[0], {"l": [0, 1, 2, 3, 4]})
    while dispatches := driver.take():
        for dispatch in dispatches:
            if dispatch.at.task in {f"g.{number}" for number in broken}:
                driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
            else:
                driver.result(dispatch, {"ok": True})
    return driver


def test_the_rest_goes_on_without_a_task_that_failed() -> None:
    driver = broken_list(2)
    run = driver.shard.constellations["c1"]
    assert (driver.state(), driver.states()["store"]) == ("failed", "skipped")
    why = explain(driver.shard, "c1", "g.2")
    assert why.actions == ["retry", "skip", "mark"] or why.actions[-1] == "skip"
    assert why.sentence.endswith("Going on without it leaves out its part; 4 of 5 of g are done.")
    assert not driver.control("skip", "g.2", reason="it is broken").faults
    assert driver.run() == "succeeded"
    assert run.tasks["g.2"].reason is Reason.SKIPPED_BY_PERSON
    assert driver.states()["store"] == "succeeded"
    driver.folded_equals_state()


def test_a_group_goes_on_without_all_that_failed() -> None:
    driver = broken_list(1, 3)
    assert not driver.control("skip", "g").faults
    assert driver.run() == "succeeded"
    assert [driver.states()[f"g.{number}"] for number in range(5)].count("skipped") == 2
    driver.folded_equals_state()


def test_what_needs_a_failed_task_is_named_before_it_is_left_out() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "rows=a")))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert explain(driver.shard, "c1", "a").sentence.endswith("Going on without it leaves out b, too.")
    assert not driver.control("skip", "a").faults
    assert driver.states()["b"] == "skipped"


def test_hold_survives_a_backoff() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NETWORK)
    driver.control("hold", "a")
    driver.fire(next(timer for timer in driver.timers if timer.kind == "backoff"))
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason is Reason.HELD
    assert not driver.dispatched
    driver.control("release", "a")
    assert driver.run() == "succeeded"


def asked(driver: Driver, **fields: Any) -> None:
    do(driver, i.RequestReceived, request="words", **fields)


def claim(driver: Driver, worker: str = "w1", job: str = "plan-1") -> Answer:
    return do(driver, i.JobClaimed, by="worker", job=job, ttl_ms=1_000, worker=worker)


def propose(driver: Driver, worker: str = "w1", job: str = "plan-1", **fields: Any) -> Answer:
    return do(driver, i.PlanProposed, by="worker", job=job, worker=worker, **fields)


def test_a_job_is_claimed_by_one_worker_at_a_time() -> None:
    driver = WatchedDriver("one")
    asked(driver)
    assert driver.sent == [StartJob(after="durable", constellation="c1", job="plan-1", kind="plan")]
    assert codes(claim(driver, job="no")) == [Code.NOT_FOUND]
    assert codes(propose(driver, plan=plan(task("a")))) == [Code.CONFLICT], "nobody has claimed it"
    assert claim(driver).value["claimed"] is True
    assert codes(claim(driver, "w2")) == [Code.CONFLICT]
    claim(driver)
    driver.now_ms += 1_001
    claim(driver, "w2")
    assert driver.shard.constellations["c1"].jobs["plan-1"].claims == 2
    assert codes(propose(driver, "w1", plan=plan(task("a")))) == [Code.CONFLICT]
    assert codes(propose(driver, "w2", job="no")) == [Code.NOT_FOUND]
    assert propose(driver, "w2", plan=plan(task("a"))).value == {"accepted": True}
    assert propose(driver, "w2", plan=plan(task("a"))).value == {"accepted": False}
    assert codes(claim(driver, "w2")) == [Code.CONFLICT]


def test_a_planner_without_a_plan_ends_the_request_with_its_reason() -> None:
    for fault in (Fault(code=Code.REQUEST_NOT_UNDERSTOOD, reason="no recipe fits"), None):
        driver = WatchedDriver("one")
        asked(driver)
        claim(driver)
        propose(driver, fault=fault)
        head = driver.shard.constellations["c1"].head
        assert (head.state, head.attention) == ("failed", [Attention.PLANNING_FAILED])
        assert head.fault is not None
        assert head.fault.reason == (fault.reason if fault else "the planner gave neither a plan nor a reason")


def test_a_plan_that_is_not_the_approved_one_is_not_run() -> None:
    driver = WatchedDriver("one")
    asked(driver, plan_hash="seen")
    claim(driver)
    propose(driver, plan=plan(task("a"), hash="other"))
    head = driver.shard.constellations["c1"].head
    assert head.fault is not None
    assert head.fault.code is Code.PLAN_HASH_MISMATCH
    asked(driver, constellation="c2", plan_hash="seen")
    do(driver, i.JobClaimed, by="worker", constellation="c2", job="plan-1", ttl_ms=1_000, worker="w")
    driver.do(
        i.PlanProposed(id="y", by="w", constellation="c2", job="plan-1", worker="w", plan=plan(task("a"), hash="seen"))
    )
    assert driver.states("c2") == {"a": "leased"}
    refused = do(driver, i.RequestReceived, constellation="c3", plan=plan(task("a")), plan_hash="no")
    assert codes(refused) == [Code.PLAN_HASH_MISMATCH]
    assert "c3" not in driver.shard.constellations


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (plan(task("a"), task("a")), Code.DUPLICATE_ID),
        (plan(task("a"), edge("a>no")), Code.UNKNOWN_TASK),
        (plan(task("a", "x=b"), task("b", "x=a")), Code.PLAN_CYCLE),
    ],
)
def test_a_faulty_plan_leaves_nothing(made: Any, code: Code) -> None:
    driver = WatchedDriver("one")
    assert codes(do(driver, i.RequestReceived, plan=made)) == [code]
    assert driver.shard.constellations == {}
    asked(driver)
    claim(driver)
    assert codes(propose(driver, plan=made)) == [code]


def test_a_name_is_taken_once() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    assert codes(do(driver, i.RequestReceived, plan=plan(task("a")))) == [Code.CONFLICT]


def test_a_plan_too_big_is_refused() -> None:
    driver = WatchedDriver("one")
    driver.shard.settings.tasks_most = 1
    assert codes(do(driver, i.RequestReceived, plan=plan(task("a"), task("b")))) == [Code.PLAN_TOO_BIG]


def reply(driver: Driver, question: str, value: str, **fields: Any) -> Answer:
    return do(driver, i.QuestionAnswered, question=question, value=value, **fields)


@pytest.mark.parametrize(
    ("policy", "fields", "state"),
    [
        (Policy(approval=Approval.NEVER), {}, "active"),
        (Policy(approval=Approval.ALWAYS), {}, "awaiting_approval"),
        (Policy(), {}, "active"),
        (Policy(approval=Approval.NEVER), {"hold": True}, "awaiting_approval"),
    ],
)
def test_the_policy_says_what_is_approved_first(policy: Policy, fields: dict[str, Any], state: str) -> None:
    driver = WatchedDriver("one")
    run = driver.submit(plan(task("a"), policy=policy), **fields)
    assert run.head.state == state


def test_risky_effects_and_words_that_write_are_approved_first() -> None:
    driver = WatchedDriver("one")
    asked(driver)
    claim(driver)
    propose(driver, plan=plan(task("a", tool="t.idem")))
    run = driver.shard.constellations["c1"]
    assert run.head.state == "awaiting_approval"
    assert run.questions["approve-plan"].action == "h"
    assert driver.states() == {"a": "ready"}
    assert codes(reply(driver, "approve-plan", "maybe")) == [Code.BAD_REQUEST]
    assert codes(reply(driver, "no", "allow")) == [Code.NOT_FOUND]
    reply(driver, "approve-plan", "allow")
    assert codes(reply(driver, "approve-plan", "deny")) == [Code.CONFLICT]
    assert run.head.attention == []
    assert driver.run() == "succeeded"


def test_a_denied_plan_is_cancelled_with_its_reason_and_asked_nothing_before() -> None:
    driver = WatchedDriver("one")
    parts = [task("ask", person="Well?", choices=CHOICES), task("g", for_each=ForEach(source="a", output="/l"))]
    run = driver.submit(plan(task("a"), *parts, policy=Policy(approval=Approval.ALWAYS)))
    assert list(run.questions) == ["approve-plan"]
    reply(driver, "approve-plan", "deny", reason="too much")
    assert run.head.state == "cancelled"
    assert run.head.fault is not None
    assert run.head.fault.reason == "the plan was denied: too much"
    assert set(driver.states().values()) == {"cancelled"}
    assert "was cancelled" in run.tables["answer"][""].sentence


def test_an_approved_plan_asks_its_questions_then() -> None:
    driver = WatchedDriver("one")
    new_plan = plan(task("ask", person="Well?", choices=CHOICES), policy=Policy(approval=Approval.ALWAYS))
    run = driver.submit(new_plan)
    reply(driver, "approve-plan", "allow")
    assert list(run.open_questions) == ["ask-1"]
    assert codes(reply(driver, "ask-1", "perhaps")) == [Code.BAD_REQUEST]
    reply(driver, "ask-1", "go", reason="fine")
    assert run.tasks["ask"].marked == '{"by":"person:ann","text":"fine","value":"go"}'
    assert run.head.state == "succeeded"


@pytest.mark.parametrize("action", ["skip", "cancel"])
def test_a_question_that_is_not_waited_for_any_more_is_closed(action: str) -> None:
    driver = WatchedDriver("one")
    run = driver.submit(plan(task("ask", person="Well?", choices=CHOICES), task("a")))
    driver.control(action, "ask")
    assert not run.open_questions
    assert run.head.attention == []
    assert codes(reply(driver, "ask-1", "go")) == [Code.CONFLICT]


def test_a_deadline_cancels_and_says_so() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")), deadline_s=5)
    deadline = next(timer for timer in driver.timers if isinstance(timer, ArmTimer) and timer.kind == "deadline")
    driver.fire(deadline)
    assert driver.states() == {"a": "cancelling"}
    driver.receipt(driver.dispatched[0])
    driver.fire(deadline)
    head = driver.shard.constellations["c1"].head
    assert (head.state, head.cancelled_by) == ("cancelled", "deadline")


def test_a_cancel_while_planning_ends_it() -> None:
    driver = WatchedDriver("one")
    asked(driver)
    driver.control("cancel")
    assert driver.shard.constellations["c1"].head.state == "cancelled"
    assert propose(driver, plan=plan(task("a"))).value == {"accepted": False}


def test_a_fault_of_the_lab_is_noted_where_a_reader_looks() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    assert do(driver, i.FaultNoted, by="lab", note="the link was cut").value
    assert driver.events[-1].note == "the link was cut"
    assert codes(do(driver, i.FaultNoted, by="lab", note="x", constellation="no")) == [Code.NOT_FOUND]


def test_a_gate_that_closes_again_takes_its_task_back() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    driver.add_device("three", tools=TOOLS[:1])
    driver.submit(plan(task("a"), task("busy", device="two"), task("b", device="two"), edge("a>b", Gate.FINISH)))
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["a"], 1)
    assert driver.states()["b"] == "ready"
    driver.control("retry_from", "a")
    assert driver.states()["b"] == "waiting"
    driver.dispatched.append(by_task["busy"])
    assert driver.run() == "succeeded"


def test_at_a_deadline_what_must_not_be_cut_goes_on_to_its_end_and_nothing_else_does() -> None:
    driver = WatchedDriver("one")
    parts = [task("must-not", tool="t.never"), task("may"), task("next", "x=may"), task("starting", tool="t.never")]
    driver.submit(plan(*parts), deadline_s=5)
    by_task = {item.at.task: item for item in driver.take()}
    for name in ("must-not", "may"):
        driver.started(by_task[name])
    driver.fire(next(timer for timer in driver.timers if isinstance(timer, ArmTimer) and timer.kind == "deadline"))
    assert sorted(item.at.task for item in driver.cancels) == ["may", "starting"]
    assert driver.states()["next"] == "cancelled"
    for name in ("may", "starting"):
        driver.receipt(by_task[name])
    run = driver.shard.constellations["c1"]
    assert run.head.state == "cancelling"
    driver.result(by_task["must-not"], 1)
    assert (run.head.state, run.head.cancelled_by) == ("cancelled", "deadline")
    assert "Its deadline of 5 s had passed." in run.tables["answer"][""].sentence


@pytest.mark.parametrize("state", TaskState)
def test_the_offered_controls_are_those_that_the_core_accepts(state: TaskState) -> None:
    triggers = {"retry": Trigger.RETRY, "skip": Trigger.SKIP, "mark": Trigger.MARK, "cancel": Trigger.CANCEL}
    triggers |= {"hold": Trigger.HOLD, "release": Trigger.RELEASE}
    accepted = {name for name, trigger in triggers.items() if look_up(state, trigger).verdict is Verdict.ACT}
    accepted |= {"retry-from"} if state in FINAL_TASK_STATES else set()
    assert set(CONTROLS[state]) == accepted


def test_a_refusal_names_the_controls_that_are_possible() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    (sent,) = driver.take()
    driver.result(sent, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    (refused,) = driver.control("hold", "a").faults
    assert refused.reason.endswith("Possible now: retry, retry-from, skip, mark")


def test_nothing_is_possible_in_a_cancelled_constellation() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")), hold=True)
    driver.control("cancel")
    (refused,) = driver.control("skip", "a").faults
    assert refused.reason.endswith("Possible now: nothing")
