"""Tracing: a plan after a look or an answer is proposed where code can make it again, and says why where it cannot."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.people.recipes import proposals
from starloom.core.state import inputs as i
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Input, RecipeProposal, ToolOffer, encode_entity
from starloom_protocol.records.specs import Check
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Op, Outcome, Repeatability
from tests.builders import plan, task
from tests.core.watched import WatchedDriver

WORDS = "tell the newest report of one"
PURE = Repeatability.PURE
TOOLS = [
    ToolOffer(name="t.pure", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="t.trash", repeatability=Repeatability.NEVER, effects=[Effect.READ, Effect.DESTROY]),
]


class Planned(WatchedDriver):
    """A request in words of ann, whose planner looks or asks before it answers with a plan."""

    def __init__(self, words: str = WORDS) -> None:
        super().__init__()
        for name in ("one", "two"):
            self.add_device(name, tools=TOOLS)
        request = i.RequestReceived(id="r", by="person:ann", constellation="c1", request=words)
        assert not self.do(request).faults

    def claim(self) -> dict[str, Any]:
        job = list(self.shard.constellations["c1"].jobs)[-1]
        about: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": job, "worker": "w"}
        assert not self.do(i.JobClaimed(id=self.ident(), ttl_ms=15_000, **about)).faults
        return about

    def look(self, value: Any, *, device: str = "one", args: Any = None, **result: Any) -> None:
        call = i.LookCall(args=canonical(args or {}), device=device, tool="t.pure")
        request = i.LooksProposed(id=self.ident(), calls=[call], why="to see", **self.claim())
        assert not self.do(request).faults
        (sent,) = self.take()
        self.result(sent, value, **result)

    def ask(self, question: str, answer: str) -> None:
        request = i.PlanProposed(id=self.ident(), by_model=True, question=question, **self.claim())
        assert not self.do(request).faults
        (open_one,) = [one for one in self.shard.constellations["c1"].questions.values() if one.answer is None]
        item = i.QuestionAnswered(
            id=self.ident(), by="person:ann", constellation="c1", question=open_one.id, value="answer", reason=answer
        )
        assert not self.do(item).faults

    def end(self, *made: Any) -> RecipeProposal | None:
        about = self.claim()
        answer = self.do(i.PlanProposed(id=self.ident(), by_model=True, plan=plan(*made), **about))
        assert not answer.faults, answer.faults
        if self.state() != "active":
            (question,) = self.shard.constellations["c1"].open_questions
            self.do(i.QuestionAnswered(id="a", by="person:ann", constellation="c1", question=question, value="allow"))
        assert self.run(value={}) == "succeeded"
        self.folded_equals_state()
        return next(iter(self.shard.access.proposals.values()), None)


def reads(device: str = "one", **args: Any) -> Any:
    return task("a", args=canonical(args), device=device)


def kept(found: RecipeProposal | None) -> LoweredPlan:
    assert found is not None
    assert (found.state, found.because) == (proposals.OPEN, "")
    return msgspec.json.decode(found.plan, type=LoweredPlan)


def why(found: RecipeProposal | None) -> str:
    assert found is not None
    assert (found.state, found.plan) == (proposals.LEFT, "")
    return found.because


def test_a_value_of_a_look_is_read_again_at_each_run() -> None:
    driver = Planned()
    driver.look({"newest": "Reports/may.txt", "count": 3}, args={"kind": "report"})
    made = kept(driver.end(reads(path="Reports/may.txt")))
    look, last = made.specs
    assert (look.id, look.tool, look.args, look.look, look.optional) == (
        "look-1-1",
        "t.pure",
        '{"kind":"report"}',
        0,
        False,
    )
    assert look.device is not None
    assert look.device.name == "one"
    assert (last.args, last.inputs) == ("{}", [Input(name="path", output="/newest", source="look-1-1")])


def test_the_values_of_that_run_make_the_plan_that_ran() -> None:
    driver = Planned()
    value = {"newest": "Reports/may.txt", "size": 40960}
    driver.look(value)
    ran = reads(path="Reports/may.txt", at=40960, text="report")
    look, last = kept(driver.end(ran)).specs
    read = {one.name: value[one.output.removeprefix("/")] for one in last.inputs}
    assert look.id == "look-1-1"
    assert canonical({**msgspec.json.decode(last.args), **read}) == ran.args


def test_a_list_of_one_has_a_place_and_a_longer_one_has_none() -> None:
    for names, place in ((["may.txt"], "/names/0"), (["may.txt", "june.txt"], "")):
        driver = Planned()
        driver.look({"names": names})
        found = driver.end(reads(path="may.txt"))
        if place:
            assert kept(found).specs[1].inputs[0].output == place
        else:
            assert why(found) == "“may.txt” is in a list of a result, whose order may change"


@pytest.mark.parametrize(
    ("value", "args", "because"),
    [
        ({"a": "x.txt", "b": "x.txt"}, {"path": "x.txt"}, "“x.txt” occurs in 2 places of the results"),
        ({"a": "x.txt"}, {"path": "Reports/x.txt"}, "“Reports/x.txt” is a part of a result, or was made of one"),
        ({"head": "Region;Sum"}, {"by": ";"}, "“;” is a part of a result, or was made of one"),
        ({"a": "x.txt"}, {"paths": ["x.txt"]}, "“x.txt” is a part of paths, and only a whole argument"),
        ({"a": "x.txt"}, {"word": "quiet"}, "no value of the plan occurs in the result of t.pure on one"),
        ({"n": 7}, {"limit": 7}, "no value of the plan occurs in the result of t.pure on one"),
    ],
    ids=["twice", "joined", "part", "within", "none", "small"],
)
def test_a_plan_that_code_cannot_make_again_is_left_and_says_why(value: Any, args: Any, because: str) -> None:
    driver = Planned()
    driver.look(value)
    assert why(driver.end(reads(**args))).startswith(because)


def test_a_look_without_a_result_is_no_ground_for_a_recipe() -> None:
    driver = Planned()
    driver.look(None, outcome=Outcome.ERROR, code="bad_arguments")
    assert why(driver.end(reads(path="x"))) == "t.pure on one, at which it looked, gave no result"


def test_a_device_that_a_look_may_have_chosen_is_none_of_a_recipe() -> None:
    driver = Planned("tell the newest report")
    driver.look({"newest": "may.txt"})
    assert why(driver.end(reads(device="two", path="may.txt"))) == (
        "the words do not name two, so a look may have chosen it"
    )


def test_a_value_of_a_look_steers_no_call_that_does_more_than_read() -> None:
    driver = Planned()
    driver.look({"newest": "may.txt"})
    found = driver.end(task("a", tool="t.trash", args=canonical({"path": "may.txt"}), device="one"))
    assert why(found) == "t.trash does more than read, and a result would decide what it does"


def test_a_value_of_a_look_in_a_check_is_left() -> None:
    driver = Planned()
    driver.look({"newest": "may.txt", "sum": "abcdef"})
    check = Check(output="", op=Op.NE, value='"abcdef"')
    made = task("a", args=canonical({"path": "may.txt"}), device="one", checks=[check])
    assert why(driver.end(made)) == "“abcdef” of a check occurs in a result"


def test_a_result_of_many_values_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    from starloom.core.people.recipes import tracing

    monkeypatch.setattr(tracing, "LEAVES_MOST", 2)
    driver = Planned()
    driver.look({"a": 1, "b": 2, "c": 3})
    assert why(driver.end(reads(path="x"))) == "the results of its looks have more than 2 values"


def test_a_value_that_the_words_say_is_theirs_and_not_read_again() -> None:
    driver = Planned("tell may.txt of one beside its twin")
    driver.look({"name": "may.txt", "twin": "june.txt"})
    look, last = kept(driver.end(reads(path="may.txt", other="june.txt"))).specs
    assert (look.id, last.args) == ("look-1-1", '{"path":"may.txt"}')


def test_the_answer_of_a_person_is_kept_with_the_proposal() -> None:
    driver = Planned("tell the report")
    driver.ask("Which one?", "the one of May, in Reports")
    found = driver.end(reads(path="Reports", word="May"))
    assert len(kept(found).specs) == 1
    assert found is not None
    assert [(one.question, one.answer) for one in found.answers] == [("Which one?", "the one of May, in Reports")]


def test_an_answer_that_is_no_value_of_the_plan_leaves_it() -> None:
    driver = Planned("tell the report")
    driver.ask("Only the short form?", "yes")
    assert why(driver.end(reads(path="Reports"))) == "no value of the plan is the answer “yes”"


def test_another_answer_is_the_same_shape_and_proposed_once() -> None:
    shapes = set()
    for answer in ("May", "June"):
        driver = Planned("tell the report")
        driver.ask("Which one?", answer)
        found = driver.end(reads(word=answer))
        assert found is not None
        shapes.add(found.shape)
    assert len(shapes) == 1


def test_an_answer_that_looks_secret_keeps_nothing() -> None:
    driver = Planned("tell the report")
    driver.ask("With which key?", "ghp_0123456789abcdef")
    assert driver.end(reads(word="ghp_0123456789abcdef")) is None


def left(number: int) -> RecipeProposal:
    name = f"old{number}"
    fields: dict[str, Any] = {"owner": "person:ann", "shape": "s", "state": "left"}
    return RecipeProposal(at_ms=number, because="x", constellation=name, id=name, **fields)


def test_plans_that_are_left_are_bounded_and_the_newest_stay() -> None:
    driver = Planned()
    driver.shard.settings.proposals_most = 2
    driver.shard.access.proposals.update({one.id: one for one in (left(1), left(2))})
    driver.folded["access"] = {f"proposal/{one.id}": encode_entity(one) for one in (left(1), left(2))}
    driver.look({"names": ["may.txt", "june.txt"]})
    driver.end(reads(path="may.txt"))
    states = {one.constellation: one.state for one in driver.shard.access.proposals.values()}
    assert states == {"c1": "left", "old1": "passed", "old2": "left"}
