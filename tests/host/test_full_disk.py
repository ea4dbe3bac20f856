"""`starloom up` and `doctor` where nothing can be written: they name the disk, its folder and the way out."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from starloom.host.ports import free_port
from tests.chaos.small_disk import full, on_small_disk, seen
from tests.programs import bare_environment
from tests.waiting import SLOWER

BOUND_S = 120 * SLOWER
DISK = "8m"
HELD = 'read -r _ < "$0"; exec "$@"'
"""Keeps the command from beginning before its disk is full."""


def run_on_full_disk(home: Path, *arguments: str) -> tuple[int, str]:
    """Run a command whose home lies on a disk without a free byte; return its code and all that it said."""
    gate = home.parent / "gate"
    os.mkfifo(gate)
    argv = ["sh", "-c", HELD, str(gate), sys.executable, "-m", "starloom.cli", *arguments]
    with subprocess.Popen(
        on_small_disk(argv, home, DISK),
        env={**bare_environment(), "STARLOOM_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        cut = threading.Timer(BOUND_S, process.kill)
        cut.start()
        try:
            # It opens for reading only when the disk is there.
            with gate.open("w") as writing, full(seen(process.pid, home)):
                writing.write("begin\n")
                writing.close()
                said, _ = process.communicate()
        finally:
            cut.cancel()
    return process.returncode, said


def test_no_service_starts_on_a_full_disk_and_the_disk_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    code, said = run_on_full_disk(home, "up", "--no-agent", "--port", str(free_port()))
    assert code == 5, said
    assert f"the disk of {home} is full" in said
    assert "Free some space" in said
    assert "Traceback" not in said
