"""Calls of the hub's own tools in a plan: what goes with them, and where one that controls devices may stand.

Owns these rules of the plan language alone; the core judges the right to make the call, and makes it.
"""

from __future__ import annotations

from typing import Final

from starloom_protocol.plan.language.fault_list import joined
from starloom_protocol.plan.language.models import TaskDoc
from starloom_protocol.plan.lowering.parts import Parts
from starloom_protocol.tools.hub_tools import HUB_TOOLS, controls_devices
from starloom_protocol.vocabulary import Code

_FIELDS: Final = frozenset({"args", "id", "not_before", "optional", "repeat", "tool"})
_FIELDS_TO_CONTROL: Final = frozenset({"args", "id", "not_before", "optional", "tool"})


def check_hub_call(parts: Parts, doc: TaskDoc, place: str) -> None:
    """Note what does not go with a call of the hub's own tool; other tasks are not looked at."""
    tool = doc.tool or ""
    if tool not in HUB_TOOLS:
        return
    faults, controls = parts.faults, controls_devices(tool)
    if controls and parts.in_edit:
        reason = f"`{tool}` belongs to the plan that a person approves, so no edit and no rule adds or changes one"
        faults.add(Code.PLAN_INVALID, joined(place, "tool"), reason, "Submit a plan of its own for it.")
    for name in sorted(doc.model_fields_set - (_FIELDS_TO_CONTROL if controls else _FIELDS)):
        if getattr(doc, name) in (None, [], {}):
            continue
        reason = f"`{name}` does not go with `{tool}`, which the hub itself carries out"
        hint = "Write its arguments into `args`." if name == "inputs" else "Remove it."
        faults.add(Code.PLAN_INVALID, joined(place, name), reason, hint)


def check_on_device(parts: Parts, tool: str, place: str) -> None:
    """Note a tool of the hub as an undo or as a look: both go to the device of the task."""
    if tool in HUB_TOOLS:
        reason = f"`{tool}` is carried out by the hub, and this call goes to the device of the task"
        parts.faults.add(Code.PLAN_INVALID, joined(place, "tool"), reason, "Make a task of its own for it.")


def check_in_goal(parts: Parts, tool: str, place: str) -> None:
    """Note a tool of the hub among those of a goal, whose steps go to devices."""
    if tool in HUB_TOOLS:
        reason = f"`{tool}` is carried out by the hub, and the steps of a goal go to devices"
        parts.faults.add(Code.PLAN_INVALID, place, reason, "Let a task before the goal call it, as an input.")
