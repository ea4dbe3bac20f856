"""The command `starloom-agent grant` says which grants count, and which the hub holds back."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.policy.file import write_policy
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
