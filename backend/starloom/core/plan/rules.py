"""Rules: edits that a recipe makes on events, decided in the step of the event, one version for each firing.

A rule on a group fires for each child; with `whole` for the group, and with a number of failed tasks once, at the
failure that reaches it. It fires once per rule, task and round, in list order. A refused firing is
always recorded as an event and an attention.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.plan.edits import apply_edit
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import condition_met, fact
from starloom.core.state.work import Refusal, Work, attend, fault
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation, RemoveTask
from starloom_protocol.records.entities import Condition, GroupRecord, RuleRecord, TaskRecord
from starloom_protocol.stream.authors import RULE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import MISSING, canonical, holds, parse
from starloom_protocol.vocabulary import Attention, Code, ConstellationState

_CANCELLING = ConstellationState.CANCELLING
_decode_operations = msgspec.json.Decoder(list[EditOperation])
_CANONICAL = frozenset({"args", "default", "items", "key", "keys", "value", "worse_by"})
"""The fields of operations and their records that are canonical text."""


def fire_due(work: Work, constellation: Constellation, task: str, event: str) -> None:
    """Fire every rule for this event of this task; the constellation is live."""
    if not constellation.rules_by_task or constellation.head.state is _CANCELLING:
        return
    record = constellation.tasks.get(task) or constellation.groups.get(task)
    spec = constellation.specs.get(task)
    if record is None or spec is None:
        return
    names = dict(constellation.rules_by_task.get(task, {}))
    if spec.group:
        names.update(constellation.rules_by_task.get(spec.group, {}))
    due = sorted((constellation.rules[rule] for rule in names), key=lambda rule: rule.order)
    for rule in due:
        of_child = spec.group is not None and rule.task == spec.group
        if (of_child and rule.whole) or (task in constellation.groups and not rule.whole):
            continue
        subject = task if rule.failed is None else rule.task
        round_number = record.round if rule.failed is None else constellation.record(rule.task).round
        if rule.fired_for.get(subject) != round_number and _matches(work, constellation, rule, task, record, event):
            key = spec.key if of_child and subject == task else None
            _fire(work, constellation, rule, task, key, (subject, round_number))


def _matches(
    work: Work,
    constellation: Constellation,
    rule: RuleRecord,
    task: str,
    record: TaskRecord | GroupRecord,
    event: str,
) -> bool:
    if rule.event != event and not (rule.event == "attempt_ended" and event == "succeeded"):
        return False
    if rule.fired >= work.shard.settings.rule_firings_most:
        return False
    if rule.failed is not None and not _counts(rule.failed, len(constellation.progress.failed)):
        return False
    attempt = constellation.last_attempt(task)
    if rule.code is not None and (attempt is None or attempt.code is not rule.code):
        return False
    if rule.attempts is not None:
        tries = record.started if isinstance(record, TaskRecord) else 0
        if not _counts(rule.attempts, tries):
            return False
    if rule.condition is not None:
        return event == "succeeded" and bool(condition_met(constellation, task, rule.condition))
    return True


def _counts(condition: Condition, count: int) -> bool:
    return holds(condition.op, count, parse(condition.value) if condition.value is not None else None)


def _fire(
    work: Work,
    constellation: Constellation,
    rule: RuleRecord,
    task: str,
    key: str | None,
    at: tuple[str, int],
) -> None:
    """Make the edit of a rule; `at` is the task or group, and its round, for which it has then fired."""
    author = f"{RULE}{rule.name}"
    fired_rule = replace(rule, fired=rule.fired + 1, fired_for=dict(sorted({**rule.fired_for, at[0]: at[1]}.items())))
    part = work.part()
    try:
        operations = _operations(constellation, rule, task, key)
        apply_edit(
            work,
            constellation,
            operations,
            author=author,
            reason=rule.reason,
            trigger=task,
            also=(("rule", rule.name, fired_rule),),
        )
    except Refusal as refusal:
        work.undo_part(part)
        why = "; ".join(item.reason for item in refusal.faults)
        work.emit(constellation, EventKind.RULE_REFUSED, task, [("rule", rule.name, fired_rule)], note=why, by=author)
        attend(work, constellation, Attention.RULE_REFUSED, note=f"rule {rule.name} on {task}: {why}")


def _operations(constellation: Constellation, rule: RuleRecord, task: str, key: str | None) -> list[EditOperation]:
    """Return a rule's operations with its output nodes filled in and, for a child, its siblings and new ids named."""
    value_with_outputs = _fill(parse(rule.operations), constellation, task)
    operations = _decode_operations.decode(canonical(value_with_outputs))
    if key is None:
        return operations
    family = constellation.specs[rule.task].family or rule.task
    members = constellation.families.get(family, {})
    added = {item.spec.id: f"{item.spec.id}-{key}" for item in operations if isinstance(item, AddTask)}

    def renamed(name: str) -> str:
        if name in added:
            return added[name]
        return f"{name}.{key}" if name in members else name

    return [_for_child(item, renamed) for item in operations]


def _for_child(operation: EditOperation, renamed: Any) -> EditOperation:
    if isinstance(operation, AddTask):
        spec = operation.spec
        inputs = [item if item.all else replace(item, source=renamed(item.source)) for item in spec.inputs]
        return replace(operation, spec=replace(spec, id=renamed(spec.id), inputs=inputs))
    if isinstance(operation, AddDependency):
        edge = operation.dependency
        source = edge.source if edge.all else renamed(edge.source)
        return replace(operation, dependency=replace(edge, source=source, target=renamed(edge.target)))
    if isinstance(operation, RemoveTask):
        return replace(operation, id=renamed(operation.id))
    return operation


def _fill(value: Any, constellation: Constellation, task: str, *, lowered: bool = True) -> Any:
    """Replace output nodes by the values in the trigger's output; a missing one becomes null.

    In the fields of `lowered` operations that are canonical text, nodes are looked for too. A text within the values
    is the author's own, whatever it looks like.
    """
    if isinstance(value, dict):
        if value.keys() == {"output"} and isinstance(value["output"], str):
            output = fact(constellation, task, value["output"])
            if output is not MISSING and _asks_for_secret(output):
                # A device's output must not decide, in the author's name, who is given a secret.
                raise Refusal(fault(Code.FORBIDDEN, f"what {task} gave at {value['output']} names a secret"))
            return None if output is MISSING else output
        return {
            name: canonical(_fill(parse(item), constellation, task, lowered=False))
            if lowered and name in _CANONICAL and isinstance(item, str) and '"output"' in item
            else _fill(item, constellation, task, lowered=lowered)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_fill(item, constellation, task, lowered=lowered) for item in value]
    return value


def _asks_for_secret(value: Any) -> bool:
    if isinstance(value, dict):
        return value.keys() == {"secret"} or any(_asks_for_secret(item) for item in value.values())
    return isinstance(value, list) and any(_asks_for_secret(item) for item in value)
