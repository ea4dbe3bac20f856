"""The calls of a task that are as good as its own (`any_of`), checked and lowered.

The shapes are in `language.models`. Taking one is a decision of the core; the flow of values into and out of them is
judged in `types.flow`, as if each were the call of the task.
"""

from __future__ import annotations

from typing import Any, Final

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import OtherCallDoc, TaskDoc, TaskPatchDoc
from starloom_protocol.plan.lowering.parts import Parts, secrets_of
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.records.specs import OtherCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import REPEATABLE, Code

NOT_BESIDE: Final = {
    "for_each": "a group has one call for each child",
    "repeat": "turns are one call",
    "repeatability": "that of several calls is pure or idempotent, or that of each tool",
    "undo": "it takes back one call",
    "verify": "it looks for the effect of one call",
    "vote": "it compares results of one call",
}
"""The fields that belong to one call, each with the reason why it does not go with several."""


def other_calls(parts: Parts, task: TaskDoc, place: str) -> list[OtherCall]:
    """Return the calls that are as good as that of a task; faults are noted."""
    faults = parts.faults
    if task.tool is None and not isinstance(task, TaskPatchDoc) and task.any_of:
        faults.add(Code.PLAN_INVALID, joined(place, "any_of"), "only a call of a tool has others", "Remove it.")
        return []
    fields = {name: getattr(task, name, None) for name in NOT_BESIDE}
    if fields["repeatability"] in REPEATABLE:
        # The author says it of each call, so that another one may follow a failed one.
        del fields["repeatability"]
    for name in sorted(name for name, value in fields.items() if value is not None):
        reason = f"`{name}` does not go with `any_of`: {NOT_BESIDE[name]}"
        faults.add(Code.PLAN_INVALID, joined(place, "any_of"), reason, "Remove one of them.")
    if task.device is not None and task.device.source is not None:
        reason = "a device by a result does not go with `any_of`"
        faults.add(Code.PLAN_INVALID, joined(place, "any_of"), reason, "Name the devices that may run each call.")
    own_call = (task.tool, canonical(task.args), None if task.device is None else task.device.model_dump_json())
    seen: set[Any] = {own_call} if task.tool is not None else set()
    calls = []
    for at, doc in enumerate(task.any_of):
        where = joined(place, "any_of", at)
        call = _other_call(parts, task, doc, where)
        key = (doc.tool, call.args, None if doc.device is None else doc.device.model_dump_json())
        if key in seen:
            faults.add(Code.PLAN_INVALID, where, f"`{task.id}` has this call already", "Remove one of them.")
        seen.add(key)
        calls.append(call)
    return calls


def _other_call(parts: Parts, task: TaskDoc, doc: OtherCallDoc, place: str) -> OtherCall:
    parts.tool(doc.tool, joined(place, "tool"))
    parts.takes_call(doc.tool, doc.args, task.inputs, place)
    if secrets_of(doc.args):
        reason = "a secret is given to the own call of a task alone"
        parts.faults.add(Code.PLAN_INVALID, joined(place, "args"), reason, "Write it as a task of its own.")
    args = parts.arguments(doc.args, joined(place, "args"), in_group=False)
    device = None if doc.device is None else parts.selector(doc.device, joined(place, "device"))
    return record(OtherCall, args=args, device=device, tool=doc.tool)
