"""What an assistant's plan or edit may start by itself. Pure; stricter than the hub, never wider.

Nothing that a model wrote counts as an approval: neither `policy.approval: never` nor a hash. What reads or writes in
granted places starts at once; whatever goes beyond that, or whose reach is not known before, waits for a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starloom_protocol.vocabulary import FINAL_TASK_STATES, ConstellationState, Effect

QUIET = frozenset({Effect.READ.value, Effect.WRITE.value})
_HARMLESS = frozenset({"remove_task", "add_dependency", "remove_dependency", "update_dependency", "drop_items"})
_ADDING = frozenset({"add_task", "update_task"})


def reasons_to_hold(preview: Mapping[str, Any], document: Mapping[str, Any] | None) -> list[str]:
    """Return why this waits for a person before its first task, in words; empty if it need not.

    `document` is a plan as it was written; None for words and recipes, whose authors are people.
    """
    found: list[str] = []
    loud = [effect for effect in preview.get("effects") or [] if effect not in QUIET]
    if loud:
        found.append(f"it may {', '.join(loud)}")
    unknown = [task["tool"] for task in preview.get("tasks") or [] if _nobody_knows(task)]
    if unknown:
        found.append(f"nobody offers {unknown[0]} now, so what it may do is not known")
    if preview.get("asks_approval"):
        found.append("the plan asks for an approval")
    if document is not None and document.get("rules"):
        found.append("its rules may add tasks while it runs")
    if document is not None and _goals(document.get("tasks")):
        found.append("what a goal will do is not known before")
    return list(dict.fromkeys(found))


def _nobody_knows(task: Mapping[str, Any]) -> bool:
    """Say whether the preview found no device for a tool, and nothing that it may do."""
    return bool(task.get("tool")) and not any(task.get(key) for key in ("device", "devices", "effects"))


def _goals(tasks: Any) -> bool:
    listed = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    nested = [task["plan"].get("tasks") for task in listed if isinstance(task.get("plan"), dict)]
    return any("goal" in task for task in listed) or any(_goals(inner) for inner in nested)


def reasons_to_ask(
    operations: Iterable[Any], effects_of: Mapping[str, Iterable[str]], snapshot: Mapping[str, Any]
) -> list[str]:
    """Return why a person has to make this edit; empty if an assistant may.

    `effects_of` are the tools of the fleet with all that they may do. Where a person was asked, or what is loud is
    still to come, any edit could lead around the question or change what reaches the loud task: those are for people.
    """
    found: list[str] = []
    if snapshot.get("state") == ConstellationState.AWAITING_APPROVAL:
        found.append("its plan waits for an approval")
    tool_of: dict[str, str | None] = {}
    for task in snapshot.get("tasks") or []:
        tool_of[str(task.get("id"))] = task.get("tool")
        if task.get("state") in FINAL_TASK_STATES:
            continue
        if task.get("person"):
            found.append(f"{task.get('id')} asks a person")
        elif task.get("tool"):
            found.extend(f"{task.get('id')} is still to come: {why}" for why in _loud(task, effects_of, tool_of))
    for operation in operations:
        pair = next(iter(operation.items())) if isinstance(operation, dict) and len(operation) == 1 else ("", None)
        name, body = pair
        if name in _HARMLESS:
            continue
        if name not in _ADDING or not isinstance(body, dict):
            found.append(f"`{str(name)[:64] or 'this operation'}` is for people to make")
            continue
        task = body.get("task", body) if name == "add_task" else body
        for one in _flat(task) if isinstance(task, dict) else ():
            found.extend(_loud(one, effects_of, tool_of))
    return list(dict.fromkeys(found))


def _flat(task: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    inner = task.get("plan")
    if not isinstance(inner, dict):
        yield task
        return
    for one in inner.get("tasks") or []:
        if isinstance(one, dict):
            yield from _flat(one)


def _loud(
    task: Mapping[str, Any], effects_of: Mapping[str, Iterable[str]], tool_of: Mapping[str, str | None]
) -> Iterable[str]:
    if "goal" in task:
        yield "what a goal will do is not known before"
        return
    tool = task.get("tool") or tool_of.get(str(task.get("id")))
    if tool is None:
        return
    if not isinstance(tool, str) or tool not in effects_of:
        yield f"nobody offers {str(tool)[:64]} now, so what it may do is not known"
        return
    loud = [effect for effect in effects_of[tool] if effect not in QUIET]
    if loud:
        yield f"{tool} may {', '.join(loud)}"
