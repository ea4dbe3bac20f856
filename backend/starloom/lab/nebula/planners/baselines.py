"""The conditions beside the full product, each with one part of it switched off. Pure.

A baseline is the same plan in other words of its own, and shares the world of the full run. Ablations are baselines by
the name of the part, and settings of the hub, which have a world of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import yaml

from starloom_protocol.tools.hub_tools import HUB_TOOLS

FULL: Final = ""
NO_RECOVERY: Final = "norecover"
STATIC: Final = "static"
SEQUENTIAL: Final = "seq"
WORDS: Final = {
    SEQUENTIAL: "each task waits for the one before it, and a list is done one item at a time",
    STATIC: "no review of what happened (`review: never`), and no rules",
    NO_RECOVERY: "each task is tried once (`max_attempts: 1`), by its own call",
    "random-placement": "each task goes to a free device drawn by its name, whatever is known of the devices",
    "no-experience": "the hub learns no paces, so placement and hedges know no times",
}
BASELINES: Final = (SEQUENTIAL, STATIC, NO_RECOVERY)
IN_THE_PLAN: Final[Mapping[str, str]] = {"static": STATIC, "no-recovery": NO_RECOVERY, "sequential": SEQUENTIAL}
IN_THE_HUB: Final[Mapping[str, Mapping[str, str]]] = {
    "random-placement": {"STARLOOM_PLACEMENT": "random"},
    "no-experience": {"STARLOOM_EXPERIENCE": "false"},
}
ABLATIONS: Final = (*IN_THE_PLAN, *IN_THE_HUB)


class BaselineUnknown(Exception):
    """A text names no baseline: says which there are."""


class AblationUnknown(Exception):
    """A text names no ablation: says which there are."""


def read_baselines(text: str) -> tuple[str, ...]:
    """Read `seq,norecover`.

    Raises:
        BaselineUnknown: a part names none.
    """
    return _read(text, BASELINES, BaselineUnknown)


def read_ablations(text: str) -> tuple[str, ...]:
    """Read `static,no-experience`.

    Raises:
        AblationUnknown: a part names none.
    """
    return _read(text, ABLATIONS, AblationUnknown)


def _read(text: str, names: Sequence[str], unknown: type[Exception]) -> tuple[str, ...]:
    parts = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    for name in parts:
        if name not in names:
            raise unknown(f"{name} is none of {', '.join(names)}")
    return tuple(parts)


def in_the_plan(names: Sequence[str]) -> tuple[str, ...]:
    """Return the baselines of the ablations that change a plan."""
    return tuple(IN_THE_PLAN[name] for name in names if name in IN_THE_PLAN)


def in_the_hub(names: Sequence[str]) -> tuple[str, ...]:
    """Return the ablations that are settings of the hub."""
    return tuple(name for name in names if name in IN_THE_HUB)


def plan_of(plan: str, baseline: str) -> str:
    """Return the text of a plan as a baseline has it."""
    if baseline not in _CHANGED:
        # The full product, or an ablation that is a setting of the hub.
        return plan
    document = yaml.safe_load(plan)
    _CHANGED[baseline](document)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=10_000)


def _once(document: dict[str, Any]) -> None:
    for task in document["tasks"]:
        # A person, a goal and a call that the hub itself carries out are never tried again.
        if "person" not in task and "goal" not in task and task.get("tool") not in HUB_TOOLS:
            task["retry"] = {**task.get("retry", {}), "max_attempts": 1}
            task.pop("any_of", None)


def _static(document: dict[str, Any]) -> None:
    document["policy"] = {**document.get("policy", {}), "review": "never"}
    document["policy"].pop("review_at", None)
    document.pop("rules", None)


def _sequential(document: dict[str, Any]) -> None:
    """Chain the tasks in an order in which each comes after those it needs; its own gates stay as they are."""
    tasks = {task["id"]: task for task in document["tasks"]}
    needs = {name: _needs(document, name, tasks) for name in tasks}
    order: list[str] = []
    while len(order) < len(tasks):
        order.append(next(name for name in tasks if name not in order and needs[name] <= set(order)))
    linked = {(one["from"], one["to"]) for one in document.get("dependencies", [])}
    chain = [
        {"from": before, "to": after, "when": "unless_failed"}
        for before, after in pairwise(order)
        if before not in needs[after] and (before, after) not in linked
    ]
    document["dependencies"] = [*document.get("dependencies", []), *chain]
    for task in tasks.values():
        if "for_each" in task and "same" not in task["for_each"]:
            task["for_each"] = {**task["for_each"], "max_parallel": 1}


def _needs(document: dict[str, Any], name: str, tasks: dict[str, Any]) -> set[str]:
    task = tasks[name]
    for_each = task.get("for_each") or {}
    needs = {item["from"] for item in (task.get("inputs") or {}).values() if isinstance(item, dict)}
    needs |= {for_each[key] for key in ("from", "same") if key in for_each}
    needs |= {one["from"] for one in document.get("dependencies", []) if one["to"] == name}
    return needs & set(tasks)


_CHANGED: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    SEQUENTIAL: _sequential,
    STATIC: _static,
    NO_RECOVERY: _once,
}
