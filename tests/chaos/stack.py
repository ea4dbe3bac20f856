"""One installation as real processes in a folder of its own, with the means to break each of them.

`starloom up` is the supervisor of hub, Redis and worker; agents are started here, so that a test decides when one
comes back. Everything is ended by process id; nothing is looked for by name outside of the supervisor's children.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import psutil
from redis import Redis

from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.host.agents import LocalAgent, join
from starloom.jobs import broker
from starloom.lab.proxy.fault_proxy import FaultProxy, ThreadedProxy
from starloom.process.computers import computer_name
from starloom.process.settings import Settings
from starloom_protocol.records.entities import Job
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Profile
from tests.chaos.sql_log import read_log
from tests.chaos.work import Place
from tests.installation import Installation, end_process, kill, type_at_agent
from tests.waiting import PATIENCE_S, REDIS_WAITS, SLOWER, until

TIME_SCALE = 10 / SLOWER
"""Divides leases and what hangs on them: 10 makes 1.5 s of a lease, which a slow machine cannot renew in time."""

LEASE_S = (Settings.model_fields["lease_ttl_s"].default + Settings.model_fields["lease_grace_s"].default) / TIME_SCALE
"""How long a lease lasts that is not renewed, with its grace."""


@dataclass
class Kills:
    """How many processes were killed or stopped on purpose."""

    hub: int = 0
    redis: int = 0
    agent: int = 0
    worker: int = 0
    postgres: int = 0


@dataclass
class Accepted:
    """A request that the hub accepted, with every event of it that a client has seen, by number."""

    id: str
    name: str
    view: View
    seen: dict[int, Event] = field(default_factory=dict)


class Stack(Installation):
    """A running installation and its agents; use `running`."""

    def __init__(self, home: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(home, {"STARLOOM_TIME_SCALE": str(TIME_SCALE), **settings})
        self.kills = Kills()
        self.place = Place(home / "traces")
        self.accepted: dict[str, Accepted] = {}
        self.proxy: ThreadedProxy | None = None
        self.own_agent = ""
        self.reconnect: tuple[str, ...] = ("--reconnect-most-s", "1")
        self._options: tuple[str, ...] = ()
        self._agents: dict[str, LocalAgent] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, agents: tuple[str, ...], behind_proxy: tuple[str, ...] = (), *, own_agent: bool = False) -> None:
        """Start service and agents, and wait until every agent is online.

        With `own_agent` the supervisor starts this computer's agent too; it is called `self.own_agent`.
        """
        self._options = ("--lab",) if own_agent else ("--lab", "--no-agent")
        self.up(*self._options)
        if own_agent:
            self.own_agent = computer_name()
            self.until_online(self.own_agent)
        if behind_proxy:
            self.proxy = ThreadedProxy(self.port)
        for name in (*agents, *behind_proxy):
            through = self.proxy.url if self.proxy is not None and name in behind_proxy else None
            self._join(name, through or self.client.address.url)
            self.start_agent(name)
        self.until_online(*agents, *behind_proxy)

    def start_again(self) -> None:
        """Start the service once more on the same home, after the supervisor has ended."""
        self.up(*self._options)

    def _join(self, name: str, url: str) -> None:
        home = self.home / "agents" / name
        agent = LocalAgent(home, name, url, Profile.FILES, (self.home / "folders" / name,), lab=True)
        asyncio.run(join(self.client, agent))
        grant = ("grant", "--effects", "read,write", "shell:run", "--")
        type_at_agent(home, *grant, *self.place.command, "{.*...}")
        self._agents[name] = agent

    def end(self) -> None:
        """End everything that still runs, agents first."""
        for name in list(self._running):
            self.stop_agent(name)
        self.close()
        if self.proxy is not None:
            self.proxy.close()
            self.proxy = None

    @property
    def history(self) -> Path | str:
        """Where `collect` reads the SQL log: the file, or the address of a server."""
        return self.database

    @property
    def database(self) -> Path:
        return self.hub_home / "starloom.db"

    @property
    def redis(self) -> psutil.Process:
        return self.child("valkey-server")

    @property
    def worker(self) -> psutil.Process:
        return self.child("starloom.jobs.worker")

    def kill_hub(self) -> None:
        self.kills.hub += 1
        kill(self.hub)

    def kill_redis(self) -> None:
        self.kills.redis += 1
        kill(self.redis)

    def kill_worker(self) -> None:
        self.kills.worker += 1
        kill(self.worker)

    def hub_frozen(self) -> AbstractContextManager[None]:
        """SIGSTOP the hub while the body runs."""
        return frozen(self.hub)

    @contextmanager
    def worker_of_our_own(self) -> Iterator[Callable[[], None]]:
        """Run a worker beside the supervisor's; the body gets what kills it."""
        url = f"unix://{self._socket()}?db=0"
        places = {"STARLOOM_REDIS_URL": url, "STARLOOM_DATABASE_URL": f"sqlite:///{self.database}"}
        process = self.spawn([sys.executable, "-m", "starloom.jobs.worker"], "own-worker", places)

        def kill() -> None:
            self.kills.worker += 1
            process.kill()
            process.wait()

        try:
            yield kill
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def jobs_queued(self) -> int:
        """Return how many wake-ups lie in the broker."""
        with Redis(unix_socket_path=str(self._socket()), db=broker.DATABASE, **REDIS_WAITS) as redis:
            return int(redis.llen(broker.KEY_PREFIX + broker.QUEUE))

    def until_job(self, request: Accepted, state: str) -> None:
        """Wait until the planning job of a request is in a state."""

        def so() -> bool:
            return any(job.state == state for job in self.look(request).each("job", Job).values())

        until(so, f"the job of {request.name} {state}")

    def cut_redis_log(self, keep: float) -> int:
        """Cut the append-only file to a part of its length, as a power loss would; return the bytes lost."""
        folder = self.home / "redis" / "appendonlydir"
        newest = max(folder.glob("*.incr.aof"), key=lambda path: path.stat().st_mtime_ns)
        size = newest.stat().st_size
        kept = int(size * keep)
        os.truncate(newest, kept)
        return size - kept

    @contextmanager
    def history_held(self) -> Iterator[None]:
        """Keep the projector from writing to the history, so that Redis alone has what is committed meanwhile."""
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=10)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                lock.execute("ROLLBACK")

    def redis_client(self) -> Redis:
        return Redis(unix_socket_path=str(self._socket()), **REDIS_WAITS)

    def _socket(self) -> Path:
        for connection in self.redis.net_connections("unix"):
            if str(connection.laddr).endswith("v.sock"):
                return Path(str(connection.laddr))
        raise AssertionError("Redis listens on no socket")

    def fault(self, fault: Callable[[FaultProxy], None]) -> None:
        """Do something to the link of the agents behind the proxy."""
        assert self.proxy is not None, "no agent is behind the proxy"
        self.proxy.do(fault)

    def start_agent(self, name: str) -> None:
        argv = [sys.executable, "-m", "starloom_agent", "run", "--home", str(self._agents[name].home), "--lab"]
        self._running[name] = self.spawn([*argv, *self.reconnect], f"agent-{name}")

    def agent(self, name: str) -> psutil.Process:
        """Return the process of an agent; its runners are its children."""
        return psutil.Process(self._running[name].pid)

    def stop_agent(self, name: str) -> None:
        """End an agent as its owner would, by force if it does not listen."""
        end_process(self._running.pop(name), 15 * SLOWER)

    def kill_agent(self, name: str) -> None:
        """SIGKILL; `start_agent` brings it back."""
        self.kills.agent += 1
        process = self._running.pop(name)
        process.kill()
        process.wait()

    @contextmanager
    def agent_frozen(self, name: str) -> Iterator[None]:
        """SIGSTOP the agent alone while the body runs: its runners go on."""
        process = self._running[name]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def ledgers(self) -> dict[str, Path]:
        """Return every agent's ledger, by the name of its device."""
        return {name: agent.home / "ledger.sqlite" for name, agent in self._agents.items()}

    def submit(self, plan: dict[str, Any]) -> Accepted:
        """Post a plan and remember that it was accepted."""
        # A fault may have taken a tool away before: the plan is to wait for it.
        return self._remember(plan["name"], {"able": False, "plan": plan})

    def ask(self, words: str) -> Accepted:
        return self._remember(words, {"request": words})

    def _remember(self, name: str, body: dict[str, Any]) -> Accepted:
        return self.remember(str(self.client.create("/constellations", body)["id"]), name)

    def remember(self, constellation: str, name: str) -> Accepted:
        """Note that a client was told that this constellation is accepted."""
        return self.accepted.setdefault(constellation, Accepted(constellation, name, View(constellation)))

    def keep_what_is_durable(self) -> None:
        """Let clients forget what they saw and the SQL log does not have: it went with Redis and its only owner.

        To be called while neither runs. Every client reads its stream anew, as a page does after a `resync`.
        """
        durable = {(event.stream, event.seq) for event in read_log(self.history)[1]}
        for request in self.accepted.values():
            request.view = View(request.id)
            request.seen = {seq: event for seq, event in request.seen.items() if (request.id, seq) in durable}

    def look(self, request: Accepted) -> View:
        """Read what is new of a request; a hub that is away leaves it as it was seen last."""
        with contextlib.suppress(Problem):
            for event in self.client.events(request.id, request.view.seq, limit=2_000):
                request.seen[event.seq] = event
                request.view.apply([event])
        return request.view

    def succeeded(self, request: Accepted) -> int:
        """Return how many tasks have succeeded by now."""
        return sum(task.state == "succeeded" for task in self.look(request).tasks.values())

    def until_task(self, request: Accepted, task: str, *states: str, within_s: float = PATIENCE_S) -> None:
        def so() -> bool:
            found = self.look(request).tasks.get(task)
            if found is not None and found.state in FINAL_TASK_STATES and found.state not in states:
                raise AssertionError(f"task {task} of {request.name} ended: {self.describe(request)}")
            return found is not None and found.state in states

        until(so, f"task {task} of {request.name} {' or '.join(states)}", within_s)

    def describe(self, request: Accepted) -> str:
        """Return what a reader of a failed test wants to know of a request."""
        view = request.view
        tasks = {name: f"{task.state} {task.reason or task.code or ''}".strip() for name, task in view.tasks.items()}
        few = {name: told for name, told in tasks.items() if told != "succeeded"}
        last = [attempt.detail for name in few if (attempt := view.last_attempt(name)) is not None and attempt.detail]
        return f"{view.state}, {len(tasks)} tasks, not succeeded {dict(list(few.items())[:8])}, last said {last[:3]}"

    def until_final(self, request: Accepted, within_s: float = PATIENCE_S) -> str:
        """Wait until the constellation is final and return its state."""

        try:
            until(lambda: self.look(request).final, f"{request.name} final", within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.describe(request)}") from None
        return str(request.view.state)

    def control(self, request: Accepted, action: str, task: str | None = None, **body: Any) -> Any:
        where = f"/constellations/{request.id}" + (f"/tasks/{task}" if task else "") + f"/{action}"
        return self.client.post(where, body)


AStack = TypeVar("AStack", bound=Stack)


@contextmanager
def frozen(process: psutil.Process) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


@contextmanager
def running(
    stack: AStack, agents: tuple[str, ...], behind_proxy: tuple[str, ...] = (), *, own_agent: bool = False
) -> Iterator[AStack]:
    """Start a stack and end it, whatever happened in between."""
    try:
        stack.start(agents, behind_proxy, own_agent=own_agent)
        yield stack
    finally:
        stack.end()
