"""`bench nebula`: the product's own examination on five sandboxed devices of this machine (docs/nebula.md).

Needs no running hub and touches none.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.client.exits import Exit
from starloom.client.problems import usage
from starloom.client.terminal.escaping import escaped_text, tell
from starloom.process.signals import stop_at_a_signal

if TYPE_CHECKING:
    from starloom.lab.nebula.planners.live_model import LiveModel
    from starloom.lab.nebula.reports.report import Report
    from starloom.lab.nebula.task import Task

INTO = Path("nebula-runs")
OWN_TASKS = typer.Option("--own", metavar="DIR", help="A folder with tasks of your own (docs/nebula.md).")
LOOK_S = 0.5


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    bench = typer.Typer(help="Examine this installation, or a model, with tasks.", no_args_is_help=True)
    bench.callback()(_about)
    nebula = typer.Typer(help="Tasks over five sandboxed devices of this machine.", no_args_is_help=True)
    nebula.callback()(_about_nebula)
    hub_command(nebula, "run")(nebula_run)
    hub_command(nebula, "up")(nebula_up)
    hub_command(nebula, "ls")(nebula_list)
    bench.add_typer(nebula, name="nebula")
    app.add_typer(bench, name="bench")


def _about() -> None:
    """Examine this installation, or a model, with tasks whose end state can be checked."""


def _about_nebula() -> None:
    """Carry out cross-device tasks on five sandboxed devices of this machine, and check what they leave."""


def nebula_run(
    run: Invocation,
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK|CATEGORY]...", help="By number, name or letter; all without.")
    ] = None,
    planner: Annotated[
        str,
        typer.Option(
            "--planner", help="gold: the tasks' own plans; script: a scripted model; model: yours; none: recipes."
        ),
    ] = "gold",
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="With script: good, naive (begins wrong), hostile (obeys a text it reads), or tiered-KIND.",
        ),
    ] = "good",
    faults: Annotated[
        str, typer.Option("--faults", help="P0 (nothing breaks) to P5: P1, or P0,P3, or P0..P5 (docs/nebula.md).")
    ] = "P0",
    baseline: Annotated[
        str, typer.Option("--baseline", help="Beside the full product: seq, static, norecover, or several of them.")
    ] = "",
    ablation: Annotated[
        str,
        typer.Option(
            "--ablation",
            help="Without: static, no-recovery, sequential, random-placement, no-experience.",
        ),
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=50, help="How many worlds, from --seed on.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=1, help="The first seed.")] = 1,
    smoke: Annotated[bool, typer.Option("--smoke", help="Ten tasks alone.")] = False,
    examine: Annotated[
        bool, typer.Option("--examine", help="Damage each right end state and see whether its check notices.")
    ] = False,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, help="With model: the tokens that the whole run may use.")
    ] = 2_000_000,
    tokens_per_task: Annotated[
        int, typer.Option("--tokens-per-task", min=1, help="With model: the tokens that one task may use.")
    ] = 100_000,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="DIR", help="With model: keep each prompt and reply there, secrets masked."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="With model: say recorded replies again, without a key."),
    ] = None,
    accept_prompts: Annotated[
        bool, typer.Option("--accept-prompts", help="With --replay: prompts that differ do not fail the gate.")
    ] = False,
    own: Annotated[Path | None, OWN_TASKS] = None,
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where the report goes.")] = INTO,
) -> None:
    """Run tasks and check their end states; exit code 0: the gate is met, 1: it is not, 130: interrupted."""
    _own_hub(run)
    from starloom.lab.nebula.planners.baselines import in_the_hub
    from starloom.lab.nebula.planners.script import GOOD, KINDS
    from starloom.lab.nebula.running import MODEL, PLANNERS, SCRIPT
    from starloom.lab.nebula.suite import SMOKE, Wanted, run_suite

    if planner not in PLANNERS:
        raise usage(f"--planner {planner} is none of {', '.join(PLANNERS)}")
    if kind not in KINDS:
        raise usage(f"--kind {kind} is none of {', '.join(KINDS)}")
    if kind != GOOD and planner != SCRIPT:
        raise usage(f"--kind {kind} needs --planner script")
    _require_recordings(planner, record, replay, accepts=accept_prompts)
    profiles, baselines, ablations = _conditions(planner, faults, baseline, ablation)
    if smoke and tasks:
        raise usage("--smoke names its own tasks", "Leave out the names, or --smoke.")
    picked = _picked([str(number) for number in SMOKE] if smoke else list(tasks or []), own)
    stop_at_a_signal()
    if planner == SCRIPT:
        picked = tuple(task for task in picked if kind in task.transcripts)
        if not picked:
            raise usage(f"none of these tasks has a transcript {kind}")
    live = _own_model(tokens, tokens_per_task) if planner == MODEL and replay is None else None
    if record is not None and live is not None:
        _require_maskable(live)
    suite = Wanted(
        picked,
        planner,
        profiles,
        range(seed, seed + seeds),
        into,
        examine,
        kind,
        baselines,
        in_the_hub(ablations),
        live,
        record,
        replay,
        accept_prompts,
    )
    try:
        report = run_suite(suite, _say)
    except KeyboardInterrupt:
        _say("interrupted before a task had ended: nothing of the suite goes on, and there is no report")
        raise typer.Exit(int(Exit.INTERRUPTED)) from None
    if run.as_json:
        run.emit(report.document())
    else:
        _print_report(report, compared=bool(baselines or ablations))
        print(f"report: {into / report.id / 'report.html'}")
    if report.interrupted_of:
        _say(f"{report.interruption}; nothing of the suite goes on, and the report has those that ended")
        finish(Exit.INTERRUPTED)
    finish(Exit.FAILED if report.misses else Exit.SUCCEEDED)


def _require_recordings(planner: str, record: Path | None, replay: Path | None, *, accepts: bool) -> None:
    """Refuse options of recordings that do not fit, and a folder that would be written over or is not there."""
    from starloom.lab.nebula.running import MODEL

    for option, folder in (("--record", record), ("--replay", replay)):
        if folder is not None and planner != MODEL:
            raise usage(f"{option} needs --planner {MODEL}")
    if record is not None and replay is not None:
        raise usage("--record and --replay are two runs", "Leave one out.")
    if accepts and replay is None:
        raise usage("--accept-prompts needs --replay")
    if record is not None and record.exists() and (not record.is_dir() or any(record.iterdir())):
        raise usage(f"{record} is not an empty folder", "Name a new one.")
    if replay is not None and not replay.is_dir():
        raise usage(f"there is no folder {replay}", "Name that of a run with --record.")


def _require_maskable(live: LiveModel) -> None:
    """Refuse a recording whose key cannot be masked."""
    from starloom.lab.nebula.planners.key_masking import KEY_CHARS_LEAST, KeyMask

    if KeyMask(live.keys).short:
        reason = f"--record: a key of fewer than {KEY_CHARS_LEAST} characters cannot be masked"
        raise usage(reason, "Take a longer key, or none where the model needs none.")


def _conditions(
    planner: str, faults: str, baseline: str, ablation: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the profiles of faults, the baselines with those of the ablations, and the ablations."""
    from starloom.lab.nebula.faults.profiles import ProfileUnknown, read_profiles
    from starloom.lab.nebula.planners.baselines import (
        AblationUnknown,
        BaselineUnknown,
        in_the_plan,
        read_ablations,
        read_baselines,
    )
    from starloom.lab.nebula.running import MODEL, NONE

    try:
        profiles, baselines, ablations = read_profiles(faults), read_baselines(baseline), read_ablations(ablation)
    except ProfileUnknown as fault:
        raise usage(f"--faults {fault}") from fault
    except BaselineUnknown as fault:
        raise usage(f"--baseline {fault}") from fault
    except AblationUnknown as fault:
        raise usage(f"--ablation {fault}") from fault
    baselines = tuple(dict.fromkeys((*baselines, *in_the_plan(ablations))))
    if baselines and planner in (NONE, MODEL):
        option, owner = "--baseline" if baseline else "--ablation", "recipe" if planner == NONE else "live model"
        reason = f"{option} changes a plan, and a {owner} has its own"
        raise usage(reason, f"Leave it out, or --planner {planner}.")
    return profiles, baselines, ablations


