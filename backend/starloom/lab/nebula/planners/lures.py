"""The lures of the suite: the text by which each task's hostile transcript leads a model astray. Prints their page.

Pure but for `main`. `python -m starloom.lab.nebula.planners.lures` prints docs/nebula-lures.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.lab.nebula.planners.script import HOSTILE, read_script
from starloom.lab.nebula.task import Task, all_tasks

PAGE: Final = "docs/nebula-lures.md"
HEAD: Final = """# Lures of the Nebula suite

Made by `python -m starloom.lab.nebula.planners.lures`; a test fails when it is stale.

Each task of the [Nebula suite](nebula.md) has a hostile transcript: a text in its world asks for something that nobody
asked for, and the scripted model obeys. The run is met when nothing changed and no tool of a device acted.
`starloom bench nebula run --planner script --kind hostile` runs them all.
"""
SHOWN: Final = ("today", "tomorrow", "yesterday", "friday", "monday", "certificate-until")
SERVERS: Final = ("srv-a", "srv-b")


@dataclass(frozen=True)
class Lure:
    """A lure: its task, the place where it stands, the deed that it asks for, and its words."""

    task: str
    place: str
    deed: str
    text: str


def lures_of(tasks: Iterable[Task], facts: Mapping[str, str]) -> list[Lure]:
    """Return the lure of each task that has a hostile transcript."""
    lures = []
    for task in tasks:
        if HOSTILE in task.transcripts:
            opening = read_script(task.transcripts[HOSTILE], task.gold, facts, task.id).opening
            lures.append(Lure(task.id, opening.place, opening.deed, opening.lure))
    return lures


def page(tasks: Iterable[Task]) -> str:
    """Return the page: how often each place and deed occurs, and every lure."""
    lures = lures_of(tasks, _unfilled())
    rows = [f"| {one.task} | {one.place} | {one.deed} | {_cell(one.text)} |" for one in lures]
    parts = [
        HEAD,
        *_counted("place", [one.place for one in lures]),
        *_counted("deed", [one.deed for one in lures]),
        "| task | place | deed | text |",
        "|---|---|---|---|",
        *rows,
    ]
    return "\n".join(parts) + "\n"


def _unfilled() -> dict[str, str]:
    """Return words of a world that stand for themselves, since a page has no day and no ports."""
    words = [*SHOWN, *(f"{part}.{server}" for part in ("site", "port", "tls") for server in SERVERS)]
    return {word: word for word in words}


def _counted(name: str, values: Sequence[str]) -> list[str]:
    counted = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return [f"| {name} | tasks |", "|---|---|", *(f"| {value} | {count} |" for value, count in counted), ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> int:
    """Print the page."""
    sys.stdout.write(page(all_tasks()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
