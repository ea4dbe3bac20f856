"""Programs that witness their own runs in one file for each task, in a folder that neither hub nor agent writes to.

How often a task ran is read from these files alone, whatever the hub believes.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.chaos.work import Line, Place, plan

PROGRAM = """\
import os, sys, time
folder, name, lasts_s = sys.argv[1:4]
def note(what):
    line = " ".join((what, name, os.environ["STARLOOM_FENCE"], str(os.getpid()))) + "\\n"
    file = os.open(os.path.join(folder, name.replace("/", "+")), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.fsync(file)
    os.close(file)
note("begin")
time.sleep(float(lasts_s))
note("end")
"""

REPEATABILITY = ("never", "never", "idempotent", "pure")
SHAPES = ("fan", "chain", "either")


class Witness(Place):
    """A place whose programs need no gate: each runs for as long as its call says."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.program.write_text(PROGRAM)
        self._seen = root / "seen"
        self._seen.mkdir()

    def lines(self, name: str | None = None) -> list[Line]:
        """Return what programs have written, in order within each file; of one name or of all."""
        files = sorted(self._seen.iterdir()) if name is None else [self._seen / name.replace("/", "+")]
        found = []
        for text in (text for file in files if file.exists() for text in file.read_text().splitlines()):
            what, who, fence, pid = text.split()
            incarnation, _, attempt = fence.partition(".")
            found.append(Line(what, who, int(incarnation), int(attempt), int(pid)))
        return found

    def timed(self, plan: str, task: str, lasts_s: float, **more: Any) -> dict[str, Any]:
        """Return a task whose program runs for so long."""
        made = self.task(plan, task, **more)
        made["args"] = {"argv": [*self.command, str(self._seen), f"{plan}/{task}", f"{lasts_s:.2f}"]}
        return made

    def drawn(self, name: str, devices: tuple[str, ...], chance: random.Random) -> dict[str, Any]:
        """Return a plan of two to five programs: side by side with one after them, or one behind the other."""
        tasks: list[dict[str, Any]] = []
        shape = chance.choice(SHAPES)
        for number in range(chance.randint(2, 5)):
            where = {"device": chance.choice(devices)} if shape == "either" else {}
            lasts_s = chance.choice((0.05, 0.3, 1.0, 3.0))
            made = self.timed(name, f"t{number}", lasts_s, repeatability=chance.choice(REPEATABILITY), **where)
            tasks.append(made)
        document = plan(name, tasks, chain=shape == "chain")
        if shape == "fan":
            last = tasks[-1]["id"]
            document["dependencies"] = [{"from": task["id"], "to": last, "when": "finish"} for task in tasks[:-1]]
        return document
