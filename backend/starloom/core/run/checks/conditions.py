"""The conditions for a task's success: the facts that a result must bring, and the plan's checks on them. Pure."""

from __future__ import annotations

from typing import Final

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import deciding, fact
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.text.wording import place_words, value_words
from starloom_protocol.values import MISSING, holds, parse
from starloom_protocol.vocabulary import Op
from starloom_protocol.wire.frames import ResultFrame

_ASKED: Final = {
    Op.EQ: "be",
    Op.NE: "not be",
    Op.LT: "be less than",
    Op.LE: "be at most",
    Op.GT: "be more than",
    Op.GE: "be at least",
    Op.IN: "be one of",
    Op.NOT_IN: "be none of",
    Op.CONTAINS: "contain",
    Op.EMPTY: "be empty",
    Op.NOT_EMPTY: "not be empty",
    Op.EXISTS: "be there",
}


def too_big(constellation: Constellation, spec: TaskSpec, frame: ResultFrame) -> str | None:
    """Return the first fact needed for a decision that was too big to be brought, if there is one."""
    if not frame.facts_too_big:
        return None
    needed = deciding(constellation, spec)
    sizes = sorted(frame.facts_too_big.items())
    return next((f"{pointer} has {size} bytes" for pointer, size in sizes if pointer in needed), None)


def missed_check(constellation: Constellation, spec: TaskSpec) -> str | None:
    """Return, in words, the first check that the newest attempt's output fails."""
    for check in spec.checks:
        found = fact(constellation, spec.id, check.output)
        wanted = parse(check.value) if check.value is not None else None
        if not holds(check.op, found, wanted):
            where = place_words(check.output) or "The result"
            shown = "nothing" if found is MISSING else value_words(found)
            asked = _ASKED[check.op] + (f" {value_words(wanted)}" if check.value is not None else "")
            return f"{where} must {asked} but is {shown}" + (f" ({check.output})" if check.output else "")
    return None
