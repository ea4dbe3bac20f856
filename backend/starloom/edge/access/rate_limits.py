"""Rate limits at the public doors: of failures by address, and of the refusals that reach the log.

A valid credential is never limited: the doors check the credential first and count failures only. The limits bound the
answers, log lines and notes that guesses cause, not the guesses: a token has 256 random bits and a join code 80. A new
refusal is logged at once, a repeated one once a minute with its count, because a caller that is refused a million times
must not fill the log. Holds no secret; left-out refusals are counted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

ADDRESSES_MAX = 10_000
"""An attacker may own many addresses; above this the address unseen longest starts with a full allowance."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate: `burst` failures at once, then one each `every_s`."""

    burst: int
    every_s: float


DOORS: dict[str, Rate] = {
    "sign_in": Rate(10, 6.0),
    "join": Rate(10, 6.0),
    "join_poll": Rate(60, 0.5),
    "handshake": Rate(30, 2.0),
    "signed": Rate(10, 6.0),
    "bad_token": Rate(30, 1.0),
}


class Limits:
    """Counts failures by door and address on an injected monotonic clock; keeps the latest addresses only."""

    def __init__(self, monotonic_s: Callable[[], float], doors: dict[str, Rate] | None = None) -> None:
        self._monotonic_s = monotonic_s
        self._doors = DOORS if doors is None else doors
        self._levels: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def failed(self, door: str, address: str) -> float:
        """Count a failure; return 0, or how many seconds this address should wait before it tries again."""
        rate, key, now_s = self._doors[door], (door, address), self._monotonic_s()
        level, seen_s = self._levels.get(key, (float(rate.burst), now_s))
        level = min(float(rate.burst), level + (now_s - seen_s) / rate.every_s)
        over = level < 1
        self._levels[key] = (level if over else level - 1, now_s)
        self._levels.move_to_end(key)
        if len(self._levels) > ADDRESSES_MAX:
            self._levels.popitem(last=False)
        return (1 - level) * rate.every_s if over else 0.0


def others_words(wait_s: float) -> str:
    """Return the words for an address whose failures are over their rate, with the time to wait rounded up."""
    return f"too many others from this address: wait {max(1, ceil(wait_s))} s"


AGAIN_AFTER_S: Final = 60.0
"""A client that retries in a loop writes one line a minute to the log, which counts the refusals between."""
A_MINUTE_MOST: Final = 120
"""Refusals stay in the audit chain, so they must not fill the disk. Strangers have so many, and known callers as many
again: a stranger with many addresses hides no refusal of a device or a person."""
A_CALLER_MOST: Final = 30
"""Per caller and address each minute, so that one noisy caller leaves room for the refusals of others."""
KEPT_MOST: Final = 1_000
"""Refusals that are remembered to be counted; of more, the oldest is written again if it comes again."""
TEXT_MOST: Final = 200
"""A reason may quote what the caller sent; its beginning is enough to tell refusals apart."""


@dataclass(frozen=True, slots=True)
class Denied:
    """One refusal: its door, its address and, if known, the refused caller (`person:NAME`, `device:ID`)."""

    door: str
    address: str
    code: str
    reason: str
    who: str = ""
    times: int = 1


class Denials:
    """Deduplicates and limits refusals; `told` is called with each one that is to be logged."""

    def __init__(self, log_denial: Callable[[Denied], None], monotonic_s: Callable[[], float]) -> None:
        self._log_denial = log_denial
        self._monotonic_s = monotonic_s
        self._since: OrderedDict[tuple[str, str, str, str, str], tuple[float, int]] = OrderedDict()
        self._minute = 0.0
        self._logged: Counter[tuple[str, str]] = Counter()
        self.left_out = 0

    def note(self, denied: Denied) -> None:
        """Log a refusal, or only count it."""
        now_s = self._monotonic_s()
        reason = denied.reason[:TEXT_MOST]
        key = (denied.door, denied.address, denied.code, denied.who, reason)
        since, unlogged = self._since.pop(key, (None, 0))
        if since is not None and now_s - since < AGAIN_AFTER_S:
            self._keep(key, since, unlogged + 1)
            return
        if now_s - self._minute >= AGAIN_AFTER_S:
            self._minute, self._logged = now_s, Counter()
        caller = (denied.address, denied.who)
        alike = sum(count for (_, who), count in self._logged.items() if bool(who) is bool(denied.who))
        if alike >= A_MINUTE_MOST or self._logged[caller] >= A_CALLER_MOST:
            self.left_out += 1
            return
        self._logged[caller] += 1
        self._keep(key, now_s, 0)
        self._log_denial(replace(denied, reason=reason, times=unlogged + 1))

    def _keep(self, key: tuple[str, str, str, str, str], since: float, unlogged: int) -> None:
        self._since[key] = (since, unlogged)
        while len(self._since) > KEPT_MOST:
            self._since.popitem(last=False)
