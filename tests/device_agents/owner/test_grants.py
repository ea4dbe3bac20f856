"""The command `starloom-agent grant` says which grants count, and which the hub holds back."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import Profile


def test_a_grant_beyond_the_join_code_is_not_in_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = AgentHome(tmp_path / "agent")
    home.make()
    home.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="kitchen"))
    photos = tmp_path / "photos"
    photos.mkdir()
    home.keep_limit("files")
    write_policy(home.policy, Policy(profile=Profile.FILES, read=(str(photos),)))
    assert main(["grant", "shell:run", "--home", str(home.root), "--", "env"]) == 0
    said = capsys.readouterr().out
    assert "granted; in force now on kitchen: files:read\n" in said
    assert "not in force: shell:run: the join code of this device allowed the profile files at most" in said
    assert "starloom-agent leave" in said
    home.keep_limit("operate")
    assert main(["grant", "shell:run", "--home", str(home.root), "--", "env"]) == 0
    assert "granted; in force now on kitchen: files:read, shell:run\n" in capsys.readouterr().out


def test_a_change_of_the_policy_with_a_fault_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = AgentHome.at(str(tmp_path / "home"))
    home.make()
    line = ["policy", "profile", "work", "--answers", "hub", "--home", str(home.root)]
    assert main([*line, "--quiet-hours", "late"]) == 1
    assert "quiet_hours" in capsys.readouterr().err
    assert read_policy(home.policy) == Policy()
    assert main([*line, "--quiet-hours", "22:00-07:00", "--trash-keep-days", "9"]) == 0
    policy = read_policy(home.policy)
    assert (policy.profile, policy.answers, policy.trash.keep_days) == (Profile.WORK, "hub", 9)
    assert policy.courtesy.quiet_hours == "22:00-07:00"
