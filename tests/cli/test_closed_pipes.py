"""Commands whose reader goes away, as in `starloom devices | head`: they end quietly, as other programs do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ENDED_BY_A_CLOSED_PIPE = 128 + 13


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
