"""Whether the owner is at a device, as systemd-logind tells it; nothing where nothing can tell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from starloom_agent.platforms.presence import idle_s_of_ioreg, owner_is_here

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd-logind is of Linux")
AT_SCREEN = {"Active": "yes", "IdleHint": "no", "LockedHint": "no", "Remote": "no"}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    folder = tmp_path / "users"
    folder.mkdir()
    (folder / str(os.getuid())).write_text("NAME=ann\nSTATE=active\nDISPLAY=c2\nSESSIONS=c2 7\n")
    return folder


def logind(folder: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], code: int = 0) -> Path:
    """Put a `loginctl` first on the path that answers for session c2 alone; return the file of what it was asked."""
    asked, program = folder / "asked", folder / "bin" / "loginctl"
    program.parent.mkdir(exist_ok=True)
    lines = "".join(f"{name}={word}\n" for name, word in told.items())
    program.write_text(
        f"#!/bin/sh\necho \"$@\" >> '{asked}'\n[ \"$2\" = c2 ] || exit 1\nprintf '%s' '{lines}'\nexit {code}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return asked


@pytest.mark.parametrize(
    ("change", "here"),
    [
        ({}, True),
        ({"IdleHint": "yes"}, False),
        ({"LockedHint": "yes"}, False),
        ({"Active": "no"}, False),
        ({"Remote": "yes"}, False),
    ],
)
def test_a_session_at_the_screen_counts_while_it_is_used(
    users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], here: bool
) -> None:
    logind(tmp_path, monkeypatch, AT_SCREEN | change)
    assert owner_is_here(users) is here


def test_nothing_is_said_where_nothing_can_tell(users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = logind(tmp_path, monkeypatch, AT_SCREEN, code=1)
    assert owner_is_here(users) is None, "the service does not answer"
    logind(tmp_path, monkeypatch, {"Active": "yes"})
    assert owner_is_here(users) is None, "an old service that does not know of locks"
    before = asked.read_text()
    (users / str(os.getuid())).write_text("NAME=ann\nSTATE=active\nSESSIONS=7\n")
    assert owner_is_here(users) is None, "signed in by ssh alone"
    assert owner_is_here(tmp_path / "none") is None
    assert asked.read_text() == before, "no program is started where there is no screen"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert owner_is_here(users) is None


@pytest.mark.parametrize(
    ("text", "idle_s"),
    [
        ('  | |   "HIDIdleTime" = 4500000000\n', 4.5),
        ('"HIDIdleTime"=0', 0.0),
        ("", None),
        ('"HIDIdleTime" = <00ff>', None),
    ],
)
def test_the_last_input_of_macos_is_read_from_ioreg(text: str, idle_s: float | None) -> None:
    assert idle_s_of_ioreg(text) == idle_s
