"""Environments beside each other: the name `venv` changes in one step, also where a folder has it."""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.install import environments
from starloom_agent.install.environments import EnvironmentFault, Environments, python_in, starting_python
from starloom_agent.platforms import exchange as platform


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    made = AgentHome((tmp_path / "home").resolve())
    made.make()
    return made


def made(home: AgentHome, name: str) -> Path:
    folder = home.root / name
    python_in(folder).parent.mkdir(parents=True)
    python_in(folder).write_text(name)
    return folder


def named(home: AgentHome) -> str:
    return python_in(home.root / "venv").read_text()


def test_the_name_goes_from_one_to_the_other_and_back(home: AgentHome) -> None:
    first, second = made(home, "venv-1"), made(home, "venv-2")
    found = Environments(home)
    assert found.current() is None
    for wanted in (first, second, first):
        found.point_to(wanted)
        assert found.current() == wanted
        assert named(home) == wanted.name
    assert sorted(path.name for path in home.root.glob("venv*")) == ["venv", "venv-1", "venv-2"]


def test_a_folder_of_that_name_keeps_its_content_under_another(home: AgentHome) -> None:
    made(home, "venv")
    found = Environments(home)
    found.point_to(made(home, "venv-2"))
    assert named(home) == "venv-2"
    (before,) = (path for path in home.root.glob("venv-*") if path.name != "venv-2")
    assert python_in(before).read_text() == "venv"
    found.sweep([before])
    assert before.exists()
    found.sweep([])
    assert not before.exists()
    assert named(home) == "venv-2"


def test_what_was_named_before_is_named_again(home: AgentHome) -> None:
    """Also the folder that join.py made, which has another name by then."""
    made(home, "venv")
    found = Environments(home)
    before = found.point_to(made(home, "venv-2"))
    assert before is not None
    assert found.point_to(before) == home.root / "venv-2"
    assert named(home) == "venv"
    assert Environments(AgentHome(home.root / "empty")).current() is None


def test_at_no_moment_the_name_names_nothing(home: AgentHome) -> None:
    made(home, "venv")
    others = [made(home, "venv-a"), made(home, "venv-b")]
    missing: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                named(home)
            except OSError as error:
                missing.append(str(error))

    looker = threading.Thread(target=look)
    looker.start()
    for number in range(300):
        Environments(home).point_to(others[number % 2])
    done.set()
    looker.join()
    assert missing == []


def test_a_file_system_that_cannot_exchange_changes_nothing(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home, "venv")

    def cannot(_one: Path, _other: Path) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(environments, "exchange", cannot)
    with pytest.raises(EnvironmentFault, match=r"nothing has changed. Type starloom-agent leave"):
        Environments(home).point_to(made(home, "venv-2"))
    assert named(home) == "venv"
    assert sorted(path.name for path in home.root.glob("venv*")) == ["venv", "venv-2"]


def test_a_system_without_the_call_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    with pytest.raises(OSError, match="exchanges no two names") as caught:
        platform.exchange(tmp_path / "a", tmp_path / "b")
    assert caught.value.errno == errno.ENOTSUP


def test_the_agent_is_started_by_the_name_of_its_environment(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    assert starting_python(home) == sys.executable
    real = made(home, "venv-1")
    Environments(home).point_to(real)
    assert starting_python(home) == sys.executable
    monkeypatch.setattr(sys, "prefix", str(real))
    assert starting_python(home) == str(python_in(home.root / "venv"))


def test_only_environments_of_this_home_are_its_own(home: AgentHome, tmp_path: Path) -> None:
    found = Environments(home)
    assert found.holds(made(home, "venv-1"))
    assert not found.holds(tmp_path / "venv")
    assert not found.holds(home.root / "workspace")
    assert not found.holds(home.root)


def test_an_environment_that_cannot_be_made_leaves_nothing(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EnvironmentFault, match="no environment can be made"):
        Environments(home).make("1.0")
    assert not list(home.root.glob("venv*"))
