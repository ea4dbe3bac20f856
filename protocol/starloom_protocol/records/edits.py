"""A plan and its edits as the core takes them: checked and lowered to entities; only rules keep unresolved nodes.

`starloom_protocol.plan` makes these from documents and the core applies them; nothing else builds one. In a rule's
operations (kept as canonical text) `{"output": "/pointer"}` may replace any value; it is resolved when the rule fires.
"""

from __future__ import annotations

import msgspec

from starloom_protocol.records.entities import (
    Dependency,
    Policy,
    ResultSpec,
    RuleRecord,
    Selector,
    SentenceSpec,
    TaskSpec,
)


class Operation(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="op"
):
    """One operation of an edit batch."""


class AddTask(Operation, frozen=True, kw_only=True, tag="add_task"):
    """Adds a task. `spec.changed_in` is ignored; the `inputs` of the spec become data dependencies automatically."""

    spec: TaskSpec


class RemoveTask(Operation, frozen=True, kw_only=True, tag="remove_task"):
    id: str


class UpdateTask(Operation, frozen=True, kw_only=True, tag="update_task"):
    """`changes` are whole fields of `TaskSpec` by name, never `id`, `group`, `key` or `family`."""

    changes: dict[str, msgspec.Raw]
    id: str


class Reassign(Operation, frozen=True, kw_only=True, tag="reassign"):
    device: Selector
    id: str


class AddDependency(Operation, frozen=True, kw_only=True, tag="add_dependency"):
    dependency: Dependency


class RemoveDependency(Operation, frozen=True, kw_only=True, tag="remove_dependency"):
    """`id` is `FROM>TO:NAME`; removing a data dependency removes the input too."""

    id: str


class UpdateDependency(Operation, frozen=True, kw_only=True, tag="update_dependency"):
    dependency: Dependency
    id: str


class Expand(Operation, frozen=True, kw_only=True, tag="expand"):
    id: str


class AddItems(Operation, frozen=True, kw_only=True, tag="add_items"):
    """`items` is canonical text: the values that the list `to` gets behind its own. For people only."""

    items: str
    to: str


class DropItems(Operation, frozen=True, kw_only=True, tag="drop_items"):
    """`keys` is canonical text: a list of keys or positions, or in a rule an output node."""

    keys: str
    of: str


class SetPolicy(Operation, frozen=True, kw_only=True, tag="set_policy"):
    policy: Policy


class Supersede(Operation, frozen=True, kw_only=True, tag="supersede"):
    """Lets `task`, which ended without success, count as `by` in the outcome; null reverts that. For people only."""

    by: str | None
    task: str


EditOperation = (
    AddTask
    | RemoveTask
    | UpdateTask
    | Reassign
    | AddDependency
    | RemoveDependency
    | UpdateDependency
    | Expand
    | AddItems
    | DropItems
    | SetPolicy
    | Supersede
)


class LoweredPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole plan, ready to become version 1. A preview shows its `hash`, and an approval is bound to it."""

    dependencies: list[Dependency]
    hash: str
    name: str
    params: str = "{}"
    policy: Policy = Policy()
    recipe: str | None = None
    results: list[ResultSpec] = []
    rules: list[RuleRecord] = []
    sentences: list[SentenceSpec] = []
    specs: list[TaskSpec]
