"""The lock of a home: one agent holds it, and a look at who does keeps none from starting."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.locking import AlreadyRunning, hold_home, hold_upgrade, running_pid

pytestmark = pytest.mark.short


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    made = AgentHome(tmp_path / "home")
    made.make()
    return made


def test_a_second_agent_of_a_home_is_refused_with_the_first(home: AgentHome) -> None:
    assert running_pid(home) is None
    with hold_home(home):
        assert running_pid(home) == os.getpid()
        with pytest.raises(AlreadyRunning, match=rf"another agent \(process {os.getpid()}\)"), hold_home(home):
            pass
    assert running_pid(home) is None


def test_a_look_at_the_home_refuses_no_start(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with hold_home(home):
        pass
    looking = os.open(home.run / "agent.pid", os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    waits = [lambda: None, lambda: os.close(looking)]
    monkeypatch.setattr("starloom_agent.home.locking.time.sleep", lambda _s: waits.pop(0)())
    with hold_home(home):
        assert running_pid(home) == os.getpid()
    assert not waits


def test_a_home_with_braces_in_its_name_is_held_and_named(tmp_path: Path) -> None:
    home = AgentHome(tmp_path / "{x} {0}")
    home.make()
    for hold in (hold_home, hold_upgrade):
        with hold(home), pytest.raises(AlreadyRunning) as refused, hold(home):
            pass
        assert str(home.root) in str(refused.value)
        assert str(os.getpid()) in str(refused.value)
