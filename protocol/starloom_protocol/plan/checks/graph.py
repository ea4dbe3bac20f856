"""The relations between the parts of a plan: references, families, data gates, cycles, limits.

Owns the links of one whole document. Every walk is one pass over tasks and edges, so that 10,000 tasks in any order
are checked in about a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from itertools import chain, islice
from typing import Final

import msgspec

from starloom_protocol.plan.checks.findings import PUBLISHERS_MOST, publishers, repeat_fault, topic_fault, topic_gates
from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.plan.lowering.parts import Known
from starloom_protocol.plan.lowering.records import FIRST_VERSION, record
from starloom_protocol.records.entities import Dependency, Input, TaskSpec, dependency_id
from starloom_protocol.records.specs import Moment, counts_as_one
from starloom_protocol.vocabulary import Code, Gate

DEPENDENCIES_MAX: Final = 100_000
"""Ten for each task of the largest plan: the whole graph is held in memory and checked for circles at once."""
_CYCLE_SHOWN_MAX: Final = 12
"""A longer circle is shown by its beginning: a person mends it at one place."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """A spec and where it stands in the document; a `plain` one is an id and a tool, judged as it was read."""

    spec: TaskSpec
    place: str
    plain: bool = False


class Edge(msgspec.Struct, frozen=True, gc=False):
    """A link that makes `target` wait for `source`, with its place: `place`, or position `at` in its list."""

    source: str
    target: str
    place: str
    at: int | None = None

    def where(self) -> str:
        """Return its place; not kept, because of ten thousand edges hardly one has a fault."""
        return self.place if self.at is None else joined(self.place, self.at)


class Control(Edge, frozen=True, gc=False, kw_only=True):
    """The edge of a control dependency."""

    gate: Dependency


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A task that a part with faults names, and where; `waiting` is who would wait for it, where that can be read."""

    name: str
    place: str
    waiting: str | None = None


