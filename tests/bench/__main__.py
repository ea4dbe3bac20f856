"""`make bench`: Starloom, its socket stack alone, and Dask, beside each other in one bounded run on this machine.

Prints a report, keeps its figures in the table of `--write`, and ends with one line of JSON. Exit code 1 only if
something did not work: a figure that misses its goal is told, never asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import signal
import sys
import tempfile
import time
from pathlib import Path

from starloom.host.ports import free_port
from tests.bench import dask_peer, echo, idle, machine, profile, real_tools
from tests.bench.dask_peer import WORKERS
from tests.bench.figures import Measured, figures
from tests.bench.graphs import Graph, chain, fan, layers
from tests.bench.hub_client import BenchFailed, HubClient
from tests.bench.peer import Peer
from tests.bench.profiled_hub import OUT
from tests.bench.report import Setting, markdown, page, page_rows
from tests.bench.stack import Stack
from tests.bench.tool_work import CALLS
from tests.bench.workloads import TooLate, run

AGENTS = 8
WHOLE_S = 3000.0
TRIES = 4
SMOKE_DIVIDES = 25


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Bench:
    """One whole measurement."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options = options
        self._folder = folder
        part = 1 / SMOKE_DIVIDES if options.smoke else 1
        self._fan, self._chain = fan(round(1000 * part)), chain(round(200 * part))
        wide = round(50 * part)
        self._layers, self._deep = layers(20, wide, options.seed), layers(200, wide, options.seed)
        self._quiet = machine.Quiet(options.patience_s)
        self.measured = Measured()

    async def measure(self) -> profile.Profile:
        """Measure everything."""
        options = self._options
        async with Stack(self._folder / "stack", AGENTS, options.slots) as stack:
            client = stack.client()
            await client.open()
            try:
                await self._warm(stack, client)
                for number in range(1, options.rounds + 1):
                    await self._round(number, stack, client)
            finally:
                await client.close()
            self.measured.agent_rss_bytes = stack.agent_rss_bytes()
            self.measured.hub_rss_bytes = stack.hub_rss_bytes()
        say("real tools")
        await real_tools.measure(
            self._folder / "real",
            self.measured.real,
            rounds=1 if options.smoke else real_tools.ROUNDS,
            calls=CALLS // (SMOKE_DIVIDES if options.smoke else 1),
            wait=self._quiet.wait,
        )
        say("idle agents")
        async with Stack(
            self._folder / "idle", 0, 1, "tests.bench.profiled_hub", {OUT: str(self._folder / "unused")}
        ) as stack:
            self.measured.kib_per_idle_agent = await idle.kib_per_agent(
                stack, self._folder, idle.AGENTS // 8 if self._options.smoke else idle.AGENTS
            )
        say("profile")
        return await profile.measure(self._folder / "profile", AGENTS, options.slots, self._layers)

    async def _warm(self, stack: Stack, client: HubClient) -> None:
        for graph in (fan(100), chain(50), self._layers):
            await run(stack, client, graph)

    async def _round(self, number: int, stack: Stack, client: HubClient) -> None:
        rounds = self._options.rounds
        say(f"round {number} of {rounds}: echo")
        await self._quiet.wait()
        self.measured.echo.append(await echo.measure(free_port(), self._folder))
        say(f"round {number} of {rounds}: Starloom")
        for _ in range(self._options.repeats):
            await self._run("W1", stack, client, self._fan)
            await self._run("W2", stack, client, self._chain)
            await self._run("W3", stack, client, self._layers)
            await self._run("W4", stack, client, self._layers, edits=True)
        await self._run("W3 10k", stack, client, self._deep)
        for name, graph in (("W1", self._fan), ("W2", self._chain), ("W3", self._layers)):
            await self._run(f"{name} never", stack, client, graph, repeatability="never")
        say(f"round {number} of {rounds}: Dask")
        async with dask_peer.peer() as dask:
            await dask.seconds(fan(100).parents)
            for _ in range(self._options.repeats):
                for name, graph in (("W1", self._fan), ("W2", self._chain), ("W3", self._layers)):
                    await self._peer(name, dask, graph)
            if number == 1:
                await self._peer("W3 10k", dask, self._deep)

    async def _run(
        self,
        name: str,
        stack: Stack,
        client: HubClient,
        graph: Graph,
        *,
        repeatability: str | None = None,
        edits: bool = False,
    ) -> None:
        for left in reversed(range(TRIES)):
            await self._quiet.wait()
            try:
                found = await run(stack, client, graph, repeatability=repeatability, edits=edits)
                break
            except TooLate as late:
                self.measured.repeated[name] = self.measured.repeated.get(name, 0) + 1
                if not left:
                    raise
                say(f"  {name} is repeated: {late}")
        self.measured.runs.setdefault(name, []).append(found)
        say(f"  {name}: {found.tasks_s:,.0f} tasks/s, hub {found.hub_us:.0f} us a task, others {found.others_busy:.2f}")

    async def _peer(self, name: str, dask: Peer, graph: Graph) -> None:
        await self._quiet.wait()
        speed = len(graph) / await dask.seconds(graph.parents)
        self.measured.dask.setdefault(name, []).append(speed)
        say(f"  Dask {name}: {speed:,.0f} tasks/s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (default 3)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of W1 to W4 in a round (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the graphs (default 1)")
    parser.add_argument("--slots", type=int, default=16, help="slots of each agent (default 16)")
    parser.add_argument(
        "--patience-s", type=float, default=120, help="how long to wait in all for a quiet machine (default 120)"
    )
    parser.add_argument("--write", type=Path, help="keep the figures in the table of this file")
    parser.add_argument(
        "--smoke", action="store_true", help=f"graphs of 1/{SMOKE_DIVIDES}, once: shows that it works, measures nothing"
    )
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.repeats, options.patience_s = 1, 1, 0
        if options.write is not None:
            parser.error("a smoke run measures nothing, so there is nothing to write: leave out --write")
    return options


async def _main(options: argparse.Namespace) -> int:
    whole = asyncio.current_task()
    assert whole is not None
    # Told to stop, everything that was started is ended first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, whole.cancel)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    with tempfile.TemporaryDirectory(prefix="starloom-bench-") as folder:
        bench = Bench(options, Path(folder))
        try:
            async with asyncio.timeout(WHOLE_S):
                profiled = await bench.measure()
        except TimeoutError:
            print(f"the bench did not end within {WHOLE_S:g} s", file=sys.stderr)
            return 1
        except BenchFailed as failed:
            print(f"the bench failed: {failed}", file=sys.stderr)
            return 1
    setting = Setting(
        command=shlex.join(["python", "-m", "tests.bench", *sys.argv[1:]]),
        seed=options.seed,
        rounds=options.rounds,
        when=when,
        machine=machine.describe(),
        load=load,
        agents=AGENTS,
        slots=options.slots,
        connections=echo.CONNECTIONS,
        workers=WORKERS,
        patience_s=options.patience_s,
    )
    found = figures(bench.measured)
    text = markdown(setting, bench.measured, found, profiled, f"W3 {profile.RUNS} times")
    print(text)
    line = json.dumps(found)
    if options.write is not None:
        before = options.write.read_text() if options.write.is_file() else ""
        options.write.write_text(page(before, setting.machine, page_rows(setting, bench.measured, found, profiled)))
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_main(_options())))
