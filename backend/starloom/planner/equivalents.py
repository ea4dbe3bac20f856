"""Tools that their owners declare to stand for others: each is written into a plan as another call of a task.

That happens before the plan is shown, so a declaration allows nothing: the call is previewed, hashed and approved with
the plan. A call that has more effects, another repeatability, or not the output that other tasks read is left out
without a fault, so that no device can make a plan invalid. Only plain calls get one; rules and nested plans stay as
they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from starloom_protocol.plan import PlanCheck
from starloom_protocol.plan.language.models import OTHER_CALLS_MAX
from starloom_protocol.plan.lowering.patterns.other_calls import NOT_BESIDE
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.vocabulary import most_careful

PAIRS_MOST: Final = 8
"""Each pair of a tool and one that stands for it costs one more check of the plan."""
DEVICES_MOST: Final = 32
"""The devices that such a call names where the task names none."""
_NOT_PLAIN: Final = frozenset({*NOT_BESIDE, "goal", "person", "plan"})

Equivalents = Mapping[tuple[str, str], list[Device]]
"""The devices that declare it, by the tool and the one that stands for it."""


def equivalents(devices: Mapping[str, Device], offers: Mapping[str, Offer]) -> Equivalents:
    """Return the declarations of the fleet that hold: no more effects than the tool itself, and its repeatability."""
    here = {key: offer for key, offer in offers.items() if key in devices and not devices[key].revoked}
    # The devices of a large fleet share few lists of tools, and most lists declare nothing.
    different = {id(offer.tools): offer.tools for offer in here.values()}
    declaring = {at: tools_declaring for at, tools in different.items() if (tools_declaring := _declaring(tools))}
    if not declaring:
        return {}
    pairs: dict[tuple[str, str], list[Device]] = {}
    for key, offer in sorted(here.items()):
        for tool in declaring.get(id(offer.tools), ()):
            pairs.setdefault((tool.stands_for, tool.name), []).append(devices[key])
    names = {tool for pair in pairs for tool in pair}
    by_tool: dict[str, list[ToolOffer]] = {}
    for tools in different.values():
        for tool in tools:
            if tool.name in names:
                by_tool.setdefault(tool.name, []).append(tool)
    return {
        pair: keys[:DEVICES_MOST]
        for pair, keys in pairs.items()
        if _is_as_good(*(by_tool.get(one, []) for one in pair))
    }


def _declaring(tools: list[ToolOffer]) -> list[ToolOffer]:
    return [tool for tool in tools if tool.stands_for and tool.stands_for != tool.name]


def _is_as_good(own_offers: list[ToolOffer], other: list[ToolOffer]) -> bool:
    """Tell whether a tool has no effect that each offer of the own one lacks, and the same repeatability."""
    if not own_offers or any(tool.effects_by for tool in (*own_offers, *other)):
        return False
    least = set(own_offers[0].effects).intersection(*(tool.effects for tool in own_offers))
    most = {effect for tool in other for effect in tool.effects}
    repeats = (most_careful(tool.repeatability for tool in one) for one in (own_offers, other))
    return most <= least and len(set(repeats)) == 1


def check_with_equivalents(document: Any, declared: Equivalents, check: Callable[[Any], PlanCheck]) -> PlanCheck:
    """Check a document with each declared call that fits it; those that bring a fault are left out."""
    result = check(document)
    if result.plan is None or not declared:
        return result
    used = {spec.tool for spec in result.plan.specs}
    for pair in [pair for pair in declared if pair[0] in used][:PAIRS_MOST]:
        others = {other for tool, other in declared if tool == pair[0]}
        wider = _with(document, *pair, declared[pair], others)
        tried = check(wider) if wider is not None else None
        if tried is not None and tried.plan is not None:
            document, result = wider, tried
    return result


def _with(
    document: Mapping[str, Any], tool: str, other: str, devices: list[Device], others: set[str]
) -> dict[str, Any] | None:
    """Return a document in which each plain call of a tool may be made by another one; None if it has none."""
    tasks, changed = [], False
    for task in document.get("tasks", []):
        wider = _call(task, tool, other, devices, others)
        changed = changed or wider is not None
        tasks.append(task if wider is None else wider)
    return {**document, "tasks": tasks} if changed else None


def _call(task: Any, tool: str, other: str, devices: list[Device], others: set[str]) -> dict[str, Any] | None:
    if not isinstance(task, dict) or task.get("tool") != tool or any(name in task for name in _NOT_PLAIN):
        return None
    calls, where = task.get("any_of", []), task.get("device") or {}
    if not isinstance(where, dict) or {"any", "from"} & where.keys() or len(calls) >= OTHER_CALLS_MAX:
        return None
    # Calls that the author wrote are the author's choice.
    if any(call.get("tool") not in others for call in calls):
        return None
    names = [where[key] for key in ("id", "name") if where.get(key) is not None]
    if names:
        if not any(set(names) <= {device.id, device.name} for device in devices):
            return None
    else:
        where = {**where, "any": [{"id": device.id} for device in devices]}
    call = {"tool": other, "device": where}
    return {**task, "any_of": [*calls, {**call, "args": task["args"]} if "args" in task else call]}
