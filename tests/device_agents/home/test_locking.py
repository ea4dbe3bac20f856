"""The lock of a home names the process that has it, whatever the folder is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.locking import AlreadyRunning, hold_home, hold_upgrade


def test_a_home_with_braces_in_its_name_is_held_and_named(tmp_path: Path) -> None:
    home = AgentHome(tmp_path / "{x} {0}")
    home.make()
    for hold in (hold_home, hold_upgrade):
        with hold(home), pytest.raises(AlreadyRunning) as refused, hold(home):
            pass
        assert str(home.root) in str(refused.value)
        assert str(os.getpid()) in str(refused.value)
