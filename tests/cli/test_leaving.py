"""`starloom-agent leave` as its owner types it: a real hub is told, or the line for its owner is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom.cli import tunnels
from tests.installation import Installation
from tests.waiting import SLOWER, until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("leaving"))
    try:
        made.up()
        yield made
    finally:
        made.close()


def agent(home: Path, *argv: str) -> str:
    command = [sys.executable, "-m", "starloom_agent", *argv, "--home", str(home)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * SLOWER, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def joined(service: Installation, home: Path, name: str) -> str:
    """Join an agent, start it in the background, and return its device's id."""
    code = str(service.client.post("/enrollments", {"preapproved": True})["code"])
    url = f"http://127.0.0.1:{service.port}"
    agent(home, "join", url, code, "--name", name, "--profile", "work", "--start")
    service.until_online(name)
    return str(shown(service, name)["id"])


def shown(service: Installation, name: str) -> dict[str, object]:
    found: dict[str, object] = service.client.get(f"/devices/{name}")
    return found


def test_leaving_tells_the_hub_and_removes_everything(service: Installation, tmp_path: Path) -> None:
    home = tmp_path / "agent"
    device = joined(service, home, "box")
    (home / "workspace" / "mine.txt").write_text("of the owner")
    record = tunnels.Record(
        destination="box", remote_port=1, hub_host="127.0.0.1", hub_port=service.port, home=str(home), device="box"
    )
    tunnels.keep(service.home, record)
    said = agent(home, "leave", "--purge")
    assert f"The hub http://127.0.0.1:{service.port} knows that box has left." in said
    assert f"Kept: {home / 'workspace'}" in said
    assert sorted(path.name for path in home.rglob("*")) == ["mine.txt", "workspace"]
    found = shown(service, device)
    assert (found["left"], found["revoked"]) == (True, True)
    until(lambda: shown(service, device)["link"] == "offline", "the device is away", 10 * SLOWER)
    until(lambda: not tunnels.path_of(service.home, "box").exists(), "no tunnel is kept", 10 * SLOWER)
    deeds = service.client.get("/audit", kind="devices")["items"]
    assert [deed["by"] for deed in deeds if deed["kind"] == "device_left"] == [f"device:{device}"]
    again = joined(service, home, "box")
    assert again != device
    assert "Kept:" in agent(home, "leave", "--keep")


def test_a_hub_that_is_away_keeps_no_device(tmp_path: Path) -> None:
    home = tmp_path / "agent"
    home.mkdir()
    key = "aHVi" * 10 + "aGU="
    (home / "hub.json").write_text(json.dumps({"hub": "http://127.0.0.1:9", "hub_key": key, "name": "box"}))
    said = agent(home, "leave", "--purge")
    assert "The hub could not be told: http://127.0.0.1:9 does not answer" in said
    assert "type: starloom device revoke box" in said
    assert f"{home} is gone." in said
    assert not home.exists()
