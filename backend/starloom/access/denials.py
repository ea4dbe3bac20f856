"""Rate limits of refusals in the log: a new one is logged at once, a repeated one once a minute with its count.

A caller that is refused a million times must not fill the log. Holds no secret; left-out refusals are counted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

AGAIN_AFTER_S: Final = 60.0
A_MINUTE_MOST: Final = 120
A_CALLER_MOST: Final = 30
"""Per caller and address each minute, so that one noisy caller leaves room for the refusals of others."""
KEPT_MOST: Final = 1_000
TEXT_MOST: Final = 200


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

    def __init__(self, told: Callable[[Denied], None], monotonic_s: Callable[[], float]) -> None:
        self._told = told
        self._monotonic_s = monotonic_s
        self._since: OrderedDict[tuple[str, str, str, str, str], tuple[float, int]] = OrderedDict()
        self._minute = 0.0
        self._passed: Counter[tuple[str, str]] = Counter()
        self.left_out = 0

    def note(self, denied: Denied) -> None:
        """Log a refusal, or only count it."""
        now = self._monotonic_s()
        reason = denied.reason[:TEXT_MOST]
        key = (denied.door, denied.address, denied.code, denied.who, reason)
        since, unsaid = self._since.pop(key, (None, 0))
        if since is not None and now - since < AGAIN_AFTER_S:
            self._keep(key, since, unsaid + 1)
            return
        if now - self._minute >= AGAIN_AFTER_S:
            self._minute, self._passed = now, Counter()
        caller = (denied.address, denied.who)
        if self._passed.total() >= A_MINUTE_MOST or self._passed[caller] >= A_CALLER_MOST:
            self.left_out += 1
            return
        self._passed[caller] += 1
        self._keep(key, now, 0)
        self._told(replace(denied, reason=reason, times=unsaid + 1))

    def _keep(self, key: tuple[str, str, str, str, str], since: float, unsaid: int) -> None:
        self._since[key] = (since, unsaid)
        while len(self._since) > KEPT_MOST:
            self._since.popitem(last=False)
