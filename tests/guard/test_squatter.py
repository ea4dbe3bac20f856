"""The hub's port is a stranger's while the hub is down: the owner's command line and agent give it nothing."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from starloom.process.computers import computer_name
from tests.installation import Installation, kill
from tests.programs import ran_command
from tests.waiting import until

pytestmark = pytest.mark.test

UNREACHABLE = 5


def _listening(port: int) -> socket.socket | None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        return None
    listener.listen()
    return listener


class Squatter:
    """A stranger that holds a port of 127.0.0.1 while the body of a `with` runs, and answers nothing that is believed.

    `heard` is what came, by connection.
    """

    def __init__(self, port: int) -> None:
        self._listener: socket.socket = until(lambda: _listening(port), f"port {port} is free")
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                opened, _ = self._listener.accept()
            except OSError:
                return
            with opened:
                opened.settimeout(2.0)
                try:
                    self.heard.append(opened.recv(64 * 1024))
                    opened.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"items": []}'[:-1])
                except OSError:
                    self.heard.append(b"")


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
