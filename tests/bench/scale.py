"""`python -m tests.bench.scale`: a hub beside a large fleet, seen from outside.

A hub as `make run` starts it, with its embedded parts, and thousands of devices of `tests.bench.fleet` on loopback. CPU
and memory are those of the hub's process alone, from the kernel. Prints a table and ends with one line of JSON; nothing
is asserted but that everything worked. With `--profile` the hub runs under a profiler, and its dearest parts stand
in place of the figures: all idle, and all on their way back.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from tests.bench import machine, profile
from tests.bench.fleet import raise_descriptors
from tests.bench.graphs import fan
from tests.bench.hub_client import API, BenchFailed, HubClient
from tests.bench.profiled_hub import OUT
from tests.bench.report import profile_text
from tests.bench.stack import Stack
from tests.bench.workloads import Run, run

WORKERS = 8
SLOTS = 16
JOINED_S = 900.0
ONLINE_S = 600.0
SETTLE_S = 5.0
VIEWERS_AT_ONCE = 20
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Bound:
    """A figure and the most (or the least) that it may be; the bounds hold for 10,000 devices."""

    key: str
    text: str
    most: float
    least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.most if self.least else value <= self.most


BOUNDS = (
    Bound("hub_rss_mb", "memory of the hub (RSS), MB", 450),
    Bound("idle_cpu_pct", "CPU of the hub while all are idle, % of a core", 3),
    Bound("restart_ready_s", "ready after a kill -9, s", 5),
    Bound("all_back_s", "all devices back after a kill -9, s", 60),
    Bound("hub_ms_per_return", "CPU of the hub for each device that comes back, ms", 2),
    Bound("fan1000_vs_empty", "W1 beside the fleet over W1 without it, wall", 1.3),
    Bound("viewers", "live sockets of one person", 200, least=True),
)


@dataclass(slots=True)
class Part:
    """One process of devices."""

    process: asyncio.subprocess.Process
    count: int

    async def order(self, what: str) -> dict[str, Any]:
        """Have the devices do something; return what they say when it is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n".encode())
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise BenchFailed(f"the process of the devices ended while it should {what}")
        said: dict[str, Any] = json.loads(line)
        return said


