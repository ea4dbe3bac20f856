"""What a result must have before its task succeeds: facts that were brought, and the plan's checks on them. Pure."""

from __future__ import annotations

from starloom.core.gates import fact
from starloom.core.model import Constellation
from starloom.core.wants import deciding
from starloom_protocol.entities import TaskSpec
from starloom_protocol.frames import ResultFrame
from starloom_protocol.values import MISSING, holds, parse


def too_big(constellation: Constellation, spec: TaskSpec, frame: ResultFrame) -> str | None:
    """Return which fact that something decides on was too big to be brought, if there is one."""
    if not frame.facts_too_big:
        return None
    needed = deciding(constellation, spec)
    sizes = sorted(frame.facts_too_big.items())
    return next((f"{pointer} has {size} bytes" for pointer, size in sizes if pointer in needed), None)


def missed_check(constellation: Constellation, spec: TaskSpec) -> str | None:
    """Return the first check that the newest attempt's output does not pass, in words."""
    for check in spec.checks:
        found = fact(constellation, spec.id, check.output)
        wanted = parse(check.value) if check.value is not None else None
        if not holds(check.op, found, wanted):
            shown = "nothing" if found is MISSING else str(found)[:200]
            return f"{check.output or 'the output'} should be {check.op} {check.value or ''}, found {shown}".strip()
    return None
