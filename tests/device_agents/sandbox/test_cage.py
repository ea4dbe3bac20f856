"""Real programs in real cages of every layer that this machine has: what they cannot reach, how bombs end."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox import levels, usage
from starloom_agent.sandbox.cage import Cage
from tests.device_agents.sandbox.tried import HELD
from tests.waiting import PATIENCE_S

WITHIN_S = PATIENCE_S
MARK = "starloom-cage-test"


@dataclass
class Ground:
    """A machine in small: a home with a secret, two granted folders, and a directory for the program."""

    cage: Cage
    home: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, code: str, *argv: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-I", "-c", code, *argv, f"{MARK}-{os.getpid()}"]
        process = subprocess.Popen(
            cages.command(self.cage, program),
            cwd=self.cage.workdir,
            env={"PATH": os.environ["PATH"], "SECRET": "s"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    def run(self, code: str, *argv: str) -> subprocess.CompletedProcess[str]:
        process = self.start(code, *argv)
        out, err = process.communicate(timeout=WITHIN_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def tries(self, *statements: str) -> list[str]:
        """Run each statement in one program; return the name of the error that stopped it, or `done`."""
        body = "".join(
            f"try:\n    {text}\nexcept OSError as error:\n    print(type(error).__name__)\nelse:\n    print('done')\n"
            for text in statements
        )
        ran = self.run(f"import os, socket, sys, tempfile\n{body}")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split()


@pytest.fixture(params=HELD)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    for name in ("home", "work", "read"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "canary").write_text("canary")
    (tmp_path / "read" / "given").write_text("given")
    cage = Cage(
        request.param,
        str(tmp_path / "work"),
        interpreter=tuple(cages.interpreter()),
        read=(str(tmp_path / "read"),),
    )
    made = Ground(cage, tmp_path / "home")
    yield made
    for process in made.running:
        process.kill()
        process.communicate(timeout=WITHIN_S)


def marked() -> list[str]:
    """Return the programs of these tests that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if f"{MARK}-{os.getpid()}".encode() in line:
                found.append(entry.name)
    return found


def test_this_machine_has_a_layer_or_says_why_not() -> None:
    found = levels.find()
    assert (found.layer in HELD) if HELD else found.reason


def test_no_address_can_be_reached(ground: Ground, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(path)
        local.listen()
        said = ground.tries(
            f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
            f"socket.socket(socket.AF_UNIX).connect({path!r})",
        )
    assert len(said) == 3
    assert "done" not in said


def test_nothing_outside_can_be_read_or_changed(ground: Ground) -> None:
    canary, given = ground.home / "canary", Path(ground.cage.read[0], "given")
    said = ground.tries(
        f"open({str(canary)!r}).read()",
        f"os.listdir({str(ground.home)!r})",
        f"open({str(Path(__file__))!r}).read()",
        f"open({str(canary)!r}, 'a').write('x')",
        f"open({str(given)!r}, 'a').write('x')",
        f"os.unlink({str(given)!r})",
        f"os.link({str(canary)!r}, 'linked')",
        "open('/usr/starloom-was-here', 'w').write('x')",
    )
    assert len(said) == 8
    assert set(said) <= {"FileNotFoundError", "PermissionError", "OSError"}
    assert (canary.read_text(), given.read_text()) == ("canary", "given")


def test_granted_folders_are_read_and_its_own_is_open(ground: Ground) -> None:
    said = ground.tries(
        f"assert open({ground.cage.read[0] + '/given'!r}).read() == 'given'",
        "open('made', 'w').write('x')",
        "tempfile.TemporaryFile().write(b'x')",
        "open('/dev/null', 'w').write('x')",
    )
    assert said == ["done"] * 4
    assert Path(ground.cage.workdir, "made").read_text() == "x"


def test_other_processes_cannot_be_touched(ground: Ground) -> None:
    with subprocess.Popen(["sleep", "300"]) as other:
        try:
            said = ground.tries(f"os.kill({other.pid}, 9)", f"open('/proc/{os.getpid()}/environ').read()")
            assert len(said) == 2
            assert "done" not in said
            assert other.poll() is None
        finally:
            other.kill()


def test_no_right_is_left_to_gain(ground: Ground) -> None:
    code = (
        "import ctypes; c = ctypes.CDLL(None); os.mkdir('m'); "
        "sys.exit(0 if c.unshare(0x10020000) and c.mount(b'none', b'm', b'tmpfs', 0, None) else 9)"
    )
    ran = ground.run(f"import os, sys; print(list(os.environ)); {code}")
    assert ran.returncode == 0
    assert "HOME" in ran.stdout
    assert "SECRET" not in ran.stdout


def test_the_end_of_the_program_is_its_exit_code(ground: Ground) -> None:
    assert ground.run("import os\nif os.fork() == 0: os.abort()\nos.wait()\nraise SystemExit(7)").returncode == 7
    assert ground.run("import os; os.abort()").returncode == 128 + signal.SIGABRT


def test_a_program_that_multiplies_ends_alone(ground: Ground) -> None:
    # Doubles every 50 ms and stops by itself at a thousand, so that a cage that fails does no harm.
    double = "    try: os.fork()\n    except OSError: pass\n    time.sleep(0.05)\n"
    code = f"import os, time\nfor _ in range(10):\n{double}time.sleep(60)"
    ground.cage = replace(ground.cage, processes_max=40)
    ran = ground.run(code)
    assert ran.returncode == 128 + signal.SIGKILL
    assert "more than 40 processes" in ran.stderr
    assert marked() == []


def test_a_program_that_eats_memory_in_many_parts_ends_alone(ground: Ground) -> None:
    code = "import os, time\nfor _ in range(8):\n    if os.fork() == 0: break\nx = b'x' * (40 << 20)\ntime.sleep(60)"
    ground.cage = replace(ground.cage, memory_bytes_max=200 << 20)
    ran = ground.run(code)
    assert ran.returncode == 128 + signal.SIGKILL
    assert re.search(r"used \d+ MiB of memory; its limit is 200 MiB", ran.stderr)
    assert marked() == []


def test_what_it_leaves_behind_ends_with_it(ground: Ground) -> None:
    left = "[sys.executable, '-c', 'import time; time.sleep(300)', sys.argv[-1]], start_new_session=True"
    code = f"import subprocess, sys; subprocess.Popen({left}); print('left')"
    assert ground.run(code).stdout.strip() == "left"
    assert marked() == []


def test_a_killed_cage_takes_its_program_with_it(ground: Ground) -> None:
    process = ground.start("import time; print('up', flush=True); time.sleep(300)")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "up"
    below = usage.below(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait(WITHIN_S)
    assert below
    assert all_end(below)


def all_end(pids: list[int]) -> bool:
    """Wait until none of the processes runs any more."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        with os.fdopen(handle) as ending:
            if not select.select([ending], [], [], WITHIN_S)[0]:
                return False
    return True
