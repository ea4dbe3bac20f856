"""Runs a tier of tests: measures the machine once, makes the environment, and calls pytest with xdist.

`TESTS_UNTIL` (seconds since the epoch; `.ci/run` sets it) ends the run. Only a run that must end runs `short` instead
of `test` on a machine that is too slow for it. `WORKERS` sets how many tests run at a time. Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import environment
import programs
from steps import Unable, say

TIERS = ("quick", "test", "proof", "short")

EXPECTED_PER_S = 14_000_000.0
"""Additions of a plain loop a second and processor, by CPython 3.11 where `test` takes its expected time."""

MEASURED_S = 3.0
"""Long enough for a host that stops its guests for some hundred milliseconds at a time."""

SLOW_BELOW = 0.6
"""The part of the expected speed under which tests wait longer: leases of some seconds run out on a busy machine."""

SHORT_BELOW = 0.2
"""The part of the expected speed under which `test` does not end within the time that CI has."""

SLOWER_LEAST, SLOWER_MOST = 5, 15
"""How much longer tests wait on a slow machine: at times it stands still for longer than its speed tells."""

WAITING_BESIDE = 2
"""Workers more than processors. One more left a quarter of two processors idle, measured over a whole run."""

_COUNT = """
import sys, time
until, done = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < until:
    total = 0
    for number in range(50_000):
        total += number
    done += 50_000
print(done)
"""


def speed(for_s: float = MEASURED_S) -> float:
    """Return the part of the expected speed that every processor gives while all are busy; 1.0 is as expected."""
    argv = [sys.executable, "-c", _COUNT, str(for_s)]
    every = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(os.cpu_count() or 1)]
    counted = [int(process.communicate()[0]) for process in every]
    return sum(counted) / len(counted) / for_s / EXPECTED_PER_S


def slower(pace: float) -> int:
    """Return the factor of every wait and limit of the tests."""
    if pace >= SLOW_BELOW:
        return 1
    return min(max(round(1 / max(pace, 0.001)), SLOWER_LEAST), SLOWER_MOST)


def tier_for(wish: str, pace: float) -> str:
    """Return the tier that a machine of this speed runs, and say where it is not the usual."""
    must_end = bool(os.environ.get("TESTS_UNTIL"))
    tier = "short" if wish == "test" and must_end and pace < SHORT_BELOW else wish
    words = f"This machine gives {pace:.2f} of the expected speed; tests wait {slower(pace)} times as long as usual."
    if tier == "short":
        say(f"Tier `short`: only the tests with this mark run (docs/testing.md). {words}")
    elif slower(pace) > 1:
        say(f"Tier `{tier}`. {words}")
    return tier


def run(wish: str, pace: float) -> int:
    """Run a tier on a machine of this speed and return the exit code of pytest."""
    tier = tier_for(wish, pace)
    environment.prepare(dev=True, with_page=tier != "quick")
    if tier != "quick":
        programs.ensure_all()
    # Hundreds of processes start in the tests: with this variable each would compile every module again.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["TESTS_SLOWER"] = str(slower(pace))
    # More workers than processors, as tests of real processes wait for a large part of their time.
    workers = os.environ.get("WORKERS") or str((os.cpu_count() or 1) + (0 if tier == "quick" else WAITING_BESIDE))
    # The paths of sockets are short. What a failed test left is looked at afterwards.
    folder = Path(tempfile.mkdtemp(prefix="sl-"))
    argv = [str(environment.venv_python()), "-m", "pytest", "-q", f"--tier={tier}", f"--basetemp={folder / 't'}"]
    argv += ["-n", workers, "--dist=loadfile", "--no-loadscope-reorder"]
    code = subprocess.run([*argv, *sys.argv[2:]], cwd=environment.ROOT, env=variables, check=False).returncode
    if code == 0:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def main() -> int:
    """Run the tier that the first argument names; the others go to pytest."""
    wish = sys.argv[1] if len(sys.argv) > 1 else "test"
    if wish not in TIERS:
        say(f"There is no tier {wish}; there are {', '.join(TIERS)}.")
        return 2
    try:
        return run(wish, speed())
    except Unable as unable:
        say(f"{unable.what}\nThe way out: {unable.fix}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
