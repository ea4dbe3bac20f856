"""Runs many fuzz cases by kind, the kept seeds first, and remembers what each said and which were not handled."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.guard import documents, frames

CI_FRAMES = 20_000
KINDS: dict[str, Callable[[int], str]] = {"frames": frames.run_case, "documents": documents.run_case}


@dataclass
class Fuzzed:
    """`unhandled` are (seed, reason) of cases in which something was raised that is no refusal."""

    cases: int = 0
    said: Counter[str] = field(default_factory=Counter)
    unhandled: list[tuple[int, str]] = field(default_factory=list)


def run(kind: str, cases: int, *, first: int) -> Fuzzed:
    """Run cases `first .. first + cases`, after those that once failed."""
    found, run_case = Fuzzed(), KINDS[kind]
    kept = [seed for name, seed in frames.kept_seeds() if name == kind]
    for seed in (*kept, *range(first, first + cases)):
        found.cases += 1
        try:
            found.said[run_case(seed)] += 1
        except Exception:
            found.unhandled.append((seed, traceback.format_exc(limit=-3)))
    return found
