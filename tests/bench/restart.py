"""`python -m tests.bench.restart`: how long a hub takes to be ready with many live constellations.

Three times each: killed and started again on the same home, and killed beside a second hub that takes the shard over.
The process starts cold, so importing and opening are in the figure. Ends with one line of JSON; nothing is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil

from starloom.host.ports import free_port
from starloom.store.redis.embedded import EmbeddedRedis
from tests.programs import bare_environment

TASKS = 10


def _plan(number: int) -> dict[str, Any]:
    """Return a plan that waits for a person and then has tasks for devices: live, and not to be finished by a hub."""
    tasks: list[dict[str, Any]] = [{"id": "go", "person": "Go on?"}]
    tasks += [{"id": f"t{task}", "tool": "lab.echo", "args": {"value": task}} for task in range(TASKS - 1)]
    edges = [{"from": "go", "to": f"t{task}", "when": "success"} for task in range(TASKS - 1)]
    return {"starloom": 1, "name": f"live {number}", "tasks": tasks, "dependencies": edges}


class _Hubs:
    def __init__(self, home: Path, redis: EmbeddedRedis) -> None:
        self._home = home
        self._ports: dict[str, int] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {
            **bare_environment(),
            "STARLOOM_REDIS_URL": redis.url,
            "STARLOOM_DATABASE_URL": f"sqlite:///{home / 'starloom.db'}",
            "STARLOOM_SHARED": str(home / "shared"),
        }

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._ports[name]}"

    def start(self, name: str) -> None:
        self._ports.setdefault(name, free_port())
        own = {"STARLOOM_HOME": str(self._home / name), "STARLOOM_PORT": str(self._ports[name])}
        with (self._home / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "starloom.app"], env=self._environment | own, stdout=log, stderr=log
            )

    def cpu_s(self, name: str) -> float:
        """Return the CPU time of a hub since its start, all threads."""
        times = psutil.Process(self._running[name].pid).cpu_times()
        return times.user + times.system

    def kill(self, name: str) -> None:
        self._running[name].kill()
        self._running[name].wait()

    def end(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait(30)

    def token(self, name: str) -> str:
        return str(json.loads((self._home / name / "run" / "local.json").read_text())["token"])


async def _until(client: httpx.AsyncClient, url: str, role: str) -> float:
    """Wait until a hub is ready in a role; return the seconds."""
    began = time.perf_counter()
    while True:
        try:
            ready = await client.get(url + "/readyz")
            if ready.status_code == 200 and (await client.get(url + "/healthz")).json()["role"] == role:
                return time.perf_counter() - began
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.01)


async def _measure(options: argparse.Namespace, home: Path) -> dict[str, float]:
    redis = EmbeddedRedis(home)
    await redis.start()
    hubs = _Hubs(home, redis)
    restarts: list[float] = []
    takeovers: list[float] = []
    cpu: list[float] = []
    try:
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            hubs.start("one")
            await _until(client, hubs.url("one"), "owner")
            headers = {"Authorization": f"Bearer {hubs.token('one')}"}
            for number in range(options.constellations):
                made = await client.post(
                    hubs.url("one") + "/api/v1/constellations", headers=headers, json={"plan": _plan(number)}
                )
                made.raise_for_status()
            for _ in range(options.rounds):
                hubs.kill("one")
                hubs.start("one")
                restarts.append(await _until(client, hubs.url("one"), "owner"))
                cpu.append(hubs.cpu_s("one"))
                print(f"restarted and ready after {restarts[-1]:.2f} s, {cpu[-1]:.2f} s of CPU", file=sys.stderr)
            owner, standby = "one", "two"
            for _ in range(options.rounds):
                hubs.start(standby)
                await _until(client, hubs.url(standby), "standby")
                hubs.kill(owner)
                takeovers.append(await _until(client, hubs.url(standby), "owner"))
                print(f"taken over and ready after {takeovers[-1]:.2f} s", file=sys.stderr)
                owner, standby = standby, owner
    finally:
        hubs.end()
        await redis.stop()
    return {
        "live_constellations": options.constellations,
        "live_tasks": options.constellations * TASKS,
        "restart_to_ready_s": round(statistics.median(restarts), 2),
        "restart_worst_s": round(max(restarts), 2),
        "restart_cpu_s": round(statistics.median(cpu), 2),
        "takeover_s": round(statistics.median(takeovers), 2),
        "takeover_worst_s": round(max(takeovers), 2),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constellations", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sl-restart-") as home:
        print(json.dumps(asyncio.run(_measure(options, Path(home)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
