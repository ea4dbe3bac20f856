"""The assembly of the command line from its modules. Imports nothing heavy, so that `--help` is fast."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from starloom.cli import (
    approving,
    asking,
    bench,
    brief,
    chaos,
    clocks,
    controls,
    fleet,
    history,
    library,
    pairing,
    people,
    reading,
    secrets,
    service,
    stopping,
    tools,
)
from starloom.cli.mcp import command as mcp


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
    joining = (service, asking, reading, controls, fleet, tools, pairing)
    keeping = (history, approving, people, secrets, stopping, library, clocks, brief, chaos, bench, mcp)
    for module in (*joining, *keeping):
        module.register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"starloom {version('starloom')}")
        raise typer.Exit


def _about(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Turn your laptops, phones and servers into one machine."""
