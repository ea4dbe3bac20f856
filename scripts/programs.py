"""Programs that tests need from the machine: installed where they are missing and this user may; nothing is started.

Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steps import Unable, say

ADMINISTRATION = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where the programs of an administrator lie, also when the PATH does not lead there; `tests/conftest.py` adds them."""

HEADLESS_SHELL = "chromium-headless-shell"
"""Debian's Chromium without windows, extensions and a viewer of PDF files (`tests/browsers.py`)."""


def ensure_all() -> None:
    """Install Chromium, its headless shell and OpenSSH where they are missing, and look for `useradd`.

    Raises:
        Unable: one is not there and cannot be installed here.
    """
    ensure_useradd()
    ensure_browser()
    ensure_ssh()


def ensure_browser() -> None:
    """Install Chromium and its headless shell for the browser tests where they are missing and this user may.

    The shell alone may stay missing: the tests start the whole browser in its place, which takes them longer.

    Raises:
        Unable: there is no Chromium and it cannot be installed here.
    """
    need = "the browser tests need Chromium"
    if not shutil.which(HEADLESS_SHELL):
        try:
            _install("chromium", need, ["chromium", HEADLESS_SHELL])
        except Unable:
            say(f"  {HEADLESS_SHELL} cannot be installed here; the browser tests take longer without it")
    if not shutil.which("chromium"):
        _install("chromium", need, ["chromium"])


def ensure_ssh() -> None:
    """Install OpenSSH for the tests of joining by ssh where it is missing and this user may; nothing is started.

    Raises:
        Unable: there is none and it cannot be installed here.
    """
    servers = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if not (servers and shutil.which("ssh") and shutil.which("ssh-keygen")):
        names = ["openssh-client", "openssh-server"]
        _install("OpenSSH", "the tests of joining by ssh need OpenSSH's client and server", names)


def ensure_useradd() -> None:
    """Check that root can make the user under which PostgreSQL runs in the tests: it refuses to run as root.

    Raises:
        Unable: `useradd` is nowhere.
    """
    where = os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])
    if os.geteuid() == 0 and shutil.which("useradd", path=where) is None:
        fix = "install useradd (Debian, Ubuntu: apt-get install passwd), or run the tests as another user"
        raise Unable("the tests with PostgreSQL need `useradd` when they run as root", fix)


def _install(what: str, need: str, packages: list[str]) -> None:
    fix = f"install {what} (Debian, Ubuntu: apt-get install {' '.join(packages)}), then run it again"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unable(f"{need}, and this user may not install it", fix)
    say(f"  installing {what} for the tests ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    with _no_service_starts():
        for argv in (["apt-get", "update", "-qq"], command):
            done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
            if done.returncode != 0:
                raise Unable(f"{' '.join(argv)} failed: {done.stderr.strip()[-500:]}", fix)


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Keep Debian's packages from starting what they install, by the file that they ask first."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()
