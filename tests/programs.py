"""Programs that a test runs to their end. What they said and how they ended is the test's to judge."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typer import Typer

NOTHING: Mapping[str, str] = MappingProxyType({})


def bare_environment(*others: str) -> dict[str, str]:
    """Return the environment of these tests without settings of a hub, nor those that begin with `others`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("STARLOOM_", *others))}


def ran(argv: Sequence[str | Path], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, its output and errors taken as text; `more` goes to `subprocess.run`."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, **more)


def ran_command(
    home: Path, *arguments: str, env: Mapping[str, str] = NOTHING, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run `starloom` with these arguments for the hub of that home."""
    environment = {**bare_environment(), "STARLOOM_HOME": str(home), **env}
    return ran([sys.executable, "-m", "starloom.cli", *arguments], env=environment, **more)


@cache
def command_line() -> Typer:
    """Return `starloom` for the runner of typer, which makes every command of an application anew for each line.

    Here they are made once: that was three quarters of a line typed in a test.
    """
    from typer import Typer
    from typer.main import get_command

    from starloom.cli.commands import build

    made = get_command(build())
    one = Typer(add_completion=False)
    one.command(cls=cast("Any", lambda **_: made))(made.main)
    return one
