"""T191: a model names a reserved device that no person has named: in a plan, a look, an edit, a recipe's values."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.edits import AddTask, LoweredPlan, UpdateTask
from starloom_protocol.records.entities import ForEach, Goal, OtherCall, RuleRecord, Selector
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, plan, task

MODEL_SAYS = "assistant:guest#t1"
ANN = "person:ann"


def reserved(*words: str, by: str = ANN, **fields: Any) -> Driver:
    """Return a fleet whose device *kids pc* is reserved, with a request in words if there are any."""
    driver = Driver("one", "two")
    for action, value in (("rename", "kids pc"), ("reserve", "")):
        item = i.DeviceControlled(id=driver.ident(), by=ANN, device="d-two", action=action, value=value)
        assert not driver.do(item).faults
    if words:
        asked = i.RequestReceived(id="r", by=by, constellation="c1", request=words[0], **fields)
        assert not driver.do(asked).faults
    return driver


def claimed(driver: Driver, job: str = "plan-1") -> dict[str, Any]:
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": job, "worker": "w"}
    assert not driver.do(i.JobClaimed(id=driver.ident(), ttl_ms=60_000, **who)).faults
    return who


def propose(driver: Driver, made: LoweredPlan, *, by_model: bool = True) -> Answer:
    return driver.do(i.PlanProposed(id=driver.ident(), by_model=by_model, plan=made, **claimed(driver)))


def submit(driver: Driver, made: LoweredPlan, by: str) -> Answer:
    return driver.do(i.RequestReceived(id=driver.ident(), by=by, constellation="c1", plan=made))


def ruled(*operations: dict[str, Any]) -> RuleRecord:
    return RuleRecord(
        event="succeeded", name="later", operations=canonical(list(operations)), order=0, reason="", task="a"
    )


GROUP = task("a", "x=b", for_each=ForEach(devices=Selector()))
NAMED: dict[str, LoweredPlan] = {
    "name": plan(task("a", device="kids pc")),
    "former name": plan(task("a", device="two")),
    "id": plan(task("a", device=Selector(id="d-two"))),
    "part": plan(task("a", device=Selector(any=[Selector(name="one"), Selector(name="kids pc")]))),
    "list": plan(task("a", for_each=ForEach(devices=Selector(any=[Selector(name="kids pc")])))),
    "group that takes results": plan(GROUP, task("b", device="one")),
    "goal": plan(task("a", tool=None, goal=Goal(aim="look"), device="kids pc")),
    "other call": plan(task("a", any_of=[OtherCall(args="{}", device=Selector(name="kids pc"), tool="t.pure")])),
    "rule that moves": plan(task("a"), rules=[ruled({"op": "reassign", "id": "a", "device": {"name": "kids pc"}})]),
    "rule": plan(
        task("a"), rules=[ruled({"op": "add_task", "spec": {"id": "b", "tool": "t.pure", "device": {"name": "two"}}})]
    ),
}


@pytest.mark.parametrize("how", NAMED)
def test_t191_a_models_plan_names_no_reserved_device(how: str) -> None:
    driver = reserved("sort what one found")
    answer = propose(driver, NAMED[how])
    assert [fault.code for fault in answer.faults] == [Code.FORBIDDEN], how
    assert "kids pc takes only work of a person who names it" in answer.faults[0].reason
    assert driver.take() == []


@pytest.mark.parametrize("words", ["sort it on kids pc", "sort it on Kids PC!", "look at two", "what does d-two do"])
def test_t191_the_words_of_a_person_name_it(words: str) -> None:
    driver = reserved(words)
    assert not propose(driver, plan(task("a", device="kids pc"))).faults
    assert [work.device for work in driver.take()] == ["d-two"]


@pytest.mark.parametrize("words", ["sort it on the kids pcs", "kids, or a pc", "twofold", "d-two-b"])
def test_t191_other_words_do_not(words: str) -> None:
    assert propose(reserved(words), plan(task("a", device="kids pc"))).faults


def test_t191_the_params_and_the_answer_of_a_person_name_it() -> None:
    assert not propose(reserved("sort it", params='{"where":["kids pc"]}'), plan(task("a", device="two"))).faults
    driver = reserved("sort it")
    asked = i.PlanProposed(id=driver.ident(), by_model=True, question="Sort it where?", **claimed(driver))
    assert not driver.do(asked).faults
    (question,) = driver.shard.constellations["c1"].questions.values()
    said = i.QuestionAnswered(id="q", by=ANN, constellation="c1", question=question.id, value="on kids pc")
    assert not driver.do(said).faults
    made = i.PlanProposed(
        id=driver.ident(), by_model=True, plan=plan(task("a", device="kids pc")), **claimed(driver, "plan-2")
    )
    assert not driver.do(made).faults


def test_t191_a_group_on_all_devices_that_takes_no_results_is_whole() -> None:
    driver = reserved("how full are they all")
    assert not propose(driver, plan(task("a", for_each=ForEach(devices=Selector())))).faults
    assert {work.device for work in driver.take()} == {"d-one", "d-two"}


@pytest.mark.parametrize("how", NAMED)
def test_t191_an_assistants_plan_names_none(how: str) -> None:
    answer = submit(reserved(), NAMED[how], MODEL_SAYS)
    assert [fault.code for fault in answer.faults] == [Code.FORBIDDEN], how


def test_t191_an_assistant_names_none_in_the_words_that_it_chose() -> None:
    driver = reserved("look at kids pc", by=MODEL_SAYS)
    assert propose(driver, plan(task("a", device="kids pc"))).faults


@pytest.mark.parametrize("recipe", [None, "look"])
def test_t191_an_assistant_gives_none_to_a_recipe(recipe: str | None) -> None:
    driver = reserved("" if recipe else "look at kids pc", by=MODEL_SAYS, recipe=recipe)
    made = plan(task("a", device="kids pc"), recipe="look", params='{"device":"kids pc"}')
    assert [fault.code for fault in propose(driver, made, by_model=False).faults] == [Code.FORBIDDEN]


def test_t191_a_person_who_keeps_a_recipe_names_it_for_an_assistant() -> None:
    driver = reserved("", by=MODEL_SAYS, recipe="look")
    assert not propose(driver, plan(task("a", device="kids pc"), recipe="look"), by_model=False).faults


def test_t191_a_look_before_the_plan_goes_there_only_if_the_words_name_it() -> None:
    for words, refused in (("what is there", True), ("what is on kids pc", False)):
        driver = reserved(words)
        looks = [i.LookCall(device="two", tool="t.pure", args="{}")]
        asked = i.LooksProposed(id=driver.ident(), calls=looks, why="to see", **claimed(driver))
        assert bool(driver.do(asked).faults) is refused, words


def edited(driver: Driver, *operations: Any) -> Answer:
    return driver.edit(*operations, by=MODEL_SAYS)


def changed(**changes: Any) -> UpdateTask:
    return UpdateTask(changes={name: msgspec.Raw(msgspec.json.encode(one)) for name, one in changes.items()}, id="b")


def test_t191_an_edit_of_a_model_brings_no_work_there() -> None:
    driver = reserved()
    assert not submit(driver, plan(task("a", device="one"), task("b", "x=a")), ANN).faults
    for operation in (
        changed(device={"name": "kids pc"}),
        AddTask(spec=task("c", "x=a", device="two")),
    ):
        answer = edited(driver, operation)
        assert {fault.code for fault in answer.faults} == {Code.FORBIDDEN}, operation
    assert driver.shard.constellations["c1"].head.version == 1


def test_t191_an_edit_goes_where_the_person_sent_the_work() -> None:
    driver = reserved()
    assert not submit(driver, plan(task("a", device="one"), task("b", "x=a", device="kids pc")), ANN).faults
    assert not edited(driver, AddTask(spec=task("c", "x=a", device="kids pc"))).faults
