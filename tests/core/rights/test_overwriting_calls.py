"""A call that may overwrite files says so where a person decides, whatever part of its task it is."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.rights.call_effects import overwriting_words
from starloom_protocol.records.entities import OtherCall, Policy, TaskSpec
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval
from tests.builders import Driver, plan, task


def _copy(args: dict[str, Any], *inputs: str, **fields: Any) -> TaskSpec:
    return task("copy", *inputs, tool="t.idem", args=canonical(args), device="one", **fields)


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
            _copy({}, any_of=[OtherCall(tool="t.idem", args=canonical({"to": "b", "on_clash": "replace"}))]),
            "overwrite files that are there already at 'b'",
        ),
    ],
)
def test_a_call_says_that_it_may_overwrite(spec: TaskSpec, words: str) -> None:
    assert overwriting_words(spec) == words


def test_the_question_before_a_plan_names_it() -> None:
    driver = Driver("one")
    made = plan(_copy({"to": "Backup", "on_clash": "replace"}), policy=Policy(approval=Approval.ALWAYS))
    driver.submit(made)
    (question,) = driver.shard.constellations["c1"].questions.values()
    assert question.text == "Run test? It may write. copy may overwrite files that are there already at 'Backup'."
