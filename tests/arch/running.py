"""One real installation for the command blocks: hub, worker, three agents, and a folder like the checkout.

`starloom up --demo` does all of it and ends all of it; the folder has links to the checkout, so a block may write.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starloom.client.discovery import read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.ports import free_port
from tests.arch.checkout import ROOT
from tests.programs import bare_environment
from tests.waiting import SLOWER

READY_S = 90.0 * SLOWER


@dataclass(frozen=True)
class Installation:
    """Where the blocks run, and with which environment."""

    folder: Path
    home: Path
    environment: dict[str, str]


@contextmanager
def installation(place: Path) -> Iterator[Installation]:
    """Start everything, wait until three devices are there, and end it afterwards."""
    folder, home = place / "checkout", place / "home"
    folder.mkdir()
    for entry in (".venv", "docs", "recipes", "Makefile", "README.md"):
        (folder / entry).symlink_to(ROOT / entry)
    programs = Path(sys.executable).parent
    environment = {
        **bare_environment(),
        "HOME": str(place),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "STARLOOM_AGENT_HOME": str(home / "agents" / "demo-server"),
        "STARLOOM_HOME": str(home),
    }
    log = (place / "up.log").open("w+")
    argv = [str(programs / "starloom"), "up", "--demo", "--no-fault", "--port", str(free_port())]
    service = subprocess.Popen(argv, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        _until_there(service, home, place / "up.log")
        yield Installation(folder, home, environment)
    finally:
        service.send_signal(signal.SIGINT)
        try:
            service.wait(30 * SLOWER)
        finally:
            service.kill()
            log.close()


def _until_there(service: subprocess.Popen[bytes], home: Path, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    online = 0
    while online < 3:
        if service.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"{online} of 3 devices are there; starloom up said:\n{log.read_text()}")
        time.sleep(0.2)
        address = read_local(home)
        if address is None:
            continue
        client = Client(address)
        try:
            items = client.get("/devices")["items"]
            online = sum(1 for item in items if item["link"] == "online" and item["tools"])
        except Problem:
            continue
        finally:
            client.close()
