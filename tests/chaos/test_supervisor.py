"""The supervisor stopped and killed: nothing that it started outlives it, and the next start goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from starloom.client.discovery import read_local
from starloom.client.rest import Client
from starloom.client.routes import get_devices
from starloom.edge.access.authority import Authority
from starloom.host.ports import free_port
from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack, running
from tests.chaos.work import plan
from tests.installation import home_for
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos


@pytest.fixture
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    with home_for(request) as home, running(Stack(home), (), own_agent=True) as made:
        yield made


def tree(stack: Stack) -> list[psutil.Process]:
    return psutil.Process(stack.supervisor.pid).children(recursive=True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_supervisor(stack: Stack, settled: Settled, how: signal.Signals) -> None:
    awaited = stack.home / "agents" / stack.own_agent / "workspace" / "awaited.txt"
    wait = {"id": "wait", "tool": "wait.until", "args": {"what": "file", "path": str(awaited), "every_s": 0.1}}
    request = stack.submit(plan("outlived", [wait]))
    stack.until_task(request, "wait", "running")
    names = (
        "starloom.app",
        "valkey-server",
        "starloom.jobs.worker",
        "starloom_agent run",
        "starloom_agent.work.execution.zygote",
    )
    until(lambda: all(any(name in _words(one) for one in tree(stack)) for name in names), "all parts run")
    before = tree(stack)
    stack.supervisor.send_signal(how)
    code = stack.supervisor.wait(30 * SLOWER)
    assert code == (0 if how is signal.SIGINT else -signal.SIGKILL)
    until(lambda: not [one for one in before if one.is_running()], "every process it started is gone", 20 * SLOWER)
    assert stack.left_over() == []
    stack.start_again()
    awaited.parent.mkdir(parents=True, exist_ok=True)
    awaited.touch()
    assert stack.until_final(request) == "succeeded"
    settled()


def _words(process: psutil.Process) -> str:
    try:
        return " ".join([process.name(), *process.cmdline()])
    except psutil.NoSuchProcess:
        return ""


def test_a_hub_with_its_own_certificate_serves_its_computer() -> None:
    """The command line and the local agent reach it by its socket, whatever name the certificate is made for."""
    with tempfile.TemporaryDirectory(prefix="sl-chaos-") as folder:
        leaf = Authority(Path(folder) / "certificate", lambda: int(time.time() * 1000)).leaf("192.168.7.7")
        environment = {**os.environ, "STARLOOM_TLS_CERT": str(leaf.chain), "STARLOOM_TLS_KEY": str(leaf.key)}
        home, port = Path(folder) / "home", free_port()
        argv = [sys.executable, "-m", "starloom.cli", "up", "--home", str(home), "--port", str(port)]
        log = Path(folder) / "up.log"
        with log.open("wb") as words:
            service = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT, env=environment
            )
        try:
            until(lambda: f"https://127.0.0.1:{port}/#/sign-in/".encode() in log.read_bytes(), "it gives a link")
            address = read_local(home)
            assert address is not None
            client = Client(address)
            try:
                until(lambda: [row["link"] for row in client.get(get_devices())["items"]] == ["online"], "its agent")
            finally:
                client.close()
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(30 * SLOWER)


def test_the_service_ends_though_nobody_reads_its_words() -> None:
    with tempfile.TemporaryDirectory(prefix="sl-chaos-") as folder:
        argv = [sys.executable, "-m", "starloom.cli", "up", "--no-agent", "--home", folder, "--port", str(free_port())]
        service = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            words = service.stdout
            assert words is not None
            until(lambda: b"http" in words.readline(), "the service tells its address")
            parts = psutil.Process(service.pid).children(recursive=True)
            words.close()
            service.send_signal(signal.SIGTERM)
            service.wait(30 * SLOWER)
            until(lambda: not [one for one in parts if one.is_running()], "every part has ended", 20 * SLOWER)
        finally:
            service.kill()
            service.wait()
