"""`chaos run`: a scenario on an installation of its own, in a temporary folder. The exit code is the result.

Needs no running hub and touches none.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import starloom
from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.client.exits import Exit
from starloom.client.problems import Place, Problem, usage
from starloom.process.signals import stop_at_a_signal
from starloom_protocol.text.wording import place_words

if TYPE_CHECKING:
    from starloom.lab.story import Line
    from starloom_protocol.plan.scenario import Scenario


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    chaos = typer.Typer(help="Break things on purpose and see what becomes of the work.", no_args_is_help=True)
    chaos.callback()(_about)
    hub_command(chaos, "run")(chaos_run)
    app.add_typer(chaos, name="chaos")


def _about() -> None:
    """Inject faults on purpose and watch how the work recovers."""


def chaos_run(
    run: Invocation,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The scenario (docs/lab.md), or a name such as killed-agent."),
    ],
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Instead of the file's own.")] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Print the story as it comes, then the verdict: lines of JSON.")
    ] = False,
) -> None:
    """Run a scenario in an installation of its own; exit code 0: expectation met, 1: not met, 2: invalid scenario."""
    if run.hub is not None:
        raise usage("a scenario breaks an installation of its own, never a hub that is there", "Leave out --hub.")
    scenario = _scenario_in(file)
    if seed is not None:
        scenario = scenario.model_copy(update={"seed": seed})
    from starloom.lab.scenarios.scenario_run import run_apart

    def say(text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    stop_at_a_signal()
    try:
        report = run_apart(scenario, say, _print_line if live else None)
    except KeyboardInterrupt:
        say("interrupted: nothing of the scenario goes on, and there is no verdict")
        raise typer.Exit(int(Exit.INTERRUPTED)) from None
    if live:
        print(json.dumps({"told": report.document()}), flush=True)
    elif run.as_json:
        run.emit(report.document())
    else:
        print(report.text())
    finish(Exit.SUCCEEDED if report.met else Exit.FAILED)


def _print_line(line: Line) -> None:
    print(json.dumps({"line": asdict(line)}), flush=True)


def _built_in() -> dict[str, Path]:
    """Return the scenarios of this installation by name: of the checkout, or of the wheel."""
    package = Path(starloom.__file__).resolve().parent
    for folder in (package.parents[1] / "recipes" / "scenarios", package / "_recipes" / "scenarios"):
        scenarios = {path.stem: path for path in folder.glob("*.yaml")}
        if scenarios:
            return scenarios
    return {}


def read_file(file: Path) -> bytes:
    """Return the text of a scenario: of this file, else of the one of that name which comes with Starloom."""
    scenarios = _built_in()
    try:
        return (file if file.exists() else scenarios.get(file.stem, file)).read_bytes()
    except OSError as error:
        way = f"Name a file, or a scenario that comes with Starloom: {', '.join(sorted(scenarios))}."
        raise usage(f"{file} cannot be read: {error.strerror}", way) from error


def _scenario_in(file: Path) -> Scenario:
    from starloom_protocol.plan.scenario import read_scenario

    check = read_scenario(read_file(file))
    if check.scenario is not None:
        return check.scenario
    places = [
        Place(fault.place, place_words(fault.place), str(fault.code), fault.reason, fault.hint)
        for fault in check.faults
    ]
    raise Problem(
        code="scenario_invalid",
        title=f"{file} is no scenario",
        reason="1 fault was found" if len(places) == 1 else f"{len(places)} faults were found",
        hint="Correct each place; docs/lab.md says what can stand where.",
        exit_code=Exit.USAGE,
        places=places,
        document={
            "code": "scenario_invalid",
            "errors": [
                {"place": place.place, "code": place.code, "reason": place.reason, "hint": place.hint}
                for place in places
            ],
        },
    )
