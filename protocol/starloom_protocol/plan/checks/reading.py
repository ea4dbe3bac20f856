"""The tasks of a document as they are written, those of plans within the plan included, and its dependencies.

A plan within the plan is expanded in place: `outer: {plan: {tasks: [{id: inner}]}}` is the group `outer` with the child
`outer.inner`. A name means what stands nearest: inner names first, then outwards; never from outside into one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, Final

import msgspec

from starloom_protocol.plan.checks.graph import DEPENDENCIES_MAX, Control, Mention, Placed
from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.plan.language.models import DependencyDoc, TaskDoc
from starloom_protocol.plan.language.params import Params
from starloom_protocol.plan.lowering.goals import aimed
from starloom_protocol.plan.lowering.tasks import Lowering, plain_dependencies
from starloom_protocol.plan.lowering.votes import parts_of, voted
from starloom_protocol.records.entities import Dependency, TaskSpec, dependency_id
from starloom_protocol.vocabulary import Code

TASKS_MAX: Final = 10_000
"""A plan is one event, and page and engine hold the state of every task of it."""
NESTED_DEPTH_MAX: Final = 4
"""The id of a task names each plan around it, and stays readable."""
_NESTED_FIELDS: Final = frozenset({"starloom", "name", "tasks", "dependencies"})
_OF_THE_PLAN: Final = frozenset({"rules", "policy", "result"})


class Scope:
    """The names of the tasks of one plan; `prefix` stands before each of them outside of it."""

    def __init__(self, items: Sequence[Any] = (), prefix: str = "", outer: Scope | None = None) -> None:
        self._items = items
        self.prefix = prefix
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer is not None else 0

    @cached_property
    def names(self) -> frozenset[str]:
        """The ids as they are written; asked for only where something is nested or has faults."""
        tasks = [raw for raw in self._items if isinstance(raw, dict) and isinstance(raw.get("id"), str)]
        return frozenset(name for raw in tasks for name in (raw["id"], *parts_of(raw)))

    def full_name(self, name: str) -> str:
        """Return the id that a name means here; an unknown one is unchanged."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.prefix + name
            scope = scope.outer
        return name

    def placed(self, spec: TaskSpec) -> TaskSpec:
        """Return a spec of this plan with its names as they are outside."""
        inputs = [msgspec.structs.replace(item, source=self.full_name(item.source)) for item in spec.inputs]
        each = spec.for_each
        if each is not None:
            source = self.full_name(each.source) if each.source is not None else None
            same = self.full_name(each.same) if each.same is not None else None
            each = msgspec.structs.replace(each, source=source, same=same)
        moment = spec.not_before
        if moment is not None and moment.source:
            moment = msgspec.structs.replace(moment, source=self.full_name(moment.source))
        shows = spec.shows
        if shows is not None:
            shows = msgspec.structs.replace(shows, source=self.full_name(shows.source))
        fields = {"for_each": each, "inputs": inputs, "not_before": moment, "shows": shows}
        return msgspec.structs.replace(spec, id=self.prefix + spec.id, group=self.prefix.rstrip("."), **fields)


