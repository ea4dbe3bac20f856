"""The `starloom` command: a client of the REST API like any other, and the supervisor of a hub on this machine."""

from __future__ import annotations


def main() -> None:
    """Run the command line; ends the process with the exit code that is the result."""
    from starloom.cli.commands import build

    build()()
