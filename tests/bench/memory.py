"""`python -m tests.bench.memory`: what hub and Redis hold while many constellations are run and finish.

Run once as it is and once with `--keep-all` (nothing ever leaves) to see what retirement is worth. Prints a table and
ends with one line of JSON; nothing is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from redis.asyncio import Redis

from starloom.store.redis.embedded import EmbeddedRedis
from tests.bench.graphs import fan
from tests.bench.stack import Stack
from tests.bench.workloads import run

KEEP_ALL = {
    "STARLOOM_RETIRE_AFTER_S": "1000000",
    "STARLOOM_FINISHED_MOST": "1000000",
    "STARLOOM_FINISHED_TASKS_MOST": "1000000000",
}


async def _measure(options: argparse.Namespace, home: Path) -> dict[str, float]:
    graph = fan(options.tasks - 2)
    rows: list[dict[str, float]] = []
    hub_us = 0.0
    async with Stack(home, options.agents, 16, hub_environment=KEEP_ALL if options.keep_all else {}) as stack:
        client = stack.client()
        await client.open()
        redis = Redis.from_url(EmbeddedRedis(home).url)
        try:
            print(f"{'finished':>8} {'hub MiB':>8} {'Redis MiB':>9} {'held':>5} {'hub us/task':>11}", file=sys.stderr)
            for number in range(options.constellations + 1):
                if number % options.every == 0:
                    figures = await client.get_text("/metrics")
                    held = next(
                        line for line in figures.splitlines() if line.startswith("starloom_constellations_held ")
                    )
                    used = (await redis.info("memory"))["used_memory"]
                    rows.append(
                        {
                            "finished": number,
                            "hub_mib": round(stack.hub_rss_bytes() / 2**20),
                            "redis_mib": round(used / 2**20, 1),
                            "held": float(held.split()[1]),
                            "hub_us": round(hub_us),
                        }
                    )
                    print(
                        "{finished:8} {hub_mib:8} {redis_mib:9} {held:5.0f} {hub_us:11}".format(**rows[-1]),
                        file=sys.stderr,
                    )
                if number < options.constellations:
                    hub_us = (await run(stack, client, graph)).hub_us
        finally:
            await redis.aclose()
            await client.close()
    return rows[-1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory", description=__doc__)
    parser.add_argument("--constellations", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=1_000, help="tasks of each (default 1,000)")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--every", type=int, default=20, help="constellations between two lines")
    parser.add_argument("--keep-all", action="store_true", help="let nothing leave")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="starloom-memory-") as folder:
        last = asyncio.run(_measure(options, Path(folder) / "home"))
    print(json.dumps(last))
    return 0


if __name__ == "__main__":
    sys.exit(main())
