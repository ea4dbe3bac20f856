"""Gates: a dependency is open, shut or undecided, by a total function of its source's record.

Reads facts of attempts; never parses more than the one fact that a condition names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.findings import gate_by_topic
from starloom.core.state.tasks.roles import is_step
from starloom_protocol.records.entities import (
    Attempt,
    Condition,
    Dependency,
    GroupRecord,
    SentenceSpec,
    TaskRecord,
    TaskSpec,
)
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.records.specs import counts_as_one
from starloom_protocol.tools.ways_back import ADDED
from starloom_protocol.values import MISSING, holds, parse, point
from starloom_protocol.vocabulary import EXCUSED_SKIPS, Gate, GateState, Reason, TaskState

ITEMS = "$items"
MOMENT = "$moment"
SHOWN = "$shown"
DECIDED_ON: Final = frozenset({ITEMS, MOMENT})
SIZE: Final = "!"
"""Begins a key that holds a size; no pointer begins so."""
READ_BY_CORE: Final = DECIDED_ON | {SHOWN}
"""The data dependencies whose value the core reads itself; no device is given it."""


def pointer_of(constellation: Constellation, dependency: Dependency) -> str | None:
    """Return the pointer that the core reads to decide a gate; None if it reads no output."""
    if dependency.condition is not None:
        return dependency.condition.output
    if dependency.input not in READ_BY_CORE:
        return None
    spec = constellation.specs.get(dependency.target)
    if dependency.input == MOMENT:
        return spec.not_before.output if spec is not None and spec.not_before is not None else None
    if dependency.input == SHOWN:
        return spec.shows.output if spec is not None and spec.shows is not None else None
    return spec.for_each.output if spec is not None and spec.for_each is not None else None


_MOVING: Final = frozenset({"fs.trash", "fs.restore"})
_MOVED: Final = ("/count", "/missing")


def wants_of(constellation: Constellation, spec: TaskSpec) -> list[str]:
    """Return the pointers that decisions and the answer name of this task, sorted."""
    pointers = deciding_pointers(constellation, spec)
    if spec.finds is not None:
        pointers[spec.finds.output] = None
    if spec.undoes is not None and spec.tool in _MOVING:
        # The answer tells how many files an undo moved, also where its report is too large to be brought.
        pointers.update(dict.fromkeys(_MOVED, None))
    if spec.files_out:
        # The answer and an undo name the files that a task saved, also where its result is too large to be brought.
        pointers[ADDED] = None
    head = constellation.head
    for result in head.results:
        if result.output and result.source in (spec.id, spec.group):
            pointers[result.output] = None
    for sentence in head.sentences:
        pointers.update(dict.fromkeys(_parts_of_sentence(sentence, spec), None))
    of_group = constellation.specs.get(spec.group) if spec.group is not None else None
    if of_group is not None and of_group.goal is not None:
        # A part that is too large reaches no milestone, and is no fault of the step.
        for milestone in of_group.goal.milestones:
            if milestone.condition is not None:
                pointers[milestone.condition.output] = None
    for source in (spec.id, spec.group) if constellation.read else ():
        # A part that is too large to be shown is no fault of the task that made it.
        for dependency in constellation.read.get(source, {}).values() if source is not None else ():
            pointer = pointer_of(constellation, dependency) if dependency.input == SHOWN else None
            if pointer is not None:
                pointers[pointer] = None
    return sorted(pointers) if pointers else []


def _parts_of_sentence(sentence: SentenceSpec, spec: TaskSpec) -> Iterator[str]:
    """Yield the parts of the result of a task that a sentence of the answer names."""
    parts = [(value.source, value.output) for value in sentence.values.values() if value.show != "device"]
    if sentence.condition is not None and sentence.source is not None:
        parts.append((sentence.source, sentence.condition.output))
    yield from (output for source, output in parts if output and source in (spec.id, spec.group))


def deciding_pointers(constellation: Constellation, spec: TaskSpec) -> dict[str, None]:
    """Return the pointers that conditions, checks, rules and lists name of this task."""
    pointers: dict[str, None] = {}
    by_others = constellation.read or constellation.rules_by_task or spec.group is not None
    if not (by_others or spec.checks or spec.verifies is not None):
        return pointers
    for dependency in constellation.read.get(spec.id, {}).values():
        if dependency.condition is None and dependency.input not in DECIDED_ON:
            continue
        pointer = pointer_of(constellation, dependency)
        if pointer is not None:
            pointers[pointer] = None
    of_group = constellation.specs.get(spec.group) if spec.group is not None else None
    if of_group is not None:
        for pointer in _of_group(constellation, of_group):
            pointers[pointer] = None
    group = spec.group if constellation.lists else None
    while group is not None:
        # A list over a group's output is read from each of its children.
        for dependency in constellation.lists.get(group, {}).values():
            pointer = pointer_of(constellation, dependency)
            if pointer is not None:
                pointers[pointer] = None
        group = constellation.specs[group].group
    for check in spec.checks:
        pointers[check.output] = None
    if spec.verifies is not None:
        verified = constellation.specs.get(spec.verifies.rpartition("/")[0])
        if verified is not None and verified.verify is not None:
            for check in verified.verify.expect:
                pointers[check.output] = None
    if not constellation.rules_by_task:
        return pointers
    for owner in (spec.id, spec.group):
        for name in constellation.rules_by_task.get(owner, ()) if owner else ():
            rule = constellation.rules[name]
            if rule.condition is not None:
                pointers[rule.condition.output] = None
            for pointer in output_nodes(parse(rule.operations)):
                pointers[pointer] = None
    return pointers


def _of_group(constellation: Constellation, group: TaskSpec) -> Iterator[str]:
    """Yield the pointers that decisions name of a group and read in its children, and that by which its turns end."""
    each = group.for_each
    one = each is not None and counts_as_one(each)
    for dependency in constellation.outgoing.get(group.id, {}).values():
        if dependency.input == MOMENT or (one and dependency.condition is not None):
            pointer = pointer_of(constellation, dependency)
            if pointer is not None:
                yield pointer
    if each is not None and each.repeat is not None and each.repeat.until is not None:
        yield each.repeat.until.output


def output_nodes(value: Any) -> list[str]:
    """Return the pointers of all `{"output": pointer}` nodes in a rule's operations.

    A node is a map with that key only, so the `output` of a condition or a result is no node.
    """
    pointers: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if item.keys() == {"output"} and isinstance(item["output"], str):
                pointers.append(item["output"])
            else:
                stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str) and item.startswith('{"output":'):
            # Canonical text inside a lowered operation (arguments, keys).
            stack.append(parse(item))
    return pointers


_FINAL = frozenset({"succeeded", "failed", "cancelled", "skipped"})
_SUCCESS: Final = Gate.SUCCESS
_OPEN, _SHUT, _UNDECIDED = GateState.OPEN, GateState.SHUT, GateState.UNDECIDED


def is_excused(constellation: Constellation, task: str, record: TaskRecord | GroupRecord) -> bool:
    """Tell whether an end without success counts as not chosen downstream: by choice, or of an optional task."""
    if record.state == "skipped" and record.reason in EXCUSED_SKIPS:
        return True
    if record.state == "cancelled" and record.reason is Reason.HOPELESS:
        return True
    spec = constellation.specs.get(task)
    return spec is not None and spec.optional and record.state in ("failed", "skipped")


def is_stale(constellation: Constellation, root: str) -> bool:
    """Tell whether a family was expanded over a list of an earlier round than its source's present one."""
    spec = constellation.specs.get(root)
    if spec is None or spec.for_each is None or spec.for_each.source is None:
        return False
    name = spec.for_each.source
    source = constellation.tasks.get(name) or constellation.groups.get(name)
    if source is None:
        return False
    records = (constellation.groups.get(member) for member in constellation.families.get(root, ()))
    return any(record is not None and record.count and record.list_round != source.round for record in records)


