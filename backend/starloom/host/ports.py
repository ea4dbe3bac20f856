"""Ports of this machine: the process that has one, the next free one, and any free one. Reserves nothing."""

from __future__ import annotations

import contextlib
import errno
import random
import socket

NEAR_MOST = 50
"""The ports above a taken one that are tried."""
LOWEST, HIGHEST = 20_000, 32_000
"""Below the ports that systems give to outgoing connections: a client that dials while its server is dead could
otherwise be given the port of that server and connect to itself."""
TRIES_MOST = 200


def is_free(host: str, port: int) -> bool:
    """Return whether this process could listen on the port now.

    Raises:
        OSError: the address is not one of this machine, or may not be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def owner(port: int) -> str:
    """Return the process that listens on a port, as `name (pid 12)`, or that it cannot be seen."""
    import psutil  # imported at its use: most commands look at no port

    with contextlib.suppress(psutil.AccessDenied, OSError):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.pid and connection.laddr[1:2] == (port,):
                with contextlib.suppress(psutil.NoSuchProcess):
                    return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return "a process of another user"


def free_near(host: str, port: int) -> int | None:
    """Return the next free port above `port`, or None."""
    for candidate in range(port + 1, min(port + 1 + NEAR_MOST, 65536)):
        if is_free(host, candidate):
            return candidate
    return None


def free_port() -> int:
    """Return a port that was free a moment ago.

    Raises:
        OSError: every one of many is taken.
    """
    for _ in range(TRIES_MOST):
        port = random.SystemRandom().randrange(LOWEST, HIGHEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"{TRIES_MOST} ports of 127.0.0.1 between {LOWEST} and {HIGHEST} are taken")