class Graph:
    """The tasks of one plan by id; `omitted` are those that `only_if` left out, `broken` those with faults."""

    def __init__(
        self,
        tasks: Mapping[str, Placed],
        omitted: Collection[str],
        broken: Set[str],
        faults: FaultList,
        known: Known | None = None,
    ) -> None:
        self._known = known or Known()
        self._tasks = tasks
        self._omitted = omitted
        self._broken = broken
        self._faults = faults
        self._edges: list[Edge] = []

    def knows(self, name: str) -> bool:
        """Return whether a task is in the document, with or without faults."""
        return name in self._tasks or name in self._broken

    def refers(self, name: str, place: str) -> bool:
        """Return whether a task exists here; note a fault if no such id was ever written."""
        if self.knows(name):
            return True
        if name not in self._omitted:
            hint = self._faults.near(name, chain(self._tasks, self._broken))
            self._faults.add(Code.UNKNOWN_TASK, place, f"no task has the id `{name}`", hint)
        return False

    def link(
        self, control: Iterable[Control], mentions: Iterable[Mention] = ()
    ) -> tuple[list[TaskSpec], list[Dependency]]:
        """Return the specs with families, and all gates: control first, then data, both in document order.

        `mentions` make no gate, but are looked at with the rest: one fault does not hide another.
        """
        roots = self._families()
        specs: list[TaskSpec] = []
        data: list[Dependency] = []
        control_gates = self._control(control)
        for name, placed in self._tasks.items():
            spec = placed.spec
            if placed.plain:
                specs.append(spec)
                continue
            if spec.inputs or name in roots:
                spec = self._linked(placed, roots.get(name))
                data.extend(data_gates(spec))
            if spec.not_before is not None and spec.not_before.source:
                self._moment(spec.not_before, name, joined(placed.place, "not_before", "from"))
            if spec.shows is not None:
                where = joined(placed.place, "shows", "from")
                if self.refers(spec.shows.source, where):
                    self._edges.append(Edge(spec.shows.source, name, where))
            if spec.group is not None:
                self._edges.append(Edge(name, spec.group, placed.place))
            specs.append(spec)
        data.extend(self._findings(specs))
        dependencies = control_gates + data
        if len(dependencies) > DEPENDENCIES_MAX:
            reason = f"the plan has more than {DEPENDENCIES_MAX} dependencies, and no more are taken"
            hint = "One to a plan within the plan counts for each task in it."
            self._faults.add(Code.PLAN_TOO_BIG, "dependencies", reason, hint)
        for mention in mentions:
            if self.refers(mention.name, mention.place) and mention.waiting is not None:
                self._edges.append(Edge(mention.name, mention.waiting, mention.place))
        self._cycles()
        return specs, dependencies

    def _linked(self, placed: Placed, root: str | None) -> TaskSpec:
        spec, inputs = placed.spec, []
        for item in spec.inputs:
            place = joined(placed.place, "inputs", item.name, "from")
            if item.topic:
                inputs.append(item)
            elif self.refers(item.source, place):
                inputs.append(item)
                self._told_of(item, joined(placed.place, "inputs", item.name, "off"))
                self._edges.append(Edge(item.source, spec.id, place))
        if root is None and len(inputs) == len(spec.inputs):
            return spec
        return msgspec.structs.replace(spec, inputs=inputs, family=root)

    def _findings(self, specs: list[TaskSpec]) -> list[Dependency]:
        """Return the gates of inputs by topic; note a topic that nothing publishes, or that cannot be looked at again.

        A part with faults, or one that was left out, may be what publishes a topic: then no fault is noted.
        """
        sources = publishers(specs)
        count = sum(len(publishing) for publishing in sources.values())
        if count > PUBLISHERS_MOST:
            reason = f"{count} tasks publish findings; at most {PUBLISHERS_MOST} may"
            self._faults.add(Code.PLAN_TOO_BIG, "tasks", reason, "Let a task that takes results together publish.")
            # Each reader would wait for each of them.
            return []
        for spec in specs:
            for item in spec.inputs:
                if item.topic:
                    place = joined(self._tasks[spec.id].place, "inputs", item.name)
                    self._by_topic(spec, item, sources, place)
        gates = list(islice(topic_gates(specs, FIRST_VERSION), DEPENDENCIES_MAX + 1))
        for gate in gates:
            place = joined(self._tasks[gate.target].place, "inputs", gate.input or "", "finding")
            self._edges.append(Edge(gate.source, gate.target, place))
        return gates

    def _by_topic(self, spec: TaskSpec, item: Input, sources: dict[str, list[TaskSpec]], place: str) -> None:
        unread = bool(self._broken - self._tasks.keys()) or (bool(self._omitted) and item.otherwise is not None)
        missing = topic_fault(item, spec.id, sources, joined(place, "finding"), suggests=False)
        if missing is not None and not unread:
            if self._faults.may_suggest():
                missing = topic_fault(item, spec.id, sources, missing.place) or missing
            self._faults.all.append(missing)
        known = self._known
        for source in sources.get(item.topic, ()) if item.fresh_s else ():
            why = repeat_fault(source, known.signatures, known.tools or {}) if source.id != spec.id else ""
            if why:
                hint = "Remove `fresh_s`, or let a call that only reads publish the topic."
                reason = f"{why}, so nobody can look again for `{item.topic}`"
                self._faults.add(Code.NOT_REPEATABLE, joined(place, "fresh_s"), reason, hint)
                return

    def _moment(self, moment: Moment, name: str, place: str) -> None:
        """Note a time that is read from no task, or from a group with many results."""
        if not self.refers(moment.source, place):
            return
        self._edges.append(Edge(moment.source, name, place))
        source = self._tasks.get(moment.source)
        each = source.spec.for_each if source is not None else None
        if source is not None and (source.spec.nested or (each is not None and not counts_as_one(each))):
            reason = f"`{moment.source}` is a group, and a time is read from one result"
            self._faults.add(Code.PLAN_INVALID, place, reason, "Add a task that takes the results together.")

    def _told_of(self, item: Input, place: str) -> None:
        """Note a fault where `off` is asked of a group that waits for devices that are off, or `who` of one task."""
        source = self._tasks.get(item.source)
        if item.who and source is not None and source.spec.for_each is None:
            reason = f"`{item.source}` is one task, and `who` is asked of a group"
            self._faults.add(Code.PLAN_INVALID, f"{place.removesuffix('off')}who", reason, "Remove `who`.")
        if not item.off or source is None:
            return
        each = source.spec.for_each
        for _ in range(len(self._tasks)):
            following = self._tasks.get(each.same) if each is not None and each.same is not None else None
            if following is None:
                break
            each = following.spec.for_each
        if each is None or each.when_off != "report":
            reason = f"`{item.source}` does not tell of devices that are off"
            hint = "Give it `for_each: {devices: ..., when_off: report}`."
            self._faults.add(Code.PLAN_INVALID, place, reason, hint)

    def _families(self) -> dict[str, str]:
        """Return the root of each group's family, and note references of `for_each` that lead nowhere."""
        roots: dict[str, str] = {}
        for name, placed in self._tasks.items():
            each = placed.spec.for_each
            if each is None:
                continue
            where = joined(placed.place, "for_each")
            if each.source is not None and self._leads(each.source, joined(where, "from")):
                self._edges.append(Edge(each.source, name, joined(where, "from")))
            root = self._root(name, roots, joined(where, "same"))
            for_root = self._tasks[root].spec.for_each
            if root != name and for_root is not None and for_root.source is not None:
                self._edges.append(Edge(for_root.source, name, joined(where, "same")))
        return roots

    def _root(self, name: str, roots: dict[str, str], place: str) -> str:
        path = []
        current = name
        while current not in roots:
            path.append(current)
            roots[current] = current
            each = self._tasks[current].spec.for_each
            following = each.same if each is not None else None
            if following is None:
                break
            if following in path:
                self._faults.add(Code.PLAN_CYCLE, place, f"`same` goes in a circle: {cycle_words([*path, following])}")
                break
            if following not in self._tasks:
                self._leads(following, place)
                break
            shared = self._tasks[following].spec.for_each
            if shared is not None and shared.repeat is not None:
                reason = f"`{following}` is repeated, and its turns are no list that another task could share"
                self._faults.add(Code.PLAN_INVALID, place, reason, f"Read them: {{from: {following}}}.")
                break
            if shared is None:
                reason = f"`{following}` is no group, so there is no list to share"
                self._faults.add(Code.PLAN_INVALID, place, reason, "Name a task that has for_each.")
                break
            current = following
        root = roots[current]
        for step in path:
            roots[step] = root
        return root

    def _leads(self, name: str, place: str) -> bool:
        if name in self._omitted and not self.knows(name):
            reason = f"`{name}` is left out here, so there is no list"
            self._faults.add(Code.UNKNOWN_TASK, place, reason, "Give this group the same only_if.")
            return False
        return self.refers(name, place)

    def _control(self, control: Iterable[Control]) -> list[Dependency]:
        edges: dict[tuple[str, str, Gate, str | None], Control] = {}
        tasks = self._tasks
        for edge in control:
            source, target, gate = edge.source, edge.target, edge.gate
            if not (source in tasks and target in tasks):
                from_here = self.refers(source, joined(edge.where(), "from"))
                to_here = self.refers(target, joined(edge.where(), "to"))
                if not (from_here and to_here):
                    continue
            pointer = None if gate.condition is None else gate.condition.output
            first = edges.setdefault((source, target, gate.gate, pointer), edge)
            if first is not edge:
                reason = f"`{dependency_id(gate)}` stands at {first.where()} already"
                self._faults.add(Code.DUPLICATE_ID, edge.where(), reason, "Remove one of the two.")
        self._edges.extend(edges.values())
        return [edge.gate for edge in edges.values()]

    def _cycles(self) -> None:
        names = [*self._tasks, *sorted(self._broken - self._tasks.keys())]
        at = {name: at for at, name in enumerate(names)}
        # Most documents write a task before those that wait for it, which rules out a cycle; so does an end nowhere.
        if all(at.get(edge.source, -1) < at.get(edge.target, len(at)) for edge in self._edges):
            return
        edges = [edge for edge in self._edges if edge.source in at and edge.target in at]
        by_ends = {(edge.source, edge.target): edge for edge in edges}
        for cycle in cycles(names, edges):
            place = by_ends[(cycle[-2], cycle[-1])].where()
            self._faults.add(Code.PLAN_CYCLE, place, f"these tasks wait for each other: {cycle_words(cycle)}")


