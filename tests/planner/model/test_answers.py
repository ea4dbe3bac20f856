"""The schema that is declared on each wire takes every right plan: our own examples against the very bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from starloom.planner.context.brief_words import EXAMPLES
from starloom.planner.model.answers import OPERATION, PLAN, Stage
from starloom.planner.model.conversations.looking import looking_part
from starloom.planner.model.endpoints.endpoint import Endpoint, Wire
from starloom.planner.model.port import Turn
from starloom.planner.model.prompt import ANSWER
from starloom.planner.model.transport.connecting import connect
from starloom_protocol.plan import check_edit, check_plan, read_document
from starloom_protocol.plan.language.models import PlanDoc, TaskDoc
from starloom_protocol.vocabulary import Sharing
from tests.models.server import Say, fake_model

RECIPES = sorted((Path(__file__).parents[3] / "recipes").glob("*.yaml"))
OPERATIONS: list[dict[str, Any]] = [
    {"add_task": {"id": "b", "tool": "fs.find", "device": {"name": "vm"}, "args": {"root": "x"}}},
    {"update_task": {"id": "a", "args": {"path": "/"}, "inputs": {"x": {"from": "b", "output": "/files"}}}},
    {"reassign": {"id": "a", "device": {"any": [{"name": "vm"}, {"os": "linux"}]}}},
    {"add_dependency": {"from": "b", "to": "a", "when": "failure"}},
    {"add_dependency": {"from": "b", "to": "a", "when": {"output": "/x", "op": "gt", "value": 1}}},
    {"remove_task": {"id": "a"}},
]
ANSWERS: list[dict[str, Any]] = [
    {"kind": "look", "why": "names", "calls": [{"device": "a", "tool": "fs.list", "args": {"path": "."}}]},
    {"kind": "recipe", "recipe": "echo", "params": {"where": {"name": "vm"}, "often": 2}},
    {"kind": "more_tools", "words": "close tickets"},
    {"kind": "question", "text": "Which?"},
    {"kind": "answer", "text": "3 [1]", "cites": [{"task": "look-1-1", "pointer": "/count"}, {"task": "look-1-2"}]},
    {"kind": "cannot", "text": "no"},
    {"kind": "cannot", "text": "the person does not need it any more", "withdrawn": True},
    {"kind": "cannot", "text": "no", "needs": [{"grant": "files:write", "device": "vm"}, {"grant": "git:run"}]},
]


async def declared(wire: Wire, stage: Stage) -> dict[str, Any]:
    """Return the schema of the answer as the endpoint received it."""
    async with fake_model(Say(tool={"kind": "cannot", "text": "no"})) as fake:
        await connect(Endpoint(fake.url, "fake-1", wire)).ask("Answer.", [Turn("starloom", "Go.")], stage)
    tool = fake.asked[0]["tools"][0]
    schema = tool["function"]["parameters"] if wire is Wire.OPENAI else tool["input_schema"]
    assert jsonschema_rs.meta.is_valid(schema)
    return dict(schema)


def faults(schema: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    found = jsonschema_rs.Draft202012Validator(schema).iter_errors(answer)
    return [f"{error.instance_path}: {error.message}" for error in found]


@pytest.mark.parametrize("wire", Wire)
async def test_our_own_plans_fit_the_schema_that_is_sent(wire: Wire) -> None:
    schema = await declared(wire, Stage.PLANNING)
    for text in EXAMPLES:
        plan = read_document(text)
        assert check_plan(plan).plan is not None
        assert faults(schema, {"kind": "plan", "plan": plan}) == []
    for answer in ANSWERS:
        assert faults(schema, answer) == []
    told = ANSWER + looking_part(Sharing.CARDS, rounds=1).text
    shown = set(re.findall(r'"kind": "([a-z_]+)"', told))
    assert {"plan", *(str(answer["kind"]) for answer in ANSWERS)} == shown == set(schema["properties"]["kind"]["enum"])


@pytest.mark.parametrize("wire", Wire)
async def test_our_own_edits_fit_the_schema_that_is_sent(wire: Wire) -> None:
    schema = await declared(wire, Stage.REVIEWING)
    assert check_edit(OPERATIONS, task_ids={"a"})[0] == []
    assert faults(schema, {"kind": "edit", "text": "why", "operations": OPERATIONS}) == []
    assert faults(schema, {"kind": "no_change"}) == []


@pytest.mark.parametrize("wire", Wire)
async def test_a_wrong_plan_does_not_fit_the_schema_that_is_sent(wire: Wire) -> None:
    schema = await declared(wire, Stage.PLANNING)
    assert faults(schema, {"kind": "plan", "plan": {"starloom": 1, "tasks": [{"id": "a", "tol": "fs.find"}]}})
    assert faults(schema, {"kind": "edit", "operations": []})
    assert faults(schema, {})


@pytest.mark.parametrize("place", RECIPES, ids=lambda place: place.stem)
def test_the_plans_of_the_recipes_fit_but_for_their_parameters(place: Path) -> None:
    plan = read_document(place.read_bytes())["plan"]
    # A recipe's own words open its answer, tell what failed and say what a schedule compares; a model may write none.
    plan.pop("sentence", None)
    for result in plan["result"]:
        result.pop("compare", None)
    for check in (check for task in plan["tasks"] for check in task.get("checks", [])):
        check.pop("says", None)
    found = [fault for fault in faults(PLAN, plan) if "param" not in fault and "only_if" not in fault]
    assert found == []


def test_the_schema_knows_every_field_of_the_language() -> None:
    task = PLAN["properties"]["tasks"]["items"]["properties"]
    assert set(task) == set(TaskDoc.model_fields)
    assert set(PLAN["properties"]) == set(PlanDoc.model_fields) - {"sentence"}
    assert set(OPERATION["properties"]["update_task"]["properties"]) == set(task)
