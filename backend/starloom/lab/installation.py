"""A whole installation for one scenario: hub, Redis and worker under their supervisor, simulated devices, their links.

Everything is started and ended here, by process id, from the thread that made it (a child ends with that thread).
Owns no faults: `injection` carries them out, `scenarios.scenario_run` decides when.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import psutil

from starloom.client.discovery import read_local
from starloom.client.problems import Problem, unreachable
from starloom.client.rest import Client
from starloom.client.routes import get_devices
from starloom.host.agents import LocalAgent, join
from starloom.host.ports import free_port
from starloom.lab.clock_skew import set_clock
from starloom.lab.proxy.fault_proxy import ThreadedProxy
from starloom.process.signals import ends_with_parent
from starloom_agent.home.directory import DEFAULT_SLOTS
from starloom_protocol.vocabulary import Profile

TIME_SCALE: Final = 10
"""Leases and graces of a scenario are divided by it: a device counts as gone after two seconds."""

PROGRAMS: Final = ("sleep", "true", "false", "touch", "date", "echo", "cat")
"""The programs that `shell.run` may call on a device of the lab, with any arguments."""

_GRANT_ALL: Final = """\
import json, sys
from starloom_agent.cli import main
for words in json.loads(sys.argv[1]):
    if main(words):
        sys.exit(f"refused: {words}")