def of_old_list(constellation: Constellation, task: str) -> bool:
    """Tell whether a task is a child of a family whose list is being made again, and so may not stay."""
    spec = constellation.specs.get(task)
    return spec is not None and spec.key is not None and spec.family in constellation.relisting


def decide_success(constellation: Constellation, source: str) -> GateState:
    """Return the state of every gate that waits for the success of a task; undecided if it decides no gate yet."""
    record = constellation.tasks.get(source) or constellation.groups.get(source)
    if record is None or record.state not in _FINAL:
        return _UNDECIDED
    if constellation.relisting and of_old_list(constellation, source):
        return _UNDECIDED
    return _OPEN if record.state == "succeeded" else _SHUT


def decide(constellation: Constellation, dependency: Dependency) -> GateState:
    """Return the present state of one gate."""
    if dependency.topic:
        return gate_by_topic(constellation, dependency)
    source = dependency.source
    on_success = decide_success(constellation, source)
    if on_success is _UNDECIDED or dependency.gate is _SUCCESS:
        return on_success
    record = constellation.record(source)
    state = record.state
    match dependency.gate:
        case Gate.FINISH:
            return GateState.OPEN
        case Gate.FAILURE:
            return GateState.OPEN if state == "failed" else GateState.SHUT
        case Gate.UNLESS_FAILED:
            is_open = state == "succeeded" or is_excused(constellation, source, record)
            return GateState.OPEN if is_open else GateState.SHUT
        case Gate.DATA:
            if state == "succeeded":
                unknown_list = dependency.input in READ_BY_CORE and any(unread_tasks(constellation, dependency))
                return GateState.UNDECIDED if unknown_list else GateState.OPEN
            if (target := constellation.specs.get(dependency.target)) is not None and target.undoes_attempt:
                # An undo reads the result of an earlier round, whatever the present one came to.
                return GateState.OPEN
            by_choice = dependency.optional and is_excused(constellation, source, record)
            return GateState.OPEN if by_choice else GateState.SHUT
        case Gate.OUTPUT:
            if state != "succeeded" or dependency.condition is None:
                return GateState.SHUT
            met = condition_met(constellation, source, dependency.condition)
            if met is None:
                return GateState.UNDECIDED
            return GateState.OPEN if met else GateState.SHUT


