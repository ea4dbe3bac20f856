"""Families whose list is made again: they expand again, whole, in one commit and one version, by position.

An unchanged item keeps its children with round and result, a changed one opens a new round of them, a missing one goes
with the tasks made only from it, a new one is added. While the list is being made, nothing depends on the old children:
their gates are undecided (`Constellation.relisting`), and none of them starts.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.plan.groups import (
    NoList,
    child_edges,
    child_of,
    end_group,
    fresh_record,
    items_of,
    list_gate,
    list_of,
    turns,
)
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import shut_cause
from starloom.core.state.tasks.graph import raise_ranks
from starloom.core.state.work import Put, Work, change_task, close_question, moved
from starloom_protocol.records.entities import GroupRecord, Item, TaskRecord, TaskSpec, Version
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    Code,
    Gate,
    GateState,
    GroupState,
    Reason,
    TaskState,
)


def task_in_next_round(task: TaskRecord, at_ms: int, *, confirmed: bool) -> TaskRecord:
    """Return a final task's record at the start of its next round."""
    return replace(
        task,
        state=TaskState.WAITING,
        round=task.round + 1,
        since_ms=at_ms,
        started=0,
        refusals=0,
        reviews=0,
        reason=None,
        not_before_ms=0,
        absent_since_ms=0,
        stood_ms=0,
        checked=False,
        cause=None,
        code=None,
        marked=None,
        took={},
        confirmed=confirmed,
    )


def group_in_next_round(group: GroupRecord, at_ms: int, *, expanded: bool) -> GroupRecord:
    """Return a final group's record at the start of its next round; with children it need not expand again."""
    return replace(
        group,
        state=GroupState.EXPANDED if expanded else GroupState.WAITING,
        round=group.round + 1,
        cause=None,
        code=None,
        reason=None,
        since_ms=at_ms,
        until_ms=0,
    )


def expand_again(work: Work, constellation: Constellation, group: str) -> bool:
    """Expand a family over its new list; True if nothing else of this group is to be decided now."""
    root = constellation.specs[group].family or group
    if root not in constellation.relisting:
        return False
    gate = list_gate(constellation, root)
    if gate is GateState.UNDECIDED:
        return False
    if gate is GateState.SHUT:
        reason, cause = shut_cause(constellation, root)
        _without_list(work, constellation, root, GroupState.SKIPPED, reason, cause)
        return True
    for_each = list_of(constellation, root)
    try:
        items_by_key = {item.key: item for item in items_of(work, constellation, for_each)}
    except NoList as error:
        source = for_each.source or ""
        _without_list(
            work, constellation, root, GroupState.FAILED, Reason.UPSTREAM_FAILED, source, error.code, str(error)
        )
        return True
    items = _with_added(items_by_key, _stored(constellation, root))
    members = [
        name for name in constellation.families[root] if constellation.groups[name].state not in FINAL_GROUP_STATES
    ]
    most = work.shard.settings.tasks_most
    if len(constellation.tasks) + len(members) * (len(items) - len(_stored(constellation, root))) > most:
        note = f"{len(items)} items in {len(members)} groups make more than {most} tasks"
        _without_list(
            work, constellation, root, GroupState.FAILED, Reason.UPSTREAM_FAILED, root, Code.PLAN_TOO_BIG, note
        )
        return True
    _Expansion(work, constellation, root, members, items).commit()
    return True


def _stored(constellation: Constellation, root: str) -> dict[str, Item]:
    prefix = f"{root}/"
    return {item.key: item for key, item in constellation.items.items() if key.startswith(prefix)}


def _with_added(items_by_key: dict[str, Item], stored: dict[str, Item]) -> dict[str, Item]:
    """Return the items of a new list, and behind them those that a person added: the task that lists knows none.

    An added item keeps its key, and so its results, unless the new list is so long that it needs the key.
    """
    added = sorted((item for item in stored.values() if item.added), key=lambda item: int(item.key))
    if not added:
        return items_by_key  # the keys of a list over devices are no numbers, and nobody adds to such a list
    free = max(map(int, [*items_by_key, *(item.key for item in added)]), default=-1) + 1
    items = dict(items_by_key)
    for item in added:
        if item.key not in items_by_key:
            items[item.key] = item
        elif not item.dropped:
            items[str(free)] = replace(item, key=str(free))
            free += 1
    return items


