"""A command starts without what only some commands need: it is typed often, and each test of it starts one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from starloom.cli import commands, main
from starloom.cli.invocation import Invocation, hub_command
from starloom.client.exits import Exit
from starloom.host.supervisor import fault_of_model
from starloom.process.settings import load
from tests.programs import bare_environment

HEAVY = {
    "asyncio", "httpx", "importlib.metadata", "psutil", "pydantic", "rich", "sqlalchemy", "starloom_protocol.plan",
    "yaml",
}  # fmt: skip


def test_no_command_waits_for_the_language_of_plans() -> None:
    code = f"import sys; from starloom.cli import commands; commands.build();print({HEAVY!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_service_starts_without_the_language_of_plans_where_no_model_is_set(tmp_path: Path) -> None:
    code = (
        "import sys; from starloom.host.supervisor import fault_of_model; from starloom.process.settings import load;"
        "print(fault_of_model(load().settings), {'starloom_protocol.plan', 'yaml', 'sqlalchemy'} & sys.modules.keys())"
    )
    environment = {**bare_environment(), "STARLOOM_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "None set()"


@pytest.mark.parametrize("kept", [False, True])
def test_a_service_says_that_its_model_is_set_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    monkeypatch.delenv("STARLOOM_SHARED", raising=False)
    if kept:
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "model.json").write_text("{")
    else:
        monkeypatch.setenv("STARLOOM_LLM_URL", "ftp://x")
    fault = fault_of_model(load().settings)
    assert fault is not None
    assert ("what the page has set cannot be read" if kept else "STARLOOM_LLM_URL must be http") in fault.reason


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


def test_a_sign_that_the_terminal_lacks_is_written_out_as_in_json() -> None:
    code = (
        "from starloom.client.terminal.escaping import spell_out; spell_out(); import json;"
        "print(json.dumps({'text': 'ein Gruß … 😀'}, ensure_ascii=False))"
    )
    for encoding, shown in (("ascii", "Gru\\u00df"), ("latin-1", "Gruß")):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
        said = done.stdout.decode(encoding)
        assert shown in said
        assert json.loads(said) == {"text": "ein Gruß … 😀"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_command_says_all_of_its_text_in_any_encoding(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    argv = [sys.executable, "-m", "starloom.cli", "show", "ein-Gruß-…-😀", "--hub", "http://127.0.0.1:9/…"]
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    assert done.returncode == Exit.UNREACHABLE, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("here")

    def save(_run: Invocation) -> None:
        (tmp_path / "taken").mkdir()

    def broken(_run: Invocation) -> None:
        raise OSError("this is no file of the caller's")

    app = typer.Typer()
    hub_command(app, "save")(save)
    hub_command(app, "broken")(broken)
    ended = CliRunner().invoke(app, ["save"])
    assert ended.exit_code == Exit.USAGE
    assert f"{tmp_path / 'taken'}: File exists" in " ".join(ended.stderr.split())
    assert isinstance(CliRunner().invoke(app, ["broken"]).exception, OSError)


def test_an_interrupted_command_that_spoke_with_no_hub_says_nothing_of_one() -> None:
    def interrupted(_run: Invocation) -> None:
        raise KeyboardInterrupt

    app = typer.Typer()
    hub_command(app, "stay")(interrupted)
    ended = CliRunner().invoke(app, [])
    assert ended.exit_code == Exit.INTERRUPTED
    assert ended.stderr == "interrupted\n"