def data_gates(spec: TaskSpec) -> Iterator[Dependency]:
    """Yield the data gates that the inputs of a task imply."""
    for item in spec.inputs:
        if item.topic:
            continue
        yield record(
            Dependency,
            all=item.all,
            changed_in=FIRST_VERSION,
            gate=Gate.DATA,
            input=item.name,
            optional=item.optional,
            source=item.source,
            target=spec.id,
        )


def cycles(names: Iterable[str], edges: Iterable[Edge]) -> Iterator[list[str]]:
    """Yield each separate cycle as its tasks in order, the first one again at the end; one pass, no recursion."""
    waits: dict[str, int] = dict.fromkeys(names, 0)
    after: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    for edge in edges:
        waits[edge.target] += 1
        after.setdefault(edge.source, []).append(edge.target)
        before.setdefault(edge.target, []).append(edge.source)
    free = [name for name, count in waits.items() if count == 0]
    while free:
        for target in after.get(free.pop(), ()):
            waits[target] -= 1
            if waits[target] == 0:
                free.append(target)
    stuck = {name for name, count in waits.items() if count > 0}
    walked: set[str] = set()
    for start in waits:
        path: list[str] = []
        index: dict[str, int] = {}
        current = start
        while current in stuck and current not in walked:
            walked.add(current)
            index[current] = len(path)
            path.append(current)
            # Every stuck task has a stuck one before it, so a walk backwards ends in a cycle.
            current = next(source for source in before[current] if source in stuck)
        if current in index:
            cycle = path[index[current] :]
            yield [*reversed(cycle), cycle[-1]]


def cycle_words(cycle: list[str]) -> str:
    """Return a cycle as words, its middle left out when it is long."""
    if len(cycle) > _CYCLE_SHOWN_MAX:
        cycle = [*cycle[:6], f"({len(cycle) - 10} more)", *cycle[-4:]]
    return " > ".join(cycle)
