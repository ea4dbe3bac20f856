"""Choices: the judge of a vote takes one of its results, none of them, or leaves the choice to a person."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.open_questions import open_questions
from starloom.core.answer.why import explain
from starloom.core.clock.timers import due_moments
from starloom.core.rights.strangers import stranger_behind
from starloom.core.run import judgement
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, SendDispatch, StartJob
from starloom_protocol.plan import check_edit
from starloom_protocol.records.edits import AddDependency, AddTask
from starloom_protocol.records.entities import Cite
from starloom_protocol.values import parse, point
from starloom_protocol.vocabulary import Code, Outcome, Reason, TaskState
from tests.builders import edge, task
from tests.core.plan.test_inverse import undo
from tests.core.plan.test_votes import made, offers, texts, voted
from tests.core.watched import WatchedDriver

QUESTION = "Which one is newest?"


class Choosing(WatchedDriver):
    """A plan whose task `q` is voted on with the rule `judge`, and a worker that chooses."""

    def __init__(self, *names: str, unclear: str = "ask", **vote: Any) -> None:
        super().__init__()
        for name in names or ("one",):
            self.add_device(name, tools=offers())
        rule = {"judge": {"question": QUESTION, "unclear": unclear}}
        use = {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "q", "output": "/winner"}}}
        self.made: Any = self.submit(made(voted(vote={"n": 3, "on": "/v", "rule": rule, **vote}), use))

    def end(self, *values: Any) -> None:
        """End the calls; None is a call that fails."""
        for call, value in zip(self.take(), values, strict=True):
            if value is None:
                self.result(call, None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
            else:
                self.result(call, {"v": value})

    @property
    def choice(self) -> Any:
        return self.made.tasks["q-choice"]

    def choose(self, task: str | None, holds: str = "yes", because: str = "it is newest", job: str = "") -> Answer:
        who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "worker": "w"}
        name = job or judgement.open_jobs(self.made)[-1].id
        self.do(i.JobClaimed(id=self.ident(), job=name, ttl_ms=15_000, **who))
        cites = [Cite(task=task)] if task else []
        return self.do(i.VerdictGiven(id=self.ident(), because=because, cites=cites, holds=holds, job=name, **who))

    def say(self, value: str, by: str = "person:ann") -> Answer:
        (question,) = self.made.open_questions
        return self.answer_question(question, value, by=by, reason="")

    def count(self) -> SendDispatch:
        (count,) = self.take()
        assert (count.at.task, count.tool) == ("q", "data.vote")
        return count


def chosen(count: SendDispatch) -> Any:
    """Return the chosen call as its device reads it."""
    (item,) = [item for item in count.inputs if item.name == "chosen"]
    (source,) = item.sources
    return point(parse(source.text or "null"), source.output)


def test_the_result_that_the_judge_chose_is_counted() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    assert (one.choice.state, one.choice.reason) == (TaskState.READY, Reason.JUDGE)
    assert "waits for its judge to choose" in explain(one.shard, "c1", "q-choice").sentence
    assert [order.kind for order in one.sent if isinstance(order, StartJob)] == ["judge"]
    assert not one.choose("q-calls.2").faults
    assert parse(one.choice.marked) == {"by": "model", "text": "it is newest", "value": "q-calls.2"}
    count = one.count()
    assert chosen(count) == "q-calls.2"
    assert texts(count, "ballots") == ["q-calls.1", "q-calls.2", "q-calls.3"]
    one.result(count, {"winner": "b"})
    (use,) = one.take()
    one.result(use, {})
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_none_of_them_ends_the_vote_without_a_winner() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    one.choose(None, "no", "all three are old")
    assert (one.choice.state, one.choice.code) == (TaskState.FAILED, Code.NO_WINNER)
    assert "all three are old" in explain(one.shard, "c1", "q-choice").sentence
    assert (one.made.tasks["q"].state, one.state()) == (TaskState.SKIPPED, "failed")
    one.folded_equals_state()


def test_a_call_that_failed_is_no_choice() -> None:
    one = Choosing()
    one.end("a", None, "c")
    for name in ("q-calls.2", "q-choice", "use", "q-calls"):
        assert one.choose(name).faults, f"{name} was chosen"
    assert one.choice.reason is Reason.JUDGE
    assert not one.choose("q-calls.3").faults
    assert one.choice.state is TaskState.SUCCEEDED


def test_two_results_are_no_choice() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    job = judgement.open_jobs(one.made)[-1].id
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "worker": "w"}
    one.do(i.JobClaimed(id=one.ident(), job=job, ttl_ms=15_000, **who))
    both = [Cite(task="q-calls.1"), Cite(task="q-calls.2")]
    told = one.do(i.VerdictGiven(id=one.ident(), because="x", cites=both, holds="yes", job=job, **who))
    assert [fault.code for fault in told.faults] == [Code.MODEL_ANSWER]


def test_without_a_result_no_judge_is_asked() -> None:
    one = Choosing()
    one.end(None, None, None)
    assert not one.made.jobs
    assert one.made.tasks["q-choice"].state is not TaskState.READY
    assert one.state() == "failed"
    one.folded_equals_state()


@pytest.mark.parametrize("how", ["unclear", "no answer", "no worker", "stalled"])
def test_a_person_chooses_where_the_judge_does_not(how: str) -> None:
    one = Choosing("nas", "pi", "vps", apart=True)
    one.end("a", "b" * 5_000, "c")
    if how in ("unclear", "no answer"):
        one.choose(None, "unclear" if how == "unclear" else "", "they look alike")
    else:
        job = judgement.open_jobs(one.made)[-1].id
        who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "worker": "w"}
        if how == "stalled":
            one.do(i.JobClaimed(id=one.ident(), job=job, ttl_ms=15_000, **who))
        timer = next(timer for timer in due_moments(one.shard) if timer.kind == judgement.TIMER)
        one.fire(timer)
    assert one.choice.reason is Reason.PERSON
    (question,) = [one.made.questions[key] for key in one.made.open_questions]
    assert [choice.value for choice in question.choices] == ["q-calls.d-nas", "q-calls.d-pi", "q-calls.d-vps", "none"]
    assert question.choices[0].label == "q-calls.d-nas, by nas"
    rows = parse(question.shown.value)
    assert [row["choice"] for row in rows] == ["q-calls.d-nas", "q-calls.d-pi", "q-calls.d-vps"]
    assert (rows[0]["value"], len(rows[1]["value"])) == ("a", 2_666)
    assert question.shown.left_out == 5_000 - 2_666
    assert QUESTION in question.text
    assert one.say("yes").faults, "a choice is no yes"
    assert not one.say("q-calls.d-pi").faults
    assert parse(one.choice.marked)["value"] == "q-calls.d-pi"
    assert chosen(one.count()) == "q-calls.d-pi"
    one.folded_equals_state()


def test_a_person_may_take_none_of_them() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    one.choose(None, "unclear")
    assert next(open_questions(one.made)).by == "the judge of q-choice"
    one.say("none")
    assert (one.choice.state, one.choice.code, one.state()) == (TaskState.FAILED, Code.NO_WINNER, "failed")


def test_a_person_marks_a_choice_with_one_of_its_results() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    one.choose(None, "no", "all three are old")
    for wrong in (None, '{"l":[],"n":1}', '"q-calls.4"', '{"value":null}'):
        (refused,) = one.control("mark", "q-choice", value=wrong).faults
        assert (refused.code, refused.place) == (Code.BAD_REQUEST, "value")
        assert refused.reason.startswith("q-choice chooses between q-calls.1, q-calls.2 and q-calls.3; ")
        assert refused.hint == 'Mark it with the value "q-calls.1", or as failed.'
    assert (one.choice.state, one.state()) == (TaskState.FAILED, "failed")
    assert not one.control("mark", "q-choice", value='"q-calls.2"', reason="it has the date").faults
    assert parse(one.choice.marked) == {"by": "person:ann", "text": "it has the date", "value": "q-calls.2"}
    assert chosen(one.count()) == "q-calls.2"
    one.folded_equals_state()


def test_a_strict_vote_fails_where_its_judge_does_not_choose() -> None:
    one = Choosing(unclear="fail")
    one.end("a", "b", "c")
    one.choose(None, "unclear", "they look alike")
    assert (one.choice.state, one.choice.code) == (TaskState.FAILED, Code.NO_WINNER)
    assert not one.made.open_questions


def test_a_call_made_again_is_chosen_again() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    old = judgement.open_jobs(one.made)[-1].id
    one.choose(None, "no")
    assert not one.control("retry_from", "q-calls.2").faults
    (again,) = one.take()
    one.result(again, {"v": "d"})
    assert one.choice.reason is Reason.JUDGE
    assert one.choose("q-calls.1", job=old).value == {"accepted": False}
    one.choose("q-calls.2")
    assert chosen(one.count()) == "q-calls.2"
    one.folded_equals_state()


@pytest.mark.parametrize("asked", ["the judge", "a person"])
def test_a_choice_that_an_edit_holds_back_is_asked_once_more(asked: str) -> None:
    one = Choosing()
    one.end("a", "b", "c")
    old = judgement.open_jobs(one.made)[-1].id
    if asked == "a person":
        one.choose(None, "unclear")
    assert not one.edit(AddTask(spec=task("first")), AddDependency(dependency=edge("first>q-choice"))).faults
    assert one.choice.state is TaskState.WAITING
    (first,) = one.take()
    one.result(first, {})
    assert [job.id for job in judgement.open_jobs(one.made)] == ["judge-2"]
    assert not one.made.open_questions
    assert one.choose(None, "unclear", job=old).value == {"accepted": False}
    one.choose("q-calls.3")
    one.result(one.count(), {"winner": "c"})
    one.result(one.take()[0], {})
    assert (one.state(), list(one.made.open_questions)) == ("succeeded", [])
    one.folded_equals_state()


def test_a_late_choice_changes_nothing() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    job = judgement.open_jobs(one.made)[-1].id
    one.choose(None, "unclear")
    one.say("q-calls.1")
    assert one.choose("q-calls.2", job=job).value == {"accepted": False}
    assert parse(one.choice.marked)["value"] == "q-calls.1"


def test_an_edit_adds_a_vote_with_a_judge_and_takes_it_back() -> None:
    one = WatchedDriver()
    one.add_device("one", tools=offers())
    one.submit(made({"id": "last", "person": "Well?"}))
    added = {"add_task": voted(vote={"n": 2, "on": "/v", "rule": "judge"})}
    faults, operations = check_edit([added, {"add_dependency": {"from": "last", "to": "q"}}])
    assert not faults
    assert not one.edit(*operations).faults
    assert {"q", "q-calls", "q-choice"} <= set(one.shard.constellations["c1"].specs)
    assert not undo(one, one.shard.constellations["c1"].head.version).faults
    assert "q-choice" not in one.shard.constellations["c1"].specs
    one.folded_equals_state()


def test_the_words_of_a_judge_rest_on_what_it_read() -> None:
    one = Choosing()
    one.end("a", "b", "c")
    one.choose("q-calls.1")
    found = stranger_behind(one.shard.fleet, one.made, ["q-choice"])
    assert found == stranger_behind(one.shard.fleet, one.made, ["q-calls"])
