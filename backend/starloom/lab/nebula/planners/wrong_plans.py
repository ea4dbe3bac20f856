"""The words of a scripted model by the gold plan of its task: the plan with a mistake in it, or one task of it again.

Pure. A transcript names the mistake alone, so that it is read at a glance and follows the gold plan. A mistake that no
longer fits the gold plan is refused when the transcript is read. Must not decide what a prompt has to hold.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

GOLD_PLAN: Final = "gold"
"""`true` beside nothing else: the whole gold plan. With `mistakes`: that plan with them. A name: that task of it."""
MISTAKES: Final = "mistakes"
_END: Final = "-"

Json = dict[str, Any]


class MistakeUnfit(Exception):
    """A mistake names a place that the gold plan does not have: says which."""


def filled_in(say: Mapping[str, Any], gold: Mapping[str, Any]) -> Json:
    """Return an answer with the gold plan, and parts of it, in the places that name them.

    Raises:
        MistakeUnfit: naming the place.
    """
    if say.get(GOLD_PLAN) is True:
        return {"kind": "plan", "plan": _with(gold, say.get(MISTAKES, {}), "the plan")}
    return {name: _again(value, gold) for name, value in say.items()}


def needs_gold(value: object) -> bool:
    """Return whether an answer says the gold plan or a part of it."""
    if isinstance(value, Mapping):
        return GOLD_PLAN in value or any(needs_gold(item) for item in value.values())
    return isinstance(value, list) and any(needs_gold(item) for item in value)


def _again(value: Any, gold: Mapping[str, Any]) -> Any:
    """Return a value in which `{"gold": TASK, "id": OTHER, ...}` is that task, with the other fields changed."""
    if isinstance(value, Mapping):
        if isinstance(value.get(GOLD_PLAN), str):
            name = value[GOLD_PLAN]
            gold_task = next((task for task in gold.get("tasks", []) if task.get("id") == name), None)
            if gold_task is None:
                raise MistakeUnfit(f"the gold plan has no task {name}")
            changed = {key: item for key, item in value.items() if key not in (GOLD_PLAN, MISTAKES)}
            return _with({**gold_task, **changed}, value.get(MISTAKES, {}), f"task {name}")
        return {name: _again(item, gold) for name, item in value.items()}
    return [_again(item, gold) for item in value] if isinstance(value, list) else value


def _with(origin: Mapping[str, Any], mistakes: Mapping[str, Any], of: str) -> Json:
    """Return a copy in which each place has another value.

    `{"leave_out": true}` removes what is there, `{"replace": [PART, BY]}` changes a part of a text.
    """
    document: Json = copy.deepcopy(dict(origin))
    for place, value in mistakes.items():
        *way, last = place.removeprefix("/").split("/")
        holder: Any = document
        for name in way:
            holder = _inside(holder, name, place, of)
        _put(holder, last, value, place, of)
    return document


def _inside(holder: Any, name: str, place: str, of: str) -> Any:
    at = _key(holder, name)
    if at is None:
        raise MistakeUnfit(f"{of} has no {place}: there is no {name}")
    return holder[at]


def _key(holder: Any, name: str) -> Any:
    """Return the key of a field, or the place of an item by its number or its id; None where there is none."""
    if isinstance(holder, dict):
        return name if name in holder else None
    if not isinstance(holder, list):
        return None
    if name.isdigit():
        return int(name) if int(name) < len(holder) else None
    return next((at for at, item in enumerate(holder) if isinstance(item, dict) and item.get("id") == name), None)


def _put(holder: Any, last: str, value: Any, place: str, of: str) -> None:
    if isinstance(holder, list) and last == _END:
        holder.append(value)
        return
    at = _key(holder, last)
    if isinstance(value, dict) and value.keys() == {"leave_out"}:
        if at is None:
            raise MistakeUnfit(f"{of} has no {place} to leave out")
        del holder[at]
    elif isinstance(value, dict) and value.keys() == {"replace"}:
        part, by = value["replace"]
        text = holder[at] if at is not None else None
        if not isinstance(text, str) or part not in text:
            raise MistakeUnfit(f"{of} has no text `{part}` at {place}")
        holder[at] = text.replace(part, by)
    elif isinstance(holder, dict):
        holder[last] = value
    elif at is not None:
        holder[at] = value
    else:
        raise MistakeUnfit(f"{of} has no {place}")
