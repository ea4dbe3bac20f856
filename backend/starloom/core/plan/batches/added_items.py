"""Items that an edit adds to a list that runs: each gets its children in every group of the family.

Owns which lists take items, their keys, and the check that an item has the fields that the calls read. An item is a
value of a person; no rule and no model adds one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.plan.batches.batch import EditBatch, GrowingList
from starloom.core.plan.groups import child_edges, child_of, list_of, turns
from starloom.core.state.model import Constellation
from starloom_protocol.records.edits import AddItems
from starloom_protocol.records.entities import Dependency, Item, dependency_id
from starloom_protocol.text.wording import counted
from starloom_protocol.values import MISSING, canonical, parse, point
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, Code, GroupState

ITEMS_MOST: Final = 10_000
"""The most items that a task may put into a list, too."""
_FAULTS_MOST: Final = 5
_NAMED_MOST: Final = 20


def add_items(batch: EditBatch, operation: AddItems, place: str) -> None:
    """Add items behind those of a list whose groups all run."""
    constellation = batch.constellation
    spec = constellation.specs.get(operation.to)
    if spec is None or spec.for_each is None:
        reason = f"{operation.to} is not a list of this plan"
        batch.refuse(Code.UNKNOWN_TASK, reason, f"{place}.to", "Name a task that has `for_each`.")
        return
    root = spec.family or spec.id
    members = list(constellation.families[root])
    if not _takes_items(batch, root, members, f"{place}.to"):
        return
    values = parse(operation.items)
    if not isinstance(values, list) or not 0 < len(values) <= ITEMS_MOST:
        batch.refuse(Code.NOT_A_LIST, f"items is a list of 1 to {ITEMS_MOST} values", f"{place}.items")
        return
    tasks = len(values) * len(members)
    if not batch.has_room(tasks):
        batch.refuse(Code.PLAN_TOO_BIG, f"these items are {tasks} tasks, more than the plan may have", f"{place}.items")
        return
    growing = batch.growing.get(root) or _begin_growing(batch, root, members)
    if _lacks_fields(batch, growing, values, f"{place}.items"):
        return
    new = [Item(added=True, key=str(growing.next_key + at), value=canonical(value)) for at, value in enumerate(values)]
    _put_items(batch, root, growing, new)
    for member in members:
        count = (batch.grown.get(member) or constellation.groups[member]).count + len(new)
        batch.grown[member] = replace(constellation.groups[member], count=count)


def _begin_growing(batch: EditBatch, root: str, members: list[str]) -> GrowingList:
    """Note a list that takes items, as it is before the first of them."""
    constellation = batch.constellation
    items = [item for key, item in constellation.items.items() if key.startswith(f"{root}/")]
    last = max((int(item.key) for item in items), default=-1)
    reads = {pointer: member for member in reversed(members) for pointer in _read_by(constellation, member)}
    growing = batch.growing[root] = GrowingList(members=members, items=items, next_key=last + 1, reads=reads)
    return growing


def _put_items(batch: EditBatch, root: str, growing: GrowingList, new: list[Item]) -> None:
    """Put the children of new items, and the gates of each; where items take turns, behind the last one there is."""
    constellation, members = batch.constellation, growing.members
    for item in new:
        batch.new_items[f"{root}/{item.key}"] = item
        for member in members:
            child = child_of(constellation, member, item.key, batch.number, members, over_devices=False)
            batch.added[child.id] = None
            batch.put_spec(child)
            _put_gates(batch, child_edges(constellation, member, child, item.key, batch.number, members))
    if list_of(constellation, root).in_turn:
        present = (item for item in reversed(growing.items) if batch.spec(f"{members[0]}.{item.key}") is not None)
        _put_gates(batch, turns(constellation, members, [*islice(present, 1), *new], batch.number))
    growing.items += new
    growing.next_key += len(new)
    growing.added += len(new)


def notes_of(batch: EditBatch) -> Iterator[str]:
    """Yield what a batch has added to each list, in a line that stays short however much it was."""
    for growing in batch.growing.values():
        if not growing.added:
            continue
        others = len(growing.members) - _NAMED_MOST
        names = ", ".join(growing.members[:_NAMED_MOST]) + (f" and {others} more" if others > 0 else "")
        yield f"{counted(growing.added, 'item')} more for {names}"


def _put_gates(batch: EditBatch, puts: list[Any]) -> None:
    for _, _, edge in puts:
        if isinstance(edge, Dependency) and batch.dep(dependency_id(edge)) is None:
            batch.put_dep(edge)


def _takes_items(batch: EditBatch, root: str, members: list[str], place: str) -> bool:
    """Tell whether a family takes items now; where it does not, note a fault with the way out."""
    constellation = batch.constellation
    source = list_of(constellation, root)
    if source.source is None or source.devices is not None:
        reason = f"the items of {root} are devices, turns or like calls, not values"
        batch.refuse(Code.BAD_REQUEST, reason, place, "Add a task for it by add_task.")
        return False
    states = {member: constellation.groups[member].state for member in members}
    ended = [member for member, state in states.items() if state in FINAL_GROUP_STATES]
    if ended:
        hint = "Add a list or tasks of their own for the new items by add_task, or start another plan with them."
        batch.refuse(Code.ILLEGAL_CONTROL, f"{ended[0]} has ended: it is {states[ended[0]]}", place, hint)
        return False
    if root in constellation.relisting or any(state is not GroupState.EXPANDED for state in states.values()):
        hint = "Wait until it is made, or change the task that makes it."
        batch.refuse(Code.ILLEGAL_CONTROL, f"the list of {root} is not made yet", place, hint)
        return False
    return True


def _lacks_fields(batch: EditBatch, growing: GrowingList, values: list[Any], place: str) -> bool:
    """Note each item that lacks a field which a call of the family reads from it; True if there is one."""
    reads = growing.reads
    lacking = (
        (at, pointer, member)
        for at, value in enumerate(values)
        for pointer, member in reads.items()
        if point(value, pointer) is MISSING
    )
    items_without = list(islice(lacking, _FAULTS_MOST))
    for at, pointer, member in items_without:
        reason = f"this item has no {pointer}, which {member} reads from each"
        hint = f"The fields that are read: {', '.join(sorted(name for name in reads if name))}."
        batch.refuse(Code.NO_VALUE, reason, f"{place}[{at}]", hint)
    return bool(items_without)


def _read_by(constellation: Constellation, member: str) -> Iterator[str]:
    """Yield the pointers of `{each: /pointer}` in the arguments of a group."""
    ahead = [parse(constellation.specs[member].args)]
    while ahead:
        value = ahead.pop()
        if isinstance(value, dict):
            if value.keys() == {"each"} and isinstance(value["each"], str):
                yield value["each"]
            else:
                ahead.extend(value.values())
        elif isinstance(value, list):
            ahead.extend(value)
