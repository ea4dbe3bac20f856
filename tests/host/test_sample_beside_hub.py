"""`starloom up --demo` that is told to stop while the hub still starts: the sample beside it ends as well."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from starloom.host.ports import free_port
from starloom.lab.installation import left_over
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def home() -> Iterator[Path]:
    # Not pytest's own folder: the path of a Unix socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="sl-start-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_stop_during_the_start_leaves_nothing(home: Path) -> None:
    argv = [sys.executable, "-m", "starloom.cli", "up", "--demo", "--home", str(home), "--port", str(free_port())]
    service = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until(
            lambda: any("starloom.cli.machine.demo" in " ".join(child.cmdline()) for child in children(service.pid)),
            "the sample runs",
        )
        service.send_signal(signal.SIGTERM)
        said, _ = service.communicate(timeout=PATIENCE_S)
    finally:
        service.kill()
        service.wait()
    assert "signs you in once" not in said, "it was stopped before the hub was ready"
    assert service.returncode == 130
    until(lambda: not list(left_over(home)), "nothing outlives the service")


def children(pid: int) -> list[psutil.Process]:
    try:
        return [child for child in psutil.Process(pid).children() if child.status() != psutil.STATUS_ZOMBIE]
    except psutil.NoSuchProcess:
        return []


def started(home: Path, *more: str, then: str = "") -> str:
    """Return what a start with the sample says up to its last line; the service is stopped then, after a command."""
    argv = [sys.executable, "-m", "starloom.cli", "up", "--demo", "--no-fault", "--home", str(home), *more]
    argv += ["--port", str(free_port())]
    service = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert service.stdout is not None
    said = []
    try:
        for line in service.stdout:
            said.append(line)
            if "Ctrl-C stops everything." in line:
                break
        if then:
            command = [sys.executable, "-m", *then.replace("starloom", "starloom.cli", 1).split()]
            subprocess.run([*command, "--hub", str(home)], check=True, capture_output=True, timeout=PATIENCE_S)
        service.send_signal(signal.SIGTERM)
        service.communicate(timeout=PATIENCE_S)
    finally:
        service.kill()
        service.wait()
    return "".join(said)


def test_a_later_start_shows_the_answer_and_runs_the_sample_when_it_is_asked_for(home: Path) -> None:
    """Five starts of one home: each of them goes on from what the one before left."""
    assert "Photo backup is done" in started(home)
    answered = (home / "demo" / "answered").read_text()
    second = started(home)
    assert f"/constellations/{answered}" in second
    assert "Photo backup is done" not in second
    again = started(home, "--again", then="starloom demo remove")
    assert "Photo backup is done" in again
    assert "were removed" not in again
    assert (home / "demo" / "answered").read_text() != answered
    without = started(home)
    assert ("the demo devices were removed" in without, "two demo devices join" in without) == (True, False)
    assert "two demo devices join" in started(home, "--again")
