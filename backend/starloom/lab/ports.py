"""Finds ports of loopback for servers that are killed and come back at the same place. Reserves nothing.

They lie below those that systems give to outgoing connections: a client that dials while its server is dead could
otherwise be given that very port and find itself at the other end.
"""

from __future__ import annotations

import random
import socket

LOWEST, HIGHEST = 20_000, 32_000
TRIES_MOST = 200


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
