"""The link to the agent's program in `~/.local/bin`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from starloom_agent.install import linking


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an agent's environment, and `~/.local/bin` on the PATH."""
    programs = tmp_path / "agent" / "venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "starloom-agent"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"/usr/bin:{tmp_path}/.local/bin")
    return tmp_path


def test_a_link_is_made_where_the_path_has_the_folder_and_goes_with_the_home(person: Path) -> None:
    link = linking.link_program()
    assert link == person / ".local/bin/starloom-agent"
    assert link.resolve() == person / "agent/venv/bin/starloom-agent"
    assert linking.link_program() is None
    linking.unlink_program(person / "other")
    assert link.is_symlink()
    linking.unlink_program(person / "agent")
    assert not link.is_symlink()


def test_no_link_is_made_where_the_path_lacks_the_folder(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert linking.link_program() is None
    assert not (person / ".local").exists()


def test_a_file_that_is_there_is_not_replaced(person: Path) -> None:
    there = person / ".local/bin/starloom-agent"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    assert linking.link_program() is None
    linking.unlink_program(person / "agent")
    assert there.read_text() == "mine"


def test_a_link_to_an_agent_that_is_gone_is_replaced(person: Path) -> None:
    link = person / ".local/bin/starloom-agent"
    link.parent.mkdir(parents=True)
    link.symlink_to(person / "gone")
    assert linking.link_program() == link
    assert link.exists()
