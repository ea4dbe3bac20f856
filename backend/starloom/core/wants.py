"""Which pointers of a task's output the core must be able to decide on: known from the plan, asked at dispatch."""

from __future__ import annotations

from typing import Any

from starloom.core.model import Constellation
from starloom_protocol.entities import Dependency, TaskSpec
from starloom_protocol.values import parse

ITEMS = "$items"


def pointer_of(constellation: Constellation, dependency: Dependency) -> str | None:
    """Return the pointer that the core itself reads to decide a gate; None where it reads no output."""
    if dependency.condition is not None:
        return dependency.condition.output
    if dependency.input != ITEMS:
        return None
    spec = constellation.specs.get(dependency.target)
    return spec.for_each.output if spec is not None and spec.for_each is not None else None


def wants_of(constellation: Constellation, spec: TaskSpec) -> list[str]:
    """Return the pointers that decisions and the answer name of this task, sorted."""
    found = deciding(constellation, spec)
    for result in constellation.head.results:
        if result.source in (spec.id, spec.group) and result.output:
            found[result.output] = None
    return sorted(found) if found else []


def deciding(constellation: Constellation, spec: TaskSpec) -> dict[str, None]:
    """Return the pointers that conditions, checks, rules and lists name of this task."""
    found: dict[str, None] = {}
    for dependency in constellation.outgoing.get(spec.id, {}).values():
        pointer = pointer_of(constellation, dependency)
        if pointer is not None:
            found[pointer] = None
    group = spec.group if constellation.lists else None
    while group is not None:
        # A list made over a group's output is read from each of its children.
        for dependency in constellation.lists.get(group, {}).values():
            pointer = pointer_of(constellation, dependency)
            if pointer is not None:
                found[pointer] = None
        group = constellation.specs[group].group
    for check in spec.checks:
        found[check.output] = None
    if spec.verifies is not None:
        looked_at = constellation.specs.get(spec.verifies.rpartition("/")[0])
        if looked_at is not None and looked_at.verify is not None:
            for check in looked_at.verify.expect:
                found[check.output] = None
    if not constellation.rules_by_task:
        return found
    for owner in (spec.id, spec.group):
        for name in constellation.rules_by_task.get(owner, ()) if owner else ():
            rule = constellation.rules[name]
            if rule.condition is not None:
                found[rule.condition.output] = None
            for pointer in output_nodes(parse(rule.operations)):
                found[pointer] = None
    return found


def output_nodes(value: Any) -> list[str]:
    """Return the pointers of all `{"output": pointer}` nodes in a rule's operations.

    A node is a map with that one key, so a condition's or a result's `output` is none.
    """
    found: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if item.keys() == {"output"} and isinstance(item["output"], str):
                found.append(item["output"])
            else:
                stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str) and item.startswith('{"output":'):
            # Canonical text inside a lowered operation (arguments, keys).
            stack.append(parse(item))
    return found
