"""The home of a command that names none."""

from __future__ import annotations

import pwd
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("STARLOOM_AGENT_HOME", raising=False)
    monkeypatch.delenv("STARLOOM_HOME", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "code" / ".venv"))
    return tmp_path


def joined(root: Path) -> Path:
    home = AgentHome(root)
    home.make()
    home.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name=root.name))
    return root


def test_an_environment_means_the_home_that_it_lies_in(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = joined(person / "elsewhere")
    monkeypatch.setattr(sys, "prefix", str(there / "venv"))
    joined(person / ".starloom-agent")
    assert AgentHome.at(None).root == there
    assert AgentHome.of_owner(None).root == there
    assert AgentHome.at(str(person / "named")).root == person / "named"


@pytest.mark.parametrize("hub", [".local/share/starloom", "code/.starloom", "srv"])
def test_the_hub_s_own_agent_is_meant_where_no_other_is(
    person: Path, hub: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if hub == "srv":
        monkeypatch.setenv("STARLOOM_HOME", str(person / hub))
    joined(person / hub / "agents" / "demo-server")
    own = joined(person / hub / "agents" / "old-name")
    assert AgentHome.of_owner(None).root == own
    assert AgentHome.at(None).root == person / ".starloom-agent"
    assert main(["grant", "net:reach", "example.org"]) == 0
    assert "example.org" in (own / "policy.toml").read_text()
    assert main(["policy"]) == 0
    assert str(own / "policy.toml") in capsys.readouterr().out
    joined(person / hub / "agents" / "second")
    assert AgentHome.of_owner(None).root == person / ".starloom-agent"


def test_the_usual_home_comes_before_the_hub_s_own_agent(person: Path) -> None:
    joined(person / "code/.starloom/agents/desk")
    usual = joined(person / ".starloom-agent")
    assert AgentHome.of_owner(None).root == usual


def test_a_printed_line_names_the_home_where_another_shell_of_the_account_means_another(
    person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = AgentHome(person / ".starloom-agent")
    account = SimpleNamespace(pw_dir=str(person))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: account)
    assert "home" not in usual.line_parts()
    account.pw_dir = str(person / "account")
    assert usual.line_parts()["home"] == str(usual.root)
