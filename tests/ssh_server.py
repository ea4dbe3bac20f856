"""A real SSH server of this machine, on a free port of loopback, with a host key and a user key of its own.

Signs in as the user who runs the tests, with another HOME, so that nothing of theirs is touched. Needs OpenSSH's
server program; it binds no other address and ends with the block.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from starloom.host.ports import free_port
from starloom_agent.platforms.processes import die_with_parent
from tests.waiting import SLOWER

FIX = "the ssh tests need OpenSSH (Debian, Ubuntu: apt-get install openssh-server openssh-client)"


def program(name: str) -> str:
    """Return the path of one of OpenSSH's programs; servers often stand outside the PATH of a user."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    assert found, FIX
    return found


@dataclass
class SshServer:
    """One server. `config` is a client's ssh_config that reaches it under the name `server`."""

    folder: Path
    home: Path
    port: int
    config: Path
    key: Path
    known_hosts: Path
    process: subprocess.Popen[bytes] | None = None
    path: Path | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        settings = self.folder / "sshd_config"
        carried = "".join(
            f' "{name}={value}"' for name, value in os.environ.items() if name.startswith("PIP_") and '"' not in value
        )
        carried += f' "PATH={self.path}"' if self.path else ""
        settings.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\n"
            f'SetEnv "HOME={self.home}"{carried}\n'
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd of root wants this empty folder
        parent = os.getpid()
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program("sshd"), "-D", "-e", "-f", str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: die_with_parent(signal.SIGTERM, parent),
            )
        deadline = time.monotonic() + 20 * SLOWER
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def log(self) -> str:
        return (self.folder / "sshd.log").read_text(errors="replace")[-3000:]

    def cut(self) -> int:
        """End every connection that is open now, as a network that fails; return how many there were."""
        assert self.process is not None
        sessions = psutil.Process(self.process.pid).children(recursive=False)
        for session in sessions:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
                session.kill()
        return len(sessions)

    def stop(self) -> None:
        """End the server and every connection."""
        if self.process is not None and self.process.poll() is None:
            self.cut()
            self.process.terminate()
            self.process.wait(10 * SLOWER)


@contextmanager
def ssh_server(folder: Path, *, known: bool = True, path: Path | None = None) -> Iterator[SshServer]:
    """Run a server whose host key a client's config knows, or does not; `path` is where it finds programs."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    home = folder / "home"
    home.mkdir()
    for name in ("host_key", "user_key"):
        argv = [program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    port = free_port()
    hosts = folder / "known_hosts"
    hosts.write_text(f"[127.0.0.1]:{port} {(folder / 'host_key.pub').read_text()}" if known else "")
    config = folder / "ssh_config"
    config.write_text(
        f"Host server\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n  UserKnownHostsFile {hosts}\n"
        "  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n"
    )
    made = SshServer(folder, home, port, config, folder / "user_key", hosts, path=path)
    try:
        made.start()
        yield made
    finally:
        made.stop()
