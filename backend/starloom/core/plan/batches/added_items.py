"""Items that an edit adds to a list that runs: each gets its children in every group of the family.

Owns which lists take items, their keys, and the check that an item has the fields that the calls read. An item is a
value of a person; no rule and no model adds one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from starloom.core.plan.batches.batch import Draft
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
    if _lacks_fields(draft, members, values, f"{place}.items"):
        return
    old = [item for key, item in constellation.items.items() if key.startswith(f"{root}/")]
    first = 1 + max((int(item.key) for item in (*old, *draft.new_items_of(root))), default=-1)
    new = [Item(key=str(first + at), value=canonical(value)) for at, value in enumerate(values)]
    for item in new:
        draft.new_items[f"{root}/{item.key}"] = item
        for member in members:
            child = child_of(constellation, member, item.key, draft.number, members, over_devices=False)
            draft.added[child.id] = None
            draft.put_spec(child)
            _put_gates(draft, child_edges(constellation, member, child, item.key, draft.number, members))
    if list_of(constellation, root).in_turn:
        last = [item for item in old if f"{members[0]}.{item.key}" in constellation.specs][-1:]
        _put_gates(draft, turns(constellation, members, [*last, *new], draft.number))
    for member in members:
        count = (draft.grown.get(member) or constellation.groups[member]).count + len(new)
        draft.grown[member] = replace(constellation.groups[member], count=count)
    draft.notes.append(f"{counted(len(new), 'item')} more for {', '.join(members)}")


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


def _lacks_fields(draft: Draft, members: list[str], values: list[Any], place: str) -> bool:
    """Note each item that lacks a field which a call of the family reads from it; True if there is one."""
    read = {pointer: member for member in reversed(members) for pointer in _read_by(draft.constellation, member)}
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
