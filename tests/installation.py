"""One installation as a person starts it: `starloom up` as real processes, in a folder of its own.

What a layer of tests does with it (agents, faults, requests) stands beside those tests. Everything that is started
here is ended here, by process id; nothing is looked for by name outside of the supervisor's children.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import psutil
import pytest

from starloom.client.discovery import HubAddress, read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.ports import free_port
from starloom.lab.installation import left_over
from starloom_agent.cli import main as agent_command
from starloom_agent.platforms.processes import die_with_parent
from tests.programs import bare_environment
from tests.waiting import SLOWER, until

READY_WITHIN_S = 90.0 * SLOWER
END_WITHIN_S = 30.0 * SLOWER


class Installation:
    """Hub, Redis and worker under their supervisor; it starts nothing before `up`."""

    def __init__(self, home: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.home = home
        self.hub_home = home
        """Where the hub's files are seen from here; elsewhere than `home` if it has a disk of its own."""
        self.port = free_port()
        self._environment = {**bare_environment(), **settings}
        self._client: Client | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None

    def up(self, *options: str) -> None:
        """Run `starloom up` with these options on this home, and wait until the hub can do work."""
        assert self._supervisor is None or self._supervisor.poll() is not None, "the supervisor still runs"
        argv = [sys.executable, "-m", "starloom.cli", "up", *options, "--home", str(self.home)]
        self._supervisor = self.spawn([*argv, "--port", str(self.port)], "supervisor")
        self.until_up()

    def down(self) -> None:
        """End the service as Ctrl-C does; `up` may start it again."""
        process, self._supervisor = self._supervisor, None
        if process is not None:
            end_process(process, END_WITHIN_S)

    def close(self) -> None:
        """End the service and the connections to it."""
        self.down()
        if self._client is not None:
            self._client.close()
            self._client = None

    def left_over(self) -> list[str]:
        """Return what still runs with this home."""
        return list(left_over(self.home))

    def spawn(self, argv: Sequence[str], log: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a process whose words go to a log of this home; it ends with the tests at the latest."""
        parent = os.getpid()
        path = self._log(log)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as out:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**self._environment, **(more or {})},
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(signal.SIGTERM, parent),
            )

    @property
    def client(self) -> Client:
        """The REST API as the command line uses it."""
        if self._client is None:
            address = read_local(self.hub_home)
            assert isinstance(address, HubAddress), "the hub left no address"
            self._client = Client(self._from_here(address))
        return self._client

    def _from_here(self, address: HubAddress) -> HubAddress:
        """Return the address with the hub's socket where it is seen from here."""
        if address.own is None or self.hub_home == self.home:
            return address
        socket = self.hub_home / address.own.socket.relative_to(self.home.resolve())
        return replace(address, own=replace(address.own, socket=socket))

    def until_up(self) -> None:
        """Wait until the hub says that it can do work."""

        def ready() -> bool:
            assert self.supervisor.poll() is None, f"the service ended:\n{self.log('supervisor')}"
            if read_local(self.hub_home) is None:
                return False
            with contextlib.suppress(Problem):
                return self.client.outside("/readyz")[0] == 200
            return False

        until(ready, "the hub is ready", READY_WITHIN_S)

    def until_online(self, *names: str) -> None:
        """Wait until every one of these devices is online with its tools."""

        def online() -> bool:
            with contextlib.suppress(Problem):
                items = self.client.get("/devices")["items"]
                return set(names) <= {item["name"] for item in items if item["link"] == "online" and item["tools"]}
            return False

        try:
            until(online, f"{', '.join(names)} online")
        except AssertionError as error:
            ends = "\n".join(f"agent-{name}:\n{self.log(f'agent-{name}', 8)}" for name in names)
            raise AssertionError(f"{error}\n{ends}") from None

    def log(self, name: str, lines: int = 30) -> str:
        """Return the end of a log."""
        path = self._log(name)
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else f"no {path}"

    def _log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    @property
    def supervisor(self) -> subprocess.Popen[bytes]:
        assert self._supervisor is not None, "the service is not started"
        return self._supervisor

    @property
    def hub(self) -> psutil.Process:
        return self.child("starloom.app")

    def child(self, sign: str) -> psutil.Process:
        """Return the supervisor's living child whose name or command has the sign."""

        def look() -> psutil.Process | None:
            for process in psutil.Process(self.supervisor.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    words = [process.name(), *process.cmdline()]
                    if process.status() != psutil.STATUS_ZOMBIE and any(sign in word for word in words):
                        return process
            return None

        found = until(look, f"a process {sign} of the supervisor")
        assert isinstance(found, psutil.Process)
        return found

    @contextmanager
    def supervisor_held(self) -> Iterator[None]:
        """Keep the supervisor from starting anything again while the body breaks things."""
        self.supervisor.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.supervisor.send_signal(signal.SIGCONT)


@contextmanager
def home_for(request: pytest.FixtureRequest, prefix: str = "sl-chaos-") -> Iterator[Path]:
    """Make a folder for an installation that ends within the body; where a test failed meanwhile, it stays for a look.

    Raises:
        AssertionError: a process with this home outlived the body.
    """
    # Not pytest's own folder: the path of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix=prefix))
    failed_before = request.session.testsfailed
    yield home
    left = list(left_over(home))
    assert not left, f"these outlived the service: {left}"
    if request.session.testsfailed == failed_before:
        shutil.rmtree(home, ignore_errors=True)


def type_at_agent(home: Path, *words: str) -> str:
    """Carry out `starloom-agent WORDS` at the home of an agent, and return what it prints.

    In this process: a process of its own computes for 0.2 s to start, and an installation types several.
    """
    command, *rest = words
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = agent_command([command, "--home", str(home), *rest])
    assert code == 0, said.getvalue()
    return said.getvalue()


def end_process(process: subprocess.Popen[bytes], within_s: float) -> None:
    """End a process of ours as its owner would, also one that is stopped; by force if it does not listen."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def kill(process: psutil.Process) -> None:
    """SIGKILL, and wait until it runs no more: a held supervisor does not collect what is left of it."""
    process.send_signal(signal.SIGKILL)

    def ended() -> bool:
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(ended, f"process {process.pid} ended", 10 * SLOWER)