def fact(constellation: Constellation, task: str, pointer: str) -> object:
    """Return the value at a pointer in the result of a succeeded task, or MISSING.

    A fact that was never asked for is MISSING too; `is_known` distinguishes the two.
    """
    record = constellation.tasks[task]
    if record.marked is not None:
        return point(parse(record.marked), pointer)
    attempt = constellation.attempts.get(f"{task}/{record.attempt}")
    return fact_of(attempt, pointer) if attempt is not None else MISSING


def fact_of(attempt: Attempt, pointer: str) -> object:
    """Return the value at a pointer in the result of an attempt, or MISSING, also where it was never asked for."""
    text = attempt.facts.get(pointer)
    if text is not None:
        return parse(text)
    if attempt.value is not None:
        return point(parse(attempt.value), pointer)
    return MISSING


def is_known(constellation: Constellation, task: str, pointer: str) -> bool:
    """Tell whether the value at a pointer in a task's result is available: inline, marked, or brought as a fact."""
    record = constellation.tasks[task]
    attempt = constellation.attempts.get(f"{task}/{record.attempt}")
    if record.marked is not None or attempt is None or attempt.artifact is None:
        return True
    return pointer in attempt.facts or size_key(pointer) in attempt.facts


def size_key(pointer: str) -> str:
    """Return the key of an attempt's facts that holds the size of a part which was too large to be brought.

    A device that was asked for the part has answered then; the size is 0 if the result has no such part.
    """
    return SIZE + pointer


def size_left_out(attempt: Attempt, pointer: str) -> int:
    """Return the size of a part that was too large to be brought as a fact; 0 if it was not, or is not there."""
    return int(attempt.facts.get(size_key(pointer), "0"))


