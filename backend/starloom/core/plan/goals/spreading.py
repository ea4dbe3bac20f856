"""One call of a step for each entry of a list that an earlier result of the goal gave.

Owns the reading of the list and its bounds. Each call that comes out is judged against the envelope like any other,
with the values of its entry in it, and counts as one step.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from starloom.core.state.inputs import EachOf, LookCall
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact
from starloom_protocol.values import MISSING, canonical, parse, point, pointer_fault

ENTRIES_MOST: Final = 20
"""The results of one step stand in one turn of the conversation."""


class NoSpread(Exception):
    """A list over which no step is made; the words say why."""


def spread(
    constellation: Constellation, sources: list[str], calls: list[LookCall], over: EachOf, steps_left: int
) -> list[LookCall]:
    """Return the call of a step once for each entry; `sources` are the results of the goal.

    Raises:
        NoSpread: there is not one call, or no list of entries that fit.
    """
    if len(calls) != 1:
        raise NoSpread(f"`for_each` takes one call, not {len(calls)}")
    fault_words = pointer_fault(over.pointer)
    if fault_words:
        raise NoSpread(fault_words)
    if over.task not in sources:
        raise NoSpread(f"{over.task[:80]} is no result of this goal; there are {', '.join(sources[:20]) or 'none'}")
    entries = fact(constellation, over.task, over.pointer)
    where = f"{over.pointer[:100] or 'the result'} of {over.task}"
    if not isinstance(entries, list) or not entries:
        raise NoSpread(f"{where} is no list with entries" if entries is not MISSING else f"{where} is not known here")
    most = min(ENTRIES_MOST, steps_left)
    if len(entries) > most:
        raise NoSpread(f"{where} has {len(entries)} entries, and a step may take {most}: narrow the list first")
    try:
        args = parse(calls[0].args)
    except ValueError as error:
        raise NoSpread(str(error)) from error
    return [replace(calls[0], args=canonical(_filled(args, entry, where))) for entry in entries]


def _filled(value: Any, entry: Any, where: str) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"each"} and isinstance(value["each"], str):
            field = point(entry, value["each"])
            if field is MISSING:
                raise NoSpread(f"an entry of {where} has nothing at {value['each'][:100]}")
            return field
        return {name: _filled(inner, entry, where) for name, inner in value.items()}
    return [_filled(inner, entry, where) for inner in value] if isinstance(value, list) else value
