"""Single-use tickets that open a live socket: kept in memory for 30 seconds, bound to a caller.

A browser cannot set headers on a socket, and a secret in its URL would be logged, so its first message is a ticket.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable

from starloom.edge.access.callers import Caller

TTL_S = 30.0
OPEN_MAX = 10_000


class Tickets:
    """Issues and redeems tickets; the oldest go when there are too many."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._open: OrderedDict[str, tuple[float, Caller]] = OrderedDict()

    def issue(self, caller: Caller) -> str:
        """Return a fresh ticket for this caller."""
        self._drop_old()
        ticket = secrets.token_urlsafe(32)
        self._open[ticket] = (self._monotonic_s() + TTL_S, caller)
        while len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)
        return ticket

    def redeem(self, ticket: str) -> Caller | None:
        """Use up a ticket and return its caller; None if it is unknown, used or expired."""
        self._drop_old()
        found = self._open.pop(ticket, None)
        return found[1] if found else None

    def _drop_old(self) -> None:
        now = self._monotonic_s()
        while self._open:
            ticket, (until, _) = next(iter(self._open.items()))
            if until > now:
                return
            del self._open[ticket]