def successes(constellation: Constellation, source: str) -> list[str]:
    """Return the tasks whose outputs form that of `source`: itself, or a group's successful leaves in order."""
    if source not in constellation.groups:
        return [source] if constellation.tasks[source].state is TaskState.SUCCEEDED else []
    if constellation.specs[source].goal is not None:
        # Its steps found things out; its result is its answer alone.
        answer = constellation.tasks.get(goal_answer(source))
        done = constellation.groups[source].state == "succeeded"
        return [goal_answer(source)] if done and answer is not None and answer.state is TaskState.SUCCEEDED else []
    children = constellation.leaves(source)
    if constellation.specs[source].nested:
        children = [child for child in children if not is_step(constellation, child)]
    else:
        children.sort(key=lambda child: _key_order(constellation, child))
    return [child for child in children if constellation.tasks[child].state is TaskState.SUCCEEDED]


def _key_order(constellation: Constellation, child: str) -> tuple[int, str]:
    key = constellation.specs[child].key or ""
    return (int(key), "") if key.isdecimal() else (0, key)


def unread_tasks(constellation: Constellation, dependency: Dependency) -> Iterator[str]:
    """Yield the finished tasks whose devices must still read a gate's pointer in their results."""
    pointer = pointer_of(constellation, dependency)
    if pointer is None:
        return
    for task in successes(constellation, dependency.source):
        if not is_known(constellation, task, pointer):
            yield task


def condition_met(constellation: Constellation, task: str, condition: Condition) -> bool | None:
    """Decide a condition on a succeeded task's output; None while its fact is being fetched."""
    if task in constellation.groups:
        spec = constellation.specs.get(task)
        each = spec.for_each if spec is not None else None
        if spec is None or not (spec.goal is not None or (each is not None and counts_as_one(each))):
            return False
        results = successes(constellation, task)
        if not results or (len(results) != 1 and not (each is not None and each.repeat is not None)):
            return False
        # The group of one call, and a goal, count as what they give, turns as the last of them.
        task = results[-1]
    if not is_known(constellation, task, condition.output):
        return None
    value = parse(condition.value) if condition.value is not None else None
    return holds(condition.op, fact(constellation, task, condition.output), value)


def shut_cause(constellation: Constellation, task: str) -> tuple[Reason, str]:
    """Return why a task is skipped: the first failed or cancelled task on the way, else not chosen.

    A failure takes precedence over a task that was merely not chosen.
    """
    cancelled: tuple[Reason, str] | None = None
    for key, dependency in constellation.incoming.get(task, {}).items():
        if constellation.gate[key] is not GateState.SHUT:
            continue
        source = dependency.source
        record = constellation.tasks.get(source) or constellation.groups[source]
        if record.state == TaskState.SUCCEEDED or dependency.gate is Gate.FAILURE:
            continue
        if is_excused(constellation, source, record):
            continue
        if record.state == "skipped" and record.cause:
            return record.reason or Reason.UPSTREAM_FAILED, record.cause
        if record.state == "failed":
            return Reason.UPSTREAM_FAILED, source
        if record.state == "cancelled":
            cancelled = cancelled or (Reason.UPSTREAM_CANCELLED, source)
    return cancelled or (Reason.NOT_CHOSEN, "not_chosen")


_SOUGHT_MOST: Final = 64
"""The tasks before a skipped one that are looked at: an answer tells of thousands of skips."""


def skipped_by_person(constellation: Constellation, task: str) -> str:
    """Return the task or group on the way to a skipped task that a person has skipped; empty if none is near."""
    seen, ahead = {task}, [task]
    for name in ahead:
        if len(seen) > _SOUGHT_MOST:
            break
        record = constellation.tasks.get(name) or constellation.groups.get(name)
        if record is None or record.state != "skipped":
            continue
        if name != task and record.reason is Reason.SKIPPED_BY_PERSON:
            return name
        more = [dependency.source for dependency in constellation.incoming.get(name, {}).values()]
        group = constellation.specs[name].group if name in constellation.specs else None
        unseen = [one for one in dict.fromkeys([*more, *([group] if group else [])]) if one not in seen]
        seen.update(unseen)
        ahead.extend(unseen)
    return ""
