"""The assembly of the command line from its modules. Imports nothing heavy, so that `--help` is fast."""

from __future__ import annotations

from typing import Annotated

import typer

from starloom.cli.constellations import approving, asking, brief, controls, history, reading, stopping
from starloom.cli.devices import fleet, pairing, tools
from starloom.cli.help import speak
from starloom.cli.machine import archives, bench, chaos, service
from starloom.cli.mcp import command as mcp
from starloom.cli.owner import activity, kept_files, library, people, schedules, secrets, tokens


def build() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="starloom",
        help="Turn your laptops, phones and servers into one machine.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_about)
    app.command("version")(_version)
    joining = (service, archives, asking, reading, controls, fleet, tools, pairing)
    keeping = (history, activity, approving, tokens, people, secrets, stopping, library, kept_files, schedules)
    for module in (*joining, *keeping, brief, chaos, bench, mcp):
        module.register(app)
    speak(app)
    return app


def _version() -> None:
    """Print the version, as --version does."""
    from importlib.metadata import version  # imported at its use: it takes a tenth of a start

    print(f"starloom {version('starloom')}")


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        _version()
        raise typer.Exit


def _about(
    _wanted: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Turn your laptops, phones and servers into one machine."""
