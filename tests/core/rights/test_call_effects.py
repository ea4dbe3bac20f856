"""The effects of a task count with all that it names: at approval, in a review, and in what was allowed for good."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.people.approvals.need import plan_effects
from starloom.core.rights.edit_scope import wider_than_approved
from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom_protocol.records.edits import AddTask, EditOperation, LoweredPlan, UpdateTask
from starloom_protocol.records.entities import FileOut, RuleRecord, TaskSpec, ToolOffer, UndoCall, VerifyCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import ConstellationState, Effect, Repeatability
from tests.builders import TOOLS, Driver, plan, task

RESTART = ToolOffer(name="t.restart", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE])
SAVED = FileOut(output="/files/0", to="docs/a.txt")
STATE = ConstellationState
SHAPES: dict[str, tuple[dict[str, Any], set[Effect]]] = {
    "files_out": ({"files_out": [SAVED]}, {Effect.WRITE}),
    "undo": ({"undo": UndoCall(tool="t.restart")}, {Effect.CHANGE}),
    "verify": ({"verify": VerifyCall(expect=[], tool="t.never")}, {Effect.WRITE}),
    "undo_nobody_offers": ({"undo": UndoCall(tool="not.there")}, set(Effect)),
}


def fleet() -> Driver:
    driver = Driver()
    driver.add_device("one", tools=[*TOOLS, RESTART])
    return driver


def by_model(driver: Driver, made: LoweredPlan) -> Constellation:
    """A model's plan for a request in words."""
    driver.do(i.RequestReceived(by="person:ann", constellation="c1", id=driver.ident(), request="look"))
    who: dict[str, Any] = {"by": "worker:w", "constellation": "c1", "job": "plan-1", "worker": "w"}
    driver.do(i.JobClaimed(id=driver.ident(), ttl_ms=15_000, **who))
    driver.do(i.PlanProposed(by_model=True, id=driver.ident(), plan=made, **who))
    return driver.shard.constellations["c1"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hidden_effect_of_a_models_plan_waits_for_a_person(shape: str) -> None:
    fields, effects = SHAPES[shape]
    driver = fleet()
    found = by_model(driver, plan(task("look", **fields)))
    assert found.head.state is STATE.AWAITING_APPROVAL
    assert effects <= set(found.questions["approve-plan"].effects)
    assert driver.dispatched == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rule_that_hides_an_effect_waits_too(shape: str) -> None:
    fields, effects = SHAPES[shape]
    changes = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in fields.items()}
    update = msgspec.to_builtins(msgspec.json.decode(msgspec.json.encode(UpdateTask(changes=changes, id="next"))))
    rule = RuleRecord(event="failed", name="r", operations=canonical([update]), order=0, reason="mend", task="look")
    driver = fleet()
    new_plan = plan(task("look"), task("next"), rules=[rule])
    assert effects <= set(plan_effects(driver.shard.fleet, new_plan))
    assert by_model(driver, new_plan).head.state is STATE.AWAITING_APPROVAL


def test_a_persons_plan_asks_for_its_undo() -> None:
    driver = fleet()
    run = driver.submit(plan(task("look", undo=UndoCall(tool="t.restart"))))
    assert run.head.state is STATE.AWAITING_APPROVAL
    question = run.questions["approve-plan"]
    assert (question.calls, question.once_because) == (
        [],
        "look names t.restart to take it back, which is more than one call",
    )


def test_what_is_allowed_for_good_covers_no_file_beside_it() -> None:
    driver = fleet()
    driver.submit(plan(task("restart", tool="t.restart")))
    answered = i.QuestionAnswered(
        by="person:ann", constellation="c1", id=driver.ident(), question="approve-plan", value="always"
    )
    assert not driver.do(answered).faults
    again = driver.submit(plan(task("restart", tool="t.restart")), "c2")
    assert again.head.state is STATE.ACTIVE
    more = driver.submit(plan(task("restart", tool="t.restart", files_out=[SAVED])), "c3")
    assert more.head.state is STATE.AWAITING_APPROVAL


def wider(before: list[TaskSpec], *after: TaskSpec) -> list[str]:
    driver = fleet()
    run = driver.submit(plan(*before, hash="h"), plan_hash="h")
    specs, flows = dict(run.specs), dict(run.deps)
    operations: list[EditOperation] = [AddTask(spec=spec) for spec in after]
    driver.edit(*operations, base=1)
    return wider_than_approved(driver.shard.fleet, run, specs, flows)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_review_may_hide_no_effect(shape: str) -> None:
    fields, _ = SHAPES[shape]
    assert wider([task("a")], task("b")) == []
    assert wider([task("a")], task("b", **fields)) != []


def write(name: str, to: str, **fields: Any) -> TaskSpec:
    return task(name, tool="t.idem", args=canonical({"to": to}), **fields)


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("docs/a.txt", []),
        ("docs/a.txt/below", []),
        (".bashrc", ["b would change .bashrc on one"]),
        ("docs/a.txt/../../.bashrc", ["b would change docs/a.txt/../../.bashrc on one"]),
        ("docs/a.txt.sh", ["b would change docs/a.txt.sh on one"]),
    ],
)
def test_a_review_changes_files_only_where_the_plan_did(to: str, words: list[str]) -> None:
    assert wider([write("a", "docs/a.txt")], write("b", to)) == words


def test_a_review_changes_no_place_that_a_result_names() -> None:
    late = task("b", "to=a/where", tool="t.idem")
    assert wider([write("a", "docs/a.txt")], late) == ["b would change the result of a/where on one"]
