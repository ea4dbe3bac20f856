"""`make chaos`: runs the chaos tests and prints what was broken, what was promised, and one line of JSON.

Counts come from the tests themselves: each hands over what it killed and what the history checker found.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

FAULTS = ("hub", "redis", "agent", "worker", "postgres")
FOUND = ("lost", "applied_twice", "nonrepeatable_twice", "stuck")


class Figures:
    """A pytest plugin that adds up what the tests recorded. A stack counts once, with its last figures."""

    def __init__(self) -> None:
        self._kills: dict[str, dict[str, int]] = {}
        self._verdicts: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        recorded = dict(report.user_properties)
        stack = recorded.get("stack")
        if report.when != "teardown" or not isinstance(stack, str):
            return
        kills, verdict = recorded.get("kills"), recorded.get("verdict")
        if isinstance(kills, dict):
            self._kills[stack] = kills
        if isinstance(verdict, dict):
            self._verdicts[stack] = verdict

    def document(self) -> dict[str, int]:
        """Return the figures under the names of quality.md."""
        kills = {f"{what}_kills": sum(one[what] for one in self._kills.values()) for what in FAULTS}
        found = {what: sum(len(one[what]) for one in self._verdicts.values()) for what in FOUND}
        return {**kills, "acknowledged": sum(one["acknowledged"] for one in self._verdicts.values()), **found}

    def told(self) -> list[str]:
        """Return what the checker found, one sentence each."""
        return [
            f"{what}: {one}"
            for verdict in self._verdicts.values()
            for what in (*FOUND, "broken")
            for one in verdict[what]
        ]


def main(argv: list[str]) -> int:
    """Run the tests with further arguments of pytest; the exit code is pytest's."""
    figures = Figures()
    began = time.monotonic()
    here = Path(__file__).resolve().parent
    code = int(pytest.main(["-q", "-m", "chaos", str(here), "--durations=5", *argv], plugins=[figures]))
    for sentence in figures.told():
        print(f"  {sentence}")
    document = figures.document()
    print(f"\nThe chaos tests took {time.monotonic() - began:.0f} s and ended with {code}.")
    print(json.dumps(document))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
