from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from starloom.client.discovery import DEFAULT_HOME, HUBS_FILE, Surroundings, find
from starloom.client.exits import Exit
from starloom.client.own_homes import note
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.supervisor import holding


def hub_at(home: Path, port: int, token: str = "slt_a_b") -> str:  # noqa: S107
    (home / "run").mkdir(parents=True)
    url = f"http://127.0.0.1:{port}"
    run = home / "run"
    ways = {"socket": str(run / "hub.sock"), "tunnel": {"socket": str(run / "tunnel.sock"), "pin": "sha256//x"}}
    process = {"pid": os.getpid(), "started_s": psutil.Process().create_time()}
    (run / "local.json").write_text(json.dumps({"url": url, "token": token, **ways, **process}))
    # The user of `around`: a start of a hub there has noted its data folder.
    note(home, home.parents[1] / "user")
    return url


def around(tmp_path: Path, here: Path | None = None, **environment: str) -> Surroundings:
    work = here or tmp_path / "work"
    work.mkdir(parents=True, exist_ok=True)
    (tmp_path / "user").mkdir(exist_ok=True)
    return Surroundings(environment, work, tmp_path / "user")


def test_the_option_wins_over_everything(tmp_path: Path) -> None:
    hub_at(tmp_path / "work" / ".starloom", 1)
    found = find("http://127.0.0.1:9/", around(tmp_path, STARLOOM_URL="http://127.0.0.1:8"))
    assert (found.url, found.source) == ("http://127.0.0.1:9", "--hub")


def test_a_url_of_a_local_hub_brings_its_token(tmp_path: Path) -> None:
    url = hub_at(tmp_path / "work" / ".starloom", 1, "slt_x_y")
    assert find(None, around(tmp_path, STARLOOM_URL=url)).token == "slt_x_y"
    given = find(None, around(tmp_path, STARLOOM_URL=url, STARLOOM_TOKEN="slt_own_z"))
    assert (given.token, given.token_from) == ("slt_own_z", "STARLOOM_TOKEN")
    assert find(None, around(tmp_path, STARLOOM_URL="http://elsewhere:1")).token is None


def test_a_parent_folder_has_it(tmp_path: Path) -> None:
    url = hub_at(tmp_path / "work" / ".starloom", 2)
    found = find(None, around(tmp_path, tmp_path / "work" / "a" / "b"))
    assert (found.url, found.token) == (url, "slt_a_b")


def test_the_home_that_is_set_comes_before_the_folders(tmp_path: Path) -> None:
    hub_at(tmp_path / "work" / ".starloom", 2)
    url = hub_at(tmp_path / "mine", 3)
    assert find(None, around(tmp_path, STARLOOM_HOME=str(tmp_path / "mine"))).url == url


def test_the_default_home_then_hubs_toml(tmp_path: Path) -> None:
    scene = around(tmp_path)
    path = scene.user_home / HUBS_FILE
    path.parent.mkdir(parents=True)
    path.write_text('default = "home"\n[hubs.home]\nurl = "https://hub.example"\ntoken = "slt_h_s"\n')
    assert find(None, scene).url == "https://hub.example"
    assert find("home", scene).token == "slt_h_s"
    url = hub_at(scene.user_home / DEFAULT_HOME, 4)
    assert find(None, scene).url == url


def test_a_data_folder_as_the_option(tmp_path: Path) -> None:
    url = hub_at(tmp_path / "data", 5)
    assert find(str(tmp_path / "data"), around(tmp_path)).url == url
    (tmp_path / "empty").mkdir()
    with pytest.raises(Problem) as caught:
        find(str(tmp_path / "empty"), around(tmp_path))
    assert caught.value.exit_code is Exit.UNREACHABLE


def test_nothing_is_found(tmp_path: Path) -> None:
    with pytest.raises(Problem) as caught:
        find(None, around(tmp_path))
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert "starloom up" in caught.value.hint


@pytest.mark.parametrize("hub", ["nonsense", "ftp://x", "http://"])
def test_a_name_that_means_nothing_is_usage(tmp_path: Path, hub: str) -> None:
    with pytest.raises(Problem) as caught:
        find(hub, around(tmp_path))
    assert caught.value.exit_code is Exit.USAGE


@pytest.mark.parametrize("text", ["{", "[]", '{"token": "x"}', '{"url": "nonsense"}'])
def test_a_broken_address_file_is_told(tmp_path: Path, text: str) -> None:
    run = tmp_path / "work" / ".starloom" / "run"
    run.mkdir(parents=True)
    (run / "local.json").write_text(text)
    note(run.parent, tmp_path / "user")
    with pytest.raises(Problem):
        find(None, around(tmp_path))


def test_a_hub_of_this_computer_is_reached_by_its_socket(tmp_path: Path) -> None:
    home = tmp_path / "work" / ".starloom"
    url = hub_at(home, 6)
    for found in (find(None, around(tmp_path)), find(url, around(tmp_path)), find(str(home), around(tmp_path))):
        assert found.own is not None
        assert found.own.socket == home / "run" / "hub.sock"
        assert not found.own.has_ended()


def test_a_file_that_a_killed_hub_left_is_known_as_such(tmp_path: Path) -> None:
    hub_at(tmp_path / "work" / ".starloom", 7)
    path = tmp_path / "work" / ".starloom" / "run" / "local.json"
    said = json.loads(path.read_text())
    for change in ({"pid": 2**22 + 1}, {"started_s": said["started_s"] - 60}):
        path.write_text(json.dumps({**said, **change}))
        found = find(None, around(tmp_path)).own
        assert found is not None
        assert found.has_ended()


def test_a_killed_hub_that_its_service_starts_again_says_so(tmp_path: Path) -> None:
    home = tmp_path / "work" / ".starloom"
    hub_at(home, 7)
    path = home / "run" / "local.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 2**22 + 1}))

    def told() -> Problem:
        with pytest.raises(Problem) as caught:
            Client(find(None, around(tmp_path)), sleep=lambda _: None).get("/devices")
        return caught.value

    with holding(home):
        kept = told()
    assert f"`starloom up` (process {os.getpid()}) starts it again" in kept.reason
    assert kept.hint == "Wait a few seconds, then run this command again."
    assert told().hint.startswith(f"Start it with `starloom up --home {home}`")


def test_an_address_of_a_port_alone_is_not_taken(tmp_path: Path) -> None:
    hub_at(tmp_path / "work" / ".starloom", 8)
    path = tmp_path / "work" / ".starloom" / "run" / "local.json"
    path.write_text('{"url": "http://127.0.0.1:8", "token": "slt_a_b"}')
    with pytest.raises(Problem) as caught:
        find(None, around(tmp_path))
    assert caught.value.exit_code is Exit.UNREACHABLE