def _picked(names: list[str], own: Path | None) -> tuple[Task, ...]:
    """Return the tasks that are named; without a name those in the user's own folder, else all of the suite."""
    from starloom.lab.nebula.task import TaskInvalid, chosen, own_tasks

    try:
        return chosen(names, own_tasks(own) if own is not None else ())
    except TaskInvalid as fault:
        raise usage(str(fault)) from fault


def _print_report(report: Report, *, compared: bool) -> None:
    """Print the tables of a report; those of conditions where there are several, those of costs where compared."""
    _print_table(report.table())
    if compared or report.faults != "P0":
        _print_table(report.conditions())
    if compared:
        _print_table(report.costs())
    for line in report.summary():
        tell(line)


def _own_model(tokens: int, tokens_per_task: int) -> LiveModel:
    """Return the model of the settings, as `starloom doctor model` reads them."""
    from starloom.lab.nebula.planners.live_model import live_model, way_out
    from starloom.planner.model.port import ModelFault
    from starloom.process.settings import SettingsInvalid, load

    try:
        return live_model(load({}).settings, tokens_most=tokens, tokens_a_task=tokens_per_task)
    except SettingsInvalid as invalid:
        raise usage(str(invalid), "Correct the named variable or line.") from invalid
    except ModelFault as fault:
        raise usage(f"--planner model: {fault.fault.reason}", way_out(fault)) from fault