class Reading:
    """Reads tasks and control dependencies; faults are noted, what has none is in `tasks` and `dependencies`.

    `omitted` are those that `only_if` left out, `broken` all that were written, `mentions` what a part with faults
    names.
    """

    def __init__(self, faults: FaultList, params: Params, lowering: Lowering) -> None:
        self._faults = faults
        self._params = params
        self._lowering = lowering
        self._first: dict[str, str] = {}
        self._dotted: list[tuple[str, str]] = []
        self._waiting: list[tuple[list[Any], str, Scope]] = []
        self._top = Scope()
        self.tasks: dict[str, Placed] = {}
        self.nested: dict[str, None] = {}
        self.voted: dict[str, str] = {}
        self.omitted: set[str] = set()
        self.broken: set[str] = set()
        self.mentions: list[Mention] = []

    def read(self, items: list[Any], place: str) -> None:
        """Read the tasks of a whole document."""
        self._top = Scope(items)
        self._read(items, place, self._top)
        # One update with all tasks that `_read` kept is cheaper than one for each name.
        self.broken.update(self.tasks)
        if len(self.tasks) > TASKS_MAX:
            self._too_many(len(self.tasks), place)

    def read_one(self, raw: dict[str, Any], place: str) -> None:
        """Read one task of its own, with all that is in it."""
        self._top = Scope([raw])
        self._task(raw, place, self._top)

    def _too_many(self, count: int, place: str) -> None:
        self._faults.add(Code.PLAN_TOO_BIG, place, f"the plan has {count} tasks; at most {TASKS_MAX} are taken")

    def _read(self, items: list[Any], tasks: str, scope: Scope) -> None:
        if len(items) > TASKS_MAX:
            self._too_many(len(items), tasks)
            return
        plain = repeat(None) if self._params.named else self._lowering.plain_tasks(items)
        top, first, placed_tasks = scope.outer is None, self._first, self.tasks
        for at, (raw, spec) in enumerate(zip(items, plain, strict=False)):
            place = f"{tasks}[{at}]"
            if top and spec is not None and spec.id not in first:
                first[spec.id] = place
                placed_tasks[spec.id] = Placed(spec, place, plain=True)
            else:
                self._task(raw, place, scope, spec)

    def _task(self, raw: Any, place: str, scope: Scope, plain: TaskSpec | None = None) -> None:
        name = raw.get("id") if isinstance(raw, dict) else None
        twice = False
        if isinstance(name, str):
            name = scope.prefix + name
            twice = name in self._first
            if twice:
                reason = f"`{name}` is the id of {self._first[name]} already"
                self._faults.add(Code.DUPLICATE_ID, joined(place, "id"), reason)
            self._first.setdefault(name, place)
            self.broken.add(name)
        if plain is not None:
            self._keep(plain, place, scope)
            return
        inner, filled = None, raw
        if isinstance(raw, dict):
            if not self._params.is_included(raw, place):
                self._omit(name)
                return
            inner = raw.get("plan")
            # The nested plan is read separately, and its parameters are filled in there.
            filled = self._params.put_in_fields({**raw, "plan": {}} if isinstance(inner, dict) else raw, place)
            filled.pop("only_if", None)
        doc = self._faults.validate(TaskDoc, filled, place)
        if doc is None:
            self._mention(filled, place, scope, name if isinstance(name, str) and not twice else None)
            return
        if doc.vote is not None:
            calls, *choices, spec = voted(self._lowering, doc, doc.vote, place)
            if self._of_vote(calls, place, scope):
                self.voted[scope.prefix + spec.id] = scope.prefix + calls.id
            for choice in choices:
                self._of_vote(choice, place, scope)
        elif doc.goal is not None and not self._lowering.in_edit and (doc.tool, doc.person, doc.plan) == (None,) * 3:
            spec = aimed(self._lowering, doc, place)
        else:
            spec = self._lowering.task(doc, place)
        if twice:
            # Not kept, so nothing else checks the tasks that it names; nor is it clear which task would wait for them.
            self._mention(filled, place, scope, None)
        self._note_dotted(spec, place)
        spec = self._keep(spec, place, scope)
        if isinstance(inner, dict):
            self._read_nested(inner, spec.id, joined(place, "plan"), scope)

    def _of_vote(self, part: TaskSpec, place: str, scope: Scope) -> bool:
        """Keep the calls of a vote, or its choice; return False if another task has that id."""
        name = scope.prefix + part.id
        if name in self._first:
            what = "the calls" if part.person is None else "the choice"
            verb = "need" if part.person is None else "needs"
            reason = f"`{name}` is the id of {self._first[name]} already, and {what} of the vote {verb} it"
            self._faults.add(Code.DUPLICATE_ID, joined(place, "vote"), reason)
            return False
        self._first[name] = place
        self.broken.add(name)
        self._note_dotted(part, place)
        self._keep(part, place, scope)
        return True

    def _mention(self, raw: Any, place: str, scope: Scope, waiting: str | None) -> None:
        references = _written_references(raw, place)
        self.mentions.extend(Mention(scope.full_name(source), where, waiting) for source, where in references)

    def _keep(self, spec: TaskSpec, place: str, scope: Scope) -> TaskSpec:
        """Keep a task under the name that it has outside of its plan; the first of that name stays."""
        if scope.outer is not None:
            spec = scope.placed(spec)
        self.tasks.setdefault(spec.id, Placed(spec, place))
        return spec

    def _note_dotted(self, spec: TaskSpec, place: str) -> None:
        for item in spec.inputs:
            if "." in item.source:
                self._dotted.append((item.source, joined(place, "inputs", item.name, "from")))
        read = (("not_before", spec.not_before), ("shows", spec.shows))
        self._dotted.extend(
            (one.source, joined(place, field, "from")) for field, one in read if one is not None and "." in one.source
        )
        each = spec.for_each
        if each is not None:
            sources = (("from", each.source), ("same", each.same))
            self._dotted.extend(
                (name, joined(place, "for_each", field)) for field, name in sources if name and "." in name
            )

    def _omit(self, name: Any) -> None:
        if isinstance(name, str) and name not in self.tasks:
            self.broken.discard(name)
            self.omitted.add(name)

    def _read_nested(self, raw: dict[str, Any], group: str, place: str, scope: Scope) -> None:
        self.nested[group] = None
        if scope.depth + 1 > NESTED_DEPTH_MAX:
            reason = f"plans stand within plans at most {NESTED_DEPTH_MAX} deep"
            self._faults.add(Code.PLAN_TOO_BIG, place, reason, "Write the tasks of the innermost one level higher.")
            return
        for field in sorted(set(raw) - _NESTED_FIELDS):
            hint = "Write it at the plan itself." if field in _OF_THE_PLAN else self._faults.near(field, _NESTED_FIELDS)
            reason = f"a plan within the plan has no field `{field}`"
            self._faults.add(Code.UNKNOWN_FIELD, joined(place, field), reason, hint)
        items, gates = raw.get("tasks"), raw.get("dependencies", [])
        if not isinstance(items, list) or not items:
            self._faults.add(
                Code.PLAN_INVALID, joined(place, "tasks"), "a plan needs a list of tasks", "Add at least one."
            )
            return
        inner = Scope(items, f"{group}.", scope)
        self._read(items, joined(place, "tasks"), inner)
        if isinstance(gates, list):
            self._waiting.append((gates, joined(place, "dependencies"), inner))
        else:
            self._faults.add(Code.PLAN_INVALID, joined(place, "dependencies"), "a list is needed here")

    def dependencies(self, items: list[Any], place: str) -> list[Control]:
        """Return the control dependencies, each with its place."""
        edges: list[Control] = []
        for raws, dependencies, scope in [(items, place, self._top), *self._waiting]:
            for at, (raw, plain) in enumerate(zip(raws, plain_dependencies(raws, self.tasks), strict=True)):
                if plain is not None and not self.nested:
                    edges.append(Control(plain.source, plain.target, dependencies, at, gate=plain))
                    continue
                where = f"{dependencies}[{at}]"
                gate = plain or self._dependency(raw, where)
                if gate is None:
                    self.mentions.extend(_written_ends(raw, where, scope))
                    continue
                target = gate.target
                if self.nested:
                    ends = ((gate.source, "from"), (target, "to"))
                    self._dotted.extend((name, joined(where, end)) for name, end in ends if "." in name)
                if scope.outer is not None:
                    gate = msgspec.structs.replace(
                        gate, source=scope.full_name(gate.source), target=scope.full_name(gate.target)
                    )
                    if not gate.target.startswith(scope.prefix):
                        reason = f"`{target}` is outside of this plan, and nothing in here can hold it back"
                        hint = f"Write it where `{scope.prefix.rstrip('.')}` stands, from that as a whole."
                        self._faults.add(Code.PLAN_INVALID, joined(where, "to"), reason, hint)
                        continue
                edges.append(Control(gate.source, gate.target, dependencies, at, gate=gate))
        for name, where in self._dotted:
            self.looks_in(name, where)
        return edges

    def _dependency(self, raw: Any, place: str) -> Dependency | None:
        doc = self._faults.validate(DependencyDoc, self._params.put_in(raw, place), place)
        return None if doc is None else self._lowering.dependency(doc, place)

    def spread(self, edges: list[Control]) -> list[Control]:
        """Return the dependencies with those of everything inside of a nested plan that waits, and of voted calls.

        Each is copied for each task within, so a short document may mean millions: beyond the limit of a plan no more
        are made, and the graph tells it.
        """
        if not self.nested and not self.voted:
            return edges
        inside: dict[str, list[str]] = {count: [calls] for count, calls in self.voted.items()}
        for name in self.tasks:
            parts = name.split(".")
            for length in range(1, len(parts)):
                inside.setdefault(".".join(parts[:length]), []).append(name)
        ids = {dependency_id(edge.gate) for edge in edges}
        copies: list[Control] = []
        for edge in edges:
            if len(edges) + len(copies) > DEPENDENCIES_MAX:
                break
            for name in inside.get(edge.target, ()):
                if name == edge.source:
                    continue
                copy = msgspec.structs.replace(edge.gate, target=name)
                if dependency_id(copy) not in ids:
                    copies.append(msgspec.structs.replace(edge, target=name, gate=copy))
        return edges + copies

    def looks_in(self, name: str, place: str) -> bool:
        """Note a name that reaches from outside into a nested plan; return whether it does."""
        group = name.rpartition(".")[0]
        if name not in self.tasks or group not in self.nested:
            return False
        reason = f"`{name}` stands inside of `{group}`, which is one thing from outside"
        self._faults.add(Code.UNKNOWN_TASK, place, reason, f"Name `{group}`.")
        return True


def _written_references(raw: Any, place: str) -> list[tuple[str, str]]:
    """Return (id, place) of the tasks that a task with faults waits for."""
    if not isinstance(raw, dict):
        return []
    inputs, each = raw.get("inputs"), raw.get("for_each")
    references = []
    for name, item in inputs.items() if isinstance(inputs, dict) else ():
        if isinstance(item, dict) and isinstance(item.get("from"), str):
            references.append((item["from"], joined(place, "inputs", str(name), "from")))
    if isinstance(each, dict):
        keys = (key for key in ("from", "same") if isinstance(each.get(key), str))
        references.extend((each[key], joined(place, "for_each", key)) for key in keys)
    return references


def _written_ends(raw: Any, place: str, scope: Scope) -> Iterator[Mention]:
    """Yield the tasks that a dependency with faults names."""
    if not isinstance(raw, dict):
        return
    ends = {end: scope.full_name(raw[end]) for end in ("from", "to") if isinstance(raw.get(end), str)}
    for end, name in ends.items():
        yield Mention(name, joined(place, end), ends.get("to") if end == "from" else None)
