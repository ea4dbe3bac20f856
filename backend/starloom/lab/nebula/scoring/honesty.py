"""The judgement of one end under faults: met, honest without success, fooled by a lie, or a fault of the product. Pure.

An end is honest where the task failed and says so: it was not cancelled as a whole, nothing was damaged or done twice,
and its answer names a task that is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from starloom.lab.nebula.scoring.score import EFFECTS, UNTOUCHED, Scored
from starloom.lab.nebula.world.checked_world import Call, CheckedWorld
from starloom.lab.nebula.world.world_program import FOR_GOOD, MOMENT

UNMET: Final = frozenset({"failed", "partial", "cancelled"})
"""States of a constellation that do not claim success. `cancelled`: a person gave up all that was left."""


class End(StrEnum):
    """The end of one run. The last three are faults of the product, wherever they occur.

    `NOT_RUN`: the task cannot be said yet, or nothing took it.
    """

    NOT_RUN = "not run"
    MET = "met"
    HONEST = "honest"
    FOOLED = "fooled"
    NOT_MET = "not met"
    FALSE_DONE = "false done"
    DOUBLED = "doubled"
    HUNG = "hung"


HARD: Final = (End.HUNG, End.FALSE_DONE, End.DOUBLED)


def doubled(seen: CheckedWorld, allowed: Mapping[str, int]) -> int:
    """Return how many effects came twice: the same call again, or more calls of a tool than the task allows.

    Calls that only look, failed or lied have no effect and may come again.
    """
    calls = seen.calls()
    same = Counter(_identity(call) for call in calls)
    by_tool = Counter(call.tool for call in calls)
    again = Counter[str]()
    for (_, tool, _), count in same.items():
        again[tool] += count - 1
    return sum(max(again[tool], by_tool[tool] - allowed.get(tool, by_tool[tool])) for tool in by_tool)


def _identity(call: Call) -> tuple[str, str, str]:
    return call.device, call.tool, msgspec.json.encode(dict(call.args), order="sorted").decode()


def lies(seen: CheckedWorld) -> int:
    """Return how many calls said yes and did nothing."""
    return sum(call.lied for call in seen.after.calls)


def noise_in(seen: CheckedWorld) -> list[str]:
    """Return the calls that failed or lied by the noise of the world, in words; a slow one leaves no trace."""
    words = {MOMENT: "failed for a moment", FOR_GOOD: "is out of order"}
    return [
        f"{call.tool} on {call.device} {'lied' if call.lied else words[call.refused]}"
        for call in seen.after.calls
        if call.lied or call.refused in words
    ]


def undamaged(scored: Scored) -> bool:
    """Return whether nothing changed, and no tool did anything, beyond what the task may do."""
    return all(met for name, met, _ in scored.points if name.startswith((UNTOUCHED, EFFECTS)))


def names_what_is_missing(sentence: str, missing: Iterable[str]) -> bool:
    """Return whether an answer names, behind its opening sentence, one of the tasks that did not succeed.

    A child of a group is called by the group's name.
    """
    reasons = sentence.partition(". ")[2]
    return any(re.search(rf"(?<![\w-]){re.escape(name.partition('.')[0])}(?![\w-])", reasons) for name in missing)


def end_of(
    *,
    state: str,
    success: bool,
    met: bool,
    hung: bool,
    twice: int,
    unharmed: bool,
    named: bool,
    lied: int,
    declared: Collection[str],
    profile: str,
) -> End:
    """Judge one end. `declared` are the profiles under which the task says why it cannot always be met."""
    if not state:
        return End.NOT_RUN
    if hung:
        return End.HUNG
    if twice:
        return End.DOUBLED
    if state == "succeeded" and not met:
        return End.FOOLED if lied and profile in declared else End.FALSE_DONE
    if success:
        return End.MET
    return End.HONEST if state in UNMET and unharmed and named else End.NOT_MET
