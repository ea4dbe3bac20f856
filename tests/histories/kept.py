"""Logs of landed versions, as they were written: a line a commit, with the inputs that decided it.

`python -m tests.histories.kept VERSION` adds those of a version that is about to land: each is the whole log of one
schedule of the simulator. A folder is written once and never changed; where a later version decides otherwise on
purpose, `differences.json` beside the logs says how many steps do, and the commit that adds it says why.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import msgspec

from starloom.store.sql.history import PastCommit
from tests.store.memory import MemoryHistory

FOLDER = Path(__file__).parent
SEEDS = (3, 8, 21)


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One commit; events and inputs are the very texts."""

    at_ms: int
    events: list[str]
    incarnation: int
    inputs: list[str]
    pos: int
    term: int


def read(path: Path) -> MemoryHistory:
    """Return a log as a history that can be read."""
    history = MemoryHistory()
    for raw in path.read_bytes().splitlines():
        line = msgspec.json.decode(raw, type=Line)
        history.meta = msgspec.structs.replace(history.meta, term=line.term)
        commit = PastCommit(
            at_ms=line.at_ms,
            events=[text.encode() for text in line.events],
            incarnation=line.incarnation,
            inputs=[text.encode() for text in line.inputs],
            outbox=[],
            pos=line.pos,
            sent_pos=0,
            term=line.term,
        )
        history.write([commit], line.term)
    return history


def write(path: Path, history: MemoryHistory) -> None:
    """Write a log; an existing one is never touched."""
    with path.open("xb") as file:
        for commit in history.commits:
            line = Line(
                at_ms=commit.at_ms,
                events=[raw.decode() for raw in commit.events],
                incarnation=commit.incarnation,
                inputs=[raw.decode() for raw in commit.inputs],
                pos=commit.pos,
                term=commit.term,
            )
            file.write(msgspec.json.encode(line) + b"\n")


def expected(version: Path) -> dict[str, int]:
    """Return how many steps of each log are decided otherwise now, on purpose."""
    file = version / "differences.json"
    found: dict[str, int] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def main() -> int:
    from tests.sim.recorded import run_recorded

    logging.disable(logging.CRITICAL)
    folder = FOLDER / sys.argv[1]
    folder.mkdir()
    for seed in SEEDS:
        outcome, history = run_recorded(seed)
        if outcome.violations:
            print(f"seed {seed}: {outcome.violations[0]}", file=sys.stderr)
            return 1
        write(folder / f"schedule-{seed}.ndjson", history)
        print(f"{folder.name}/schedule-{seed}.ndjson: {len(history.commits)} commits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
