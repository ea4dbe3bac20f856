"""A run of the suite: one world, the chosen tasks for each seed, and the files that are left of it."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from starloom.lab.nebula.report import Report
from starloom.lab.nebula.running import SCRIPT, Ran, Runner
from starloom.lab.nebula.script import GOOD
from starloom.lab.nebula.script_server import ScriptServer
from starloom.lab.nebula.task import Task
from starloom.lab.nebula.world import NebulaWorld

SMOKE: Final = (1, 6, 10, 13, 15, 18, 25, 30, 41, 43)
"""Ten tasks, of most categories, that take less than a minute together."""
FAULTS: Final = ("P0",)
LINE_CHARS: Final = 600


@dataclass(frozen=True)
class Wanted:
    """A choice of tasks and conditions. `examine` damages each right end state to see whether its check notices; `kind`
    is that of the transcripts of a scripted model."""

    tasks: Sequence[Task]
    planner: str
    faults: str
    seeds: Sequence[int]
    into: Path
    examine: bool = False
    kind: str = GOOD


def run_suite(wanted: Wanted, say: Callable[[str], None]) -> Report:
    """Run the tasks on a world of their own in a temporary folder, and write the report.

    Raises:
        Problem: the world did not start.
    """
    # Not below a long path: that of a Unix socket must be short.
    root = Path(tempfile.mkdtemp(prefix="sl-nebula-"))
    began = datetime.now(UTC)
    script = ScriptServer(root) if wanted.planner == SCRIPT else None
    variables = script.variables() if script is not None else {}
    world = NebulaWorld(root, wanted.seeds[0], began.date(), variables)
    done = False
    try:
        say("starting a hub, a worker, Redis and five devices")
        began_s = time.monotonic()
        world.start()
        say(f"ready after {time.monotonic() - began_s:.0f} s")
        began_s = time.monotonic()
        runs = _run_all(world, wanted, say, script)
        kind = wanted.kind if script is not None else ""
        name = "-".join([f"{began:%Y%m%d-%H%M%S}", wanted.planner, *([kind] if kind else []), wanted.faults])
        report = Report(name, wanted.planner, wanted.faults, wanted.seeds, runs, time.monotonic() - began_s, kind)
        write_report(report, wanted.into / name)
        done = all(run.success or not run.constellation for run in runs)
        return report
    finally:
        world.close()
        if script is not None:
            script.close()
        left = world.left_over()
        if left:
            say("these outlived the world: " + "; ".join(left))
        if done and not left:
            shutil.rmtree(root, ignore_errors=True)
        else:
            say(f"the world with its logs is kept in {root}")


def _run_all(world: NebulaWorld, wanted: Wanted, say: Callable[[str], None], script: ScriptServer | None) -> list[Ran]:
    runner = Runner(world, wanted.planner, examine=wanted.examine, server=script, kind=wanted.kind)
    runs: list[Ran] = []
    try:
        for seed in wanted.seeds:
            for task in wanted.tasks:
                ran = runner.run(task, seed)
                runs.append(ran)
                say(_line(ran))
    finally:
        runner.close()
    return runs


def _line(ran: Ran) -> str:
    took = f"{ran.figures.wall_ms / 1000:.1f} s"
    note = "; ".join([*([ran.note] if ran.note else []), *ran.unnoticed])
    return f"{'ok' if ran.success else '--'}  {ran.task.id}  {ran.state or '-'}  {took}  {note}"[:LINE_CHARS].rstrip()


def write_report(report: Report, folder: Path) -> None:
    """Write `report.md`, `report.json` and `log.jsonl`, which has every event of every constellation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(report.markdown())
    (folder / "report.json").write_text(json.dumps(report.document(), indent=1, ensure_ascii=False) + "\n")
    with (folder / "log.jsonl").open("wb") as out:
        for run in report.runs:
            for line in run.log:
                out.write(line + b"\n")


def up(root: Path, seed: int, day: date, say: Callable[[str], None], until: Callable[[], object]) -> None:
    """Keep a world in a folder until `until` returns, for trying requests by hand.

    Raises:
        Problem: the world did not start.
    """
    world = NebulaWorld(root.resolve(), seed, day)
    try:
        say("starting a hub, a worker, Redis and five devices")
        world.start()
        say(f"ready. In another terminal: starloom --help; add to each command: --hub {world.home}")
        until()
    finally:
        world.close()
        for process in world.left_over():
            say(f"this outlived the world: {process}")
