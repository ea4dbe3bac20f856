"""The user at the other end of a Unix socket, by the kernel: both sides check it before they trust each other.

Shared by hub, command line and agent, which have nothing else in common. Opens no socket.
"""

from __future__ import annotations

import socket
import struct

_LINUX = struct.Struct("3i")
# `struct xucred` of macOS and BSD: version, user, and groups that do not matter here.
_BSD = struct.Struct("Ii")
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1


def peer_uid(opened: socket.socket) -> int | None:
    """Return the user id of the peer's process when it connected or listened; None where a system cannot say."""
    option = getattr(socket, "SO_PEERCRED", None)
    try:
        if option is not None:
            return int(_LINUX.unpack(opened.getsockopt(socket.SOL_SOCKET, option, _LINUX.size))[1])
        return int(_BSD.unpack_from(opened.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128))[1])
    except (OSError, struct.error):
        return None
