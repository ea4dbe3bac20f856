"""The status file says since when the agent is in a state, however often it tries to leave it."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent import cli
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.status_file import REFUSED, read_status, write_status


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


@pytest.mark.parametrize("state", [REFUSED, "stopped"])
def test_an_agent_that_its_hub_refused_is_not_only_to_be_started(
    tmp_path: Path, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home = AgentHome.at(str(tmp_path))
    home.make()
    home.join(Joined(hub="https://hub", hub_key="", name="desk"))
    write_status(home, hub="https://hub", device="d-1", state=state, reason="revoked by a person", slots=1)
    assert cli.main(["status", "--home", str(home.root)]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert ("Join it again by a new code" in lines["agent"], "start it:" in lines["agent"]) == (state == REFUSED, True)
    assert lines["link"].startswith(f"{state} since ")
