"""Commands for the hub on this machine: `up`, `doctor`, `config show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.client.discovery import HubAddress, read_local
from starloom.client.exits import Exit
from starloom.client.problems import usage
from starloom.client.terminal.typed import fitted, say

if TYPE_CHECKING:
    from starloom.process.settings import Settings

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Where the hub keeps its data (STARLOOM_HOME). Else .starloom here or above, if any."),
]


def register(app: typer.Typer) -> None:
    hub_command(app, "up")(up)
    hub_command(app, "doctor")(doctor)
    config = typer.Typer(help="The hub's settings.", no_args_is_help=True)
    hub_command(config, "show")(config_show)
    app.add_typer(config, name="config")


def up(
    run: Invocation,
    no_agent: Annotated[bool, typer.Option("--no-agent", help="Without the agent for this computer.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Also the demo devices, and carry out the sample.")] = False,
    lab: Annotated[bool, typer.Option("--lab", help="Allow fault injection.")] = False,
    lan: Annotated[
        bool, typer.Option("--lan", help="Also listen in the local network, by HTTPS: phones and computers there.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="End after the sample, with its result.")] = False,
    again: Annotated[bool, typer.Option("--again", help="The sample once more, where it has ended well here.")] = False,
    fault: Annotated[bool, typer.Option("--fault/--no-fault", help="The sample's announced fault.")] = True,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="STARLOOM_PORT.")] = None,
    home: HomeOption = None,
    new_keys: Annotated[
        bool, typer.Option("--new-keys", help="The hub's keys are lost: go on with new ones; each device joins again.")
    ] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Write the sample's figures there as JSON.")] = None,
) -> None:
    """Run the whole service in the foreground until Ctrl-C, which stops all its processes."""
    from starloom.host.supervisor import UpOptions, home_of_the_folder, serve

    if (once or report or again) and not demo:
        raise usage("--once, --again and --report belong to the sample, which only --demo carries out", "Add --demo.")
    if demo and no_agent:
        raise usage("the sample needs this computer's agent", "Leave out --no-agent, or --demo.")
    if run.as_json:
        raise usage("a service in the foreground has no JSON output", "Use `starloom doctor --json`, or --report FILE.")
    if home is None and (home := home_of_the_folder()):
        say(f"The hub of this folder, with its data in {home}. Another one: --home DIR.")
    wishes = UpOptions(
        agent=not no_agent,
        demo=demo,
        lab=lab or demo,
        lan=lan,
        once=once,
        again=again,
        fault=fault,
        port=port,
        home=home,
        new_keys=new_keys,
        report=report,
    )
    code = serve(wishes)
    if code:
        raise typer.Exit(code)


def doctor(
    run: Invocation,
    subject: Annotated[
        str | None,
        typer.Argument(metavar="[model]", help="`model` asks the set models known requests, which costs tokens."),
    ] = None,
    home: HomeOption = None,
    from_outside: Annotated[
        bool, typer.Option("--from-outside", help="Also try the public address, as another machine would.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Check every page of the history, however long it takes.")
    ] = False,
) -> None:
    """Check this machine and the hub, and list each fault with its fix."""
    from starloom.host.examination.doctor import examine

    if subject is not None:
        _doctor_of(run, subject, home, other_checks=from_outside or whole)
        return
    findings = examine(run.hub, home, whole=whole)
    if from_outside:
        from starloom.host.examination.outside import examine_outside
        from starloom.host.supervisor import home_of_the_hub

        findings += examine_outside(home or home_of_the_hub(run.hub))
    if run.as_json:
        run.emit({"items": [finding.document() for finding in findings]})
    else:
        for finding in findings:
            say(fitted(finding.line()))
    finish(Exit.SUCCEEDED if all(finding.good for finding in findings) else Exit.FAILED)


def _doctor_of(run: Invocation, subject: str, home: Path | None, *, other_checks: bool) -> None:
    """Try the models that are set here, and say where the hub has another."""
    from starloom.host.examination.doctor import model_of_the_hub
    from starloom.host.examination.model_trial import examine_model
    from starloom.host.supervisor import home_of_the_hub

    if subject != "model":
        raise usage(f"the doctor has no subject {subject}", "Type `starloom doctor`, or `starloom doctor model`.")
    if other_checks:
        raise usage("--from-outside and --whole do not belong to a model", "Leave them out.")
    report = examine_model(
        home or home_of_the_hub(run.hub),
        lambda line: say(line, file=sys.stderr),
        lambda line: None if run.as_json else say(line),
        model_of_the_hub(run.hub),
    )
    if run.as_json:
        run.emit(report.document())
    else:
        for line in report.lines():
            say(line)
    finish(Exit.SUCCEEDED if report.good else Exit.FAILED)


def config_show(run: Invocation, home: HomeOption = None) -> None:
    """Print every setting of the hub that is found from here, with its value and its source."""
    from starloom.host.supervisor import home_of_the_hub
    from starloom.process.settings import SettingsInvalid, load

    home = home or home_of_the_hub(run.hub)
    try:
        loaded = load({"home": home} if home is not None else {})
    except SettingsInvalid as invalid:
        raise usage("; ".join(invalid.faults), "Correct the named variable or line.") from invalid
    rows = _with_the_page(loaded.rows(), loaded.settings)
    running = read_local(home) if home is not None else None
    if running is not None:
        rows = _in_force(rows, running)
    if run.as_json:
        run.emit({"items": [{"name": name, "value": value, "source": source} for name, value, source in rows]})
        return
    width = max(len(name) for name, _, _ in rows)
    for name, value, source in rows:
        print(f"{name:<{width}}  {value:<32} {source}")


def _with_the_page(rows: list[tuple[str, str, str]], settings: Settings) -> list[tuple[str, str, str]]:
    """Return the settings with those of the model that the owner made in the page, where they are in force."""
    from starloom.planner.model.endpoints.page_settings import FILE, in_force
    from starloom.planner.model.port import ModelFault
    from starloom.process.settings import shown_setting

    variables_given, folder = settings.llm_variables, settings.model_folder
    try:
        values = in_force(variables_given, folder)
    except ModelFault as fault:
        return [(name, value, fault.fault.reason if name == "llm_url" else place) for name, value, place in rows]
    changed = {name: value for name, value in values.items() if variables_given.get(name) != value}
    source = f"the page ({folder / FILE})" if folder is not None else ""
    variables = {name: f"STARLOOM_{name.upper()}" for name, _, _ in rows}
    return [
        (name, shown_setting(changed[variables[name]]), source) if variables[name] in changed else (name, value, place)
        for name, value, place in rows
    ]


def _in_force(rows: list[tuple[str, str, str]], running: HubAddress) -> list[tuple[str, str, str]]:
    """Return the settings with the listener of the running hub, which an option of its start may have chosen."""
    parts = urlsplit(running.url)
    listens = {"host": parts.hostname or "", "port": str(parts.port or "")}
    source = f"the running hub ({running.source})"
    return [
        (name, listens[name], source) if listens.get(name, value) != value else (name, value, place)
        for name, value, place in rows
    ]
