"""A command that does not exist is answered with the nearest, on every level and by both programs."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from starloom.cli.commands import build
from starloom_agent.cli import parser


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("recpie", "`starloom recipe`"),
        ("device lst", "`starloom device ls`"),
        ("run", "`starloom submit`"),
        ("schedule list", "`starloom schedule ls`"),
        ("import", "`starloom recipe import`"),
        ("recipe tset", "`starloom recipe test`"),
        ("help", "`starloom --help`"),
    ],
)
def test_a_misspelt_command_names_the_one_that_was_meant(typed: str, meant: str) -> None:
    ended = CliRunner().invoke(build(), typed.split(), prog_name="starloom")
    assert ended.exit_code == 2
    assert f"No such command '{typed.split()[-1]}'. Did you mean {meant}" in ended.output


def test_a_word_that_is_like_none_is_refused_without_a_guess() -> None:
    ended = CliRunner().invoke(build(), ["xyzzy"], prog_name="starloom")
    assert (ended.exit_code, "Did you mean" in ended.output) == (2, False)


@pytest.mark.parametrize(("typed", "meant"), [("grnt", "grant"), ("aprove", "approve"), ("statsu", "status")])
def test_a_misspelt_command_of_the_agent_names_it_too(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([typed])
    assert ended.value.code == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err