"""

READY_S: Final = 240.0
"""How long the service may take to be ready; several installations may start on a small machine."""
ONLINE_S: Final = 180.0
STOP_S: Final = 60.0
"""How long a process may take to end before it is killed."""
STEP_S: Final = 0.05
_LOG_LINES: Final = 20


class Installation:
    """`start` it, break its parts, `close` it. The devices' folders are `folder(name)`."""

    time_scale: int = TIME_SCALE

    def __init__(self, home: Path, devices: Sequence[str], seed: int) -> None:
        self.home = home
        self.port = free_port()
        self.devices = tuple(devices)
        self.proxies: dict[str, ThreadedProxy] = {}
        self._seed = seed
        self._client: Client | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._agents: dict[str, LocalAgent] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._pumps: list[threading.Thread] = []

    def start(self) -> None:
        """Start everything and wait until every device is online.

        Raises:
            Problem: something did not start, with the end of its log.
        """
        argv = [sys.executable, "-P", "-m", "starloom.cli", "up", "--lab", "--no-agent", "--home", str(self.home)]
        self._supervisor = self._spawn([*argv, "--port", str(self.port)], "supervisor", self.hub_variables())
        self._until(self._ready, "the hub is not ready", READY_S, "supervisor")
        for index, name in enumerate(self.devices):
            proxy = self.proxies[name] = ThreadedProxy(self.port, seed=self._seed + index)
            self._agents[name] = self.local_agent(name, proxy.url)
        asyncio.run(self._join_all())
        self.allow(self._agents.values())
        for name in self.devices:
            self.start_agent(name)
        self._until(
            self._all_online, "a device did not come online", ONLINE_S, *(f"agent-{one}" for one in self.devices)
        )

    def close(self) -> None:
        """End all that still runs, devices first; idempotent."""
        for process in self._running.values():
            _end(process)
        self._running.clear()
        if self._supervisor is not None:
            _end(self._supervisor)
            self._supervisor = None
        for proxy in self.proxies.values():
            proxy.close()
        self.proxies.clear()
        for pump in self._pumps:
            pump.join(STOP_S)
        if self._client is not None:
            self._client.close()
            self._client = None

    def left_over(self) -> list[str]:
        """Return the processes that still run with this home; after `close` there must be none."""
        return list(left_over(self.home, at_terminals=False))

    def new_client(self) -> Client:
        """Return a further client of the hub, for another thread.

        Raises:
            Problem: the hub left no address.
        """
        address = read_local(self.home)
        if address is None:
            raise unreachable("the hub of the lab left no address", f"See {self.home / 'logs'}.")
        return Client(address)

    def folder(self, name: str) -> Path:
        return self.home / "folders" / name

    def ledger(self, name: str) -> Path:
        return self.agent_home(name) / "ledger.sqlite"

    def agent_home(self, name: str) -> Path:
        return self.home / "agents" / name

    def hub_variables(self) -> dict[str, str]:
        """Return further variables of the hub and its worker."""
        return {}

    def variables(self, name: str) -> dict[str, str]:  # noqa: ARG002 - all devices of a scenario are alike
        """Return further variables of a device's agent."""
        return {}

    def slots(self, name: str) -> int:  # noqa: ARG002 - all devices of a scenario are alike
        """Return how many calls a device runs at once."""
        return DEFAULT_SLOTS

    def local_agent(self, name: str, url: str) -> LocalAgent:
        """Return the agent of a device, which reaches the hub by its link's address."""
        return LocalAgent(self.agent_home(name), name, url, Profile.WORK, (self.folder(name),), demo=True, lab=True)

    def allow(self, agents: Iterable[LocalAgent]) -> None:
        """Let the joined devices do what this installation is for, before they start.

        Grants the programs by the agent's own command line, all in one process: starting Python costs most of it.
        """
        grants = [
            ["grant", "--home", str(agent.home), "--effects", "read,write", "shell:run", "--", program, "{.*...}"]
            for agent in agents
            for program in PROGRAMS
        ]
        argv = [sys.executable, "-c", _GRANT_ALL, json.dumps(grants)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=READY_S)
        if done.returncode:
            raise unreachable(f"the devices of the lab took no command rule: {done.stderr}", "Run `starloom doctor`.")

    def device_names(self) -> dict[str, str]:
        """Return the devices' names by their ids."""
        return {item["id"]: item["name"] for item in self._own_client().get(get_devices())["items"]}

    def child(self, sign: str) -> psutil.Process | None:
        """Return the supervisor's living child whose command has the sign."""
        if self._supervisor is None:
            return None
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._supervisor.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    words = [process.name(), *process.cmdline()]
                    if process.status() != psutil.STATUS_ZOMBIE and any(sign in word for word in words):
                        return process
        return None

    def wait_until_whole(self) -> None:
        """Wait until the hub answers and every device is online, as after faults.

        Raises:
            Problem: one did not come back, with the end of its log.
        """
        self._until(self._ready, "the hub did not come back", READY_S, "supervisor")
        logs = [f"agent-{one}" for one in self.devices]
        self._until(self._all_online, "a device did not come back", ONLINE_S, *logs)

    def hold_supervisor(self, *, held: bool) -> None:
        """Keep the supervisor from starting anything again, or let it."""
        if self._supervisor is not None:
            self._supervisor.send_signal(signal.SIGSTOP if held else signal.SIGCONT)

    def agent(self, name: str) -> psutil.Process | None:
        """Return the process of a device's agent, None while it is dead."""
        process = self._running.get(name)
        return psutil.Process(process.pid) if process is not None and process.poll() is None else None

    def start_agent(self, name: str) -> None:
        clock = self._clock(name)
        set_clock(clock, 0.0)
        argv = [sys.executable, "-P", "-m", "starloom.lab.clock_skew", str(clock), "starloom_agent", "run"]
        argv += ["--home", str(self._agents[name].home), "--lab", "--unattended", "--reconnect-most-s", "1"]
        argv += ["--slots", str(self.slots(name))]
        self._running[name] = self._spawn(argv, f"agent-{name}", self.variables(name))

    def join_again(self, name: str) -> None:
        """Join a device as a new one, if its owner has revoked it; `start_agent` brings it back."""
        asyncio.run(join(self._own_client(), self._agents[name]))
        self.allow([self._agents[name]])

    def kill_agent(self, name: str) -> None:
        """SIGKILL; `start_agent` brings it back."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def shift_clock(self, name: str, by_s: float) -> None:
        set_clock(self._clock(name), by_s)

    def fill_disk(self, name: str, *, full: bool) -> None:
        """Forbid the files of the agent and of its new processes to grow (EFBIG), or allow it again."""
        process = self.agent(name)
        if process is not None:
            _, most = process.rlimit(psutil.RLIMIT_FSIZE)
            process.rlimit(psutil.RLIMIT_FSIZE, (0 if full else resource.RLIM_INFINITY, most))

    async def _join_all(self) -> None:
        # A client is not for several threads, and joining asks from one: each has its own.
        clients = [self.new_client() for _ in self._agents]
        try:
            pairs = zip(clients, self._agents.values(), strict=True)
            await asyncio.gather(*(join(client, agent) for client, agent in pairs))
        finally:
            for client in clients:
                client.close()

    def _clock(self, name: str) -> Path:
        return self.home / "clocks" / name

    def _own_client(self) -> Client:
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def _ready(self) -> bool:
        if self._supervisor is None or self._supervisor.poll() is not None:
            raise unreachable(f"the service of the lab ended:\n{self._log_end('supervisor')}", "Run `starloom doctor`.")
        if read_local(self.home) is None:
            return False
        with contextlib.suppress(Problem):
            return self._own_client().outside("/readyz")[0] == 200
        return False

    def _all_online(self) -> bool:
        with contextlib.suppress(Problem):
            items = self._own_client().get(get_devices())["items"]
            return set(self.devices) <= {item["name"] for item in items if item["link"] == "online" and item["tools"]}
        return False

    def _until(self, met: Callable[[], bool], otherwise: str, within_s: float, *logs: str) -> None:
        """Wait for a condition; `otherwise` begins the problem, which quotes the end of `logs`."""
        deadline = time.monotonic() + within_s
        while not met():
            if time.monotonic() > deadline:
                ends = "\n".join(f"{name}:\n{self._log_end(name)}" for name in logs)
                raise unreachable(f"{otherwise} after {within_s:g} s\n{ends}", "Is the machine very busy? Try again.")
            time.sleep(STEP_S)

    def _spawn(
        self, argv: Sequence[str], log: str, variables: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.Popen[bytes]:
        """Start a process whose output comes here by a pipe, because its own disk may be full."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STARLOOM_")}
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environment, "STARLOOM_TIME_SCALE": str(self.time_scale), **variables},
            start_new_session=True,
            preexec_fn=ends_with_parent(),
        )
        pump = threading.Thread(target=_pump, args=(process, self._log(log)), name=f"log {log}", daemon=True)
        self._pumps.append(pump)
        pump.start()
        return process

    def _log(self, name: str) -> Path:
        path = self.home / "logs" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _log_end(self, name: str) -> str:
        path = self._log(name)
        return "\n".join(path.read_text(errors="replace").splitlines()[-_LOG_LINES:]) if path.exists() else ""


