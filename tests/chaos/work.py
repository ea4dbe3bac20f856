"""What the chaos tests ask devices to do: programs that witness their own beginning and end outside of Starloom.

A program appends one line when it begins and one when it ends, and goes on only when its gate file exists; so a test
decides how long it runs, and the file says what really happened, whatever the hub believes. One that is `writing`
appends all the time: the order of lines says whether it still wrote when another had begun.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.waiting import SLOWER

WAIT_MOST_S = 90 * SLOWER

PROGRAM = f"""\
import os, pathlib, signal, subprocess, sys, time
witness, name, gate, kind = sys.argv[1:5]
def note(what):
    line = " ".join((what, name, os.environ["STARLOOM_FENCE"], str(os.getpid()))) + "\\n"
    file = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.fsync(file)
    os.close(file)
if kind == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(2):
        child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep({WAIT_MOST_S})"
        started = subprocess.Popen([sys.executable, "-c", child])
        pathlib.Path(f"{{gate}}.child-{{started.pid}}").touch()
note("begin")
until = time.monotonic() + {WAIT_MOST_S}
while not pathlib.Path(gate).exists():
    if time.monotonic() > until:
        sys.exit("its gate never opened")
    time.sleep(0.02)
    if kind == "writing":
        note("write")
note("end")
"""


@dataclass(frozen=True)
class Line:
    """One line of the witness file; `attempt` is the second number of the fence."""

    what: str
    name: str
    incarnation: int
    attempt: int
    pid: int


class Place:
    """The folder where programs leave their traces; names are `CONSTELLATION-NAME/TASK`, made by the caller."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = root
        self.witness = root / "witness.txt"
        self.witness.touch()
        self.program = root / "program.py"
        self.program.write_text(PROGRAM)

    @property
    def command(self) -> list[str]:
        """The words that begin every call; an agent needs a command rule for them."""
        return [sys.executable, str(self.program)]

    def gate(self, name: str) -> Path:
        return self._root / f"{name.replace('/', '_')}.gate"

    def open(self, *names: str) -> None:
        """Let programs of these names go on to their end."""
        for name in names:
            self.gate(name).touch()

    def children(self, name: str) -> list[int]:
        """Return the processes that the stubborn program of this name has started."""
        gate = self.gate(name)
        return [int(path.name.rpartition("-")[2]) for path in self._root.glob(f"{gate.name}.child-*")]

    def lines(self, name: str | None = None) -> list[Line]:
        """Return what programs have written, in order; of one name or of all."""
        found = []
        for text in self.witness.read_text().splitlines():
            what, who, fence, pid = text.split()
            incarnation, _, attempt = fence.partition(".")
            found.append(Line(what, who, int(incarnation), int(attempt), int(pid)))
        return [line for line in found if name is None or line.name == name]

    def begun(self, name: str | None = None) -> list[Line]:
        return [line for line in self.lines(name) if line.what == "begin"]

    def ended(self, name: str) -> list[Line]:
        return [line for line in self.lines(name) if line.what == "end"]

    def task(
        self,
        plan: str,
        task: str,
        *,
        device: str | None = None,
        repeatability: str | None = None,
        kind: str = "plain",
        **more: Any,
    ) -> dict[str, Any]:
        """Return a task whose program is called `PLAN/TASK`."""
        name = f"{plan}/{task}"
        made: dict[str, Any] = {
            "id": task,
            "tool": "shell.run",
            "args": {"argv": [*self.command, str(self.witness), name, str(self.gate(name)), kind]},
            **more,
        }
        if device is not None:
            made["device"] = {"name": device}
        if repeatability is not None:
            made["repeatability"] = repeatability
        return made


def plan(name: str, tasks: Sequence[dict[str, Any]], chain: bool = False) -> dict[str, Any]:
    """Return a plan document; with `chain` each task follows the one before it."""
    made: dict[str, Any] = {"starloom": 1, "name": name, "tasks": list(tasks), "policy": {"approval": "never"}}
    if chain:
        ids = [task["id"] for task in tasks]
        made["dependencies"] = [{"from": one, "to": two, "when": "success"} for one, two in pairwise(ids)]
    return made


def echoes(
    name: str, count: int, *, side_by_side: int = 1, device: str | None = None, tries: int = 3
) -> dict[str, Any]:
    """Return a plan of instant pure tasks: `side_by_side` chains of `count`, each task tried so often at most."""
    tasks: list[dict[str, Any]] = []
    edges = []
    for lane in range(side_by_side):
        for number in range(count):
            where = {} if device is None else {"device": {"name": device}}
            call = {"tool": "lab.echo", "args": {"value": number}, "retry": {"max_attempts": tries}}
            tasks.append({"id": f"e{lane}-{number}", **call, **where})
            if number:
                edges.append({"from": f"e{lane}-{number - 1}", "to": f"e{lane}-{number}", "when": "success"})
    return {"starloom": 1, "name": name, "tasks": tasks, "dependencies": edges}
