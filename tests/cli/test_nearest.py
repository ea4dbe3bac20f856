"""A command that does not exist is answered with the nearest, on every level and by both programs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from starloom.client.terminal.typed import typed
from starloom_agent.cli import parser
from starloom_protocol.vocabulary import CODES, Code
from tests.cli.test_commands import SOME_ID, StubHub, starloom
from tests.programs import command_line


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
        ("hosts", "`starloom devices`"),
        ("ps", "`starloom ls`"),
        ("kill", "`starloom cancel` or `starloom stop-all`"),
        ("users", "`starloom person`"),
        ("rerun", "`starloom again`"),
        ("phone", "`starloom enroll` or `starloom open`"),
    ],
)
def test_a_misspelt_command_names_the_one_that_was_meant(typed: str, meant: str) -> None:
    ended = CliRunner().invoke(command_line(), typed.split(), prog_name="starloom")
    assert ended.exit_code == 2
    assert f"No such command '{typed.split()[-1]}'. Did you mean {meant}" in ended.output


def test_a_word_that_is_like_none_is_refused_without_a_guess() -> None:
    ended = CliRunner().invoke(command_line(), ["xyzzy"], prog_name="starloom")
    assert (ended.exit_code, "Did you mean" in ended.output) == (2, False)


@pytest.mark.parametrize(("typed", "meant"), [("grnt", "grant"), ("aprove", "approve"), ("statsu", "status")])
def test_a_misspelt_command_of_the_agent_names_it_too(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([typed])
    assert ended.value.code == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


def test_an_unknown_task_names_the_constellation_that_lists_its_tasks(hub: StubHub) -> None:
    unknown = {"code": "unknown_task", "title": "No task has this id", "hint": CODES[Code.UNKNOWN_TASK].hint}
    for words in (("why", "felht", SOME_ID), ("retry", "felht", SOME_ID)):
        for path in (f"/constellations/{SOME_ID}/why", f"/constellations/{SOME_ID}/tasks/felht/retry"):
            hub.answers["GET", path] = hub.answers["POST", path] = (422, unknown)
        code, said = starloom(hub, *words)
        assert (code, typed(f"starloom show {SOME_ID}") in said) == (2, True), said
        assert f"starloom show {SOME_ID}" in json.loads(starloom(hub, *words, "--json")[1])["problem"]["hint"]