def left_over(home: Path, *, at_terminals: bool = True) -> Iterator[str]:
    """Yield the processes that still use the home, but for this one and those that started it, such as `timeout`.

    The processes of an installation have no terminal. Without `at_terminals` a shell of a person is none of them.
    """
    ours = {os.getpid(), *(one.pid for one in psutil.Process().parents())}
    ours |= set() if at_terminals else _at_terminals()
    pattern = re.compile(rf"{re.escape(str(home))}(?![\w.-])")
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        info = process.info
        words = [str(info["cwd"] or ""), *(info["cmdline"] or [])]
        if process.pid not in ours and any(map(pattern.search, words)):
            yield f"{process.pid} {' '.join(info['cmdline'] or [])[:80]}"


def _at_terminals() -> set[int]:
    """Return the processes that have a terminal; psutil does not know one that was opened after its first look."""
    listed = ""
    with contextlib.suppress(OSError):  # a bare container may have no `ps`, and no person at a terminal either
        listed = subprocess.run(["ps", "-A", "-o", "pid=,tty="], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {int(row[0]) for row in rows if len(row) > 1 and row[1].strip("?-")}


def _pump(process: subprocess.Popen[bytes], log: Path) -> None:
    if process.stdout is None:
        raise ValueError("the process says nothing by a pipe")
    with process.stdout as output, log.open("ab", buffering=0) as out:
        while data := os.read(output.fileno(), 64 * 1024):
            out.write(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process as its owner would, also a frozen one; by force if it does not react."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
