"""The policy that the running agent last offered: a mark in `run`. A command that changes the policy waits for it.

The command would otherwise call a grant in force before the hub knows it. An agent of an older version leaves no mark;
then the command ends at once.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from starloom_agent.home.directory import AgentHome, write_private
from starloom_agent.home.locking import running_pid
from starloom_agent.home.status_file import ONLINE, read_status

WITHIN_S = 5.0
"""The agent looks each second; a probe of its tools may take some more on a small computer."""
_STEP_S = 0.02


def note_offered(home: AgentHome, mark: tuple[int, int] | None) -> None:
    """Note that the offer which is made now is of the policy with this mark: the time and the mode of its file."""
    with contextlib.suppress(OSError):  # a full disk changes no offer
        write_private(_path(home), _text(mark))


def until_offered(home: AgentHome) -> bool:
    """Wait until the agent that runs and is connected has offered the policy; False if it has not in time."""
    if running_pid(home) is None or not _path(home).exists():
        return True
    status = read_status(home)
    if status is None or status.state != ONLINE:
        return True
    deadline = time.monotonic() + WITHIN_S
    while _read(home) != _present(home):
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP_S)
    return True


def _path(home: AgentHome) -> Path:
    return home.run / "policy-offered"


def _read(home: AgentHome) -> bytes:
    try:
        return _path(home).read_bytes()
    except OSError:
        return b""


def _present(home: AgentHome) -> bytes:
    try:
        status = home.policy.stat()
    except FileNotFoundError:
        return _text(None)
    return _text((status.st_mtime_ns, status.st_mode))


def _text(mark: tuple[int, int] | None) -> bytes:
    return b"none\n" if mark is None else b"%d %o\n" % mark
