"""`reuse` on a task: it takes over the result of an equal task that succeeded in an earlier run.

Owns the form of `reuse`, its limits, and which work may have it. Whether there is such a result is decided by the core.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import Doc, TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import Reuse
from starloom_protocol.vocabulary import Code, Effect, Repeatability

FRESH_S: Final = 7 * 24 * 3600
"""A week, unless the plan says otherwise."""
FRESH_S_MOST: Final = 30 * 24 * 3600
"""The hub forgets older results."""
KEY_BYTES_MAX: Final = 4096
"""A key is compared and kept with each result."""
PROGRAMS: Final = frozenset({"python.run"})
"""Tools whose work the plan itself writes: they may be reused where the plan says that the program is `pure`."""
_NOT_BESIDE: Final = ("files_out", "judge", "not_before", "repeat", "undo", "verify", "vote")


class ReuseDoc(Doc):
    fresh_s: Annotated[int, Field(ge=1, le=FRESH_S_MOST)] = FRESH_S
    key: Any = None


def reuse_of(parts: Parts, task: TaskDoc, raw: dict[str, Any], place: str) -> Reuse | None:
    """Return how a task takes over earlier results; faults are noted."""
    faults = parts.faults
    doc = faults.validate(ReuseDoc, raw, place)
    if doc is None or task.tool is None:
        return None
    for name in _NOT_BESIDE:
        if getattr(task, name):
            reason = f"`{name}` does not go with `reuse`"
            faults.add(Code.PLAN_INVALID, joined(place, name), reason, "Remove one of them.")
    for name, doc_input in task.inputs.items():
        if doc_input.off or doc_input.who:
            reason = f"`{name}` tells of devices, which are others in each run"
            faults.add(Code.PLAN_INVALID, joined(place, name), reason, "Remove `reuse`, or the input.")
    key = None
    if doc.key is not None:
        where = joined(place, "key")
        listed = task.for_each is not None or (task.device is not None and task.device.source is not None)
        key = parts.arguments({"key": doc.key}, where, in_group=listed)
        if len(key.encode()) > KEY_BYTES_MAX:
            faults.add(Code.PLAN_TOO_BIG, where, f"a key has at most {KEY_BYTES_MAX} bytes", "Name a hash instead.")
    _may_be_reused(parts, task, keyed=key is not None, place=place)
    return record(Reuse, fresh_s=doc.fresh_s, key=key)


def _may_be_reused(parts: Parts, task: TaskDoc, *, keyed: bool, place: str) -> None:
    """Note a fault if the work does more than read, or if its result may change while its key stays."""
    faults, tool = parts.faults, task.tool or ""
    repeatability = (parts.known.tools or {}).get(tool, Repeatability.PURE)
    if tool in PROGRAMS:
        if task.repeatability is not Repeatability.PURE:
            reason = f"a program of `{tool}` may do anything"
            hint = "Say `repeatability: pure` if its result depends on its arguments and inputs alone."
            faults.add(Code.NOT_REPEATABLE, place, reason, hint)
        return
    if repeatability is not Repeatability.PURE:
        reason = f"`{tool}` does more than read, and work that is left out has no effect: it is {repeatability}"
        faults.add(Code.NOT_REPEATABLE, place, reason, "Reuse the tasks that compute, and let this one run.")
        return
    effects = parts.known.signatures[tool].effects if tool in parts.known.signatures else frozenset()
    if Effect.REACH in effects:
        reason = f"`{tool}` asks another host, whose answer no key tells"
        faults.add(Code.NOT_REPEATABLE, place, reason, "Remove `reuse`.")
    elif Effect.READ in effects and not keyed:
        reason = f"`{tool}` looks at its device, whose state is no argument"
        hint = "Add `key`, such as `key: {each: /sha256}` over the files of `fs.hash` on the same device."
        faults.add(Code.PLAN_INVALID, place, reason, hint)
