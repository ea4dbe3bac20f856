"""`python -m tests.chaos.soak [--tasks 200000]`: one agent does many small tasks; what it keeps must not grow.

Real processes. Ends with one line of JSON; exit code 1 if the agent's memory grew by more than the bound after the
first fifth, or its ledger holds more rows than it may.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from starloom_agent.work.ledger import ATTEMPTS_KEPT, DECISIONS_KEPT, PRUNED_AT_ONCE, RESULTS_KEPT
from tests.chaos.stack import Stack, running
from tests.chaos.work import echoes

AGENT = "north"
AT_ONCE = 2_000
GROWTH_MOST_MIB = 6.0
_ROWS = {
    "decisions": ("SELECT count(*) FROM decisions", DECISIONS_KEPT),
    "attempts": ("SELECT count(*) FROM attempts", ATTEMPTS_KEPT),
    "results": ("SELECT count(*) FROM attempts WHERE result IS NOT NULL", RESULTS_KEPT),
}


def rows(stack: Stack) -> dict[str, int]:
    with closing(sqlite3.connect(stack.ledgers()[AGENT], timeout=10.0)) as ledger:
        return {name: int(ledger.execute(query).fetchone()[0]) for name, (query, _) in _ROWS.items()}


def soak(tasks: int) -> tuple[dict[str, float], list[str]]:
    """Let an agent do so many tasks; return the figures and what is wrong with them."""
    home = Path(tempfile.mkdtemp(prefix="sl-soak-"))
    memory: list[float] = []
    begun = time.monotonic()
    try:
        with running(Stack(home), (AGENT,)) as stack:
            for number in range(max(1, tasks // AT_ONCE)):
                made = echoes(f"soak-{number}", AT_ONCE // 4, side_by_side=4)
                state = stack.until_final(stack.submit(made), within_s=600.0)
                assert state == "succeeded", state
                memory.append(stack.agent(AGENT).memory_info().rss / 2**20)
                if number % 10 == 9:
                    print(f"{(number + 1) * AT_ONCE} tasks: {memory[-1]:.1f} MiB", file=sys.stderr)
            time.sleep(2.5)  # the ledger is pruned once a second
            held = rows(stack)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    growth = memory[-1] - memory[len(memory) // 5]
    wrong = [
        f"{name}: {held[name]} rows" for name, (_, most) in _ROWS.items() if held[name] > most + 2 * PRUNED_AT_ONCE
    ]
    if growth > GROWTH_MOST_MIB:
        wrong.append(f"its memory grew by {growth:.1f} MiB after the first fifth")
    figures = {
        "tasks": len(memory) * AT_ONCE,
        "seconds": round(time.monotonic() - begun, 1),
        "first_mib": round(memory[0], 1),
        "last_mib": round(memory[-1], 1),
        "growth_mib": round(growth, 1),
        **held,
    }
    return figures, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200_000)
    figures, wrong = soak(parser.parse_args().tasks)
    print(json.dumps(figures))
    for words in wrong:
        print(words)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
