"""The status file: a running agent writes the state of its connection there, for other commands on this device.

Only the agent writes it; its pid shows whether the running process wrote it. The hub does not read it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec

import starloom_agent
from starloom_agent.home.directory import AgentHome, write_private

ONLINE = "online"
REFUSED = "refused"
"""The agent has ended, because the hub said that trying again will not help."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The status of an agent. `environment` is the `sys.prefix` of its process; fields unknown to older agents have
    empty defaults."""

    device: str
    hub: str
    reason: str
    since_s: int
    state: str
    environment: str = ""
    pid: int = 0
    slots: int = 0
    version: str = ""


def write_status(home: AgentHome, *, hub: str, device: str, state: str, reason: str, slots: int) -> None:
    """Write the state of this process's connection from now on; the same state as before began when it did."""
    before = read_status(home)
    lasts = before is not None and (before.pid, before.state) == (os.getpid(), state)
    status = Status(
        device=device,
        environment=sys.prefix,
        hub=hub,
        pid=os.getpid(),
        reason=reason,
        since_s=before.since_s if before is not None and lasts else int(time.time()),
        slots=slots,
        state=state,
        version=starloom_agent.__version__,
    )
    write_private(_path(home), msgspec.json.encode(status))


def read_status(home: AgentHome) -> Status | None:
    """Return the status that the last agent of this home wrote, or None if it is missing or unreadable."""
    try:
        return msgspec.json.decode(_path(home).read_bytes(), type=Status)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _path(home: AgentHome) -> Path:
    return home.run / "status.json"
