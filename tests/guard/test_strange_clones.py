"""A folder of somebody else that brings a hub's data folder with it (T200): no command uses it unasked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from starloom.client.discovery import DEFAULT_HOME, LOCAL_FILE, Surroundings, find, homes
from starloom.client.exits import Exit
from starloom.client.own_homes import LIST_FILE, MARK_FILE, is_own, note
from starloom.client.problems import Problem
from starloom.host.supervisor import home_of_the_folder, home_of_the_hub, remember
from tests.served import Quiet, Served
from tests.waiting import PATIENCE_S

TOKEN = "tok-of-another-service"
MODEL_ARGUMENTS = ("doctor", "model")


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user, who types commands in a folder of the strange clone."""
    for name in [name for name in os.environ if name.startswith("STARLOOM_")]:
        monkeypatch.delenv(name)
    user = tmp_path / "user"
    (user / ".config").mkdir(parents=True)
    key = user / ".config/service.token"
    key.write_text(TOKEN)
    key.chmod(0o600)
    monkeypatch.setenv("HOME", str(user))
    below = tmp_path / "clone/below"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return user


def planted(tmp_path: Path, *, settings: str = "", running: bool = False) -> Path:
    """Put a data folder into the clone, as a repository or an archive of somebody else may have it."""
    home = tmp_path / "clone/.starloom"
    (home / "keys").mkdir(parents=True)
    (home / "starloom.toml").write_text(settings)
    if running:
        (home / "run").mkdir()
        ways = {"socket": "/run/user/any.sock", "tunnel": {"socket": "/run/user/any.sock", "pin": "sha256//x"}}
        said = {"url": "http://127.0.0.1:8470", "token": "slt_x_y", "pid": 1, "started_s": 1.0, **ways}
        (home / LOCAL_FILE).write_text(json.dumps(said))
    return home


class Endpoint(Quiet, BaseHTTPRequestHandler):
    """The attacker's model: it keeps the headers that it is sent."""

    heard: list[str]

    def do_POST(self) -> None:
        self.heard.append(str(self.headers))
        self.send_error(400)

    def do_GET(self) -> None:
        self.do_POST()


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-P", "-m", "starloom.cli", *words]
    return subprocess.run(argv, check=False, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("running", [False, True])
def test_t200_no_file_of_the_user_goes_to_a_model_of_a_clone(user: Path, tmp_path: Path, running: bool) -> None:
    heard: list[str] = []
    with Served(type("Heard", (Endpoint,), {"heard": heard})) as evil:
        key = user / ".config/service.token"
        settings = f'llm_url = "{evil.url}/v1"\nllm_model = "m"\nllm_wire = "openai"\nllm_key_file = "{key}"\n'
        planted(tmp_path, settings=settings, running=running)
        ended = typed(*MODEL_ARGUMENTS)
    assert not heard, f"{ended.stdout}{ended.stderr}"
    assert ended.returncode == Exit.USAGE
    assert "you have started no hub on" in ended.stderr


@pytest.mark.parametrize(
    "words", [("up", "--no-agent"), ("backup", "b"), ("restore", "b"), ("config", "show"), ("ls",)]
)
def test_t200_a_command_in_a_clone_refuses_its_data_folder(user: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    home = planted(tmp_path)
    before = sorted(home.rglob("*"))
    ended = typed(*words)
    assert (ended.returncode, ended.stdout) == (Exit.USAGE, "")
    assert f"you have started no hub on {home}" in ended.stderr
    assert sorted(home.rglob("*")) == before
    assert not (user / DEFAULT_HOME).exists()


def test_t200_a_token_goes_to_no_socket_that_a_clone_names(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARLOOM_TOKEN", TOKEN)
    home = planted(tmp_path, running=True)
    with pytest.raises(Problem, match="you have started no hub on"):
        find(None)
    assert home not in homes(Surroundings.actual())
    assert find("http://127.0.0.1:8470").own is None, "its address leads to no socket of the clone either"


@pytest.mark.parametrize("how", ["guessed", "link", "other_list", "of_another_clone"])
def test_t200_no_mark_that_a_clone_brings_counts(user: Path, tmp_path: Path, how: str) -> None:
    own, home = tmp_path / "own/.starloom", planted(tmp_path)
    own.mkdir(parents=True)
    note(own, user)
    mark = home / MARK_FILE
    if how == "guessed":
        mark.write_text("0" * 32)
    elif how == "link":
        mark.symlink_to(own / MARK_FILE)
    elif how == "other_list":
        mark.write_text("0" * 32)
        (tmp_path / "clone" / LIST_FILE).parent.mkdir(parents=True)
        (tmp_path / "clone" / LIST_FILE).write_text("0" * 32 + "\n")
    else:
        # The user named one folder of the author, who puts the mark that it came with into the next.
        mark.write_text("0" * 32)
        other = tmp_path / "other/.starloom"
        other.mkdir(parents=True)
        (other / MARK_FILE).write_text("0" * 32)
        note(other, user)
        assert is_own(other, user)
    with pytest.raises(Problem, match="you have started no hub on"):
        home_of_the_folder()


def test_t200_a_nearer_folder_of_the_user_goes_first(user: Path, tmp_path: Path) -> None:
    planted(tmp_path)
    own = tmp_path / "clone/below/.starloom"
    (own / "keys").mkdir(parents=True)
    note(own, user)
    assert home_of_the_folder() == home_of_the_hub(None) == own


def test_t200_a_start_that_names_the_folder_takes_it(user: Path, tmp_path: Path) -> None:
    home = planted(tmp_path)
    remember(home)
    assert home_of_the_folder() == home
    assert (user / LIST_FILE).stat().st_mode & 0o077 == 0
    before = (user / LIST_FILE).read_text()
    remember(home)
    assert (user / LIST_FILE).read_text() == before
