"""A fresh clone of this checkout, and terminals in it with an empty environment, as a newcomer has them.

A `prepared` clone has its environment and pages already, made of what this checkout installed and built; otherwise
`make` makes all of it. Starts no service of its own accord and ends what it started.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starloom.host.ports import free_port
from starloom_agent.platforms.processes import die_with_parent
from tests.arch.checkout import ROOT
from tests.waiting import SLOWER, until

PAGES = ("frontend/dist", "device_agents/browser/dist")
OWN = ("protocol", "backend", "device_agents")
CACHES = (".cache/pip", ".npm")
_STAMP = "import environment as e; e._stamp_path(False).write_text(e.wanted_stamp(False))"


@dataclass(frozen=True)
class Clone:
    """One clone. `environment` is all that its terminals know."""

    folder: Path
    environment: dict[str, str]

    def run(self, text: str, within_s: float) -> subprocess.CompletedProcess[str]:
        """Type lines in a terminal of this folder and wait for their end."""
        return subprocess.run(
            ["bash", "-e", "-u", "-o", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=within_s,
            check=False,
        )

    @contextmanager
    def running(self, text: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Type lines in a terminal where they stay, and press Ctrl-C at the end of the block if they still run."""
        parent = os.getpid()
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", text],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(signal.SIGTERM, parent),
            )
        try:
            yield process
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(60 * SLOWER)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def make_clone(place: Path, *, prepared: bool) -> Clone:
    """Clone this checkout as it stands, with what is not committed yet."""
    folder, home = place / "starloom", place / "home"
    home.mkdir(parents=True)
    _run(["git", "clone", "-q", str(ROOT), str(folder)])
    told = _run(["git", "-C", str(ROOT), "ls-files", "-m", "-o", "--exclude-standard", "-z"])
    for name in filter(None, told.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    own = Path(sys.executable).parent
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if Path(path) != own]
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([f"{sys.base_prefix}/bin", *paths]),
        # Other services of this machine may have the usual port.
        "PORT": str(free_port()),
    }
    clone = Clone(folder, environment)
    if prepared:
        _prepare(clone)
    else:
        for cache in CACHES:
            if (Path.home() / cache).is_dir():
                (home / cache).parent.mkdir(parents=True, exist_ok=True)
                (home / cache).symlink_to(Path.home() / cache)
    return clone


def _prepare(clone: Clone) -> None:
    """Give the clone an environment of its own sources and this checkout's packages, and this checkout's pages."""
    venv = clone.folder / ".venv"
    python = f"{sys.base_prefix}/bin/python3"
    _run([python, "-m", "venv", "--without-pip", str(venv)])
    (packages,) = venv.glob("lib/python*/site-packages")
    found = [*(str(clone.folder / name) for name in OWN), sysconfig.get_path("purelib")]
    (packages / "prepared.pth").write_text("\n".join(found) + "\n")
    for name in ("starloom", "starloom-agent"):
        text = (Path(sys.executable).parent / name).read_text()
        program = venv / "bin" / name
        program.write_text(f"#!{venv}/bin/python\n" + text.partition("\n")[2])
        program.chmod(0o755)
    done = subprocess.run(
        [python, "-c", _STAMP], env={**clone.environment, "PYTHONPATH": str(clone.folder / "scripts")}, check=False
    )
    assert done.returncode == 0
    for page in PAGES:
        if (ROOT / page).is_dir():
            shutil.copytree(ROOT / page, clone.folder / page)


def until_said(process: subprocess.Popen[bytes], log: Path, words: str, within_s: float) -> str:
    """Wait until a terminal shows these words, and return all that it shows."""

    def said() -> str:
        text = log.read_text(errors="replace")
        assert process.poll() is None, f"it ended:\n{text}"
        return text if words in text else ""

    try:
        return str(until(said, f"{words!r} on the screen", within_s))
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log.read_text(errors='replace')}") from None


def _run(argv: list[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
