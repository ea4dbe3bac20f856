"""A process of Starloom keeps its modules out of searches for garbage: none is made of them when it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

_RUN = """
import atexit, gc, runpy, sys
atexit.register(lambda: print("kept", gc.get_freeze_count(), file=sys.stderr))
module, *sys.argv[1:] = sys.argv[1:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
OBJECTS_LEAST = 10_000
"""An interpreter alone has fewer."""


@pytest.mark.parametrize(
    "command",
    [
        ("starloom.cli", "--help"),
        ("starloom.cli.machine.demo", "--help"),
        ("starloom.jobs.worker",),
        ("starloom_agent", "--help"),
    ],
    ids=lambda command: command[0],
)
def test_a_process_ends_without_a_search_for_garbage(command: tuple[str, ...]) -> None:
    ended = subprocess.run([sys.executable, "-c", _RUN, *command], capture_output=True, text=True, check=False, env={})
    words, _, count = ended.stderr.strip().rpartition("\n")[2].partition(" ")
    assert words == "kept", ended.stderr
    assert int(count) > OBJECTS_LEAST
