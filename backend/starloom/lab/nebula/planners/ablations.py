"""Ablations: the suite with one part of the product switched off. Pure.

Some are words of the plan itself (`baselines`) and share the world of the full run; the others are settings of the hub,
so they have a world of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starloom.lab.nebula.planners.baselines import NO_RECOVERY, SEQUENTIAL, STATIC

IN_THE_PLAN: Final[Mapping[str, str]] = {"static": STATIC, "no-recovery": NO_RECOVERY, "sequential": SEQUENTIAL}
IN_THE_HUB: Final[Mapping[str, Mapping[str, str]]] = {
    "random-placement": {"STARLOOM_PLACEMENT": "random"},
    "no-experience": {"STARLOOM_EXPERIENCE": "false"},
}
WORDS: Final = {
    "random-placement": "each task goes to a free device drawn by its name, whatever is known of the devices",
    "no-experience": "the hub learns no paces, so placement and hedges know no times",
}
ABLATIONS: Final = (*IN_THE_PLAN, *IN_THE_HUB)


class AblationUnknown(Exception):
    """A text names no ablation: says which there are."""


def read_ablations(text: str) -> tuple[str, ...]:
    """Read `static,no-experience`.

    Raises:
        AblationUnknown: a part names none.
    """
    found = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    for name in found:
        if name not in ABLATIONS:
            raise AblationUnknown(f"{name} is none of {', '.join(ABLATIONS)}")
    return tuple(found)


def in_the_plan(names: Sequence[str]) -> tuple[str, ...]:
    """Return the baselines of the ablations that change a plan."""
    return tuple(IN_THE_PLAN[name] for name in names if name in IN_THE_PLAN)


def in_the_hub(names: Sequence[str]) -> tuple[str, ...]:
    """Return the ablations that are settings of the hub."""
    return tuple(name for name in names if name in IN_THE_HUB)
