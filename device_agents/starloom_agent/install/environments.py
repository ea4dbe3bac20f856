"""The Python environments of an agent's home: they stand beside each other, and the name `venv` points to one of them.

All that starts the agent, a service or a person, goes through that name. It is changed in one step, so at each moment
it names a whole environment. Knows nothing of versions, and starts no agent.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from starloom_agent.home.directory import AgentHome
from starloom_agent.platforms.exchange import exchange

POINTER = "venv"


class EnvironmentFault(Exception):
    """An environment cannot be made or put in place; the text says why."""


def python_in(environment: Path) -> Path:
    """Return where the Python of an environment lies."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def starting_python(home: AgentHome) -> str:
    """Return the Python that starts this agent: by the name `venv` if that is the environment which runs now."""
    pointer = home.root / POINTER
    same = pointer.exists() and pointer.resolve() == Path(sys.prefix).resolve()
    return str(python_in(pointer)) if same else sys.executable


class Environments:
    """The environments of one home."""

    def __init__(self, home: AgentHome) -> None:
        self._root = home.root
        self._pointer = home.root / POINTER

    def current(self) -> Path | None:
        """Return the environment that `venv` names, by its real path, or None where there is none."""
        return self._pointer.resolve() if self._pointer.exists() else None

    def holds(self, prefix: Path) -> bool:
        """Return whether an environment (`sys.prefix`) is one of this home."""
        real = prefix.resolve()
        return real.parent == self._root and real.name.startswith(POINTER)

    def make(self, version: str) -> Path:
        """Make a new environment with nothing in it; it has no part in what runs.

        Raises:
            EnvironmentFault: the `venv` module does not work here.
        """
        environment = self._root / f"{POINTER}-{version}-{secrets.token_hex(3)}"
        self._venv(environment, "--without-pip")
        return environment

    def installer(self, environment: Path) -> list[str]:
        """Return the command of a pip that installs into a new environment.

        The pip of this environment, or of the Python that it was made of, serves where there is one of 22.3 or newer.
        Else the new environment gets its own, for seconds of work, and on a phone for many.

        Raises:
            EnvironmentFault: this Python brings no pip.
        """
        for python in (sys.executable, _made_of(Path(sys.prefix))):
            command = [python, "-P", "-m", "pip", "--python", str(python_in(environment))]
            if python and _run([*command, "--version"]).returncode == 0:
                return command
        self._venv(environment)
        return [str(python_in(environment)), "-P", "-m", "pip"]

    def _venv(self, environment: Path, *options: str) -> None:
        done = _run([sys.executable, "-P", "-m", "venv", *options, str(environment)])
        if done.returncode != 0:
            self.remove(environment)
            raise EnvironmentFault(f"no environment can be made in {self._root}: {_last(done)}")

    def point_to(self, environment: Path) -> Path | None:
        """Have `venv` name another environment from now on; return where the one before it lies, if there was one.

        A folder of that name gets a name of its own instead.

        Raises:
            EnvironmentFault: this system or file system cannot do it in one step; nothing has changed.
        """
        link = self._root / f"{POINTER}-{secrets.token_hex(6)}"
        link.symlink_to(environment.name)
        before = self.current()
        try:
            if self._pointer.is_symlink() or before is None:
                link.replace(self._pointer)
            else:
                exchange(link, self._pointer)
                before = link
        except OSError as error:
            link.unlink(missing_ok=True)
            raise EnvironmentFault(
                f"{self._pointer} cannot be exchanged in one step here ({error}); nothing has changed. Type "
                "starloom-agent leave, then join with a fresh line of `starloom enroll`"
            ) from error
        descriptor = os.open(self._root, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return before

    def remove(self, environment: Path) -> None:
        """Remove an environment, whole or half made."""
        if environment.is_symlink():
            environment.unlink()
        else:
            shutil.rmtree(environment, ignore_errors=True)

    def sweep(self, keep: Iterable[Path]) -> None:
        """Remove what earlier upgrades left, except for the environment in use and those to keep."""
        keep_paths = {path.resolve() for path in keep} | {self.current()}
        for path in self._root.glob(f"{POINTER}-*"):
            if path.is_symlink() or path.resolve() not in keep_paths:
                self.remove(path)


def _made_of(environment: Path) -> str:
    """Return the Python that an environment says it was made of, or nothing."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (environment / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "executable" and os.access(value.strip(), os.X_OK):
                return value.strip()
    return ""


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
