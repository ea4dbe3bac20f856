"""Commands in a clone mean its hub: `.starloom` of the folder or above it, also while that hub is stopped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from starloom.client.own_homes import note
from starloom.client.problems import Problem
from starloom.host.supervisor import home_of_the_folder, home_of_the_hub


@pytest.fixture(autouse=True)
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a clone, in whose folder `below` the commands are typed."""
    for name in [name for name in os.environ if name.startswith("STARLOOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    below = tmp_path / "clone/below"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path


def a_hub_was_in(folder: Path) -> Path:
    home = folder / ".starloom"
    (home / "keys").mkdir(parents=True)
    note(home, Path.home())
    return home


def test_a_stopped_hub_of_the_clone_is_meant(around: Path) -> None:
    assert home_of_the_folder() is None
    home = a_hub_was_in(around / "clone")
    assert home_of_the_folder() == home
    assert home_of_the_hub(None) == home
    nearer = a_hub_was_in(around / "clone/below")
    assert home_of_the_folder() == nearer


def test_a_named_hub_or_data_folder_goes_first(around: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_hub_was_in(around / "clone")
    assert home_of_the_hub("http://127.0.0.1:9") is None
    monkeypatch.setenv("STARLOOM_HOME", str(around / "elsewhere"))
    assert home_of_the_folder() is None


def test_a_folder_where_no_hub_was_is_not_meant(around: Path) -> None:
    (around / "clone/.starloom").mkdir()
    assert home_of_the_folder() is None


def test_data_of_another_user_is_refused(around: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_hub_was_in(around / "clone")
    monkeypatch.setattr(os, "geteuid", lambda: around.stat().st_uid + 1)
    with pytest.raises(Problem, match="you have started no hub on"):
        home_of_the_folder()
