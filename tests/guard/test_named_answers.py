"""Questions that name their people: someone else answers or goes round one (T196), a model chooses them (T215)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom_protocol.records.access import Principal
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    EditOperation,
    Reassign,
    RemoveDependency,
    RemoveTask,
    UpdateDependency,
    UpdateTask,
)
from starloom_protocol.records.entities import Choice, Dependency, Selector, TaskSpec
from starloom_protocol.vocabulary import Code, Gate, PrincipalKind, Role
from tests.builders import edge, plan, task
from tests.core.people.test_forks import fork as forked
from tests.core.watched import WatchedDriver

CHOICES = [Choice(value="go", label="Go"), Choice(value="no", label="No", fails=True)]
PEOPLE = {"ann": Role.OPERATOR, "jonas": Role.APPROVER, "pia": Role.VIEWER, "eva": Role.OWNER}
STARTER, NAMED, OWNER = "person:ann", "person:jonas#t-1", "person:eva"


AROUND: tuple[TaskSpec | Dependency, ...] = (
    *(task(name, device="away") for name in ("free", "feed")),
    task("then", "text=feed"),
    edge("do>then"),
)


def asked(*names: str, around: Iterable[TaskSpec | Dependency] = ()) -> WatchedDriver:
    """A plan that asks these people before it goes on; it was started by somebody else."""
    driver = WatchedDriver("one")
    kinds = {**dict.fromkeys(PEOPLE, PrincipalKind.PERSON), "bot": PrincipalKind.PROGRAM}
    for name, kind in kinds.items():
        role = PEOPLE.get(name, Role.OPERATOR)
        known = Principal(created_ms=1, id=f"p-{name}", kind=kind, name=name, role=role)
        driver.do(i.PrincipalAdded(id=driver.ident(), by="engine", principal=known))
    driver.submit(
        plan(
            task("ok", tool=None, person="Go on?", ask=list(names), choices=CHOICES),
            task("do"),
            edge("ok>do"),
            *around,
        )
    )
    return driver


def answer(driver: WatchedDriver, by: str) -> Answer:
    return driver.answer_question("ok-1", "go", by=by, reason="")


def codes(found: Answer) -> list[Code]:
    return [item.code for item in found.faults]


def asks(*names: str) -> UpdateTask:
    return UpdateTask(id="ok", changes={"ask": msgspec.Raw(msgspec.json.encode(list(names)))})


def other_args(name: str) -> UpdateTask:
    return UpdateTask(id=name, changes={"args": msgspec.Raw(msgspec.json.encode('{"n":1}'))})


@pytest.mark.parametrize("by", [STARTER, "person:eva", "program:jonas", "program:bot", "assistant:jonas", "model"])
def test_t196_only_the_answer_of_a_named_person_counts(by: str) -> None:
    driver = asked("jonas")
    assert codes(answer(driver, by)) == [Code.FORBIDDEN]
    assert driver.states()["ok"] == "ready"
    assert not answer(driver, NAMED).faults
    assert driver.run() == "succeeded"


def test_t196_nobody_else_marks_or_skips_the_question() -> None:
    driver = asked("jonas")
    assert codes(driver.control("skip", "ok", by=STARTER)) == [Code.FORBIDDEN]
    assert codes(driver.control("mark", "ok", by=STARTER, state="succeeded", value='"go"')) == [Code.ILLEGAL_CONTROL]
    driver.answer_question("ok-1", "no", by=NAMED, reason="")
    assert codes(driver.control("mark", "ok", by=STARTER, state="succeeded", value='"go"')) == [Code.FORBIDDEN]
    assert codes(driver.control("skip", "ok", by=STARTER)) == [Code.FORBIDDEN]
    assert driver.states() == {"ok": "failed", "do": "skipped"}


@pytest.mark.parametrize(("by", "scope", "taken"), [(STARTER, "", False), (NAMED, "", True), (OWNER, "owner", True)])
def test_t196_nobody_else_skips_what_waits_for_the_answer(by: str, scope: str, taken: bool) -> None:
    driver = asked("jonas")
    told = driver.control("skip", "do", by=by, scope=scope)
    assert (Code.FORBIDDEN in codes(told)) is not taken
    assert driver.states()["do"] == ("skipped" if taken else "waiting")


def test_t196_what_was_answered_is_work_as_any_other() -> None:
    driver = asked("jonas", around=[task("then", device="away"), edge("do>then")])
    assert codes(driver.control("skip", "then", by=STARTER)) == [Code.FORBIDDEN]
    answer(driver, NAMED)
    assert not driver.control("skip", "then", by=STARTER).faults


GOING_ROUND: list[list[EditOperation]] = [
    [asks("ann")],
    [asks()],
    [UpdateTask(id="ok", changes={"person": msgspec.Raw(b'"Is it Monday?"')})],
    [RemoveTask(id="ok"), RemoveDependency(id="ok>do:success")],
    [RemoveDependency(id="ok>do:success")],
    [UpdateDependency(id="ok>do:success", dependency=edge("ok>do", Gate.FINISH))],
    # The answer would count for other work than that which the people read.
    [other_args("do")],
    [other_args("then")],
    [other_args("feed")],
    [Reassign(id="do", device=Selector(name="two"))],
    [RemoveTask(id="then")],
    [AddTask(spec=task("more")), AddDependency(dependency=edge("ok>more"))],
    [AddTask(spec=task("more")), AddDependency(dependency=edge("more>do"))],
    [AddDependency(dependency=edge("free>ok"))],
]


def named(operations: list[EditOperation]) -> str:
    return ", ".join(type(one).__name__ for one in operations)


@pytest.mark.parametrize("operations", GOING_ROUND, ids=named)
def test_t196_no_edit_of_anybody_else_goes_round_the_question(operations: list[EditOperation]) -> None:
    driver = asked("jonas", around=AROUND)
    assert Code.FORBIDDEN in codes(driver.edit(*operations, by=STARTER))
    assert driver.shard.constellations["c1"].head.version == 1
    assert not driver.edit(*operations, by=OWNER, scope="owner").faults


@pytest.mark.parametrize(
    ("by", "scope", "taken"), [(STARTER, "operator", False), (NAMED, "", True), (OWNER, "owner", True)]
)
def test_t196_no_fork_of_anybody_else_puts_other_work_behind_a_kept_answer(by: str, scope: str, taken: bool) -> None:
    driver = asked("jonas")
    assert not answer(driver, NAMED).faults
    assert driver.run() == "succeeded"
    refused = forked(driver, task="do", args={"do": '{"n":1}'}, by=by, scope=scope)
    assert codes(refused) == ([] if taken else [Code.FORBIDDEN])
    assert not forked(driver, name="c3", task="do", by=STARTER).faults


def test_t196_other_edits_stay_free_and_the_question_is_handed_over_by_those_named() -> None:
    driver = asked("jonas", around=AROUND)
    for number, source in enumerate(("free", "then")):
        added = AddTask(spec=task(f"more{number}")), AddDependency(dependency=edge(f"{source}>more{number}"))
        assert not driver.edit(*added, by=STARTER).faults
    assert not driver.edit(other_args("free"), by=STARTER).faults
    assert not driver.edit(asks("eva"), by=NAMED).faults
    assert codes(driver.answer_question("ok-1", "go", by=NAMED, reason="")) != []  # fmt: skip
    assert driver.shard.constellations["c1"].specs["ok"].ask == ["eva"]
    open_now = list(driver.shard.constellations["c1"].open_questions)
    sent = i.QuestionAnswered(
        id=driver.ident(), by=OWNER, constellation="c1", question=open_now[0], value="go", reason=""
    )
    assert not driver.do(sent).faults


@pytest.mark.parametrize(("name", "said"), [("nobody", "not known"), ("pia", "may not answer"), ("bot", "not known")])
def test_t196_a_plan_asks_only_people_who_may_answer(name: str, said: str) -> None:
    driver = asked("jonas")
    spec = task("ok", tool=None, person="Go on?", ask=["jonas", name], choices=CHOICES)
    refused = driver.do(i.RequestReceived(id=driver.ident(), by=STARTER, constellation="c2", plan=plan(spec)))
    assert [(item.code, item.place) for item in refused.faults] == [(Code.PLAN_INVALID, "tasks.ok.ask")]
    assert said in refused.faults[0].reason
    assert codes(driver.edit(asks(name), by=OWNER, scope="owner")) == [Code.PLAN_INVALID]


def planned(words: str, *names: str) -> tuple[WatchedDriver, Answer]:
    """Return what the hub says to a plan of its model, for a request of ann, that asks these people."""
    driver = asked("jonas")
    driver.do(i.RequestReceived(id=driver.ident(), by=STARTER, constellation="c2", request=words))
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c2", "job": "plan-1", "worker": "w"}
    driver.do(i.JobClaimed(id=driver.ident(), ttl_ms=60_000, **who))
    made = plan(task("ok", tool=None, person="All of it?", ask=list(names), choices=CHOICES), task("do"), edge("ok>do"))
    return driver, driver.do(i.PlanProposed(id=driver.ident(), by_model=True, plan=made, **who))


@pytest.mark.parametrize("words", ["clean up", "clean up like jonasson", "clean up jonas-old"])
def test_t215_a_model_does_not_choose_who_answers(words: str) -> None:
    driver, refused = planned(words, "jonas")
    assert codes(refused) == [Code.FORBIDDEN]
    assert "ok" not in driver.shard.constellations["c2"].specs


@pytest.mark.parametrize(("words", "name"), [("ask Jonas, then clean up", "jonas"), ("clean up", "")])
def test_t215_a_person_says_who_answers(words: str, name: str) -> None:
    driver, taken = planned(words, *([name] if name else []))
    assert not taken.faults
    assert "ok" in driver.shard.constellations["c2"].specs


def test_t215_no_edit_of_a_model_adds_a_question_to_somebody_it_chose() -> None:
    driver = asked("jonas")
    for by in ("model", "assistant:ann"):
        more = AddTask(spec=task("more", tool=None, person="All of it?", ask=["jonas"], choices=CHOICES))
        assert codes(driver.edit(more, by=by)) == [Code.FORBIDDEN]
    more = AddTask(spec=task("more", tool=None, person="All of it?", choices=CHOICES))
    assert not driver.edit(more, by="model").faults


def test_everybody_reads_who_is_asked() -> None:
    driver = asked("jonas")
    assert driver.shard.constellations["c1"].questions["ok-1"].text == "Go on? (for jonas)"
    assert "the answer of jonas, which alone counts" in explain(driver.shard, "c1", "ok").sentence
