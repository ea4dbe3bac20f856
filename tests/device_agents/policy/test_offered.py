"""A command that changes the policy ends once the agent that runs has offered it, so that a preview knows it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.locking import hold_home
from starloom_agent.home.status_file import ONLINE, write_status
from starloom_agent.policy import offered
from starloom_agent.policy.allowance import Allowance
from starloom_agent.sandbox.levels import NOT_TRIED
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    made = AgentHome((tmp_path / "agent").resolve())
    made.make()
    made.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="box"))
    return made


def an_allowance(home: AgentHome) -> Allowance:
    made = Allowance(home, (), NOT_TRIED, slots=1, say=lambda _text: None)
    made.read_again()
    made.offer()
    return made


def connected(home: AgentHome, state: str) -> None:
    write_status(home, hub="http://127.0.0.1:9", device="d-1", state=state, reason="", slots=1)


def test_a_grant_ends_once_the_running_agent_has_offered_it(home: AgentHome) -> None:
    allowance = an_allowance(home)
    connected(home, ONLINE)
    with hold_home(home), ThreadPoolExecutor(1) as pool:
        granted = pool.submit(main, ["grant", "net:reach", "example.org", "--home", str(home.root)])
        until(allowance.read_again, "the policy has changed")
        assert not granted.done()
        allowance.offer()
        assert granted.result(PATIENCE_S) == 0


def test_a_grant_that_was_given_before_ends_at_the_next_look(
    home: AgentHome, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ["grant", "net:reach", "example.org", "--home", str(home.root)]
    assert main(again) == 0
    allowance = an_allowance(home)
    connected(home, ONLINE)
    with hold_home(home), ThreadPoolExecutor(1) as pool:
        granted = pool.submit(main, again)
        until(lambda: granted.done() or allowance.read_again(), "the command has ended")
        assert granted.result() == 0
    assert "has not told its hub" not in capsys.readouterr().out


def test_a_change_that_was_not_offered_is_still_waited_for(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered, "WITHIN_S", -1.0)
    allowance = an_allowance(home)
    connected(home, ONLINE)
    with hold_home(home):
        home.policy.write_text('profile = "files"\n')
        assert allowance.read_again()
        home.policy.write_text('profile = "files"\n# the same\n')
        assert not allowance.read_again()
        assert not offered.until_offered(home)
        allowance.offer()
        assert offered.until_offered(home)


@pytest.mark.parametrize("state", ["connecting", ONLINE])
def test_nobody_waits_for_an_agent_that_does_not_run_or_is_not_connected(
    home: AgentHome, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offered, "WITHIN_S", -1.0)
    allowance = an_allowance(home)
    connected(home, state)
    home.policy.write_text("")
    assert offered.until_offered(home), "it does not run"
    with hold_home(home):
        assert offered.until_offered(home) is (state != ONLINE)
        allowance.read_again()
        allowance.offer()
        assert offered.until_offered(home)


def test_an_agent_without_the_mark_is_not_waited_for(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered, "WITHIN_S", -1.0)
    connected(home, ONLINE)
    with hold_home(home):
        assert offered.until_offered(home)
