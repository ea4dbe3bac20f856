"""Commands whose reader goes away end quietly, as other programs do; lost output is one sentence and its own code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ENDED_BY_A_CLOSED_PIPE = 128 + 13
OUTPUT_LOST = 74
FULL = "the output could not be written: No space left on device\n"
CLOSED = "the output could not be written: Bad file descriptor\n"


def ended_without_a_reader(*line: str, home: Path, both: bool = False, unbuffered: str = "") -> tuple[int, str]:
    """Run a command whose output nobody reads; `both` takes the reader of its messages away too."""
    reader, writer = os.pipe()
    os.close(reader)
    homes = dict.fromkeys(("HOME", "STARLOOM_HOME", "STARLOOM_AGENT_HOME"), str(home))
    environment = {**os.environ, **homes, "PYTHONUNBUFFERED": unbuffered}
    try:
        done = subprocess.run(
            [str(BIN / line[0]), *line[1:]],
            stdout=writer,
            stderr=writer if both else subprocess.PIPE,
            env=environment,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize(
    "line",
    [
        ("starloom", "bench", "nebula", "ls"),
        ("starloom", "bench", "nebula", "ls", "--json"),
        ("starloom", "config", "show"),
        ("starloom", "--help"),
        ("starloom", "--version"),
        ("starloom", "config", "show", "--json"),
        ("starloom-agent", "policy"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_ends_quietly_when_its_reader_goes_away(
    line: tuple[str, ...], unbuffered: str, tmp_path: Path
) -> None:
    assert ended_without_a_reader(*line, home=tmp_path, unbuffered=unbuffered) == (ENDED_BY_A_CLOSED_PIPE, "")


def test_a_message_that_nobody_reads_ends_quietly_too(tmp_path: Path) -> None:
    assert ended_without_a_reader("starloom", "devices", home=tmp_path, both=True)[0] == ENDED_BY_A_CLOSED_PIPE


def ended_in_a_shell(line: str, home: Path, unbuffered: str = "") -> tuple[int, str]:
    homes = dict.fromkeys(("HOME", "STARLOOM_HOME", "STARLOOM_AGENT_HOME"), str(home))
    environment = {**os.environ, **homes, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", f"{BIN}/{line}"], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("line", ["starloom config show", "starloom config show --json", "starloom --help"])
@pytest.mark.parametrize(("into", "said"), [("> /dev/full", FULL), (">&-", CLOSED)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_lost_output_is_one_sentence_and_no_failed_work(
    line: str, into: str, said: str, unbuffered: str, tmp_path: Path
) -> None:
    assert ended_in_a_shell(f"{line} {into}", tmp_path, unbuffered) == (OUTPUT_LOST, said)


@pytest.mark.parametrize(("into", "said"), [("> /dev/full", FULL), (">&-", CLOSED)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_lost_output_of_an_agent_is_one_sentence_too(into: str, said: str, unbuffered: str, tmp_path: Path) -> None:
    found = ended_in_a_shell(f"starloom-agent policy {into}", tmp_path, unbuffered)
    assert found == (OUTPUT_LOST, f"starloom-agent: {said.replace('the output', 'a file, or the output,')}")


def test_a_closed_stdin_is_no_plan(tmp_path: Path) -> None:
    code, said = ended_in_a_shell("starloom submit -f - <&-", tmp_path)
    assert (code, said.splitlines()[0]) == (
        2,
        "This cannot be done as written: stdin cannot be read: Bad file descriptor",
    )


def test_a_plan_on_stdin_that_is_no_utf_8_is_refused_plainly(tmp_path: Path) -> None:
    code, said = ended_in_a_shell("starloom submit -f - <<< $'caf\\xe9'", tmp_path)
    assert (code, said.splitlines()[0]) == (
        2,
        "This cannot be done as written: stdin cannot be read: it is no text in UTF-8",
    )
