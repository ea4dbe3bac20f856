"""Expiry in `fleet` and `access`: links, sessions, join codes, idempotency keys and kept results that expired.

All are removed by events, so every hub forgets the same and the log keeps a trace. Whether one is still valid is
decided where it is used, by the hub's time; ended ones are removed before that time can go back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from starloom.core.state import invariants
from starloom.core.state.inputs import DateWentBack
from starloom.core.state.model import Access, Fleet, Stream
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Work
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET

TIDY = "tidy"
EVERY_MS = 3_600_000
"""Nothing depends on the moment at which an expired record is removed; an hour keeps the log short."""
KEPT_MS = 7 * 86_400_000
"""No client repeats a request a week later; links, codes and tokens that ended are removed with the keys."""
IDEMPOTENCY_MOST = 10_000
"""Keys are held in memory and in Redis, and each request may bring one: of more, the oldest go before their week."""
AT_ONCE_MOST = 1_000
"""Inputs wait while a commit is made; one with more removals would hold them up. The next sweep removes the rest."""
WENT_BACK = "the hub was started at an earlier date than before, and these had ended"
RESULTS_KEPT_MS = 30 * 86_400_000
"""The longest age at which a plan may take over a result (`plan.reuse`)."""


def due_moment(at_ms: int) -> ArmTimer:
    """Return the timer of the next sweep."""
    return ArmTimer(constellation=FLEET, due_ms=at_ms, entity="", kind=TIDY)


def on_timer(work: Work) -> None:
    """Remove a bounded number of expired entities and sweep again: at once if there are more.

    The first sweep of an owner also finds the stalled constellations in the log.
    """
    invariants.watch_stalls(work, list(work.shard.live))
    before_ms = work.at_ms - KEPT_MS
    access, fleet = work.shard.access, work.shard.fleet
    count = _forget(work, access, _expired_access(access, before_ms, work.at_ms - RESULTS_KEPT_MS))
    count += _forget(work, fleet, _expired_codes(fleet, before_ms))
    work.order(due_moment(work.at_ms if count >= AT_ONCE_MOST else work.at_ms + EVERY_MS))


def on_date_went_back(work: Work, item: DateWentBack) -> None:
    """Remove all tokens, links and codes that had ended: by the earlier date they would be valid again."""
    access, fleet, until_ms = work.shard.access, work.shard.fleet, item.newest_ms
    ended: list[Put] = [("signin", key, None) for key, one in access.signins.items() if one.expires_ms <= until_ms]
    ended += [("token", key, None) for key, one in access.tokens.items() if 0 < one.expires_ms <= until_ms]
    codes: list[Put] = [(kind, key, None) for kind, key in _expired_codes(fleet, until_ms + 1)]
    for stream, puts in ((access, ended), (fleet, codes)):
        if puts:
            work.emit(stream, EventKind.FORGOTTEN, "", puts, note=WENT_BACK, by=ENGINE)


def _forget(work: Work, stream: Stream, expired: Iterator[tuple[str, str]]) -> int:
    """Remove at most `AT_ONCE_MOST` expired entities, each given as (kind, key), and return how many there were."""
    puts: list[Put] = [(kind, key, None) for kind, key in islice(expired, AT_ONCE_MOST)]
    if puts:
        work.emit(stream, EventKind.FORGOTTEN, "", puts, by=ENGINE)
    return len(puts)


def _expired_access(access: Access, before_ms: int, results_before_ms: int) -> Iterator[tuple[str, str]]:
    for key, result in access.kept.items():
        if result.at_ms < results_before_ms:
            yield "kept", key
    for key, signin in access.signins.items():
        if signin.expires_ms < before_ms:
            yield "signin", key
    for key, token in access.tokens.items():
        if 0 < token.expires_ms < before_ms or 0 < token.revoked_ms < before_ms:
            yield "token", key
    # New keys are in order of use, loaded ones in order of name.
    keys = sorted(access.idempotency.items(), key=lambda item: (item[1].at_ms, item[0]))
    for number, (key, entry) in enumerate(keys):
        if entry.at_ms >= before_ms and len(keys) - number <= IDEMPOTENCY_MOST:
            break
        yield "idem", key


def _expired_codes(fleet: Fleet, before_ms: int) -> Iterator[tuple[str, str]]:
    for key, enrollment in fleet.enrollments.items():
        if enrollment.expires_ms < before_ms:
            yield "enrollment", key
