"""Another person's machine: a terminal with its own home, and an end for the agents that were started there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.programs import bare_environment
from tests.waiting import SLOWER


@contextmanager
def elsewhere() -> Iterator[Path]:
    """Make the home of a person on another machine; the agent that was started there ends with the block."""
    home = Path(tempfile.mkdtemp(prefix="sl-far-"))
    try:
        yield home
    finally:
        for pid in home.rglob("agent.pid"):
            text = pid.read_text().strip()
            if text and psutil.pid_exists(int(text)):
                os.kill(int(text), signal.SIGTERM)
                psutil.Process(int(text)).wait(15 * SLOWER)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def terminal(line: str, home: Path, screen: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Type a line in a terminal whose home is `home`; what it says is written to `screen`. It ends with the block."""
    clean = bare_environment("PYTHONPATH")
    clean["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    with screen.open("wb") as out:
        process = subprocess.Popen(
            ["sh", "-c", line],
            cwd=home,
            env={**clean, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
