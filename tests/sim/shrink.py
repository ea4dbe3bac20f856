"""Makes a failing schedule small: leaves out faults, then what people do, then tasks, as long as it still fails alike.

Delta debugging over the parts of a `Script`. A smaller schedule takes another course, so what must stay is the kind
of violation, not its words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from starloom_protocol.records.edits import LoweredPlan
from tests.sim.client import make_plan
from tests.sim.schedule import Outcome, play
from tests.sim.script import Act, Script

T = TypeVar("T")
Play = Callable[[Script], Outcome]


def kind_of(violation: str) -> str:
    """Return the first words of a violation, which say what was broken, without names and numbers."""
    return " ".join(word for word in violation.split()[:6] if word.isalpha() or word.endswith(":"))


def fewer(parts: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a part of `parts` that still fails and of which no single chunk can go (ddmin)."""
    left, chunk = list(parts), max(1, len(parts) // 2)
    if left and fails([]):
        return []
    while left:
        at, smaller = 0, False
        while at < len(left):
            tried = left[:at] + left[at + chunk :]
            if len(tried) < len(left) and fails(tried):
                left, smaller = tried, True
            else:
                at += chunk
        if chunk == 1 and not smaller:
            break
        chunk = max(1, chunk // 2)
    return left


class Shrinking:
    """One search, bounded in time; `tries` is how many schedules it played."""

    def __init__(self, within_s: float, play_it: Play = play) -> None:
        self._until = time.monotonic() + within_s
        self._play = play_it
        self.tries = 0

    def shrink(self, script: Script, outcome: Outcome) -> tuple[Script, Outcome]:
        """Return the smallest schedule found that breaks the same promise, and what it came to."""
        kinds = {kind_of(violation) for violation in outcome.violations}
        best, last = script, outcome

        def fails(tried: Script) -> bool:
            nonlocal best, last
            if time.monotonic() > self._until:
                return False
            self.tries += 1
            found = self._play(tried)
            if not any(kind_of(violation) in kinds for violation in found.violations):
                return False
            best, last = tried, found
            return True

        fewer(best.faults, lambda faults: fails(replace(best, faults=tuple(faults))))
        fewer(best.acts, lambda acts: fails(replace(best, acts=tuple(acts))))
        for act in [act for act in best.acts if act.kind == "submit"]:
            self._tasks(act, lambda made, of=act: fails(_with(best, of, made)), best)  # type: ignore[misc]
        fewer(best.faults, lambda faults: fails(replace(best, faults=tuple(faults))))
        return best, last

    @staticmethod
    def _tasks(act: Act, fails: Callable[[Act], bool], script: Script) -> None:
        names = [spec.id for spec in plan_of(act, script).specs]

        def without(kept: Sequence[str]) -> bool:
            gone = tuple(name for name in names if name not in kept)
            return bool(kept) and fails(replace(act, without=gone))

        fewer(names, without)


def plan_of(act: Act, script: Script) -> LoweredPlan:
    """Return the plan that an act submits, before anything is left out of it."""
    return make_plan(act.chance(), [device.removeprefix("d-") for device in script.devices])


def _with(script: Script, act: Act, made: Act) -> Script:
    same = (act.person, act.number)
    return replace(script, acts=tuple(made if (one.person, one.number) == same else one for one in script.acts))
