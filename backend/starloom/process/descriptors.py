"""The limit of a hub's open files, and the numbers of requests and sockets that fit into it. Opens no file."""

from __future__ import annotations

import logging
from typing import Final

DESCRIPTORS_MOST: Final = 65_536
DESCRIPTORS_KEPT: Final = 512
"""Reserved for the hub's own files: history, Redis, logs, artifacts, and the owner's own connections."""
REQUEST_DESCRIPTORS: Final = 2
"""A request may hold a file beside its connection; the socket of a device or a page is one file."""
_log = logging.getLogger(__name__)


def requests_most(descriptors: int) -> int:
    """Return how many concurrent requests fit into so many open files; twice as many sockets fit."""
    return max(16, (descriptors - min(DESCRIPTORS_KEPT, descriptors // 2)) // REQUEST_DESCRIPTORS)


def descriptors_allowed() -> int:
    """Return how many files the system lets this process open after it has raised its own limit."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return DESCRIPTORS_MOST
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return DESCRIPTORS_MOST if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MOST)


def raise_descriptors() -> int:
    """Raise this process's limit of open files as far as allowed; return it."""
    try:
        import resource
    except ImportError:
        return DESCRIPTORS_MOST
    limit = descriptors_allowed()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return min(soft, DESCRIPTORS_MOST) if soft > 0 else DESCRIPTORS_MOST
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError) as error:
        _log.warning("event=descriptors_stay most=%d reason=%s", soft, error)
        return soft
    return limit
