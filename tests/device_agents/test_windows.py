"""A system on which tools cannot be run yet: the agent can be imported there, and says so instead of failing oddly."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from starloom_agent.cli import main
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Profile
from tests.waiting import PATIENCE_S

# What Python for Windows does not have.
ABSENT = ("fcntl", "resource", "pwd", "grp", "termios")


def test_the_agent_can_be_imported_without_what_only_unix_has() -> None:
    code = (
        "import asyncio, multiprocessing, subprocess, sys, tempfile\n"
        f"sys.platform = 'win32'; sys.modules.update(dict.fromkeys({ABSENT!r}))\n"
        "import starloom_agent.cli, starloom_agent.work.runtime, starloom_agent.work.registry as registry\n"
        "print(len(registry.all_tools()) > 20)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert ran.stdout == "True\n", ran.stderr[-2000:]


def test_every_tool_that_needs_a_process_says_why_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    # From Python 3.12 on it asks Windows where programs lie.
    monkeypatch.setattr(shutil, "which", lambda *_args, **_named: None)
    offer = make_offer(all_tools(), Policy(profile=Profile.OPERATE), slots=1, folder=tmp_path).offer
    told = {tool.name: tool.unavailable for tool in offer.tools}
    assert told.pop("lab.echo") is None
    assert all(reason is not None and "use WSL 2" in reason for reason in told.values())
    assert offer.facts["os"] == "windows"


def test_starting_it_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["run", "--home", str(tmp_path)]) == 1
    assert "use WSL 2" in capsys.readouterr().err
