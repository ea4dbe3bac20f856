"""The hub's port is a stranger's while the hub is down: the owner's command line and agent give it nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom.process.computers import computer_name
from tests.guard.squatter import Squatter
from tests.installation import Installation, kill
from tests.programs import ran_command
from tests.waiting import until

pytestmark = pytest.mark.test

UNREACHABLE = 5


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("squatted"))
    try:
        made.up()
        made.until_online(computer_name())
        yield made
    finally:
        made.close()


def starloom(installed: Installation, *argv: str) -> subprocess.CompletedProcess[str]:
    return ran_command(installed.home, *argv, stdin=subprocess.DEVNULL)


def refused(installed: Installation, squatter: Squatter) -> str:
    """Return what the command line says, which must be that there is no hub."""
    url = f"http://127.0.0.1:{installed.port}"
    for argv in (["devices"], ["devices", "--hub", url], ["submit", "how are my machines"]):
        ended = starloom(installed, *argv)
        assert ended.returncode == UNREACHABLE, (argv, ended.stdout, ended.stderr)
        assert "Traceback" not in ended.stderr
    assert squatter.heard == []
    return ended.stderr


def test_t30_a_killed_hubs_port_gets_no_token(installed: Installation) -> None:
    assert starloom(installed, "devices").returncode == 0
    log = installed.home / "logs" / f"agent-{computer_name()}.log"
    with installed.supervisor_held():
        kill(installed.hub)
        with Squatter(installed.port) as squatter:
            assert "has ended" in refused(installed, squatter)
            before = log.stat().st_size
            until(lambda: "trying again" in log.read_text()[before:], "the agent dials again")
            assert squatter.heard == []
    installed.until_up()
    installed.until_online(computer_name())


def test_t30_a_stopped_hub_leaves_no_address(installed: Installation) -> None:
    local = installed.home / "run" / "local.json"
    before = json.loads(local.read_text())
    assert {Path(before["socket"]).stat().st_mode & 0o777, Path(before["socket"]).parent.stat().st_mode & 0o777} == {
        0o600,
        0o700,
    }
    installed.close()
    assert not local.exists()
    assert not Path(before["socket"]).exists()
    with Squatter(installed.port) as squatter:
        for argv in (["devices"], ["submit", "how are my machines"]):
            ended = starloom(installed, *argv)
            assert ended.returncode == UNREACHABLE, ended.stderr
            assert "no hub left its address" in ended.stderr
        assert squatter.heard == []
    installed.up()
    installed.until_online(computer_name())
    assert json.loads(local.read_text())["token"] == before["token"]
