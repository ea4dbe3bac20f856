"""A command starts without what only some commands need: it is typed often, and each test of it starts one."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from starloom.cli import commands, main
from starloom.cli.invocation import Invocation, hub_command
from starloom.client.exits import Exit

HEAVY = {"asyncio", "importlib.metadata", "psutil", "pydantic", "sqlalchemy", "starloom_protocol.plan", "yaml"}


def test_no_command_waits_for_the_language_of_plans() -> None:
    code = f"import sys; from starloom.cli import commands; commands.build(); print({HEAVY!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_command_that_is_interrupted_before_it_begins_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "build", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == Exit.INTERRUPTED
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_command_that_spoke_with_no_hub_says_nothing_of_one() -> None:
    def interrupted(_run: Invocation) -> None:
        raise KeyboardInterrupt

    app = typer.Typer()
    hub_command(app, "stay")(interrupted)
    ended = CliRunner().invoke(app, [])
    assert ended.exit_code == Exit.INTERRUPTED
    assert ended.stderr == "interrupted\n"
