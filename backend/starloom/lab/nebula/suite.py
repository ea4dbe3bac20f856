"""A run of the suite: one world, the chosen tasks for each seed, and the files that are left of it."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from starloom.lab.nebula.faults.profiles import NONE as NO_FAULT
from starloom.lab.nebula.faults.profiles import TIME_SCALES, listed
from starloom.lab.nebula.planners.baselines import FULL, IN_THE_HUB
from starloom.lab.nebula.planners.key_masking import KeyMask
from starloom.lab.nebula.planners.live_model import NOT_BEGUN, LiveModel
from starloom.lab.nebula.planners.script import GOLD_TRANSCRIPT, GOOD
from starloom.lab.nebula.planners.script_server import ScriptServer
from starloom.lab.nebula.reports.report import Report
from starloom.lab.nebula.reports.report_page import page_of
from starloom.lab.nebula.running import GOLD, SCRIPT, Ran, Runner
from starloom.lab.nebula.task import Task
from starloom.lab.nebula.world.nebula_world import NebulaWorld
from starloom.process.signals import undisturbed

SMOKE: Final = (1, 6, 10, 13, 15, 18, 25, 30, 41, 43)
"""Ten tasks, of most categories, that take less than a minute together."""
LINE_CHARS: Final = 600


@dataclass(frozen=True)
class Wanted:
    """A choice of tasks and conditions: profiles of faults, and baselines beside the full product.

    `examine` damages each right end state to see whether its check notices; `kind` is that of the transcripts of a
    scripted model.
    """

    tasks: Sequence[Task]
    planner: str
    faults: Sequence[str]
    seeds: Sequence[int]
    into: Path
    examine: bool = False
    kind: str = GOOD
    baselines: Sequence[str] = ()
    ablations: Sequence[str] = ()
    """Those that are settings of the hub; each has a world of its own."""
    model: LiveModel | None = None
    """The owner's model, where a live one plans."""
    record: Path | None = None
    """The folder in which its calls are kept."""
    replay: Path | None = None
    """The folder of recordings that are said again in the place of a live model."""
    accept_prompts: bool = False
    """Whether a replay counts whose prompts are not the recorded ones."""

    @property
    def keys(self) -> KeyMask:
        """The mask of the keys of the owner's model."""
        return KeyMask(self.model.keys if self.model is not None else ())


def run_suite(suite: Wanted, say: Callable[[str], None]) -> Report:
    """Run the tasks on a world of their own for each profile, in a temporary folder, and write the report.

    The report of a suite that is interrupted says so and has the runs that ended.

    Raises:
        Problem: a world did not start.
        KeyboardInterrupt: it was interrupted before any run ended.
    """
    began, began_s = datetime.now(UTC), time.monotonic()
    runs: list[Ran] = []
    for line in suite.model.announced(_count(suite)) if suite.model is not None else ():
        say(line)
    interrupted = False
    try:
        for profile in suite.faults:
            for ablation in (FULL, *suite.ablations):
                _run_profile(suite, profile, ablation, began.date(), say, runs)
    except KeyboardInterrupt:
        if not runs:
            raise
        interrupted = True
    kind = suite.kind if suite.planner == SCRIPT else ""
    faults = listed(suite.faults)
    name = "-".join([f"{began:%Y%m%d-%H%M%S}", suite.planner, *([kind] if kind else []), faults.replace("..", "to")])
    price_known = suite.model is None or suite.model.price_known
    took_s = time.monotonic() - began_s
    report = Report(
        name,
        suite.planner,
        faults,
        suite.seeds,
        runs,
        took_s,
        kind,
        price_known,
        accepts_prompts=suite.accept_prompts,
        interrupted_of=_count(suite) if interrupted else 0,
    )
    with undisturbed():
        write_report(report, suite.into / name, suite.keys)
    return report


def _count(suite: Wanted) -> int:
    conditions = 1 + len(suite.baselines) + len(suite.ablations)
    return len(suite.tasks) * len(suite.seeds) * len(suite.faults) * conditions


def _used(runs: Sequence[Ran]) -> int:
    """Return the tokens that a live model has used."""
    return sum(run.used.tokens for run in runs)


