"""`python -m tests.seeded_bugs.run [WORDS]`: puts each bug into a copy of the code and shows that the tests catch it.

Each layer runs once without any bug first: only a layer that passes there can show anything, and the bugs of any other
count as not caught. The verdict of each layer and bug is printed as it is known. Ends with one line of JSON
{bugs, caught}; exit code 1 if one was not caught by the layer that must. A bug is caught by a failed test or a
violation, never by a copy that does not run. The copy is the whole tree, lives in a temporary directory and is run with
a bound on time, which `TESTS_SLOWER` multiplies; the working tree is never touched.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from tests.programs import ran
from tests.seeded_bugs.bug import Bug
from tests.seeded_bugs.bugs import BUGS
from tests.waiting import SLOWER

_T = TypeVar("_T")
_COUNT = re.compile(r"(\d+) (passed|failed|errors?)\b")
ROOT = Path(__file__).resolve().parents[2]
BOUND_S: Final = 900 * SLOWER
TOLD_MOST = 2000
"""Characters of what a layer printed that are told when it came to no verdict."""

COMMANDS = {
    "core": ["-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/core"],
    "engine": ["-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/engine"],
    "planner": ["-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "tests/planner"],
    "sim": ["-m", "tests.sim.run", "--hubs", "1", "--schedules", "400", "--stop-at-first", "--forget"],
    "pair": ["-m", "tests.sim.run", "--hubs", "2", "--schedules", "240", "--stop-at-first", "--forget"],
    "minds": ["-m", "tests.sim.run", "--minds", "--hubs", "1", "--schedules", "150", "--stop-at-first", "--forget"],
    "people": ["-m", "tests.sim.run", "--people", "--hubs", "1", "--schedules", "150", "--stop-at-first", "--forget"],
    "people-pair": [
        "-m",
        "tests.sim.run",
        "--people",
        "--hubs",
        "2",
        "--schedules",
        "60",
        "--stop-at-first",
        "--forget",
    ],
    "restored": ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/sim/test_restored.py"],
    "store": ["-m", "tests.store.twins", "--sequences", "40", "--no-shrink"],
}


class Broken(Exception):
    """The tests of a layer did not run to a verdict, which shows nothing about the bug."""


class Misplaced(Exception):
    """The text that a bug replaces does not stand exactly once: the bug must be written anew."""


def copy_to(folder: Path) -> None:
    """Copy the working tree as it is: what git tracks, and what it neither tracks nor ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)


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


def fails(layer: str, folder: Path, named: str = "") -> tuple[bool, str]:
    """Run a layer's tests on the copy, or those `named` of it; return whether they fail, and their last words.

    Raises:
        Broken: if they came to no verdict.
    """
    paths = [str(folder / part) for part in ("", "protocol", "backend", "device_agents")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "STARLOOM_NO_SHRINK": "1",
    }
    command = [*COMMANDS[layer][:-1], named] if named else COMMANDS[layer]
    try:
        done = ran([sys.executable, *command], cwd=folder, env=environment, timeout=BOUND_S)
    except subprocess.TimeoutExpired as expired:
        # A slow machine would otherwise catch every bug; a schedule that does not end says so in virtual time.
        raise Broken(
            f"the {layer} tests did not end within {BOUND_S:g} s. The way out: PROCESSES=1, a quieter machine, or more "
            f"time for everything, as with TESTS_SLOWER={max(2, round(2 * SLOWER))}"
        ) from expired
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    found = found_wrong(lines[-1] if lines else "")
    if found is None or done.returncode != int(found):
        told = f"{done.stdout[-TOLD_MOST:]}\n{done.stderr[-TOLD_MOST:]}".strip()
        raise Broken(f"the {layer} tests came to no verdict and ended with {done.returncode}:\n{told}")
    return found, _last_words(lines)


def found_wrong(verdict: str) -> bool | None:
    """Return what the last line of a layer says: whether a test failed or a violation was found, or None.

    An uncaught exception also ends a program with 1, and an error of a fixture or an import ends pytest with 1: only
    the verdict tells a bug that was noticed from a copy that does not run.
    """
    if verdict.startswith("{"):
        figures = json.loads(verdict)
        return bool(figures.get("violations") or figures.get("different"))
    counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(verdict)}
    if not counts or (counts.get("error") and not counts.get("failed")):
        return None
    return bool(counts.get("failed"))


def _last_words(lines: list[str]) -> str:
    """Return the line that says what was noticed: a schedule's first violation, or a test's error."""
    errors = [line[1:].strip() for line in lines if line.startswith("E  ") and ("Error" in line or "Violated" in line)]
    violations = [line.strip() for line in lines if line.startswith("  ") and not line.startswith("   ")]
    found = errors or violations or lines[-1:] or ["nothing"]
    return found[0][:150]


def sound(layer: str, folder: Path) -> bool:
    """Run a layer on a copy without any bug; tell and return whether it passes."""
    begun = time.monotonic()
    try:
        wrong, words = fails(layer, folder)
    except Broken as broken:
        print(f"BROKEN     {layer:4} without any bug: {broken}", flush=True)
        return False
    if wrong:
        command = " ".join(("python", *COMMANDS[layer]))
        print(f"RED        {layer:4} without any bug: {words}. To see it: {command}", flush=True)
        return False
    print(f"sound      {layer:4} {time.monotonic() - begun:5.1f} s  without any bug", flush=True)
    return True


def tried(bug: Bug, folder: Path) -> bool:
    """Put a bug into a copy, run the tests that must catch it, take it out again; tell and return whether they did."""
    begun = time.monotonic()
    try:
        kept = put_in(bug, folder)
    except Misplaced as misplaced:
        print(f"MISPLACED  {bug.by:4} {misplaced}", flush=True)
        return False
    try:
        noticed, words = fails(bug.by, folder, bug.named)
    except Broken as broken:
        print(f"BROKEN     {bug.by:4} {bug.name}: {broken}", flush=True)
        return False
    finally:
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
        passing = pool.map(lambda layer: on_a_copy(partial(sound, layer)), layers)
        shows = dict(zip(layers, passing, strict=True))
        caught = sum(pool.map(lambda bug: on_a_copy(partial(tried, bug)), (bug for bug in chosen if shows[bug.by])))
    for bug in chosen:
        if not shows[bug.by]:
            print(f"NOT SHOWN  {bug.by:4} {bug.name}: the {bug.by} tests do not pass without it")
    print(json.dumps({"bugs": len(chosen), "caught": caught}))
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
