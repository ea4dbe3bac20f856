"""Puts the command line together from its modules. Imports nothing heavy: it decides how fast `--help` is."""

from __future__ import annotations

import typer

from starloom.cli import asking, controls, fleet, library, people, reading, service


def build() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="starloom",
        help="Turn your laptops, phones and servers into one machine.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for module in (service, asking, reading, controls, fleet, people, library):
        module.register(app)
    return app
