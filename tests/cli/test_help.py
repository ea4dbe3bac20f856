"""The help of every command of both programs: by purpose, in words of people, with lines that can be typed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from starloom.cli.commands import build
from starloom.cli.help import EXAMPLES, PANELS
from starloom_agent.cli import parser
from tests.programs import command_line

# Of the library that reads the command line: types of Python, its ranges, its words for a refusal.
FOREIGN = re.compile(r"<\w+|\bstr\b|\bint\b|\[\[|\{[A-Z]|\bx[<>]=|<=x|Input should|Value error")


def ended(*words: str) -> Any:
    return CliRunner().invoke(command_line(), list(words), prog_name="starloom", terminal_width=100)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(get_command(build())))


def test_every_command_stands_under_one_purpose() -> None:
    listed = Counter(name for names in PANELS.values() for name in names)
    assert set(listed) == set(get_command(build()).commands)  # type: ignore[attr-defined]
    assert set(listed.values()) == {1}
    said = ended("--help").output
    assert [title for title in PANELS if f"\n{title}:\n" not in said] == []
    assert "..." not in said.partition("COMMAND [ARGS]...")[2], "a description is whole"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_no_word_of_a_library(path: tuple[str, ...]) -> None:
    said = ended(*path, "--help").output
    assert f"Usage: starloom {' '.join(path)} [OPTIONS]" in said
    assert FOREIGN.findall(said) == []
    for param in ALL[path].params:
        assert param.help or param.hidden, f"{param.name} is explained"
        if param.param_type_name == "argument" and not param.hidden:
            assert re.fullmatch(r"[A-Z0-9\[\]. |]+|\[model\]", param.metavar), "a value has a word in capitals"


@pytest.mark.parametrize(("path", "line"), [(path, line) for path, lines in EXAMPLES.items() for line in lines])
def test_an_example_can_be_typed(path: str, line: str) -> None:
    said = " ".join(ended(*path.split(), "--help").output.split())
    assert f"starloom {path} {line}".rstrip() in said
    command = ALL[tuple(path.split())]
    command.make_context(path, shlex.split(line))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
@pytest.mark.parametrize(
    "word", ["", "  ", "a\x1bb", "a\nb", "x" * 5_000], ids=["none", "blank", "esc", "line", "long"]
)
def test_a_word_that_cannot_be_meant_is_refused_for_every_option(path: tuple[str, ...], word: str) -> None:
    for param in ALL[path].params:
        is_option = param.param_type_name == "option"
        is_prose = param.name in ("answer", "input", "param", "reason", "text", "value", "with_", "words")
        means_none = word == "" and '""' in (param.help or "")
        if getattr(param, "is_flag", False) or means_none or (word.strip() and is_prose):
            continue
        refused = ended(*path, *([param.opts[0], word] if is_option else [word] * 3))
        said = " ".join(refused.output.split())
        assert refused.exit_code == 2, (param.opts, said)
        fault = r"is empty|holds a control character \(U\+00\w\w\)|has 5,000 characters, and at most 4,096 are read"
        assert re.search(rf"{re.escape(param.opts[0])} ({fault}): write" if is_option else fault, said), said


def test_a_word_of_a_request_may_have_several_lines_and_an_answer_may_be_empty() -> None:
    for words in (["submit", "one\ntwo", "--preview"], ["approve", "x", "--value", ""]):
        assert "Usage" not in ended(*words, "--hub", "http://127.0.0.1:9").output


def test_a_mistyped_choice_is_answered_with_the_nearest() -> None:
    assert "Did you mean 'high'?" in ended("submit", "--priority", "Hig", "x").output


def test_a_value_that_cannot_be_meant_is_refused_in_plain_words() -> None:
    for words, plain in (
        (("submit", "--budget", "much", "x"), "'--budget': it is not a number"),
        (("ls", "--limit", "few"), "it is not a whole number"),
        (("ls", "--limit", "0"), "it must be at least 1"),
        (("submit", "--priority", "hig", "x"), "'hig' is not one of 'low', 'normal', 'high'"),
        (("blame",), "Missing argument 'TASK'"),
    ):
        refused = ended(*words)
        assert (refused.exit_code, plain in refused.output, FOREIGN.findall(refused.output)) == (2, True, []), words


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("devices keller", "`starloom device show keller`"),
        ("devices drain keller", "`starloom device drain keller`"),
        ("device keller", "`starloom device show keller`"),
        ("person add", "`starloom person invite`"),
        ("config ls", "`starloom config show`"),
        ("person ls ann", "it takes no further words: ann"),
        ("ls --state foo", "'foo' is not one of 'planning', "),
        ("--json ls", "--json stands after the command"),
        ("--hub=nas ls", "--hub stands after the command"),
    ],
)
def test_words_in_another_order_are_answered_with_the_right_one(typed: str, meant: str) -> None:
    refused = ended(*typed.split())
    assert (refused.exit_code, meant in refused.output) == (2, True), refused.output


def test_a_refusal_is_json_on_stderr_where_json_was_asked_for() -> None:
    of_a_command = ("ls --json --limit 0", "show --json a b", "ls --nope --json")
    of_a_group = (
        "frob --json",
        "device frob --json",
        "--json ls",
        "--nope ls --json",
        "devices nas --json",
        "recipe --json",
    )
    for words in (*of_a_command, *of_a_group):
        refused = ended(*words.split())
        assert (refused.exit_code, refused.stdout) == (2, ""), words
        assert json.loads(refused.stderr)["problem"]["code"] == "usage"
    assert "Did you mean `starloom devices`" in json.loads(ended("devicess", "--json").stderr)["problem"]["reason"]
    assert ended("frob").stderr.startswith("Usage: starloom")


def test_a_word_with_others_behind_it_is_no_name_to_show() -> None:
    assert "Did you mean" not in ended("tools", "run", "fs.list").output
    assert "`starloom tools show fs.list`" in ended("tools", "fs.list").output


def test_a_refusal_names_every_option_that_is_missing() -> None:
    assert "Missing options '--role' and '--ttl'." in ended("token", "create").stderr
    assert "Missing option '--ttl'." in ended("token", "create", "--role=owner").stderr


def _agent_help(*words: str) -> str:
    said = io.StringIO()
    with pytest.raises(SystemExit) as refused, contextlib.redirect_stdout(said):
        parser().parse_args([*words, "--help"])
    assert refused.value.code == 0
    return said.getvalue()


AGENT = re.findall(r"^    ([a-z-]+)(?:  |$)", _agent_help(), re.MULTILINE)


@pytest.mark.parametrize("name", AGENT)
def test_every_value_of_the_agent_has_a_word_in_capitals_and_its_help(name: str) -> None:
    said = _agent_help(name)
    rows = re.findall(r"^  (\S.*?)(?:  +(\S.*)|\n {10,}(\S.*))?$", said.partition("\n\n")[2], re.MULTILINE)
    assert rows
    for row, beside, below in rows:
        assert beside or below, f"{name} {row} is explained"
        words = [word for word in re.split(r"[ ,\[\]]+", re.sub(r"\{.*?\}", "", row)) if not word.startswith("-")]
        assert words == [word.upper() for word in words], row