def _source_round(constellation: Constellation, root: str) -> int:
    return constellation.record(list_of(constellation, root).source or "").round


def _without_list(
    work: Work,
    constellation: Constellation,
    root: str,
    state: GroupState,
    reason: Reason,
    cause: str,
    code: Code | None = None,
    note: str = "",
) -> None:
    """End a family that gets no new list; the children of the old one no longer count."""
    for member in list(constellation.families[root]):
        for child in list(constellation.children.get(member, {})):
            record = constellation.tasks[child]
            close_question(work, constellation, child)
            if record.state in FINAL_TASK_STATES:
                record = task_in_next_round(record, work.at_ms, confirmed=record.confirmed)
            skipped = moved(work, record, TaskState.SKIPPED, reason=reason, cause=cause)
            change_task(work, constellation, child, EventKind.TASK_SKIPPED, skipped, by=ENGINE)
    list_round = _source_round(constellation, root)
    for member in list(constellation.families[root]):
        if constellation.groups[member].state not in FINAL_GROUP_STATES:
            end_group(
                work,
                constellation,
                member,
                state,
                reason=reason,
                cause=cause,
                code=code,
                note=note,
                list_round=list_round,
            )


class _Expansion:
    """One expansion over a new list, while it is being built: what is added, opened again, dropped and kept."""

    def __init__(
        self, work: Work, constellation: Constellation, root: str, members: list[str], items: dict[str, Item]
    ) -> None:
        self._work = work
        self._constellation = constellation
        self._root = root
        self._members = members
        self._items = items
        self._stored = _stored(constellation, root)
        self._number = constellation.head.version + 1
        self._added: dict[str, TaskSpec] = {}
        self._reopened: dict[str, TaskRecord] = {}
        self._gone: dict[str, None] = {}
        self._kept = 0

    def commit(self) -> None:
        """Decide every position and emit the expansion as one event."""
        for key, item in self._items.items():
            for member in self._members:
                self._position(member, key, item)
        for child in [child for child, spec in self._added.items() if not self._siblings_exist(spec)]:
            del self._added[child]
        missing = [key for key in self._stored if key not in self._items]
        children = dict.fromkeys(f"{member}.{key}" for key in missing for member in self._members)
        self._gone = _made_only_from(
            self._constellation, [child for child in children if child in self._constellation.specs]
        )
        for task in self._gone:
            close_question(self._work, self._constellation, task)
        self._emit()

    def _position(self, member: str, key: str, item: Item) -> None:
        constellation, before = self._constellation, self._stored.get(key)
        child = f"{member}.{key}"
        is_same = before is not None and before.value == item.value
        if before is not None and before.dropped and is_same:
            return
        if child not in constellation.specs:
            # If the family had this item and this member did not, an edit removed the child.
            was_removed = is_same and any(constellation.children.get(member, {}))
            if not was_removed:
                over_devices = list_of(constellation, self._root).devices is not None
                self._added[child] = child_of(
                    constellation, member, key, self._number, self._members, over_devices=over_devices
                )
            return
        record = constellation.tasks[child]
        if record.state not in FINAL_TASK_STATES or (is_same and _has_result(record)):
            self._kept += is_same
            return
        self._reopened[child] = task_in_next_round(record, self._work.at_ms, confirmed=record.confirmed)

    def _siblings_exist(self, spec: TaskSpec) -> bool:
        """Tell whether each sibling that a new child would follow exists: a single one may have been removed."""
        siblings = [
            f"{gate.source}.{spec.key}"
            for gate in self._constellation.incoming.get(spec.group or "", {}).values()
            if gate.source in self._members and not gate.all
        ]
        return all(name in self._constellation.specs or name in self._added for name in siblings)

    def _emit(self) -> None:
        work, constellation, root = self._work, self._constellation, self._root
        list_round = _source_round(constellation, root)
        puts: list[Put] = []
        gates = {
            key: gate
            for task in self._gone
            for table in (constellation.incoming, constellation.outgoing)
            for key, gate in table.get(task, {}).items()
        }
        puts.extend(("dep", key, None) for key in gates)
        for task in self._gone:
            puts.append(("group" if task in constellation.groups else "task", task, None))
            puts.append(("spec", task, None))
        puts.extend(("item", f"{root}/{key}", None) for key in self._stored if key not in self._items)
        for key, item in self._items.items():
            before = self._stored.get(key)
            if before is None or (before.value, before.added) != (item.value, item.added):
                puts.append(("item", f"{root}/{key}", item))
        changed = self._without_inputs(puts)
        for child, spec in self._added.items():
            puts.append(("spec", child, spec))
            puts.append(("task", child, fresh_record(work, constellation, child)))
        puts.extend(self._edges())
        puts.extend(("task", child, record) for child, record in self._reopened.items())
        for member in self._members:
            state = GroupState.EXPANDED if self._items else GroupState.SUCCEEDED
            record: GroupRecord = replace(
                constellation.groups[member],
                state=state,
                count=len(self._items),
                list_round=list_round,
                since_ms=work.at_ms,
            )
            puts.append(("group", member, record))
        parts = (
            (self._kept, "kept"),
            (len(self._reopened), "again"),
            (len(self._added), "new"),
            (len(self._gone), "gone"),
        )
        counts_words = ", ".join(f"{count} {word}" for count, word in parts if count)
        note = f"the list was made again: {counts_words or 'nothing changed'}"
        version = Version(
            added=list(self._added),
            at_ms=work.at_ms,
            author="expand",
            changed=[*self._members, *self._reopened, *changed],
            number=self._number,
            reason=note,
            removed=list(self._gone),
            trigger=root,
        )
        puts.append(("version", str(self._number), version))
        puts.append(("head", "", replace(constellation.head, version=self._number)))
        work.emit(constellation, EventKind.GROUP_EXPANDED, root, puts, by="expand", note=note)
        raise_ranks(constellation, self._added)

    def _without_inputs(self, puts: list[Put]) -> list[str]:
        """Put the specs of tasks that lose an optional input, and return their ids."""
        constellation = self._constellation
        losers = {
            gate.target: None
            for task in self._gone
            for gate in constellation.outgoing.get(task, {}).values()
            if gate.gate is Gate.DATA and gate.target not in self._gone
        }
        for task in losers:
            spec = constellation.specs[task]
            inputs = [item for item in spec.inputs if item.source not in self._gone]
            puts.append(("spec", task, replace(spec, inputs=inputs, changed_in=self._number)))
        return list(losers)

    def _edges(self) -> list[Put]:
        constellation, number = self._constellation, self._number
        present = dict.fromkeys(task for task in constellation.specs if task not in self._gone)
        present.update(dict.fromkeys(self._added))
        edges: list[Put] = []
        for spec in self._added.values():
            edges.extend(child_edges(constellation, spec.group or "", spec, spec.key or "", number, self._members))
        if list_of(constellation, self._root).in_turn:
            edges.extend(turns(constellation, self._members, list(self._items.values()), number))
        return [
            (kind, key, edge)
            for kind, key, edge in edges
            if key not in constellation.deps and edge.source in present and edge.target in present  # type: ignore[union-attr]
        ]


def _has_result(record: TaskRecord) -> bool:
    """Tell whether a child has a result of its own: it ran to its end, or a person set it."""
    ran_to_end = record.state in (TaskState.SUCCEEDED, TaskState.FAILED)
    return ran_to_end or record.reason in (Reason.SKIPPED_BY_PERSON, Reason.MARKED)


def _made_only_from(constellation: Constellation, children: list[str]) -> dict[str, None]:
    """Return `children` and all tasks that require the output of one of them."""
    dependents = dict.fromkeys(children)
    stack = list(dependents)
    while stack:
        task = stack.pop()
        readers = [
            gate.target
            for gate in constellation.outgoing.get(task, {}).values()
            if gate.gate is Gate.DATA and not gate.optional
        ]
        if task in constellation.groups:
            readers.extend(constellation.families.get(task, ()))
            readers.extend(constellation.children.get(task, ()))
        for name in readers:
            if name not in dependents:
                dependents[name] = None
                stack.append(name)
    return dependents
