"""A program in a process of its own that is killed before one of its steps, which are calls of the system."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from tests.waiting import PATIENCE_S

KILLED: Final = 9
_COUNTED: Final = f"""
import os, sys
steps, last = 0, int(sys.argv.pop(1))
def counted(run):
    def step(*args, **named):
        global steps
        steps += 1
        if steps == last:
            os._exit({KILLED})
        return run(*args, **named)
    return step
"""


def run_killed(program: str, last: int, *words: str) -> tuple[int, str]:
    """Run a program, killed before its step `last` (0: to its end); return its exit code and its output.

    The program wraps the functions that are steps by `counted`, reads its words from `sys.argv`, and prints `steps`.
    """
    argv = [sys.executable, "-c", _COUNTED + program, str(last), *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == KILLED or (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.returncode, ran.stdout
