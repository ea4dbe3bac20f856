"""One installation as a person starts it, with the sample and lab tools, in a folder of its own.

Real processes only: `starloom up --demo --lab` supervises hub, Redis, worker and this computer's agent. Everything
started here is ended here, by process id.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from starloom.cli.agents import computer_name
from starloom.cli.client import Client
from starloom.cli.discovery import HubAddress, read_local
from starloom.cli.problems import Problem
from starloom.lab.demo_check import free_port
from starloom_agent.platforms.processes import die_with_parent

PATIENCE_S = 60.0
STEP_S = 0.05


def until(question: Callable[[], Any], what: str, within_s: float = PATIENCE_S) -> Any:
    """Ask again and again until the answer is true, and return it.

    Raises:
        AssertionError: it never was, in time.
    """
    deadline = time.monotonic() + within_s
    while not (found := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not so within {within_s:g} s (last answer: {found!r})")
        time.sleep(STEP_S)
    return found


@dataclass(frozen=True)
class Joining:
    """An agent that asks to join by the line of the page, as a stranger's terminal would."""

    process: subprocess.Popen[bytes]
    home: Path
    screen: Path

    def said(self) -> str:
        return self.screen.read_text(errors="replace")


class Stack:
    """A running installation; use `running`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.lan_port = free_port()
        self.desktop = computer_name()
        self.gates = home / "demo" / "desktop"
        self._client: Client | None = None
        self._ours: list[subprocess.Popen[bytes]] = []
        self._supervisor = self.spawn(
            ["-m", "starloom.cli", "up", "--demo", "--lab", "--home", str(home), "--port", str(self.port)], "supervisor"
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def client(self) -> Client:
        if self._client is None:
            address = read_local(self.home)
            assert isinstance(address, HubAddress), "the hub left no address"
            self._client = Client(address)
        return self._client

    def spawn(self, arguments: Sequence[str], log: str) -> subprocess.Popen[bytes]:
        """Start one of our Python programs; it ends with this stack at the latest."""
        parent = os.getpid()
        path = self.home / "logs" / f"{log}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STARLOOM_")}
        # The listener of the local network, where a test opens it, stays on this machine.
        clean |= {"STARLOOM_LAN_HOST": "127.0.0.1", "STARLOOM_LAN_PORT": str(self.lan_port)}
        with path.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=clean,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(signal.SIGTERM, parent),
            )
        self._ours.append(process)
        return process

    def end(self) -> None:
        """End everything that still runs, the supervisor last."""
        for process in reversed(self._ours):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        if self._client is not None:
            self._client.close()

    # -- the hub

    def until_up(self) -> None:
        """Wait until the hub says that it can do work."""

        def ready() -> bool:
            assert self._supervisor.poll() is None, self.log("supervisor")
            if read_local(self.home) is None:
                return False
            with contextlib.suppress(Problem):
                return self.client.outside("/readyz")[0] == 200
            return False

        until(ready, "the hub is ready", 90)

    def log(self, name: str, lines: int = 30) -> str:
        path = self.home / "logs" / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else f"no {path}"

    def sign_in_link(self) -> str:
        return str(self.client.create("/sign-in-links", {})["url"])

    def _hub(self) -> psutil.Process:
        def look() -> psutil.Process | None:
            for process in psutil.Process(self._supervisor.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if process.status() != psutil.STATUS_ZOMBIE and "starloom.app" in process.cmdline():
                        return process
            return None

        found = until(look, "the supervisor's hub")
        assert isinstance(found, psutil.Process)
        return found

    @contextmanager
    def hub_away(self) -> Iterator[None]:
        """SIGKILL the hub and keep the supervisor from starting it while the body runs; then wait for it."""
        hub = self._hub()
        self._supervisor.send_signal(signal.SIGSTOP)
        try:
            hub.send_signal(signal.SIGKILL)
            yield
        finally:
            self._supervisor.send_signal(signal.SIGCONT)
        self.until_up()

    # -- devices and work

    def devices(self) -> dict[str, dict[str, Any]]:
        # A name may be used again after its device was revoked; revoked ones come last.
        return {item["name"]: item for item in reversed(self.client.get("/devices")["items"])}

    def until_online(self, *names: str) -> None:
        def online() -> bool:
            with contextlib.suppress(Problem):
                known = self.devices()
                return all(name in known and known[name]["link"] == "online" and known[name]["tools"] for name in names)
            return False

        until(online, f"{', '.join(names)} online")

    def ask_to_join(self, code: str, name: str) -> Joining:
        """Run the join command of a device in its own folder; it waits for the person at the page."""
        home = self.home / "agents" / name
        arguments = ["-m", "starloom_agent", "join", self.url, code, "--home", str(home), "--name", name, "--yes"]
        log = f"join-{name}"
        return Joining(self.spawn([*arguments, "--profile", "observe"], log), home, self.home / "logs" / f"{log}.log")

    def run_agent(self, joining: Joining) -> subprocess.Popen[bytes]:
        return self.spawn(["-m", "starloom_agent", "run", "--home", str(joining.home)], f"agent-{joining.home.name}")

    def submit(self, plan: dict[str, Any], **more: Any) -> str:
        return str(self.client.create("/constellations", {"plan": plan, **more})["id"])

    def state(self, constellation: str) -> str:
        return str(self.client.get(f"/constellations/{constellation}")["state"])

    def until_state(self, constellation: str, *states: str) -> str:
        return str(until(lambda: (s := self.state(constellation)) in states and s, f"{constellation} {states}"))

    def task_state(self, constellation: str, task: str) -> str:
        tasks = self.client.get(f"/constellations/{constellation}")["tasks"]
        return next((str(item["state"]) for item in tasks if item["id"] == task), "absent")

    # -- plans whose tasks end when a test says so

    def gated(self, task: str, gate: str, **more: Any) -> dict[str, Any]:
        """Return a task that runs on this computer until `open_gate(gate)`."""
        args = {"what": "file", "path": str(self.gates / f"{gate}.gate"), "every_s": 0.1, "within_s": 240}
        return {"id": task, "tool": "wait.until", "args": args, "device": {"name": self.desktop}, **more}

    def open_gate(self, gate: str) -> None:
        self.gates.mkdir(parents=True, exist_ok=True)
        (self.gates / f"{gate}.gate").touch()


@contextmanager
def running(home: Path) -> Iterator[Stack]:
    """Start a stack and end it, whatever happened in between."""
    stack = Stack(home)
    try:
        stack.until_up()
        yield stack
    finally:
        stack.end()
