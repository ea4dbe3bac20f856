"""`python -m tests.bench.confinement`: what one call of a file tool costs with and without its confinement.

Calls with and without take turns, so that a busy machine slows both alike; the figure is CPU time of an executed runner
and its tool process, and of the agent's side.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

from starloom_agent.toolkit.messages import CallSpec
from starloom_agent.work import registry
from starloom_protocol.vocabulary import Outcome
from tests.device_agents.played_call import Call, Loop

CALLS = {
    "fs.stat": {"paths": ["a.txt"]},
    "fs.read": {"path": "a.txt"},
    "fs.write": {"path": "b.txt", "text": "x"},
    "data.sort": {"rows": [{"n": 2}, {"n": 1}], "by": ["n"]},
}


def _cpu_s() -> float:
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(used.ru_utime + used.ru_stime for used in parts)


def measure(loop: Loop, home: Path, tool: str, number: int, *, confined: bool) -> tuple[float, float]:
    """Run one call as an agent does, its runner executed for it; return its CPU and wall-clock seconds."""
    spec = CallSpec(
        args=json.dumps(CALLS[tool]),
        confined=confined,
        connection_file=str(home / "run/connection.json"),
        effectless=False,
        fence="1.1",
        module=registry.module_of()[tool],
        read=[str(home / "docs")],
        start_to_close_s=30.0,
        tool=tool,
        workdir=str(home / f"work/{number}"),
        write=[str(home / "docs")],
    )
    began, used = time.monotonic(), _cpu_s()
    ended = Call(loop, spec).end()
    loop.until_no_process()
    assert ended.outcome is Outcome.OK, ended
    return _cpu_s() - used, time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.confinement", description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    options = parser.parse_args()
    ways = {"without": False, "with": True}
    found: dict[str, dict[str, float]] = {}
    loop = Loop(warm=False)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("docs", "run"):
            (home / name).mkdir()
        (home / "docs/a.txt").write_text("x", encoding="utf-8")
        for tool in CALLS:
            cpu: dict[str, list[float]] = {way: [] for way in ways}
            wall: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(options.calls):
                for way, confined in ways.items():
                    used, took = measure(loop, home, tool, number, confined=confined)
                    cpu[way].append(used * 1000)
                    wall[way].append(took * 1000)
            row = {f"cpu_ms_{way}": round(statistics.median(cpu[way]), 2) for way in ways}
            row |= {f"wall_ms_{way}": round(statistics.median(wall[way]), 2) for way in ways}
            row |= {
                f"cpu_ratio_to_{way}": round(row["cpu_ms_with"] / row[f"cpu_ms_{way}"], 3)
                for way in ways
                if way != "with"
            }
            found[tool] = row
            print(f"{tool:10}", *(f"{name} {value:g}" for name, value in row.items()), flush=True)
    loop.close()
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