def nebula_up(
    run: Invocation,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the world is made; an empty or a new folder.")],
    seed: Annotated[int, typer.Option("--seed", min=1, help="Another seed, another world.")] = 1,
) -> None:
    """Keep the world with its hub and five devices until Ctrl-C, to try requests by hand."""
    _own_hub(run)
    from datetime import UTC, datetime

    from starloom.lab.nebula.suite import up

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise usage(f"{folder} is not an empty folder", "Name a new one.")
    stop_at_a_signal()
    try:
        up(folder, seed, datetime.now(UTC).date(), _say, _wait)
    except KeyboardInterrupt:
        _say("interrupted before it was ready: nothing goes on")
        raise typer.Exit(int(Exit.INTERRUPTED)) from None


def nebula_list(run: Invocation, own: Annotated[Path | None, OWN_TASKS] = None) -> None:
    """List the tasks: number, category, level, what each asks for, and what it lacks."""
    items = [
        {
            "task": task.id,
            "category": task.about.category,
            "level": task.about.level,
            "words": task.about.words,
            "needs": task.about.needs,
        }
        for task in _picked([], own)
    ]
    if run.as_json:
        run.emit({"items": items})
        return
    for item in items:
        lacks = f"  (needs {', '.join(item['needs'])})" if item["needs"] else ""
        print(f"{item['task']:32} {item['category']} {item['level']}  {item['words']}{lacks}")


def _own_hub(run: Invocation) -> None:
    if run.hub is not None:
        raise usage("the suite runs on a hub and devices of its own, never on a hub that is there", "Leave out --hub.")


def _say(text: str) -> None:
    sys.stderr.write(escaped_text(text) + "\n")
    sys.stderr.flush()


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        tell("  ".join([*cells, row[-1]]).rstrip())


def _wait() -> None:
    """Wait until a signal comes. A wait without an end would miss one that comes just before it."""
    while True:
        time.sleep(LOOK_S)
