"""A goal from its beginning to its answer: steps are tasks, the answer is its value, and nothing is made twice."""

from __future__ import annotations

from starloom.core.answer.story import so_far
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code
from tests.core.plan.goals.pursued import VALUE, Pursued, call

USE = {"id": "use", "tool": "t.pure", "inputs": {"cause": {"from": "why", "output": "/cause"}}}


def test_a_goal_grows_by_its_steps_and_its_answer_feeds_a_later_task() -> None:
    one = Pursued(USE)
    assert one.states()["why"] == "expanded"
    one.step(call(number=1))
    assert one.end_calls() == ["why.1"]
    one.step(call(number=2), call(number=3), note="the two that are left")
    assert one.end_calls() == ["why.2", "why.3"]
    assert one.answer().value == {"accepted": True}
    assert one.states()["why"] == "succeeded"
    (use,) = one.take()
    (given,) = use.inputs
    assert (given.many, given.sources[0].output, parse(given.sources[0].text or "")) == (False, "/cause", VALUE)
    one.result(use, {})
    assert one.state() == "succeeded"
    assert [turn[0] for turn in one.turns] == ["step", "step"]
    assert [version.author for version in one.made.versions.values()] == ["person:ann", "model", "model", "model"]
    one.folded_equals_state()


def test_a_goal_without_an_answer_is_one_more_task_than_its_steps() -> None:
    one = Pursued(USE)
    one.step(call(number=1))
    one.end_calls()
    assert so_far(one.made, one.shard.fleet) == "Why: 1 of 3 tasks done so far on one."
    one.control("cancel")
    assert one.made.tables["answer"][""].sentence.startswith("Why was cancelled after 1 of 3 tasks on one.")


def test_a_goal_waits_for_its_inputs() -> None:
    first = {"id": "info", "tool": "t.pure", "device": {"name": "one"}}
    one = Pursued(first, goal={"inputs": {"seen": {"from": "info"}}})
    assert one.states()["why"] == "waiting"
    assert not any(job.kind == "goal" for job in one.made.jobs.values())
    one.end_calls()
    assert one.states()["why"] == "expanded"
    one.answer(cites=("info",))
    assert one.state() == "succeeded"


def test_giving_up_fails_the_goal_with_its_reason() -> None:
    one = Pursued(USE)
    one.claim()
    one.propose("give_up", note="it needs the kernel log")
    assert one.states()["why"] == "failed"
    assert one.made.groups["why"].code is Code.GOAL_UNMET
    assert one.states()["use"] == "skipped"
    one.folded_equals_state()


def test_a_worker_that_was_stopped_for_longer_than_its_claim_proposes_in_vain() -> None:
    one = Pursued()
    one.claim("slow")
    one.now_ms += 20_000
    one.claim("quick")
    assert one.propose("step", "quick", calls=[call(number=1)]).value == {"accepted": True}
    one.end_calls()
    # To renew is not to take the job again: its thought rests on the conversation before the other's turn.
    assert [fault.code for fault in one.claim("slow", renews=True).faults] == [Code.CONFLICT]
    late = one.propose("step", "slow", calls=[call(number=2)])
    assert [fault.code for fault in late.faults] == [Code.CONFLICT]
    assert "older state" in late.faults[0].reason
    assert [turn[0] for turn in one.turns] == ["step"]
    assert not one.take()
    one.folded_equals_state()
