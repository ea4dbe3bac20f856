"""Free loopback ports for servers that are killed and start again at the same port. Reserves nothing.

They lie below the ports that systems give to outgoing connections: a client that dials while its server is dead could
otherwise be given that same port and connect to itself.
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