def _run_profile(
    suite: Wanted, profile: str, ablation: str, day: date, say: Callable[[str], None], done: list[Ran]
) -> None:
    """Run the tasks in one world, and add to `done` those that ended, also where the suite is interrupted."""
    used = _used(done)
    # Not below a long path: that of a Unix socket must be short.
    root = Path(tempfile.mkdtemp(prefix="sl-nebula-"))
    spoken = suite.planner == SCRIPT or suite.replay is not None or _has_goals(suite)
    script = ScriptServer(root) if spoken else None
    variables = script.variables(suite.kind) if script is not None else {}
    if suite.model is not None:
        variables = suite.model.variables(used)
    variables = {**variables, **IN_THE_HUB.get(ablation, {})}
    world = NebulaWorld(root, suite.seeds[0], day, variables, time_scale=TIME_SCALES.get(profile, 1))
    runs: list[Ran] = []
    whole = False
    try:
        condition = " ".join(part for part in (profile, ablation) if part)
        say(f"{condition}: starting a hub, a worker, Redis and five devices")
        began_s = time.monotonic()
        world.start()
        say(f"ready after {time.monotonic() - began_s:.0f} s")
        runner = Runner(
            world,
            suite.planner,
            examine=suite.examine,
            server=script,
            kind=suite.kind,
            profile=profile,
            into=suite.record,
            replays=suite.replay,
            keys=suite.keys,
        )
        baselines = (ablation,) if ablation else (FULL, *suite.baselines)
        _run_all(runner, suite, baselines, used, say, runs)
        whole = True
    except KeyboardInterrupt:
        whole = True
        raise
    finally:
        done += runs
        with undisturbed():
            world.close()
            if script is not None:
                script.close()
        left = world.left_over()
        if left:
            say("these outlived the world: " + "; ".join(left))
        if whole and not left and all(run.fine or not run.constellation for run in runs):
            shutil.rmtree(root, ignore_errors=True)
        else:
            say(f"the world with its logs is kept in {root}")


def _has_goals(suite: Wanted) -> bool:
    """Tell whether a gold plan has goals, which a scripted model pursues."""
    return suite.planner == GOLD and any(GOLD_TRANSCRIPT in task.transcripts for task in suite.tasks)


def _run_all(
    runner: Runner, suite: Wanted, baselines: Sequence[str], used: int, say: Callable[[str], None], runs: list[Ran]
) -> None:
    """Run the tasks and add each to `runs`, which has those that ended where the suite is interrupted."""
    try:
        for seed in suite.seeds:
            for task in suite.tasks:
                for baseline in baselines:
                    over = suite.model is not None and used + _used(runs) >= suite.model.tokens_most
                    ran = runner.left_out(task, seed, NOT_BEGUN) if over else runner.run(task, seed, baseline)
                    runs.append(ran)
                    say(_line(ran))
    finally:
        runner.close()


def _line(ran: Ran) -> str:
    took = f"{ran.figures.wall_ms / 1000:.1f} s"
    note = "; ".join([*([ran.note] if ran.note else []), *ran.unnoticed, *ran.struck, *ran.decided])
    mark = "ok" if ran.success else "--"
    end = ran.end if ran.profile != NO_FAULT else ""
    where = " ".join(part for part in (ran.profile, ran.baseline, end) if part)
    return f"{mark}  {ran.task.id}  {where}  {ran.state or '-'}  {took}  {note}"[:LINE_CHARS].rstrip()


def write_report(report: Report, folder: Path, keys: KeyMask) -> None:
    """Write `report.md`, `report.html`, `report.json` and `log.jsonl`, which has every event of every constellation.

    None of them holds a key of the owner's model.
    """
    document = keys.value(report.document())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page_of(document))
    (folder / "report.md").write_text(keys.text(report.markdown()))
    (folder / "report.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    with (folder / "log.jsonl").open("wb") as out:
        for run in report.runs:
            for line in run.log:
                out.write(keys.text(line.decode()).encode() + b"\n")


def up(root: Path, seed: int, day: date, say: Callable[[str], None], until: Callable[[], object]) -> None:
    """Keep a world in a folder until `until` returns or is interrupted, for trying requests by hand.

    Raises:
        Problem: the world did not start.
        KeyboardInterrupt: it was interrupted before it was ready.
    """
    world = NebulaWorld(root.resolve(), seed, day)
    try:
        say("starting a hub, a worker, Redis and five devices")
        world.start()
        with contextlib.suppress(KeyboardInterrupt):
            say(f"ready. In another terminal: starloom --help; add to each command: --hub {world.home}")
            until()
    finally:
        with undisturbed():
            say("stopping")
            world.close()
        for process in world.left_over():
            say(f"this outlived the world: {process}")
