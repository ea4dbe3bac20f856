"""One installation to measure: a hub with its embedded Redis and some agents, each a process of its own, on loopback.

Started as `starloom up` starts them, in a temporary home, in lab mode. CPU and memory of each part are read apart.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import httpx
import psutil

from starloom.client.discovery import HubAddress, read_local
from starloom.client.rest import Client
from starloom.host.agents import LocalAgent, join, until_online
from starloom.host.ports import free_port
from starloom.store.sql.projector import GATHER_S
from starloom_protocol.vocabulary import Profile
from tests.bench import machine
from tests.bench.hub_client import BenchFailed, HubClient
from tests.waiting import SLOWER

READY_S = 60.0 * SLOWER
ONLINE_S = 120.0 * SLOWER
HISTORY_S = 60.0 * SLOWER


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds of the parts."""

    hub: float
    redis: float
    agents: float

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(self.hub - other.hub, self.redis - other.redis, self.agents - other.agents)


@dataclass
class Stack:
    """An async context: inside it hub and agents are up."""

    home: Path
    agents: int
    slots: int
    hub_module: str = "starloom.app"
    hub_environment: dict[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.address = HubAddress(self.url, None, "the bench")
        self.hub: machine.Program | None = None
        self.agent_programs: list[machine.Program] = []
        self._redis: list[int] = []

    async def __aenter__(self) -> Stack:
        try:
            await self._start()
        except BaseException:
            self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        machine.stop(self.agent_programs)
        if self.hub is not None:
            machine.stop([self.hub])

    async def _start(self) -> None:
        await self.start_hub()
        address = read_local(self.home)
        if address is None:
            raise BenchFailed(f"the hub left no address in its home: {self.hub.tail() if self.hub else ''}")
        self.address = address
        client = Client(address)
        try:
            await asyncio.gather(*(self._start_agent(client, number) for number in range(self.agents)))
            if self.agents:
                await until_online(client, [f"bench-{number}" for number in range(self.agents)], within_s=ONLINE_S)
        finally:
            client.close()

    async def start_hub(self) -> None:
        """Start the hub in its home, for the first time or again, and wait until it is ready."""
        environment = {
            "STARLOOM_HOME": str(self.home),
            "STARLOOM_PORT": str(self.port),
            "STARLOOM_LAB": "true",
            "STARLOOM_LOG_LEVEL": "warning",
            **self.hub_environment,
        }
        log = self.home / "logs" / "hub.log"
        self.hub = machine.start("hub", ["-m", self.hub_module], log, environment)
        await self._until_ready()
        self._redis = machine.children_named(self.hub.pid, "valkey")

    def kill_hub(self) -> None:
        """End the hub with SIGKILL; its Redis and its agents stay."""
        assert self.hub is not None
        self.hub.process.kill()
        self.hub.process.wait()

    async def _start_agent(self, client: Client, number: int) -> None:
        name = f"bench-{number}"
        agent = LocalAgent(
            home=self.home / "agents" / name,
            name=name,
            url=self.url,
            profile=Profile.FILES if self.folders else Profile.OBSERVE,
            folders=self.folders,
            lab=True,
        )
        await join(client, agent)
        argv = ["-m", "starloom_agent", "run", "--home", str(agent.home), "--lab", "--slots", str(self.slots)]
        self.agent_programs.append(machine.start(name, argv, self.home / "logs" / f"{name}.log"))

    async def _until_ready(self) -> None:
        assert self.hub is not None
        deadline = time.monotonic() + READY_S
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as probe:
            while time.monotonic() < deadline:
                if not self.hub.alive():
                    raise BenchFailed(f"the hub ended at its start:\n{self.hub.tail()}")
                try:
                    if (await probe.get("/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)
        raise BenchFailed(f"the hub was not ready after {READY_S:g} s:\n{self.hub.tail()}")

    def client(self) -> HubClient:
        """Return a client with the hub's own local token."""
        return HubClient(self.url, self.address.token or "")

    async def settled(self, client: HubClient) -> None:
        """Wait until the history has all that was committed: its CPU belongs to the work that made it.

        To ask costs the hub as much as some tasks, so it is left alone first for as long as commits are gathered.
        """
        deadline = time.monotonic() + HISTORY_S
        await asyncio.sleep(GATHER_S * 1.5)
        while time.monotonic() < deadline:
            figures = await client.get_text("/metrics")
            lag = next(line for line in figures.splitlines() if line.startswith("starloom_history_lag_"))
            if float(lag.split()[1]) == 0:
                return
            await asyncio.sleep(GATHER_S / 2)
        raise BenchFailed(f"the history is still behind after {HISTORY_S:g} s")

    def cpu(self) -> Cpu:
        """Return the CPU seconds used so far."""
        assert self.hub is not None
        return Cpu(
            hub=machine.cpu_s(self.hub.pid),
            redis=sum(machine.cpu_s(pid) for pid in self._redis),
            agents=sum(machine.cpu_s(program.pid) for program in self.agent_programs),
        )

    def hub_rss_bytes(self) -> int:
        assert self.hub is not None
        return machine.rss_bytes(self.hub.pid)

    def redis_rss_bytes(self) -> int:
        return sum(machine.rss_bytes(pid) for pid in self._redis if psutil.pid_exists(pid))

    def agent_rss_bytes(self) -> list[int]:
        return [machine.rss_bytes(program.pid) for program in self.agent_programs]

    def signal_hub(self, number: int) -> None:
        assert self.hub is not None
        os.kill(self.hub.pid, number)
