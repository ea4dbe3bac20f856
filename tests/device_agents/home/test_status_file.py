"""The status file says since when the agent is in a state, however often it tries to leave it."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.status_file import read_status, write_status


def told(home: AgentHome, state: str, reason: str) -> tuple[int, str]:
    write_status(home, hub="https://hub", device="d-1", state=state, reason=reason, slots=1)
    found = read_status(home)
    assert found is not None
    return found.since_s, found.reason


def test_a_state_lasts_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = AgentHome.at(str(tmp_path))
    home.make()
    moments = iter(range(100, 200))
    monkeypatch.setattr("starloom_agent.home.status_file.time.time", lambda: next(moments))
    began, _ = told(home, "online", "")
    lost, _ = told(home, "offline", "the hub has gone")
    again = told(home, "offline", "the hub does not answer")
    back, _ = told(home, "online", "")
    assert began < lost < back
    assert again == (lost, "the hub does not answer")
