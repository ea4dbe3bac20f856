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


def python_of(folder: Path, name: str, *, pip: bool) -> str:
    """Write a Python that makes environments, and has a pip or none; return its path."""
    path = folder / name
    path.write_text(f'#!/bin/sh\ncase "$*" in *"-m pip"*) exit {0 if pip else 1};; esac\nmkdir -p "$PLACE"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(("here", "of"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_pip_that_is_there_installs(
    home: AgentHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, here: bool, of: bool
) -> None:
    running, first = python_of(tmp_path, "running", pip=here), python_of(tmp_path, "first", pip=of)
    made = home.root / "venv-2"
    (tmp_path / "pyvenv.cfg").write_text(f"home = {tmp_path}\nexecutable = {first}\n")
    monkeypatch.setenv("PLACE", str(made))
    monkeypatch.setattr(sys, "executable", running)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    command = Environments(home).installer(made)
    serves = running if here else first if of else ""
    own = [str(python_in(made)), "-P", "-m", "pip"]
    assert command == ([serves, "-P", "-m", "pip", "--python", str(python_in(made))] if serves else own)
    assert made.exists() is not bool(serves), "the new environment gets a pip of its own where there is no other"


@pytest.mark.parametrize("settings", [None, "home = /usr/bin\n", "executable = /nowhere/python3\n"])
def test_an_environment_that_does_not_say_where_it_is_from(
    home: AgentHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None
) -> None:
    if settings is not None:
        (tmp_path / "pyvenv.cfg").write_text(settings)
    monkeypatch.setenv("PLACE", str(home.root / "venv-2"))
    monkeypatch.setattr(sys, "executable", python_of(tmp_path, "running", pip=False))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert Environments(home).installer(home.root / "venv-2")[0] == str(python_in(home.root / "venv-2"))


def test_an_environment_that_gets_no_pip_leaves_nothing(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(sys, "prefix", str(home.root))
    with pytest.raises(EnvironmentFault, match="no environment can be made"):
        Environments(home).installer(made(home, "venv-2"))
    assert not list(home.root.glob("venv*"))
