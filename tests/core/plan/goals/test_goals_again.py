"""A goal in forks, in new rounds of its inputs, under undo and in doubt: nothing is stuck."""

from __future__ import annotations

from typing import Any

from starloom.core.answer.why import explain
from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import AddTask, Supersede
from starloom_protocol.records.entities import Cite, Input, TaskSpec
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import Driver, task
from tests.core.people.test_forks import fork
from tests.core.plan.goals.pursued import GOAL, OFFERS, VALUE, Pursued, call, judged
from tests.core.plan.goals.test_steps import WIDE
from tests.core.plan.test_edits import edit

INFO: dict[str, Any] = {"id": "info", "tool": "t.pure", "device": {"name": "one"}}
FOLLOWS = [{"from": "why", "to": "after"}, {"from": "why", "to": "slow", "when": "finish"}]
USE: dict[str, Any] = {"id": "use", "tool": "t.pure", "inputs": {"cause": {"from": "why", "output": "/cause"}}}


def reached(*tasks: dict[str, Any], **goal: Any) -> Pursued:
    one = Pursued(*tasks, goal=goal)
    one.end_calls()
    one.step(call(number=1))
    one.end_calls()
    one.answer()
    one.end_calls()
    assert one.state() == "succeeded"
    return one


def test_a_new_round_of_an_input_lets_the_goal_wait_and_begin_again() -> None:
    one = reached(INFO, USE, inputs={"seen": {"from": "info"}})
    assert not one.control("retry_from", "info").faults
    assert len([job for job in one.made.jobs.values() if job.kind == "goal"]) == 1, "it waits for its input"
    assert one.end_calls() == ["info"]
    one.answer(cites=("info",))
    assert one.end_calls() == ["use"]
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_a_fork_from_a_goal_has_a_conversation_of_its_own() -> None:
    one = reached(USE)
    assert not fork(one, task="why").faults
    run = one.shard.constellations["c2"]
    assert (str(run.groups["why"].state), str(run.tasks["use"].state)) == ("expanded", "waiting")
    (job,) = [job for job in run.jobs.values() if job.kind == "goal"]
    assert job.goal is not None
    assert job.goal.turns == []


def test_a_fork_of_a_goal_that_was_under_way_uses_the_results_of_its_steps() -> None:
    one = Pursued(USE)
    one.step(call(number=1))
    one.end_calls()
    assert not fork(one).faults
    (job,) = [job for job in one.shard.constellations["c2"].jobs.values() if job.kind == "goal"]
    assert job.goal is not None
    assert [turn.tasks for turn in job.goal.turns] == [["why.1"]]


def of_three_steps() -> Pursued:
    """A goal that ended with its third step; the second one had two calls."""
    one = Pursued(USE)
    one.step(call(number=1), note="the load")
    one.end_calls()
    one.step(call(number=2), call(number=3), note="disk and memory")
    one.end_calls()
    one.step(call(number=4), note="a wrong trail")
    one.end_calls()
    one.answer(cites=("why.4",))
    one.end_calls()
    assert one.state() == "succeeded"
    return one


def conversation(one: Pursued) -> list[tuple[str, list[str]]]:
    (job,) = [job for job in one.shard.constellations["c2"].jobs.values() if job.kind == "goal"]
    assert job.goal is not None
    return [(turn.note, turn.tasks) for turn in job.goal.turns]


def test_a_fork_from_a_step_uses_the_steps_before_it() -> None:
    one = of_three_steps()
    assert not fork(one, task="why.4").faults
    run = one.shard.constellations["c2"]
    assert conversation(one) == [("the load", ["why.1"]), ("disk and memory", ["why.2", "why.3"])]
    assert "why.4" not in run.specs
    assert (str(run.groups["why"].state), str(run.tasks["use"].state)) == ("expanded", "waiting")
    one.made = run
    one.claim_job("goal-1", constellation="c2")
    turn = i.GoalProposed(
        by="worker:w", calls=[call(number=5)], constellation="c2", id=one.ident(), job="goal-1", kind="step", worker="w"
    )
    assert one.do(turn).value == {"accepted": True}
    (work,) = one.take()
    assert work.at.task == "why.4"
    one.result(work, {"seen": 5})
    assert one.made.jobs["goal-1"].goal.turns[-1].tasks == ["why.4"]
    one.folded_equals_state()


def test_a_fork_from_a_call_beside_another_takes_both_out() -> None:
    one = of_three_steps()
    assert not fork(one, task="why.3").faults
    assert conversation(one) == [("the load", ["why.1"])]
    assert not {"why.2", "why.3", "why.4"} & set(one.shard.constellations["c2"].specs)


def test_a_fork_from_a_step_of_a_goal_under_way_begins_before_it() -> None:
    one = Pursued(USE)
    one.step(call(number=1), note="the load")
    one.end_calls()
    one.step(call(number=2), note="a wrong trail")
    one.end_calls()
    assert not fork(one, task="why.2").faults
    assert conversation(one) == [("the load", ["why.1"])]


