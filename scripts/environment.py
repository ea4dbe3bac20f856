"""Makes the Python environment of a checkout: `.venv`, the locked packages by hash, Starloom's own three editable.

Standard library only; needs Python 3.11 with venv and pip. It keeps a stamp, so a second run only compares hashes.
Builds the page beside the installation (`page.py`). Starts nothing of Starloom.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must get a sentence, not a syntax error
    sys.exit(
        "Starloom needs Python 3.11 or newer; this is "
        + sys.version.split()[0]
        + ".\nInstall a newer one, then: make run PYTHON=python3.12"
    )

import argparse
import hashlib
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import page
from steps import Unable, run, say, step

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
DISTRIBUTIONS = ("protocol", "backend", "device_agents")
PACKAGES = ("protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent")
PROGRAMS = (
    *("starloom.app", "starloom.cli.commands", "starloom.client.terminal.tables", "starloom.host.supervisor"),
    *("starloom.jobs.worker", "starloom_agent.cli", "alembic.command"),
    *("celery.apps.worker", "celery.concurrency.thread", "celery.worker.consumer", "kombu.transport.redis"),
)
"""What every process of Starloom begins with, and what it loads by name later: Celery its worker, pool and broker."""


def venv_python() -> Path:
    """Return the interpreter of the virtual environment."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def lock_file(dev: bool) -> Path:
    return ROOT / ("requirements-dev.lock" if dev else "requirements.lock")


def wanted_stamp(dev: bool) -> str:
    """Return the hash of everything that decides what must be installed."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}".encode())
    for path in (lock_file(dev), *(ROOT / name / "pyproject.toml" for name in DISTRIBUTIONS)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _stamp_path(dev: bool) -> Path:
    return VENV / f"starloom-{'dev' if dev else 'run'}.stamp"


def is_current(dev: bool) -> bool:
    """Return whether the environment has what the locks name."""
    stamp = _stamp_path(dev)
    return venv_python().exists() and stamp.exists() and stamp.read_text() == wanted_stamp(dev)


def _make_venv() -> None:
    if venv_python().exists():
        works = subprocess.run([venv_python(), "-c", "import encodings"], capture_output=True, check=False)
        if works.returncode == 0:
            return
        shutil.rmtree(VENV)
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    run(
        [sys.executable, "-m", "venv", str(VENV)],
        cwd=ROOT,
        failed=lambda tail: Unable(
            f"Python cannot make a virtual environment:\n{tail}",
            f"Install its venv module (Debian, Ubuntu: apt-get install python{minor}-venv) and run it again.",
        ),
    )


def _has_pip() -> bool:
    return subprocess.run([venv_python(), "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def _pip(*arguments: str) -> None:
    run(
        [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "--no-input", "-q", *arguments],
        cwd=ROOT,
        failed=lambda tail: Unable(
            f"pip could not install what Starloom needs:\n{tail}",
            "Check that this machine reaches its package index (or set PIP_INDEX_URL to one), then run it again.",
        ),
    )


def install(dev: bool) -> None:
    """Install the locked packages and Starloom itself; idempotent.

    Raises:
        Unable: with the fix.
    """
    lock = lock_file(dev)
    with step("making .venv"):
        _make_venv()
        if not _has_pip():
            run(
                [str(venv_python()), "-m", "ensurepip"],
                cwd=ROOT,
                failed=lambda tail: Unable(
                    f".venv has no pip and Python brings none:\n{tail}",
                    "Install pip for this Python (Debian, Ubuntu: apt-get install python3-pip) and delete .venv.",
                ),
            )
    count = sum(1 for line in lock.read_text().splitlines() if "==" in line)
    with step(f"installing {count} packages by hash from {lock.name}"):
        # Not compiled: that is a third of the work, for modules that nobody imports.
        _pip("install", "--no-compile", "--require-hashes", "--no-deps", "-r", str(lock))
    with step("installing Starloom's hub, agent and protocol"):
        editable = [part for name in DISTRIBUTIONS for part in ("-e", str(ROOT / name))]
        _pip("install", "--no-deps", "--no-build-isolation", *editable)
        _compile()
    _stamp_path(dev).write_text(wanted_stamp(dev))
    if dev:
        _stamp_path(False).write_text(wanted_stamp(False))


def _compile() -> None:
    """Compile Starloom, and of the packages what its programs import.

    Where PYTHONDONTWRITEBYTECODE is set, each process would compile all of it again, for seconds.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for argv in (["-m", "compileall", "-q", *PACKAGES], ["-c", f"import {', '.join(PROGRAMS)}"]):
        run(
            [str(venv_python()), *argv],
            cwd=ROOT,
            environment=environment,
            failed=lambda tail: Unable(f"Starloom does not compile:\n{tail}", "Check out a whole copy of it."),
        )


class PageBuild(threading.Thread):
    """Builds the page beside the installation; a failure is kept as a sentence and stops nothing.

    The host's Node is tried at once. A Node from the package index needs pip, so it waits for the environment.
    """

    def __init__(self, *, with_tests: bool) -> None:
        super().__init__(name="page", daemon=True)
        self._with_tests = with_tests
        self.fault: Unable | None = None
        self.environment_ready = threading.Event()

    def run(self) -> None:
        try:
            page.build(ROOT, self.environment_ready.wait, with_tests=self._with_tests)
        except Unable as unable:
            self.fault = unable


def prepare(*, dev: bool, with_page: bool) -> None:
    """Bring the environment up to date, and the page if asked for.

    Raises:
        Unable: if the Python side cannot be made; a page that cannot be built is only said.
    """
    began = time.monotonic()
    builder = PageBuild(with_tests=dev) if with_page and page.is_stale(ROOT, with_tests=dev) else None
    stale = not is_current(dev)
    if not stale and builder is None:
        return
    say("Preparing Starloom's environment (once)")
    if builder is not None:
        builder.start()
    if stale:
        install(dev)
    if builder is not None:
        builder.environment_ready.set()
        builder.join()
        if builder.fault is not None:
            say(f"  The page could not be built; hub, command line and sample work without it.\n{builder.fault.what}")
            say(f"  To mend it: {builder.fault.fix}")
    say(f"  ready after {time.monotonic() - began:.1f} s")


def main() -> int:
    """Prepare the environment from the command line."""
    parser = argparse.ArgumentParser(description="Make or refresh Starloom's environment in this checkout.")
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    parser.add_argument("--page", action="store_true", help="also build the page if its sources changed")
    options = parser.parse_args()
    try:
        prepare(dev=options.dev, with_page=options.page)
    except Unable as unable:
        say(f"\nStarloom cannot start: {unable.what}\nThe way out: {unable.fix}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
