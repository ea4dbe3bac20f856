"""`python -m tests.seeded_bugs.run [WORDS]`: puts each bug into a copy of the code and shows that the tests catch it.

Ends with one line of JSON {bugs, caught}; exit code 1 if one was not caught by the layer that must. The copy lives in
a temporary directory and is run with a bound on time; the working tree is never touched.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.seeded_bugs.bugs import BUGS, Bug

_T = TypeVar("_T")
ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    "protocol/starloom_protocol",
    "backend/starloom",
    "device_agents/starloom_agent",
    "tests/core",
    "tests/engine",
    "tests/sim",
    "tests/store",
)
FILES = ("pyproject.toml", "tests/builders.py")
BOUND_S = 900
COMMANDS = {
    "core": ["-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/core"],
    "engine": ["-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/engine"],
    "sim": ["-m", "tests.sim.run", "--hubs", "1", "--schedules", "400", "--stop-at-first", "--forget"],
    "pair": ["-m", "tests.sim.run", "--hubs", "2", "--schedules", "240", "--stop-at-first", "--forget"],
    "store": ["-m", "tests.store.twins", "--sequences", "40", "--no-shrink"],
}


class Misplaced(Exception):
    """The text that a bug replaces does not stand exactly once: the bug must be written anew."""


def copy_to(folder: Path) -> None:
    """Copy what the core and the simulator need."""
    ignore = shutil.ignore_patterns("__pycache__", "_web", ".hypothesis")
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)


def put_in(bug: Bug, folder: Path) -> str:
    """Patch the copy; return the file's text as it was.

    Raises:
        Misplaced: if the bug does not fit the code any more.
    """
    path = folder / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise Misplaced(f"{bug.name}: its text stands {text.count(bug.old)} times in {bug.file}")
    path.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    return text


def fails(layer: str, folder: Path) -> tuple[bool, str]:
    """Run a layer's tests on the copy; return whether they fail, and their last words."""
    paths = [str(folder / part) for part in ("", "protocol", "backend", "device_agents")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "STARLOOM_NO_SHRINK": "1",
    }
    try:
        done = subprocess.run(
            [sys.executable, *COMMANDS[layer]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        # A slow machine would otherwise catch every bug; a schedule that does not end says so in virtual time.
        raise RuntimeError(f"the {layer} tests did not end within {BOUND_S} s") from expired
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    # 1 is a failed test or schedule; anything else is a copy that does not run, which shows nothing.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the {layer} tests could not run: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return done.returncode == 1, _last_words(lines)


def _last_words(lines: list[str]) -> str:
    """Return the line that says what was noticed: a schedule's first violation, or a test's error."""
    errors = [line[1:].strip() for line in lines if line.startswith("E  ") and ("Error" in line or "Violated" in line)]
    violations = [line.strip() for line in lines if line.startswith("  ") and not line.startswith("   ")]
    found = errors or violations or lines[-1:] or ["nothing"]
    return found[0][:150]


def tried(bug: Bug, folder: Path) -> bool:
    """Put a bug into a copy, run the tests that must catch it, take it out again; tell and return whether they did."""
    begun = time.monotonic()
    try:
        kept = put_in(bug, folder)
    except Misplaced as misplaced:
        print(f"MISPLACED  {bug.by:4} {misplaced}", flush=True)
        return False
    noticed, words = fails(bug.by, folder)
    (folder / bug.file).write_text(kept, encoding="utf-8")
    verdict = "caught" if noticed else "NOT CAUGHT"
    print(f"{verdict:10} {bug.by:4} {time.monotonic() - begun:5.1f} s  {bug.name}: {words}", flush=True)
    return noticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="?", default="", help="only bugs whose name has these words")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="how many are tried side by side")
    options = parser.parse_args()
    chosen = [bug for bug in BUGS if options.words in bug.name]
    with tempfile.TemporaryDirectory(prefix="starloom-bugs-") as name, ThreadPoolExecutor(options.processes) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(options.processes):
            copy_to(folder := Path(name) / str(number))
            copies.put(folder)

        def on_a_copy(work: Callable[[Path], _T]) -> _T:
            folder = copies.get()
            try:
                return work(folder)
            finally:
                copies.put(folder)

        layers = list(dict.fromkeys(bug.by for bug in chosen))
        sound = pool.map(lambda layer: on_a_copy(partial(fails, layer)), layers)
        for layer, (wrong, words) in zip(layers, sound, strict=True):
            if wrong:
                print(f"the {layer} tests fail without any bug: {words}")
                return 1
        caught = sum(pool.map(lambda bug: on_a_copy(partial(tried, bug)), chosen))
    print(json.dumps({"bugs": len(chosen), "caught": caught}))
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
