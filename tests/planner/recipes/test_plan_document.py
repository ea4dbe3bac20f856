"""A lowered plan written as a document makes the same plan again: that of every recipe, and one of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.planner.recipes.catalogue import load_catalogue, plan_recipe
from starloom.planner.recipes.plan_document import document_of, is_same
from starloom_protocol.plan import Recipe, check_plan, read_document
from starloom_protocol.plan.language.param_types import placeholder
from starloom_protocol.records.edits import LoweredPlan
from tests.planner.fleets import sample

HAND = """
starloom: 1
name: Of every kind
tasks:
  - {id: a, tool: fs.find, args: {root: Pictures, kinds: [image]}, timeouts: {start_to_close_s: 9}}
  - {id: b, for_each: {from: a, output: /files, max_parallel: 2}, tool: fs.hash, args: {paths: {each: /path}}}
  - {id: c, for_each: {devices: {labels: [home]}, when_off: report, after_s: 0}, tool: disk.usage}
  - {id: g, for_each: {times: 3, need: {at_least: 2}}, tool: system.info, repeatability: pure}
  - {id: m, tool: notify, not_before: {from: a, output: /at, zone: Europe/Berlin, within_s: 60}, args: {title: x}}
  - id: o
    for_each: {from: b, output: /files}
    tool: fs.read
    reuse: {fresh_s: 60, key: {each: /sha256}}
    args: {path: {each: /path}}
  - {id: n, person: "Well?", shows: {from: a, output: /files}}
  - {id: l, tool: log.search, repeat: {max: 9, every_s: 5, until: {output: /count, op: ge, value: 3}}}
  - {id: d, for_each: {same: b}, tool: fs.stat, inputs: {paths: {from: b, output: /files, flatten: true}}}
  - {id: e, person: Go on?, choices: [{value: y, label: Yes}, {value: n, label: No, fails: true}]}
  - id: f
    tool: shell.run
    device: {any: [{name: vm}, {os: linux}]}
    args: {argv: [uptime]}
    on_absence: wait
    optional: true
  - id: h
    tool: shell.run
    args: {argv: ["false"]}
    checks: [{exit_code: 1}, {output: /stdout, op: exists}]
    retry: {max_attempts: 2}
  - id: w
    tool: fs.write
    args: {path: x, text: y}
    undo: {tool: fs.trash, args: {path: x}}
    verify: {tool: fs.stat, args: {path: x}, expect: [{output: /size, op: gt, value: 0}]}
dependencies:
  - {from: a, to: e, when: {output: /count, op: gt, value: 3}}
  - {from: e, to: f, when: unless_failed}
  - {from: c, to: f, when: finish, all: true}
rules:
  - name: more
    when: {task: a, event: failed, failed: {op: gt, value: 5}}
    edit: [{add_task: {id: z, tool: notify, args: {title: z}}}]
    reason: because
policy: {partial: true, priority: high, on_failure: ask}
result: [{title: Hashes, from: b, output: /files, show: table}]
"""
PLAIN = load_catalogue().all()


def planned(recipe: Recipe) -> LoweredPlan:
    values = {
        name: "vm" if param.type == "device" else placeholder(param.type, name)
        for name, param in recipe.params.items()
        if param.default is None and not param.optional and param.not_same is None
    }
    values |= {name: "demo-server" for name, param in recipe.params.items() if param.not_same is not None}
    found = plan_recipe(recipe, values, sample())
    assert found.plan is not None, found.faults
    return found.plan


def again(plan: LoweredPlan) -> LoweredPlan:
    found = check_plan(document_of(plan))
    assert found.plan is not None, found.faults
    return found.plan


@pytest.mark.parametrize("recipe", PLAIN, ids=lambda recipe: recipe.name)
def test_a_recipe_in_rows_is_written_and_read_as_the_same_plan(recipe: Recipe) -> None:
    plan = planned(recipe)
    assert not any(spec.nested or spec.goal or spec.any_of or spec.group for spec in plan.specs)
    assert is_same(again(plan), plan)


def test_a_plan_of_every_kind_of_row_is_the_same() -> None:
    found = check_plan(read_document(HAND))
    assert found.plan is not None, found.faults
    assert is_same(again(found.plan), found.plan)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: replace(spec, tool="fs.trash"),
        lambda spec: replace(spec, args='{"root":"elsewhere"}'),
        lambda spec: replace(spec, optional=True),
    ],
    ids=["tool", "arguments", "optional"],
)
def test_a_changed_call_is_not_the_same(change: Any) -> None:
    plan = check_plan(read_document(HAND)).plan
    assert plan is not None
    changed = replace(plan, specs=[change(plan.specs[0]), *plan.specs[1:]])
    assert not is_same(changed, plan)
    assert not is_same(replace(plan, specs=plan.specs[:-1]), plan)
    assert not is_same(replace(plan, rules=[]), plan)
    assert not is_same(replace(plan, dependencies=[]), plan)
