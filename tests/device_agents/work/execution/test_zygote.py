"""The zygote as a process: an agent that ended while it loaded leaves nobody who would read of a fault."""

from __future__ import annotations

import socket
import subprocess
import sys

from tests.waiting import PATIENCE_S


def test_an_agent_that_is_gone_before_the_zygote_is_ready_is_no_fault() -> None:
    ours, its = socket.socketpair()
    ours.close()
    with its:
        argv = [sys.executable, "-m", "starloom_agent.work.execution.zygote"]
        done = subprocess.run(argv, stdin=its.fileno(), capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_limits_of_a_call_load_nothing_that_the_zygote_has_not() -> None:
    # What a call loads itself is loaded again by each: it is forked, and ends.
    code = (
        "import sys; from starloom_agent.sandbox import limits; from starloom_agent.work.execution import zygote\n"
        "zygote.load(); before = set(sys.modules); limits.apply(); print(sorted(set(sys.modules) - before))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
