"""`python -m tests.bench.confinement`: what one call of a file tool costs with and without its confinement.

Calls with and without take turns, so that a busy machine slows both alike; the figure is CPU time of the runner and
its tool process. `--before DIR` measures the source tree of another commit beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from starloom_agent.calls import CallSpec, Ended, decode_line, encode
from starloom_agent.tools import registry
from starloom_protocol.vocabulary import Outcome
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
CALLS = {
    "fs.stat": {"paths": ["a.txt"]},
    "fs.read": {"path": "a.txt"},
    "fs.write": {"path": "b.txt", "text": "x"},
    "data.sort": {"rows": [{"n": 2}, {"n": 1}], "by": ["n"]},
}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(home: Path, tool: str, number: int, *, confined: bool, before: str = "") -> tuple[float, float]:
    """Run one call as an agent does; return its CPU and wall-clock seconds."""
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
    # Both trees are found in the same way: an installation that can be edited looks longer for its modules.
    tree = before or str(ROOT)
    env = {**os.environ, "PYTHONPATH": f"{tree}/device_agents{os.pathsep}{tree}/protocol"}
    began, used = time.monotonic(), _cpu_s()
    command = [sys.executable, "-P", "-m", "starloom_agent.runner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as ran:
        assert ran.stdin is not None
        assert ran.stdout is not None
        ran.stdin.write(encode(spec) + b"\n")
        ran.stdin.flush()
        last = decode_line(ran.stdout.readlines()[-1])
        ran.wait(PATIENCE_S)
    assert isinstance(last, Ended)
    assert last.outcome is Outcome.OK, last
    return _cpu_s() - used, time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.confinement", description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--before", default="", help="the source tree of another commit")
    options = parser.parse_args()
    ways = {
        "without": (False, ""),
        "with": (True, ""),
        **({"before": (False, options.before)} if options.before else {}),
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("docs", "run"):
            (home / name).mkdir()
        (home / "docs/a.txt").write_text("x", encoding="utf-8")
        for tool in CALLS:
            cpu: dict[str, list[float]] = {way: [] for way in ways}
            wall: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(options.calls):
                for way, (confined, before) in ways.items():
                    used, took = measure(home, tool, number, confined=confined, before=before)
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
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
