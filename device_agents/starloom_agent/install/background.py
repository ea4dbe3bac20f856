"""Start and stop of a home's agent without a terminal: by its service if one is installed, else detached.

Both are idempotent. The start waits until the process holds the home, so that "started" is true when it is printed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.locking import running_pid
from starloom_agent.home.status_file import ONLINE, REFUSED, read_status
from starloom_agent.install import service

START_WITHIN_S = 60.0
"""A small computer with a busy disk imports the agent slowly, above all after an upgrade."""
STOP_WITHIN_S = 15.0
"""Longer than the agent takes for the calls that it ends (8 s), and for its goodbye."""
_LOG_BYTES_MAX = 5 * 1024 * 1024
"""A longer log becomes the one before, so both together take 10 MiB of the disk at a start."""
_STEP_S = 0.05
"""A person waits; looking for a process costs one read of a small file."""
_TAKEOVER_S = 2.0
"""Commands that ask who runs hold the lock of the home for an instant."""

Say = Callable[[str], None]


class AgentControlFault(Exception):
    """The agent did not start or did not end; the text quotes its log or says what to type."""


def start(home: AgentHome, say: Say, *, slots: int) -> None:
    """Start the agent unless it runs already.

    Raises:
        AgentControlFault: the agent ended at once, or did not take its home in time.
        ServiceFault: the service manager refuses.
    """
    pid = running_pid(home)
    if pid is not None:
        say(f"the agent runs already, process {pid}{_without_hub(home)}")
        return
    process, before = None, read_status(home)
    if service.is_installed(home):
        service.start(home, say)
    else:
        process = spawn(home, [*service.command(home, slots), "--takeover-s", f"{_TAKEOVER_S:g}"])
    deadline = time.monotonic() + START_WITHIN_S
    while (pid := running_pid(home)) is None:
        if process is not None and process.poll() is not None:
            raise AgentControlFault(f"the agent ended at once:\n{log_tail(home)}")
        if time.monotonic() > deadline:
            raise AgentControlFault(f"the agent did not start within {START_WITHIN_S:g} s:\n{log_tail(home)}")
        time.sleep(_STEP_S)
    say(f"the agent runs, process {pid}; its log is {_log(home)}")
    if before is not None and before.state == REFUSED:
        say(f"it had ended, and does so again if nothing has changed there: {before.reason}")


def _without_hub(home: AgentHome) -> str:
    """Return why the agent that runs is not connected; empty if it is, or if it has written nothing yet."""
    status = read_status(home)
    return "" if status is None or status.state == ONLINE else f", and does not reach its hub: {status.reason}"


def stop(home: AgentHome, say: Say) -> None:
    """Stop the agent and everything it runs; say so if none runs.

    Raises:
        AgentControlFault: it did not end in time.
        ServiceFault: the service manager refuses.
    """
    pid = running_pid(home)
    if service.is_installed(home):
        service.stop(home, say)
    elif pid is not None:
        os.kill(pid, signal.SIGTERM)
    if pid is None:
        say("no agent runs with this home")
        return
    deadline = time.monotonic() + STOP_WITHIN_S
    while running_pid(home) == pid:
        if time.monotonic() > deadline:
            raise AgentControlFault(
                f"process {pid} did not end within {STOP_WITHIN_S:g} s; end it yourself: kill -9 {pid}"
            )
        time.sleep(_STEP_S)
    say("stopped")


def note_stopped(home: AgentHome) -> None:
    """Leave the mark that the owner has stopped the agent; the next start removes it."""
    if home.run.is_dir():
        home.stopped.touch(mode=0o600)


def spawn(home: AgentHome, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process of this agent that outlives its terminal; its output goes to the agent's log."""
    log = _log(home)
    if log.exists() and log.stat().st_size > _LOG_BYTES_MAX:
        log.replace(log.with_name(log.name + ".1"))
    with log.open("ab") as out:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=home.root,
            start_new_session=True,
        )


def _log(home: AgentHome) -> Path:
    return home.run / "agent.log"


def log_tail(home: AgentHome, lines: int = 10) -> str:
    """Return the end of the agent's log, indented."""
    try:
        tail = _log(home).read_text(errors="replace").splitlines()[-lines:]
    except OSError as error:
        return f"    (its log cannot be read: {error})"
    return "\n".join("    " + line for line in tail) or "    (its log is empty)"
