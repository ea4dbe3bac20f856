"""The CPU of starts: `python -m tests.bench.starts [FOLDER] [--runs 7]`, with that of another checkout in turn.

A start is `starloom up` on a new folder until this computer's agent is connected, told by process; beside it stand two
commands. Processes start warm: the first turn of each tree does not count. Ends with one line of JSON: the median CPU
seconds of each tree, and with two trees the ratio. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from starloom.host.ports import free_port
from tests.bench.beside import OWN, python_of
from tests.bench.machine import Program, cpu_s, stop
from tests.programs import bare_environment

UP_WITHIN_S = 120.0
PARTS = {"hub": "starloom.app", "worker": "starloom.jobs.worker", "agent": "starloom_agent"}
COMMANDS = {"help": ["--help"], "devices": ["devices", "--hub", "http://127.0.0.1:9"]}


def _up(tree: Path, home: Path) -> dict[str, float]:
    """Return the CPU seconds of each process of a start, and of all of them."""
    log = home / "up.log"
    argv = [str(python_of(tree)), "-m", "starloom.cli", "up", "--home", str(home), "--port", str(free_port())]
    with log.open("wb") as out:
        started = subprocess.Popen(
            argv, cwd=home, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=bare_environment()
        )
    program = Program("up", started, log)
    try:
        until_s = time.monotonic() + UP_WITHIN_S
        while not any("connected to" in path.read_text() for path in (home / "logs").glob("agent-*.log")):
            assert program.alive(), program.tail()
            assert time.monotonic() < until_s, program.tail()
            time.sleep(0.05)
        found = {"up": cpu_s(program.pid)}
        for child in psutil.Process(program.pid).children():
            words = child.cmdline()
            found |= {part: cpu_s(child.pid) for part, module in PARTS.items() if module in words}
        return {**found, "whole": sum(found.values())}
    finally:
        stop([program])


def _command(tree: Path, words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [str(python_of(tree)), "-m", "starloom.cli", *words]
    subprocess.run(argv, capture_output=True, check=False, env=bare_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _starts(tree: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="sl-start-") as folder:
        return _up(tree, Path(folder)) | {name: _command(tree, words) for name, words in COMMANDS.items()}


def measure(trees: list[Path], runs: int) -> Iterator[dict[str, float]]:
    """Yield the medians of each tree; every second turn goes the other way round."""
    found: dict[Path, list[dict[str, float]]] = {tree: [] for tree in trees}
    for number in range(runs + 1):
        for tree in trees if number % 2 else reversed(trees):
            found[tree].append(_starts(tree))
    for tree in trees:
        kept = found[tree][1:]
        yield {part: round(statistics.median(one[part] for one in kept), 3) for part in kept[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="another checkout")
    parser.add_argument("--runs", type=int, default=7, help="of each tree (default 7)")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if options.folder is None:
        print(json.dumps(dict(zip(["own"], measure([OWN], options.runs), strict=True))))
        return
    tree = options.folder.resolve()
    if not python_of(tree).exists():
        parser.error(f"{tree} has no .venv; make it there: python3 scripts/environment.py --dev")
    other, own = measure([tree, OWN], options.runs)
    ratio = {part: round(own[part] / other[part], 3) for part in own}
    print(json.dumps({"other": other, "own": own, "ratio": ratio}))


if __name__ == "__main__":
    main()