@dataclass(slots=True)
class Scale:
    """One measurement."""

    options: argparse.Namespace
    stack: Stack
    found: dict[str, float] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    profiles: list[str] = field(default_factory=list)

    @property
    def agents(self) -> int:
        return int(self.options.agents)

    async def measure(self) -> None:
        async with HubClients(self.stack) as clients:
            empty = await self._fans(clients.one)
            await asyncio.sleep(SETTLE_S)
            before = self._memory()
            await self._join(clients.one)
            await self._connect(before)
            await self._idle()
            await self._viewers(clients.one)
            beside = await self._fans(clients.one)
        self.found["fan1000_vs_empty"] = _wall(beside) / _wall(empty)
        self.found["fan_cpu_vs_empty"] = _cpu(beside) / _cpu(empty)
        self.found["fan_wall_s"] = _wall(beside)
        await self._return()

    async def _fans(self, client: HubClient) -> list[Run]:
        graph = fan(self.options.tasks)
        await run(self.stack, client, fan(100))
        return [await run(self.stack, client, graph) for _ in range(self.options.repeats)]

    async def _all(self, what: str, within_s: float) -> list[dict[str, Any]]:
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.gather(*(part.order(what) for part in self.parts))
        except TimeoutError as error:
            raise BenchFailed(f"the devices did not {what} within {within_s:g} s") from error

    async def _join(self, client: HubClient) -> None:
        asked = {"devices": self.agents, "preapproved": True, "profile_most": "observe", "ends_in_s": 3_600}
        code, shares = (await client.post("/enrollments", asked))["code"], self.options.processes
        sizes = [self.agents // shares + (number < self.agents % shares) for number in range(shares)]
        first = 0
        for size in sizes:
            given = {
                "url": self.stack.url,
                "code": code,
                "first": first,
                "count": size,
                "tools": bool(self.options.tools),
            }
            self.parts.append(Part(await _start(given), size))
            first += size
        began, used = time.monotonic(), self.stack.cpu()
        await self._all("join", JOINED_S)
        used = self.stack.cpu() - used
        self.found["join_ms"] = used.hub / self.agents * 1e3
        say(f"joined after {time.monotonic() - began:.1f} s, {self.found['join_ms']:.2f} ms of the hub each")

    async def _connect(self, before: Memory) -> None:
        began, used = time.monotonic(), self.stack.cpu()
        await self._all("connect", ONLINE_S)
        await self._all("online", ONLINE_S)
        took = time.monotonic() - began
        await asyncio.sleep(SETTLE_S)
        used = self.stack.cpu() - used
        now = self._memory()
        self.found |= {
            "agents": self.agents,
            "connect_s": took,
            "hub_ms_per_connect": used.hub / self.agents * 1e3,
            "hub_rss_mb": now.rss / 1e6,
            "hub_rss_empty_mb": before.rss / 1e6,
            "hub_rss_added_mb": (now.rss - before.rss) / 1e6,
            "kib_each": (now.rss - before.rss) / 1024 / self.agents,
            "redis_rss_mb": now.redis / 1e6,
        }
        say(
            f"connected after {took:.1f} s, {self.found['hub_ms_per_connect']:.2f} ms of the hub each; "
            f"{now.rss / 1e6:.0f} MB, {self.found['kib_each']:.1f} KiB each"
        )

    @contextlib.asynccontextmanager
    async def _profiled(self, what: str) -> AsyncIterator[None]:
        if not self.options.profile:
            yield
            return
        out = Path(self.stack.hub_environment[OUT])
        async with profile.taken(self.stack, out):
            yield
        self.profiles.append(profile_text(profile.read(out, self.agents), f"with {what}", "device"))

    async def _idle(self) -> None:
        await asyncio.sleep(min(SETTLE_S * 3, self.options.idle_s))  # the history and the heap have followed by then
        before = await self._all("say", ONLINE_S)
        began, used, busy = time.monotonic(), self.stack.cpu(), machine.Busy.now()
        async with self._profiled(f"all idle for {self.options.idle_s:g} s"):
            await asyncio.sleep(self.options.idle_s)
        used, took = self.stack.cpu() - used, time.monotonic() - began
        after = await self._all("say", ONLINE_S)
        beats = sum(now["renewed"] - then["renewed"] for then, now in zip(before, after, strict=True))
        self.found["idle_cpu_pct"] = used.hub / took * 100
        self.found["idle_redis_pct"] = used.redis / took * 100
        self.found["beats_s"] = beats / took
        self.found["idle_us_per_beat"] = used.hub / max(beats, 1) * 1e6
        others = (machine.Busy.now().used_s - busy.used_s) / took
        say(
            f"idle: {self.found['idle_cpu_pct']:.2f} % of a core, {beats / took:.0f} answered `alive` a second; "
            f"the machine used {others:.2f} CPUs"
        )

    async def _viewers(self, client: HubClient) -> None:
        wanted = self.options.viewers
        opened: list[ClientConnection] = []
        refused = ""
        began, used = time.monotonic(), self.stack.cpu()
        try:
            while len(opened) < wanted and not refused:
                some = min(VIEWERS_AT_ONCE, wanted - len(opened))
                for found in await asyncio.gather(*(self._viewer(client) for _ in range(some))):
                    if isinstance(found, str):
                        refused = found
                    else:
                        opened.append(found)
            used = self.stack.cpu() - used
            self.found["viewers"] = len(opened)
            self.found["viewer_ms"] = used.hub / max(len(opened), 1) * 1e3
            self.found["hub_rss_viewers_mb"] = self._memory().rss / 1e6
            say(f"{len(opened)} viewers within {time.monotonic() - began:.1f} s {refused}")
        finally:
            await asyncio.gather(*(viewer.close() for viewer in opened))

    async def _viewer(self, client: HubClient) -> ClientConnection | str:
        """Open a live socket that follows the fleet, as a page does; return it, or why there is none."""
        ticket = (await client.post("/live/tickets", {}))["ticket"]
        url = self.stack.url.replace("http", "ws", 1) + API + "/live"
        live = await connect(url, compression=None, max_size=None, proxy=None, open_timeout=60)
        await live.send(_encode({"t": "ticket", "ticket": ticket}).decode())
        first = json.loads(await live.recv())
        if first["t"] != "ready":
            return str(first.get("reason", first["t"]))
        await live.send(_encode({"t": "subscribe", "stream": "fleet", "after_seq": -1, "parts": True}).decode())
        while (await live.recv(decode=False))[:30].find(b'"snapshot"') < 0:
            pass
        return live

    async def _return(self) -> None:
        """Kill the hub, start it again, and wait until every device is back."""
        gone = [asyncio.create_task(part.order("gone")) for part in self.parts]
        began = time.monotonic()
        self.stack.kill_hub()
        await asyncio.gather(*gone)
        await self.stack.start_hub()
        self.found["restart_ready_s"] = time.monotonic() - began
        self.found["restart_cpu_s"] = self.stack.cpu().hub
        used = self.stack.cpu()
        async with self._profiled("all on their way back"):
            await self._all("online", ONLINE_S)
            self.found["all_back_s"] = time.monotonic() - began
            await asyncio.sleep(SETTLE_S)
        used = self.stack.cpu() - used
        self.found["hub_ms_per_return"] = used.hub / self.agents * 1e3
        self.found["hub_rss_return_mb"] = self._memory().rss / 1e6
        say(
            f"ready {self.found['restart_ready_s']:.1f} s after the kill, all back after {self.found['all_back_s']:.1f}"
            f" s, {self.found['hub_ms_per_return']:.2f} ms of the hub each"
        )

    def _memory(self) -> Memory:
        return Memory(self.stack.hub_rss_bytes(), self.stack.redis_rss_bytes())

    async def stop(self) -> None:
        for part in self.parts:
            if part.process.returncode is None:
                part.process.kill()
            await part.process.wait()


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes of the hub and of its Redis."""

    rss: int
    redis: int


@dataclass(slots=True)
class HubClients:
    """An async context with a signed-in client whose live socket is open."""

    stack: Stack
    one: HubClient = field(init=False)

    async def __aenter__(self) -> HubClients:
        self.one = self.stack.client()
        await self.one.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.one.close()


async def _start(given: dict[str, Any]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.fleet",
        json.dumps(given),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=machine.ROOT,
    )


def _wall(runs: list[Run]) -> float:
    return min(one.wall_s for one in runs)


def _cpu(runs: list[Run]) -> float:
    return statistics.median(one.hub_us for one in runs)


def table(found: dict[str, float]) -> str:
    """Return the figures that have a bound, as a table."""
    lines = ["| figure | measured | bound | holds |", "| --- | ---: | ---: | --- |"]
    for bound in BOUNDS:
        value, sign = found[bound.key], ">=" if bound.least else "<="
        holds = "yes" if bound.holds(value) else "NO"
        lines.append(f"| {bound.text} | {value:.3g} | {sign} {bound.most:g} | {holds} |")
    return "\n".join(lines)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--agents", type=int, default=10_000, help="devices (default 10,000)")
    parser.add_argument("--processes", type=int, default=2, help="processes that hold them (default 2)")
    parser.add_argument("--tools", type=int, default=0, help="1: they offer the tools of a real agent, 75 kB each")
    parser.add_argument("--tasks", type=int, default=1_000, help="tasks of W1 (default 1,000)")
    parser.add_argument("--repeats", type=int, default=7, help="runs of W1, of which the median counts (default 7)")
    parser.add_argument("--workers", type=int, default=WORKERS, help="real agents that do W1 (default 8)")
    parser.add_argument("--idle-s", type=float, default=0, help="how long idleness is measured (default 5 to 30 s)")
    parser.add_argument("--viewers", type=int, default=200, help="live sockets (default 200)")
    parser.add_argument("--profile", action="store_true", help="profile the hub in the place of measuring it")
    parser.add_argument("--redis", default="", help="URL of a Redis to use in the place of the embedded one")
    options = parser.parse_args(argv)
    # A small fleet shows that it works: what it measures needs no long look.
    options.idle_s = options.idle_s or min(30.0, max(5.0, options.agents / 200))
    return options


async def measured(options: argparse.Namespace) -> tuple[dict[str, float], list[str]]:
    """Run one measurement in a temporary home; return its figures and the profiles that were asked for."""
    raise_descriptors()
    environment = {"STARLOOM_REDIS_URL": options.redis} if options.redis else {}
    with tempfile.TemporaryDirectory(prefix="starloom-scale-") as home:
        environment |= {OUT: f"{home}/hub.profile"} if options.profile else {}
        module = "tests.bench.profiled_hub" if options.profile else "starloom.app"
        stack = Stack(Path(home), options.workers, SLOTS, module, environment)
        async with stack:
            scale = Scale(options, stack)
            try:
                await scale.measure()
            finally:
                await scale.stop()
    return {key: float(f"{value:.4g}") for key, value in scale.found.items()}, scale.profiles


async def _main(options: argparse.Namespace) -> int:
    whole = asyncio.current_task()
    assert whole is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, whole.cancel)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    try:
        found, profiles = await measured(options)
    except BenchFailed as failed:
        print(f"the bench failed: {failed}", file=sys.stderr)
        return 1
    print(f"`{shlex.join(['python', '-m', 'tests.bench.scale', *sys.argv[1:]])}`, {when}")
    print(f"{machine.describe()}. Load at the start {load}.\n")
    if profiles:
        print("\n\n".join(profiles))
    else:
        print(table(found))
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(_options())))