def test_a_step_that_failed_is_told_to_a_fork_from_a_later_one() -> None:
    one = Pursued(USE)
    one.step(call(number=1), note="the load")
    (work,) = one.take()
    one.result(work, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    one.step(call(number=2), note="the disk")
    one.end_calls()
    assert not fork(one, task="why.2").faults
    assert conversation(one) == [("the load", ["why.1"])]


def test_a_goal_that_is_done_again_in_a_fork_from_a_step_begins_anew() -> None:
    one = of_three_steps()
    assert not fork(one, task="why.4").faults
    one.made = one.shard.constellations["c2"]
    assert not one.control("skip", "why", "c2").faults
    assert not one.control("retry", "why", "c2").faults
    assert one.job.goal is not None
    assert one.job.goal.turns == []


def cancelled(one: Pursued) -> None:
    """Cancel the whole, and let the devices report that they stopped."""
    assert not one.control("cancel").faults
    stop_calls(one)
    assert one.state() == "cancelled"


def stop_calls(one: Pursued) -> None:
    for work in one.take():
        one.result(work, outcome=Outcome.INTERRUPTED)


def forked(one: Pursued, **fields: Any) -> list[str]:
    """Fork, and return the calls that devices get before any turn of a model."""
    one.take()
    assert not fork(one, **fields).faults
    one.folded_equals_state()
    return [work.at.task for work in one.take()]


def test_a_fork_of_a_cancelled_goal_goes_on_with_the_steps_that_ended() -> None:
    one = Pursued(USE)
    one.step(call(number=1), note="the load")
    one.end_calls()
    one.step(call(number=2), note="the disk")
    cancelled(one)
    assert forked(one) == []
    run = one.shard.constellations["c2"]
    assert [tasks for _note, tasks in conversation(one)] == [["why.1"]]
    assert "why.2" not in run.specs
    assert (str(run.groups["why"].state), str(run.tasks["use"].state)) == ("expanded", "waiting")


def test_a_fork_makes_no_step_that_is_under_way_beside_the_conversation() -> None:
    one = Pursued(USE)
    one.step(call(number=1), note="the load")
    assert forked(one) == []
    assert conversation(one) == []
    assert "why.1" not in one.shard.constellations["c2"].specs


def test_a_goal_that_ended_keeps_its_cancelled_step_in_a_fork() -> None:
    one = Pursued(INFO, USE)
    one.end_calls()
    one.step(call(number=1), note="the load")
    one.end_calls()
    one.step(call(number=2), note="the disk")
    assert not one.control("cancel", "why.2").faults
    stop_calls(one)
    one.answer()
    one.end_calls()
    assert one.state() in ("succeeded", "partial")
    assert one.states()["why.2"] == "cancelled"
    assert forked(one, task="info") == ["info"]
    run = one.shard.constellations["c2"]
    assert (str(run.groups["why"].state), str(run.tasks["why.2"].state)) == ("succeeded", "cancelled")


def test_a_cancelled_step_that_another_task_reads_is_done_again_for_it() -> None:
    one = Pursued(USE)
    one.step(call(number=1))
    reader = TaskSpec(changed_in=0, id="more", inputs=[Input(name="all", source="why.1")], tool="t.pure")
    assert not edit(one, AddTask(spec=reader)).faults
    cancelled(one)
    assert forked(one) == ["why.1"]


def test_a_fork_that_makes_the_inputs_of_a_goal_again_begins_its_conversation_anew() -> None:
    one = Pursued(INFO, USE, goal={"inputs": {"seen": {"from": "info"}}})
    one.end_calls()
    one.step(call(number=1), note="the load")
    one.end_calls()
    cancelled(one)
    assert not fork(one, task="info").faults
    one.made = one.shard.constellations["c2"]
    assert not one.made.jobs
    assert one.end_calls() == ["info"]
    assert one.turns == []


def test_a_fork_from_a_step_that_another_task_reads_names_the_way_out() -> None:
    one = Pursued(USE)
    one.step(call(number=1))
    one.end_calls()
    reader = TaskSpec(changed_in=0, id="more", inputs=[Input(name="all", source="why.1")], tool="t.pure")
    assert not edit(one, AddTask(spec=reader)).faults
    (fault,) = fork(one, task="why.1").faults
    assert fault.hint == "Fork from why."


def test_a_fork_from_an_answer_names_the_way_out() -> None:
    one = reached(USE)
    (fault,) = fork(one, task="why.answer").faults
    assert fault.hint == "Fork from why."


def test_steps_name_no_way_back_so_an_undo_says_so() -> None:
    one = reached(USE)
    answer = one.do(i.UndoRequested(by="person:ann", constellation="c1", id=one.ident()))
    assert answer.faults[0].code is Code.ILLEGAL_CONTROL
    assert one.state() == "succeeded"


def test_a_step_in_doubt_is_decided_by_a_person() -> None:
    one = Pursued(goal=WIDE)
    one.reply("allow")
    one.step(call("svc.restart", name="web"))
    one.reply("allow")
    (work,) = one.take()
    one.started(work)
    one.expire(work.at)
    for timer in [timer for timer in due_moments(one.shard) if timer.kind == "absence"]:
        one.fire(timer)
    assert one.states()["why.1"] in ("unknown", "failed")
    if one.states()["why.1"] == "unknown":
        assert not one.control("mark", "why.1", state="failed").faults
    assert one.claim().value["claimed"] is True


def test_a_goal_within_a_plan_gives_its_answer_alone() -> None:
    one = Driver()
    one.add_device("one", tools=OFFERS)
    use = {"id": "use", "tool": "t.pure", "inputs": {"all": {"from": "outer"}}}
    check = check_plan({"starloom": 1, "name": "Why", "tasks": [{"id": "outer", "plan": {"tasks": [GOAL]}}, use]})
    assert check.plan is not None, check.faults
    made = one.submit(check.plan)

    def propose(kind: str, **fields: Any) -> None:
        worker: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": "goal-1", "worker": "w"}
        one.do(i.JobClaimed(id=one.ident(), ttl_ms=15_000, **worker))
        turn = i.GoalProposed(id=one.ident(), kind=kind, **worker, **fields)
        assert one.do(turn).value == {"accepted": True}

    propose("step", calls=[call()])
    (work,) = one.take()
    assert work.at.task == "outer.why.1"
    one.result(work, {"seen": 1})
    propose("answer", value=canonical(VALUE), cites=[Cite(task="outer.why.1")])
    assert [str(made.groups[name].state) for name in ("outer", "outer.why")] == ["succeeded", "succeeded"]
    (work,) = one.take()
    assert [parse(source.text or "") for source in work.inputs[0].sources] == [VALUE]
    one.result(work, {})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_an_answer_of_a_new_round_goes_back_once_as_in_the_first() -> None:
    one = Pursued(goal={"judge": "Does the evidence show the cause?"})
    one.step(call(number=1))
    one.end_calls()
    for expected in ("expanded", "failed"):
        one.answer()
        judged(one, "no")
        assert one.states()["why"] == expected
    assert not one.control("retry", "why").faults
    for expected in ("expanded", "failed"):
        one.answer()
        judged(one, "no")
        assert one.states()["why"] == expected
    one.folded_equals_state()


def said(one: Pursued) -> str:
    sentence: str = one.made.tables["answer"][""].sentence
    return sentence


def test_the_answer_says_who_did_the_work_of_a_goal() -> None:
    one = Pursued({"id": "after", "tool": "t.pure"}, {"id": "slow", "tool": "t.pure"}, dependencies=FOLLOWS)
    one.claim()
    one.propose("give_up", note="there is no log")
    work = task("by-hand")
    assert not edit(one, AddTask(spec=work), Supersede(by="by-hand", task="why")).faults
    while one.end_calls():
        pass
    assert one.state() == "succeeded"
    assert "why failed; by-hand did its work." in said(one)
    assert "First cause" not in said(one)
    assert explain(one.shard, "c1", "why").sentence.endswith(" by-hand did its work.")
    one.folded_equals_state()


def test_a_goal_that_failed_is_the_first_cause_while_others_run() -> None:
    slow = [{"id": f"slow-{number}", "tool": "t.pure"} for number in range(2)]
    one = Pursued(*slow, policy={"partial": True})
    one.step(call(number=1))
    for work in one.take():
        if work.at.task == "why.1":
            one.result(work, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        else:
            one.dispatched.append(work)
    one.claim()
    one.propose("give_up", note="there is no log")
    one.result(one.take()[0], {})
    assert one.state() == "active"
    assert "First cause: why - the model gave up: there is no log." in said(one)


def test_the_answer_of_a_goal_that_waits_for_a_person_needs_no_device() -> None:
    one = Pursued(goal={"judge": "Does the evidence show it?"})
    one.step(call(number=1))
    one.end_calls()
    one.answer()
    judged(one, "unclear")
    explanation = explain(one.shard, "c1", "why.answer")
    assert (explanation.candidates, "waits for a person" in explanation.sentence) == ([], True)


def test_a_turn_that_comes_twice_is_taken_once() -> None:
    """A hub that has taken over does not know the ids of messages, and the worker has claimed its next turn."""
    one = Pursued(USE)
    one.claim()
    told: dict[str, Any] = {"calls": [call(number=1)], "note": "the load", "turns": 0}
    assert one.propose("step", **told).value == {"accepted": True}
    one.end_calls()
    one.claim()
    assert one.propose("step", **told).value == {"accepted": False}
    assert one.take() == []
    assert one.propose("step", calls=[call(number=2)], note="the disk", turns=1).value == {"accepted": True}
    assert one.end_calls() == ["why.2"]
    one.folded_equals_state()
