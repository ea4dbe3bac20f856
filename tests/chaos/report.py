"""`make chaos`: runs the chaos tests and prints what was broken, what was promised, and one line of JSON.

Counts come from the tests themselves: each hands over what it killed, what it asked and what the history checker found.
Without `FULL` two storms run and the report says that it is a part; with it the kills of `WHOLE` must be reached.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

FAULTS = ("hub", "redis", "agent", "worker", "postgres")
WHOLE = {"hub": 100, "redis": 100, "agent": 100, "worker": 50}
"""The kills that the whole form promises."""

FOUND = ("lost", "applied_twice", "nonrepeatable_twice", "stuck")


class Figures:
    """A pytest plugin that adds up what the tests recorded. A stack counts once, with its last figures."""

    def __init__(self) -> None:
        self._kills: dict[str, dict[str, int]] = {}
        self._verdicts: dict[str, dict[str, Any]] = {}
        self.requests = 0
        """How many HTTP requests the tests sent to hubs that run as processes."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        recorded = dict(report.user_properties)
        if report.when != "teardown":
            return
        requests, stack = recorded.get("requests"), recorded.get("stack")
        self.requests += requests if isinstance(requests, int) else 0
        if not isinstance(stack, str):
            return
        kills, verdict = recorded.get("kills"), recorded.get("verdict")
        if isinstance(kills, dict):
            self._kills[stack] = kills
        if isinstance(verdict, dict):
            self._verdicts[stack] = verdict

    def document(self) -> dict[str, int]:
        """Return the figures by name."""
        kills = {f"{what}_kills": sum(one[what] for one in self._kills.values()) for what in FAULTS}
        found = {what: sum(len(one[what]) for one in self._verdicts.values()) for what in FOUND}
        return {
            **kills,
            "requests": self.requests,
            "acknowledged": sum(one["acknowledged"] for one in self._verdicts.values()),
            **found,
        }

    def told(self) -> list[str]:
        """Return what the checker found, one sentence each."""
        return [
            f"{what}: {one}"
            for verdict in self._verdicts.values()
            for what in (*FOUND, "broken")
            for one in verdict[what]
        ]


def form(document: dict[str, int], *, full: bool) -> tuple[str, bool]:
    """Return what was run in words, and whether the whole form is short of its kills."""
    whole = ", ".join(f"{count} {what}" for what, count in WHOLE.items())
    killed = ", ".join(f"{document[f'{what}_kills']} {what}" for what in WHOLE)
    if not full:
        return f"The short form: killed were {killed}. `make chaos FULL=1` kills at least {whole} (15 minutes).", False
    if short := [what for what, count in WHOLE.items() if document[f"{what}_kills"] < count]:
        return f"The whole form is SHORT OF {', '.join(short)}: killed were {killed}, of at least {whole}.", True
    return f"The whole form: killed were {killed}, of at least {whole}.", False


def main(argv: list[str]) -> int:
    """Run the tests with further arguments of pytest; the exit code is pytest's, or 1 where the whole form was not."""
    figures = Figures()
    began = time.monotonic()
    here = Path(__file__).resolve().parent
    code = int(pytest.main(["-q", "-m", "chaos", str(here), "--durations=5", *argv], plugins=[figures]))
    for sentence in figures.told():
        print(f"  {sentence}")
    document = figures.document()
    told, short = form(document, full=bool(os.environ.get("FULL")))
    print(f"\nThe chaos tests took {time.monotonic() - began:.0f} s and ended with {code}.")
    print(f"{told}\n{figures.requests} requests went to real processes.")
    print(json.dumps(document))
    return code or int(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
