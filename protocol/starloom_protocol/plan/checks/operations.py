"""The operations of an edit, lowered from the form that people, agents and rules write to that of the core.

Each is a map with one word: `{add_task: {...}}`. Owns their shapes. The core judges at the commit whether an edit still
fits the plan. In a rule `{output: /pointer}` may stand wherever a value may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Annotated, Any, Final

import msgspec
from pydantic import BeforeValidator, Field

from starloom_protocol.plan.checks.reading import Reading
from starloom_protocol.plan.language.fault_list import FaultList, joined, kind_word
from starloom_protocol.plan.language.models import (
    DependencyDoc,
    Doc,
    NodeId,
    PolicyDoc,
    SelectorDoc,
    TaskDoc,
    TaskPatchDoc,
    WhenDoc,
    read_when,
)
from starloom_protocol.plan.language.params import Params
from starloom_protocol.plan.lowering.tasks import Lowering, plain_dependencies, policy_of
from starloom_protocol.plan.lowering.votes import calls_of, is_count
from starloom_protocol.plan.types.flow import Flow
from starloom_protocol.records import edits
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import canonical, parse, pointer_fault
from starloom_protocol.vocabulary import Code, Gate

OPERATIONS_MAX: Final = 10_000
"""As many as a plan has tasks: an edit may touch each of them, and is one event."""


_OWN_FORM: Final = ("add_items", "add_task")
"""Operations in whose body no parameter is put here: `add_task` reads its own, and items are data."""


class _IdDoc(Doc):
    id: NodeId


class _ReassignDoc(Doc):
    id: NodeId
    device: SelectorDoc


class _RemoveDependencyDoc(Doc):
    id: Annotated[str, Field(max_length=600)] | None = None
    source: NodeId | None = Field(alias="from", default=None)
    target: NodeId | None = Field(alias="to", default=None)
    when: Annotated[WhenDoc | None, BeforeValidator(read_when)] = None
    input: str | None = None


class _UpdateDependencyDoc(Doc):
    id: Annotated[str, Field(max_length=600)]
    when: Annotated[WhenDoc, BeforeValidator(read_when)]
    all: bool = False


class _SupersedeDoc(Doc):
    task: NodeId
    by: NodeId | None


class _AddItemsDoc(Doc):
    to: NodeId
    items: Annotated[list[Any], Field(min_length=1, max_length=10_000)]


class _DropItemsDoc(Doc):
    of: NodeId
    keys: Any


class Operations:
    """Lowers the operations of one batch."""

    def __init__(self, faults: FaultList, params: Params, lowering: Lowering) -> None:
        self._faults = faults
        self._params = params
        self._lowering = lowering
        self._words: dict[str, Callable[[Any, str], edits.EditOperation | None]] = {
            "add_task": self._add_task,
            "remove_task": self._remove_task,
            "update_task": self._update_task,
            "reassign": self._reassign,
            "add_dependency": self._add_dependency,
            "remove_dependency": self._remove_dependency,
            "update_dependency": self._update_dependency,
            "expand": self._expand,
            "add_items": self._add_items,
            "drop_items": self._drop_items,
            "set_policy": self._set_policy,
            "supersede": self._supersede,
        }

    def lower(self, raw: Sequence[Any], place: str) -> list[tuple[edits.EditOperation, str]]:
        """Return each operation with its place; faults are noted."""
        if len(raw) > OPERATIONS_MAX:
            self._faults.add(Code.PLAN_TOO_BIG, place, f"an edit has at most {OPERATIONS_MAX} operations")
            return []
        operations = []
        for at, item in enumerate(raw):
            where = joined(place, at)
            if not isinstance(item, dict) or len(item) != 1:
                kind = f"{len(item)} words" if isinstance(item, dict) else kind_word(item)
                reason = f"an operation is a map with one word such as add_task, not {kind}"
                self._faults.add(Code.PLAN_INVALID, where, reason)
                continue
            word, body = next(iter(item.items()))
            if word == "add_task" and isinstance(body, dict) and (isinstance(body.get("plan"), dict) or "vote" in body):
                operations.extend(self._add_nested(body, joined(where, word)))
                continue
            operation = self._one(word, body, joined(where, word))
            if operation is not None:
                operations.append((operation, joined(where, word)))
        return self._with_calls(operations)

    def _with_calls(self, operations: list[tuple[edits.EditOperation, str]]) -> list[tuple[edits.EditOperation, str]]:
        """Return the operations so that the calls of a vote wait for what the batch lets the vote wait for."""
        added = {item.spec.id: item.spec for item, _ in operations if isinstance(item, edits.AddTask)}
        spread: list[tuple[edits.EditOperation, str]] = []
        for operation, place in operations:
            spread.append((operation, place))
            if isinstance(operation, edits.AddDependency):
                gate = operation.dependency
                calls = calls_of(gate.target)
                if is_count(added.get(gate.target)) and calls in added and calls != gate.source:
                    copy = msgspec.structs.replace(gate, target=calls)
                    spread.append((edits.AddDependency(dependency=copy), place))
        return spread

    def _one(self, word: str, body: Any, place: str) -> edits.EditOperation | None:
        plain = self._plain(word, body)
        if plain is not None:
            return plain
        lower_word = self._words.get(word)
        if lower_word is None:
            if word == "undo":
                hint = "It reads {undo: {version: 3}} and is sent alone, by a person."
                self._faults.add(Code.PLAN_INVALID, place, "`undo` stands alone in an edit and in no rule", hint)
            else:
                hint = self._faults.near(word, self._words)
                self._faults.add(Code.UNKNOWN_FIELD, place, f"there is no operation `{word}`", hint)
            return None
        if word not in _OWN_FORM and isinstance(body, dict):
            body = self._params.put_in_fields(body, place)
        return lower_word(body, place)

    def _plain(self, word: str, body: Any) -> edits.EditOperation | None:
        """Return an operation in its shortest form, as most are written; None for any other, or with a fault."""
        if self._params.named:
            return None
        if word == "add_task":
            spec = next(self._lowering.plain_tasks((body,)))
            return None if spec is None else edits.AddTask(spec=spec)
        if word == "add_dependency":
            gate = next(plain_dependencies((body,), ()))
            return None if gate is None else edits.AddDependency(dependency=gate)
        return None

    def _add_task(self, body: Any, place: str) -> edits.EditOperation | None:
        if isinstance(body, dict):
            if not self._params.is_included(body, place):
                return None
            body = {name: item for name, item in self._params.put_in_fields(body, place).items() if name != "only_if"}
        doc = self._faults.validate(TaskDoc, body, place)
        return None if doc is None else edits.AddTask(spec=self._lowering.task(doc, place))

    def _add_nested(self, body: dict[str, Any], place: str) -> list[tuple[edits.EditOperation, str]]:
        """Return the operations for a plan within the plan or a vote: the group, its tasks, their gates."""
        reading = Reading(self._faults, self._params, self._lowering)
        reading.read_one(body, place)
        gates = reading.dependencies([], place)
        operations: list[tuple[edits.EditOperation, str]] = [
            (edits.AddTask(spec=placed.spec), placed.place) for placed in reading.tasks.values()
        ]
        operations.extend((edits.AddDependency(dependency=edge.gate), edge.where()) for edge in gates)
        return operations

    def _remove_task(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_IdDoc, body, place)
        return None if doc is None else edits.RemoveTask(id=doc.id)

    def _update_task(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(TaskPatchDoc, body, place)
        if doc is not None and doc.some_args:
            doc = self._with_set(doc, doc.some_args, place)
        if doc is None:
            return None
        changed = doc.model_fields_set - {"id", "some_args"}
        if not changed:
            self._faults.add(Code.PLAN_INVALID, place, "nothing is changed", "Name at least one field.")
        fixed = {"budget", "gives", "goal", "judge", "may", "not_before", "plan", "repeat", "reuse", "shows", "until"}
        fixed |= {"finds", "milestones", "vote"}
        for name in sorted(changed & fixed):
            self._faults.add(Code.PLAN_INVALID, joined(place, name), f"`{name}` cannot be set by an edit")
        if doc.device is not None and doc.device.source is not None:
            reason = "a device by a result cannot be set by an edit"
            self._faults.add(Code.PLAN_INVALID, joined(place, "device", "from"), reason, "Add a new task.")
        self._lowering.absence(doc, place)
        fields = self._lowering.fields(doc, place)
        self._changed_call(doc, changed, place)
        changed |= {"secrets"} if "args" in changed else set()
        changed |= {"repeatability"} if "verify" in changed and doc.verify is not None else set()
        changes = {
            name: msgspec.Raw(canonical(msgspec.to_builtins(fields[name])).encode())
            for name in sorted(changed)
            if name in fields
        }
        return edits.UpdateTask(changes=changes, id=doc.id)

    def _with_set(self, doc: TaskPatchDoc, some: dict[str, Any], place: str) -> TaskPatchDoc | None:
        """Return the patch with whole arguments: those of the task as it is, and the ones that `set` gives."""
        spec = self._lowering.known.tasks.get(doc.id)
        if spec is not None and not {"args", "tool"} & doc.model_fields_set:
            patch = doc.model_copy(update={"args": {**parse(spec.args), **some}})
            patch.model_fields_set.add("args")
            return patch
        if spec is None and not self._lowering.in_rule:
            near = self._faults.near(doc.id, self._lowering.known.tasks)
            self._faults.add(Code.UNKNOWN_TASK, joined(place, "id"), f"the plan has no task `{doc.id}`", near)
            return None
        reason = "`set` changes single arguments of a task of this plan, and goes without `args` and `tool`"
        self._faults.add(Code.PLAN_INVALID, joined(place, "set"), reason, "Write all of them: `args: {...}`.")
        return None

    def _changed_call(self, doc: TaskPatchDoc, fields: Set[str], place: str) -> None:
        """Hold new arguments of a task to its tool: `args` and `inputs` take the place of what was there, whole."""
        spec = self._lowering.known.tasks.get(doc.id)
        if spec is None or spec.tool is None or "tool" in fields or not fields & {"args", "inputs"}:
            return
        args = doc.args or {} if "args" in fields else parse(spec.args)
        drawn = doc.inputs or {} if "inputs" in fields else {item.name: item for item in spec.inputs}
        lacks = "`args` are all arguments; to change some and keep the others, write them in `set`."
        self._lowering.takes_call(spec.tool, args, drawn, place, lacks=lacks if "args" in fields else "")
        if "args" in fields:
            Flow({}, self._lowering.known.signatures, self._faults).arguments(spec.tool, args, place)

    def _reassign(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_ReassignDoc, body, place)
        if doc is None:
            return None
        return edits.Reassign(device=self._lowering.selector(doc.device, joined(place, "device")), id=doc.id)

    def _add_dependency(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(DependencyDoc, body, place)
        return None if doc is None else edits.AddDependency(dependency=self._lowering.dependency(doc, place))

    def _remove_dependency(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_RemoveDependencyDoc, body, place)
        if doc is None:
            return None
        if doc.id is not None:
            self._ends(doc.id, joined(place, "id"))
            return edits.RemoveDependency(id=doc.id)
        if doc.source is None or doc.target is None or (doc.when is None) == (doc.input is None):
            self._faults.add(
                Code.PLAN_INVALID,
                place,
                "a dependency is named by {id} or by {from, to} and one of `when` and `input`",
            )
            return None
        if doc.when is None:
            name = doc.input
        elif doc.when.condition is not None:
            name = f"{Gate.OUTPUT}:{doc.when.condition.output}"
        else:
            name = doc.when.gate
        return edits.RemoveDependency(id=f"{doc.source}>{doc.target}:{name}")

    def _update_dependency(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_UpdateDependencyDoc, body, place)
        ends = None if doc is None else self._ends(doc.id, joined(place, "id"))
        if doc is None or ends is None:
            return None
        dependency = DependencyDoc.model_construct(source=ends[0], target=ends[1], when=doc.when, all=doc.all)
        return edits.UpdateDependency(dependency=self._lowering.dependency(dependency, place), id=doc.id)

    def _ends(self, identity: str, place: str) -> tuple[str, str] | None:
        source, arrow, rest = identity.partition(">")
        target, colon, name = rest.partition(":")
        if not (source and arrow and target and colon and name):
            hint = "It reads FROM>TO:WHEN, for example list>send:success."
            self._faults.add(Code.PLAN_INVALID, place, f"{quoted(identity[:80])} names no dependency", hint)
            return None
        return source, target

    def _expand(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_IdDoc, body, place)
        return None if doc is None else edits.Expand(id=doc.id)

    def _add_items(self, body: Any, place: str) -> edits.EditOperation | None:
        if self._lowering.in_rule:
            hint = "Let the task that makes the list give more items; a person adds items in an edit."
            self._faults.add(Code.PLAN_INVALID, place, "a rule adds no items to a list", hint)
            return None
        doc = self._faults.validate(_AddItemsDoc, body, place)
        return None if doc is None else edits.AddItems(items=canonical(doc.items), to=doc.to)

    def _drop_items(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(_DropItemsDoc, body, place)
        if doc is None:
            return None
        where, keys = joined(place, "keys"), doc.keys
        if self._lowering.in_rule and isinstance(keys, dict) and set(keys) == {"output"}:
            fault = pointer_fault(keys["output"]) if isinstance(keys["output"], str) else "a pointer is a text"
            if fault:
                self._faults.add(Code.PLAN_INVALID, where, fault)
        elif not isinstance(keys, list) or not all(
            isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)) for key in keys
        ):
            self._faults.add(Code.PLAN_INVALID, where, "`keys` is a list of keys or positions")
        return edits.DropItems(keys=self._lowering.text(keys, where), of=doc.of)

    def _set_policy(self, body: Any, place: str) -> edits.EditOperation | None:
        doc = self._faults.validate(PolicyDoc, body, place)
        if doc is None:
            return None
        return edits.SetPolicy(policy=policy_of(doc))

    def _supersede(self, body: Any, place: str) -> edits.EditOperation | None:
        if self._lowering.in_rule:
            hint = "Let a rule add the task; a person says in an edit that it did the work."
            self._faults.add(Code.PLAN_INVALID, place, "a rule supersedes nothing", hint)
            return None
        doc = self._faults.validate(_SupersedeDoc, body, place)
        return None if doc is None else edits.Supersede(by=doc.by, task=doc.task)


def operations_text(operations: Sequence[edits.EditOperation]) -> str:
    """Return the canonical text of a batch, as a rule keeps it."""
    return canonical(msgspec.json.decode(msgspec.json.encode(operations)))
