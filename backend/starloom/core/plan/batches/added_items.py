"""Items that an edit adds to a list that runs: each gets its children in every group of the family.

Owns which lists take items, their keys, and the check that an item has the fields that the calls read. An item is a
value of a person; no rule and no model adds one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.plan.batches.batch import Draft, GrowingList
from starloom.core.plan.groups import child_edges, child_of, list_of, turns
from starloom.core.state.model import Constellation
from starloom_protocol.records.edits import AddItems
from starloom_protocol.records.entities import Dependency, Item, dependency_id
from starloom_protocol.text.wording import counted
from starloom_protocol.values import MISSING, canonical, parse, point
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, Code, GroupState

ITEMS_MOST: Final = 10_000
"""As many as a list may have that a task makes."""
_FAULTS_MOST: Final = 5
_NAMED_MOST: Final = 20


def add_items(draft: Draft, operation: AddItems, place: str) -> None:
    """Add items behind those of a list whose groups all run."""
    constellation = draft.constellation
    spec = constellation.specs.get(operation.to)
    if spec is None or spec.for_each is None:
        reason = f"{operation.to} is no list of this plan"
        draft.refuse(Code.UNKNOWN_TASK, reason, f"{place}.to", "Name a task that has `for_each`.")
        return
    root = spec.family or spec.id
    members = list(constellation.families[root])
    if not _takes_items(draft, root, members, f"{place}.to"):
        return
    values = parse(operation.items)
    if not isinstance(values, list) or not 0 < len(values) <= ITEMS_MOST:
        draft.refuse(Code.NOT_A_LIST, f"items is a list of 1 to {ITEMS_MOST} values", f"{place}.items")
        return
    tasks = len(values) * len(members)
    if not draft.has_room(tasks):
        draft.refuse(Code.PLAN_TOO_BIG, f"these items are {tasks} tasks, more than the plan may have", f"{place}.items")
        return
    growing = draft.growing.get(root) or _growing(draft, root, members)
    if _lacks_fields(draft, growing, values, f"{place}.items"):
        return
    new = [Item(added=True, key=str(growing.next_key + at), value=canonical(value)) for at, value in enumerate(values)]
    _put_items(draft, root, growing, new)
    for member in members:
        count = (draft.grown.get(member) or constellation.groups[member]).count + len(new)
        draft.grown[member] = replace(constellation.groups[member], count=count)


def _growing(draft: Draft, root: str, members: list[str]) -> GrowingList:
    """Note a list that takes items, as it is before the first of them."""
    constellation = draft.constellation
    items = [item for key, item in constellation.items.items() if key.startswith(f"{root}/")]
    last = max((int(item.key) for item in items), default=-1)
    reads = {pointer: member for member in reversed(members) for pointer in _read_by(constellation, member)}
    growing = draft.growing[root] = GrowingList(members=members, items=items, next_key=last + 1, reads=reads)
    return growing


def _put_items(draft: Draft, root: str, growing: GrowingList, new: list[Item]) -> None:
    """Put the children of new items, and the gates of each; where items take turns, behind the last one there is."""
    constellation, members = draft.constellation, growing.members
    for item in new:
        draft.new_items[f"{root}/{item.key}"] = item
        for member in members:
            child = child_of(constellation, member, item.key, draft.number, members, over_devices=False)
            draft.added[child.id] = None
            draft.put_spec(child)
            _put_gates(draft, child_edges(constellation, member, child, item.key, draft.number, members))
    if list_of(constellation, root).in_turn:
        there = (item for item in reversed(growing.items) if draft.spec(f"{members[0]}.{item.key}") is not None)
        _put_gates(draft, turns(constellation, members, [*islice(there, 1), *new], draft.number))
    growing.items += new
    growing.next_key += len(new)
    growing.added += len(new)


def notes_of(draft: Draft) -> Iterator[str]:
    """Yield what a batch has added to each list, in a line that stays short however much it was."""
    for growing in draft.growing.values():
        if not growing.added:
            continue
        others = len(growing.members) - _NAMED_MOST
        named = ", ".join(growing.members[:_NAMED_MOST]) + (f" and {others} more" if others > 0 else "")
        yield f"{counted(growing.added, 'item')} more for {named}"


def _put_gates(draft: Draft, puts: list[Any]) -> None:
    for _, _, edge in puts:
        if isinstance(edge, Dependency) and draft.dep(dependency_id(edge)) is None:
            draft.put_dep(edge)


def _takes_items(draft: Draft, root: str, members: list[str], place: str) -> bool:
    """Tell whether a family takes items now; where it does not, the fault says what does."""
    constellation = draft.constellation
    source = list_of(constellation, root)
    if source.source is None or source.devices is not None:
        reason = f"the items of {root} are devices, turns or like calls, not values"
        draft.refuse(Code.BAD_REQUEST, reason, place, "Add a task for it by add_task.")
        return False
    states = {member: constellation.groups[member].state for member in members}
    ended = [member for member, state in states.items() if state in FINAL_GROUP_STATES]
    if ended:
        hint = "Add a list or tasks of their own for the new items by add_task, or start another plan with them."
        draft.refuse(Code.ILLEGAL_CONTROL, f"{ended[0]} has ended: it is {states[ended[0]]}", place, hint)
        return False
    if root in constellation.relisting or any(state is not GroupState.EXPANDED for state in states.values()):
        hint = "Wait until it is made, or change the task that makes it."
        draft.refuse(Code.ILLEGAL_CONTROL, f"the list of {root} is not made yet", place, hint)
        return False
    return True


def _lacks_fields(draft: Draft, growing: GrowingList, values: list[Any], place: str) -> bool:
    """Note each item that lacks a field which a call of the family reads from it; True if there is one."""
    read = growing.reads
    lacking = (
        (at, pointer, member)
        for at, value in enumerate(values)
        for pointer, member in read.items()
        if point(value, pointer) is MISSING
    )
    found = list(islice(lacking, _FAULTS_MOST))
    for at, pointer, member in found:
        reason = f"this item has no {pointer}, which {member} reads from each"
        hint = f"The fields that are read: {', '.join(sorted(name for name in read if name))}."
        draft.refuse(Code.NO_VALUE, reason, f"{place}[{at}]", hint)
    return bool(found)


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
