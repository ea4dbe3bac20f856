"""The three calls of W5, once as tasks of a plan and once as a function that a worker of Dask or Celery calls.

The function does what the tool's own process does: reads the arguments, runs the tool, makes a JSON value. The workers
give it no process of its own, no folder, no limits and no confinement.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from starloom_agent.toolkit.results import Stored
from tests.bench.graphs import task_id

CALLS: Final = 1000
DEVICES: Final = 4
SLOTS: Final = 4
FILE: Final = "read.txt"
ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "data.sort": {"rows": [{"n": (k * 7919) % 211, "name": f"row {k}"} for k in range(20)], "by": ["n"]},
    "fs.stat": {"paths": [FILE]},
    "fs.read": {"path": FILE},
}
"""By tool. The folder is granted, so paths are relative to it."""


def furnish(folder: Path) -> None:
    """Make the folder that the calls look into."""
    folder.mkdir(parents=True)
    (folder / FILE).write_text("a line of text\n" * 50, encoding="utf-8")


def plan(tool: str, calls: int) -> dict[str, Any]:
    """Return a plan of independent calls; the hub spreads them over its devices."""
    names = [task_id(number) for number in range(calls)]
    return {
        "starloom": 1,
        "name": f"W5 {tool}",
        "tasks": [{"id": name, "tool": tool, "args": ARGUMENTS[tool]} for name in names],
    }


class _Nobody:
    """Where no hub is, no file is moved and nothing is said."""

    def fetch(self, sha256: str, into: Path) -> Path:
        raise NotImplementedError(sha256, into)

    def put(self, file: Any, *, name: str, media: str, sent: Any = None) -> Stored:
        raise NotImplementedError(file, name, media, sent)

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """Nobody listens."""

    def log(self, text: str) -> None:
        """Nobody listens."""


def work(tool: str, folder: str) -> int:
    """Do one call here and return the length of its value."""
    from starloom_agent.toolkit.interface import Folders, ToolContext
    from starloom_agent.work import registry
    from starloom_agent.work.execution.outcomes import arguments, canonical_value
    from starloom_agent.work.execution.toolcall import find_tool

    found = find_tool(registry.module_of()[tool], tool)
    context = ToolContext(Path(folder), _Nobody(), _Nobody(), Folders.of(read=[folder]))
    args = arguments(found.args, json.loads(json.dumps(ARGUMENTS[tool])), {})
    return len(canonical_value(found.run(context, args)))
