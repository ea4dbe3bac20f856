"""Two hubs on one shard as real processes: one Redis, one history, a folder that both share, a home for each.

A `Stack` whose service is not one supervisor: the test decides when each hub dies, freezes and comes back. Agents and
clients speak to the hub they were told, whichever owns the shard.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import psutil
from redis import Redis
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from starloom.client.discovery import HubAddress, read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.ports import free_port
from starloom.store.redis.embedded import EmbeddedRedis
from starloom_protocol.stream.feed import Event, decode_event
from starloom_protocol.stream.sketches import SKETCH, Sketch
from tests.chaos.stack import Accepted, Stack
from tests.programs import ran
from tests.waiting import REDIS_WAITS, SLOWER, until

HUBS = ("a", "b")


class Pair(Stack):
    """The hubs `a` and `b`; `a` is started first. `agents` says at which hub each agent is."""

    def __init__(self, home: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(home, settings)
        self._ports = {name: free_port() for name in HUBS}
        self._server = EmbeddedRedis(home)
        self._hubs: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: dict[str, Client] = {}
        self._silent: dict[str, None] = {}
        self._worker: subprocess.Popen[bytes] | None = None

    def start_pair(self, agents: dict[str, str]) -> None:
        asyncio.run(self._server.start())
        self._environment |= {
            "STARLOOM_REDIS_URL": self._server.url,
            "STARLOOM_DATABASE_URL": self.database_url,
            "STARLOOM_SHARED": str(self.home / "shared"),
        }
        for name in HUBS:
            self.start_hub(name)
            self.until_ready(name)
        self.start_worker()
        for name, hub in agents.items():
            self._join(name, self.client_of(hub).address.url)
            self.start_agent(name)
        self.until_online(*agents)

    def end(self) -> None:
        processes = [*self._hubs.values(), *([self._worker] if self._worker else [])]
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
        super().end()
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(20 * SLOWER)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for client in self._clients.values():
            client.close()
        asyncio.run(self._server.stop())

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.database}"

    def start_worker(self) -> None:
        self._worker = self.spawn([sys.executable, "-m", "starloom.jobs.worker"], "worker")

    @property
    def worker(self) -> psutil.Process:
        assert self._worker is not None
        return psutil.Process(self._worker.pid)

    @property
    def redis(self) -> psutil.Process:
        assert self._server.pid is not None
        return psutil.Process(self._server.pid)

    def kill_worker(self) -> None:
        """SIGKILL; `start_worker` brings it back."""
        super().kill_worker()
        assert self._worker is not None
        self._worker.wait()

    def kill_redis(self) -> None:
        """SIGKILL; `start_redis` brings it back."""
        super().kill_redis()
        # A process that is shown as a zombie may have threads that are still ending: only its parent knows the end.
        until(lambda: not self._server.alive(), "Redis has ended", 10 * SLOWER)

    def start_redis(self) -> None:
        """Start it again on what it left on its disk."""
        asyncio.run(self._server.start())

    def start_hub(self, name: str) -> None:
        own = {"STARLOOM_HOME": str(self.home_of(name)), "STARLOOM_PORT": str(self._ports[name])}
        self._hubs[name] = self.spawn([sys.executable, "-m", "starloom.app"], f"hub-{name}", own)

    def home_of(self, name: str) -> Path:
        return self.home / f"hub-{name}"

    def port_of(self, name: str) -> int:
        return self._ports[name]

    def client_of(self, name: str) -> Client:
        if name not in self._clients:
            address = read_local(self.home_of(name))
            assert isinstance(address, HubAddress), f"hub {name} left no address"
            self._clients[name] = Client(address)
        return self._clients[name]

    @property
    def client(self) -> Client:
        """A client of a hub that is neither dead nor frozen."""
        return self.client_of(next(name for name in HUBS if name not in self._silent))

    def cli(self, name: str, *words: str) -> tuple[int, str]:
        """Run `starloom` against one hub; return its exit code and what it said."""
        argv = [sys.executable, "-m", "starloom.cli", words[0], "--hub", str(self.home_of(name)), *words[1:]]
        done = ran(argv, env=self._environment, timeout=120 * SLOWER)
        return done.returncode, done.stdout + done.stderr

    def until_ready(self, name: str) -> None:
        def ready() -> bool:
            assert self._hubs[name].poll() is None, self.log(f"hub-{name}")
            if read_local(self.home_of(name)) is None:
                return False
            with contextlib.suppress(Problem):
                return self.client_of(name).outside("/readyz")[0] == 200
            return False

        until(ready, f"hub {name} is ready", 90 * SLOWER)

    def role(self, name: str) -> str:
        with contextlib.suppress(Problem):
            return str(self.client_of(name).outside("/healthz")[1]["role"])
        return "away"

    def owner(self) -> str:
        """Return the hub that owns the shard."""
        found = until(
            lambda: next((name for name in HUBS if name not in self._silent and self.role(name) == "owner"), None),
            "a hub owns the shard",
        )
        return str(found)

    def standby(self) -> str:
        owner = self.owner()
        return next(name for name in HUBS if name != owner)

    def kill(self, name: str) -> None:
        """SIGKILL; `start_hub` brings it back."""
        self.kills.hub += 1
        self._silent[name] = None
        self._hubs[name].kill()
        self._hubs[name].wait()

    def bring_back(self, name: str) -> None:
        self.start_hub(name)
        self.until_ready(name)
        del self._silent[name]

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """SIGSTOP while the body runs, outside of a write to SQLite: its lock would stay with the frozen process."""
        self.kills.hub += 1
        self._silent[name] = None
        until(lambda: self._freeze(name), f"hub {name} is frozen outside of a write")
        try:
            yield
        finally:
            self._hubs[name].send_signal(signal.SIGCONT)
            self.until_ready(name)
            del self._silent[name]

    def _freeze(self, name: str) -> bool:
        hub = self._hubs[name]
        hub.send_signal(signal.SIGSTOP)
        # Only the thread that gets it stops the others, and on a busy machine one of them may take the lock meanwhile.
        stopped = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        until(lambda: os.waitid(os.P_PID, hub.pid, stopped), f"every thread of hub {name} is stopped")
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=0.2)) as lock:
            try:
                lock.execute("BEGIN IMMEDIATE")
                lock.execute("ROLLBACK")
            except sqlite3.OperationalError:
                hub.send_signal(signal.SIGCONT)
                return False
        return True

    def until_owner(self, name: str) -> float:
        """Wait until this hub owns the shard and can do work; return how long that took."""
        began = time.monotonic()
        try:
            until(lambda: self.role(name) == "owner", f"hub {name} owns the shard")
        except AssertionError as error:
            raise AssertionError(f"{error}; its log ends:\n{self.log(f'hub-{name}')[-2000:]}") from None
        self.until_ready(name)
        return time.monotonic() - began

    def remember_of(self, hub: str, body: dict[str, Any]) -> Accepted:
        """Post a plan at one hub and remember that it was accepted."""
        made = self.client_of(hub).create("/constellations", {"plan": body})
        return self.remember(str(made["id"]), body["name"])

    def redis_client(self) -> Redis:
        return Redis(unix_socket_path=str(self._server.socket), **REDIS_WAITS)


class Viewer:
    """A page at one hub that follows one constellation on one live socket, and notes whatever is not an event."""

    def __init__(self, client: Client, request: Accepted) -> None:
        self._client = client
        self._request = request
        self.events: list[Event] = []
        self.other: list[str] = []
        self.sketches: list[Sketch] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"viewer of {request.name}")

    def __enter__(self) -> Viewer:
        self._thread.start()
        until(lambda: self.events or self.other, "the viewer sees the stream")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    @property
    def last(self) -> int:
        return self.events[-1].seq if self.events else 0

    def _run(self) -> None:
        ticket = self._client.post("/live/tickets", {})["ticket"]
        url = self._client.address.url.replace("http", "ws", 1) + "/api/v1/live"
        try:
            with connect(url, proxy=None) as socket:
                socket.send(msgspec.json.encode({"t": "ticket", "ticket": ticket}).decode())
                asked = {"t": "subscribe", "stream": self._request.id, "after_seq": 0}
                socket.send(msgspec.json.encode(asked).decode())
                while not self._stop.is_set():
                    with contextlib.suppress(TimeoutError):
                        self._take(msgspec.json.decode(socket.recv(timeout=0.2)))
        except (ConnectionClosed, OSError) as error:
            self.other.append(f"the socket ended: {error}")

    def _take(self, message: dict[str, object]) -> None:
        match message:
            case {"t": "events", "events": list(events)}:
                self.events += [decode_event(msgspec.json.encode(event)) for event in events]
            case {"t": "beside", "items": list(items)}:
                said = [item["value"] for item in items if item["kind"] == SKETCH]
                self.sketches += [msgspec.convert(value, Sketch) for value in said]
            case {"t": "ready"}:
                return
            case _:
                self.other.append(str(message)[:200])


@contextmanager
def paired(home: Path, agents: dict[str, str]) -> Iterator[Pair]:
    """Start two hubs and end them, whatever happened in between."""
    pair = Pair(home)
    try:
        pair.start_pair(agents)
        yield pair
    finally:
        pair.end()
