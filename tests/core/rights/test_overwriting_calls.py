"""A call that may overwrite files says so where a person decides, whatever part of its task it is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.rights.call_effects import file_words, overwriting_words
from starloom.core.state.inputs import EditProposed
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import OtherCall, Policy, TaskSpec
from starloom_protocol.records.specs import FileOut
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval, ConstellationState
from tests.builders import TOOLS, Driver, plan, task


def _copy(args: dict[str, Any], *inputs: str, **fields: Any) -> TaskSpec:
    return task("copy", *inputs, tool="fs.copy", args=canonical(args), device="one", **fields)


def _driver() -> Driver:
    driver = Driver()
    (offer,) = (tool for tool in TOOLS if tool.name == "t.idem")
    driver.add_device("one", tools=[*TOOLS, replace(offer, name="fs.copy")])
    return driver


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            _copy({"path": "a", "to": "Backup", "on_clash": "replace"}),
            "overwrite files that are there already at 'Backup'",
        ),
        (_copy({"under": "site", "on_clash": "replace"}), "overwrite files that are there already at 'site'"),
        (_copy({"on_clash": "replace"}), "overwrite files that are there already"),
        (_copy({"to": "Backup", "on_clash": "rename"}), ""),
        (_copy({"to": "Backup"}), ""),
        (
            _copy({}, any_of=[OtherCall(tool="fs.copy", args=canonical({"to": "b", "on_clash": "replace"}))]),
            "overwrite files that are there already at 'b'",
        ),
    ],
)
def test_a_call_says_that_it_may_overwrite(spec: TaskSpec, words: str) -> None:
    assert overwriting_words(spec) == words


def test_the_question_before_a_plan_names_it() -> None:
    driver = _driver()
    new_plan = plan(_copy({"to": "Backup", "on_clash": "replace"}), policy=Policy(approval=Approval.ALWAYS))
    driver.submit(new_plan)
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert question.text == "Run test? It may write. copy may overwrite files that are there already at 'Backup'."


@pytest.mark.parametrize("by", ["assistant:ann", "model"])
def test_t250_no_plan_of_a_model_overwrites_files_without_a_person(by: str) -> None:
    driver = _driver()
    driver.submit(plan(_copy({"to": "Backup", "on_clash": "replace"})), by=by)
    assert driver.shard.constellations["c1"].head.state is ConstellationState.AWAITING_APPROVAL
    assert driver.take() == []


@pytest.mark.parametrize(("by", "clash"), [("person:ann", "replace"), ("assistant:ann", "rename")])
def test_a_persons_plan_and_one_that_keeps_what_is_there_start_at_once(by: str, clash: str) -> None:
    driver = _driver()
    driver.submit(plan(_copy({"to": "Backup", "on_clash": clash})), by=by)
    assert driver.shard.constellations["c1"].head.state is ConstellationState.ACTIVE


def test_t250_no_edit_of_an_assistant_adds_such_a_call() -> None:
    driver = _driver()
    driver.submit(plan(task("first", tool="fs.copy", device="one")))
    spec = _copy({"to": "Backup", "on_clash": "replace"})
    refused = driver.do(
        EditProposed(
            approves=False,
            base_version=1,
            by="assistant:ann",
            constellation="c1",
            id=driver.ident(),
            operations=[AddTask(spec=spec)],
        )
    )
    assert [fault.reason for fault in refused.faults] == ["copy may overwrite files that are there already at 'Backup'"]
    assert "copy" not in driver.shard.constellations["c1"].specs


def test_a_result_that_is_saved_as_a_file_says_what_it_may_replace() -> None:
    saved = task("sheet", files_out=[FileOut(output="/index", to="Pictures/index.html")])
    assert file_words(saved) == [
        "replace what is there already at 'Pictures/index.html'; that goes to the trash of the device"
    ]
    assert file_words(task("sheet")) == []
