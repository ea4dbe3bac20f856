"""The owner's own `ssh`: its arguments, a text that it runs at a server, and the remedy of each of its failures.

Always without questions (`BatchMode`): where a person's answer is needed, a line to type is printed, so that a tunnel
that works now also works after a restart with nobody there.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from starloom.client.exits import Exit
from starloom.client.problems import Problem, here
from starloom_protocol.text.wording import quoted

CONNECT_S = 10
OWN_FAULT = 255
"""The exit code of `ssh` for its own faults; any other is the remote command's."""

_FIXED = (
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    f"ConnectTimeout={CONNECT_S}",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=3",
)


@dataclass(frozen=True)
class Target:
    """The destination of `ssh` and its options, as a person would give them. `config` is another `ssh_config`."""

    destination: str
    port: int | None = None
    identity: str = ""
    config: str = ""
    options: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.destination or self.destination.startswith("-") or re.search(r"\s", self.destination):
            raise _problem(
                f"{quoted(self.destination)} is not user@host or a name of ~/.ssh/config", "Write --ssh user@host."
            )

    @property
    def flags(self) -> list[str]:
        flags = ["-F", self.config] if self.config else []
        flags += ["-p", str(self.port)] if self.port else []
        flags += ["-i", self.identity] if self.identity else []
        for option in self.options:
            flags += ["-o", option]
        return flags

    @property
    def typed(self) -> str:
        """Return the line that a person would type to sign in there."""
        return shlex.join(["ssh", *self.flags, self.destination])


@dataclass(frozen=True)
class Forward:
    """A port of the server's loopback address that leads to the hub: to its socket, or else to its port."""

    remote_port: int
    hub_host: str
    hub_port: int
    hub_socket: str = ""

    @property
    def flags(self) -> list[str]:
        host = f"[{self.hub_host}]" if ":" in self.hub_host else self.hub_host
        end = re.sub(r"([\\:])", r"\\\1", self.hub_socket) or f"{host}:{self.hub_port}"
        return ["-o", "ExitOnForwardFailure=yes", "-R", f"127.0.0.1:{self.remote_port}:{end}"]


def find_program() -> str:
    """Return the path of `ssh`.

    Raises:
        Problem: there is none.
    """
    program = shutil.which("ssh")
    if program is None:
        raise _problem(
            "this computer has no ssh program",
            "Install OpenSSH's client (Debian, Ubuntu: apt-get install openssh-client), or paste the line of "
            "`starloom enroll` on the server.",
        )
    return program


def argv(target: Target, command: Sequence[str], forward: Forward | None = None) -> list[str]:
    """Return the argument list that runs a command there; its words are quoted for the shell at the other end."""
    tunnel = forward.flags if forward is not None else []
    return [find_program(), *_FIXED, *target.flags, *tunnel, target.destination, shlex.join(command)]


# A message of OpenSSH, the sentence for it, and the remedy; the first match counts.
_FAULTS: tuple[tuple[str, str, str], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the server shows another host key than the one this computer knows; it may be another machine",
        "Ask its owner why. Only if you know: ssh-keygen -R {host}, then {typed} and compare the fingerprint.",
    ),
    (
        r"Host key verification failed|No .* host key is known",
        "this computer does not know the server's host key yet, and that is for a person to judge",
        "Type once: {typed} - compare the fingerprint, answer yes, sign out, and run this again.",
    ),
    (
        r"UNPROTECTED PRIVATE KEY FILE|bad permissions",
        "ssh refuses the private key, because other users may read its file",
        "chmod 600 the file of the key, and run this again.",
    ),
    (
        r"Identity file .* not accessible",
        "the file of the private key that was named does not exist",
        "Name another with --identity.",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        "the server did not accept a key, and nobody is asked for a password here",
        "Put your key there once: {copy} (or load it: ssh-add; or name it: --identity FILE).",
    ),
    (
        r"Could not resolve hostname",
        "no computer has this name",
        "Check the name, or use its address: --ssh user@192.168.1.20.",
    ),
    (
        r"remote port forwarding failed",
        "the server does not open the tunnel's port: another program has it, or AllowTcpForwarding is off there",
        "Try --remote-port with another number; or have AllowTcpForwarding yes in its sshd_config.",
    ),
    (
        r"Connection refused",
        "the computer is there, but no SSH server listens on that port",
        "Start its SSH server, or name the port: --port N.",
    ),
    (
        r"timed out|No route to host|Network is unreachable|Host is down",
        "the computer does not answer",
        "Is it on and in reach? Try: {typed}",
    ),
    (
        r"kex_exchange_identification|Connection closed by|Connection reset by|banner exchange",
        "the server ended the connection before it asked who you are",
        "It may limit connections (fail2ban, MaxStartups); wait a minute and try: {typed}",
    ),
    (
        r"Bad configuration option|Bad owner or permissions|terminating, \d+ bad",
        "ssh refuses its own settings",
        "{said}",
    ),
)


def fault_of(target: Target, stderr: str) -> tuple[str, str]:
    """Return the meaning of a fault of `ssh` itself, by its stderr, and the remedy."""
    host = target.destination.rpartition("@")[2]
    last = last_line(stderr)
    for pattern, sentence, way in _FAULTS:
        if re.search(pattern, stderr):
            return sentence, way.format(
                copy=shlex.join(["ssh-copy-id", *target.flags, target.destination]),
                host=host,
                typed=target.typed,
                said=last or "See ssh -v.",
            )
    return f"ssh ended: {last or 'it said nothing'}", f"Try it by hand: {target.typed}"


def last_line(text: str) -> str:
    """Return the last line that is not a warning or a banner's frame."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" @\r\n")]
    return next((line for line in reversed(lines) if not line.startswith("Warning:")), "")


def problem_of(target: Target, stderr: str) -> Problem:
    """Return a fault of `ssh` itself as a problem."""
    reason, hint = fault_of(target, stderr)
    return _problem(f"{target.destination}: {reason}", hint)


def _problem(reason: str, hint: str) -> Problem:
    return here("ssh", "The server was not added", reason, hint, Exit.FAILED)


def refused(target: Target, reason: str, hint: str) -> Problem:
    """Return a lack of the other side as a problem."""
    return _problem(f"{target.destination}: {reason}", hint)


async def run_there(target: Target, text: str, within_s: float) -> tuple[int, str, str]:
    """Run a shell text there; return its exit code, stdout and stderr.

    Raises:
        Problem: ssh itself failed, or it took too long.
    """
    process = await asyncio.create_subprocess_exec(
        *argv(target, ["sh", "-s"]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(within_s):
            out, err = await process.communicate(text.encode())
    except TimeoutError as error:
        raise refused(target, f"it did not finish within {within_s:g} s", f"Look there: {target.typed}") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    stderr = err.decode(errors="replace")
    if process.returncode == OWN_FAULT:
        raise problem_of(target, stderr)
    return process.returncode or 0, out.decode(errors="replace"), stderr
