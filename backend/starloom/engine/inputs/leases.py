"""The expiry of leases: receipt of the last `alive` + ttl + grace, extended by the loop's own lag.

Also finds leases that a talking device does not name (`heartbeat_s`), and other timeouts of an open lease. Renewals are
not events. Each finding is an input, judged by the core; this module decides nothing about a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starloom.core.run import timeouts
from starloom.core.state.inputs import LeaseExpired, TimerFired
from starloom.core.state.model import Shard
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import task_timer
from starloom.engine.ports import Clock
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import TaskState
from starloom_protocol.wire.frames import LeaseRef, Renew

Key = tuple[str, str, int]
_RENEWABLE = (TaskState.LEASED, TaskState.RUNNING, TaskState.CANCELLING)


class Leases:
    """The expiry of every open lease, in hub time."""

    def __init__(self, clock: Clock, *, ttl_ms: int, grace_ms: int) -> None:
        self._clock = clock
        self._span_ms = ttl_ms + grace_ms
        self._sweep_ms = max(ttl_ms // 15, 20)
        self._expiry: dict[Key, int] = {}
        self._reported_expired: dict[Key, None] = {}
        self._heard_ms: dict[str, int] = {}
        self._reported_unnamed: dict[Key, None] = {}
        self._swept_ms = clock.now_ms()
        self._let_pass = False
        self._ids = 0
        self.shard: Shard | None = None

    @property
    def sweep_ms(self) -> int:
        """The period in which `expired` must be called."""
        return self._sweep_ms

    def begin(self, at: LeaseRef) -> None:
        """Start the lease of a dispatch that was handed to its device's connection."""
        self._expiry[(at.constellation, at.task, at.attempt)] = self._clock.now_ms() + self._span_ms

    def grant_all(self) -> None:
        """Give every open lease a full span: this owner has just started and heard no device yet."""
        self._expiry.clear()
        self._reported_expired.clear()
        self._heard_ms.clear()
        self._reported_unnamed.clear()
        self._swept_ms = self._clock.now_ms()

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> tuple[Renew, list[TimerFired]]:
        """Renew the leases that this device still has; return the answer, and an input for each that had run out."""
        self._heard_ms[device] = now = self._clock.now_ms()
        due = now + self._span_ms
        granted: list[LeaseRef] = []
        gone: list[LeaseRef] = []
        returned: list[TimerFired] = []
        for at in running:
            if not self._holds(device, at):
                gone.append(at)
                continue
            key = (at.constellation, at.task, at.attempt)
            self._expiry[key] = due
            granted.append(at)
            if key in self._reported_expired:
                del self._reported_expired[key]
                returned.append(self._timer_fired(self._timer(at, "heard")))
        return Renew(granted=granted, gone=gone, sent_ms=sent_ms), returned

    def _holds(self, device: str, at: LeaseRef) -> bool:
        constellation = self.shard.constellations.get(at.constellation) if self.shard else None
        attempt = constellation.attempts.get(f"{at.task}/{at.attempt}") if constellation else None
        if constellation is None or attempt is None:
            return False
        return attempt.end is None and attempt.device == device and attempt.incarnation == at.incarnation

    def _timer(self, at: LeaseRef, kind: str) -> ArmTimer:
        assert self.shard is not None  # noqa: S101 - the lease was found in it
        constellation = self.shard.constellations[at.constellation]
        return task_timer(constellation, at.task, kind, constellation.tasks[at.task], self._clock.now_ms())

    def _timer_fired(self, timer: ArmTimer) -> TimerFired:
        return TimerFired(
            id=self._next_id(timer.kind),
            by=ENGINE,
            constellation=timer.constellation,
            entity=timer.entity,
            kind=timer.kind,
            attempt=timer.attempt,
            round=timer.round,
        )

    def _next_id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}-{self._ids}"

    def expired(self) -> list[LeaseExpired | TimerFired]:
        """Return an input for every lease that ran out, went unnamed or passed a timeout since the last call.

        Each lease is reported once as run out and once as unnamed, until it is renewed.
        """
        now = self._clock.now_ms()
        lag = now - self._swept_ms - self._sweep_ms
        self._swept_ms = now
        stood_still = lag > self._sweep_ms
        if stood_still:
            # The loop stood still, so no `alive` or result could have been heard meanwhile.
            self._expiry = {key: due + lag for key, due in self._expiry.items()}
        expiry: dict[Key, int] = {}
        out: list[LeaseExpired | TimerFired] = []
        unnamed: dict[Key, None] = {}
        for key, at, device, heartbeat_ms in self._open():
            due = expiry[key] = self._expiry.get(key, now + self._span_ms)
            named_ms = due - self._span_ms
            if self._heard_ms.get(device, 0) > named_ms and now - named_ms >= heartbeat_ms:
                unnamed[key] = None
                if key not in self._reported_unnamed:
                    out.append(self._timer_fired(self._timer(at, timeouts.UNNAMED)))
            if due <= now and key not in self._reported_expired:
                self._reported_expired[key] = None
                silent = now - self._heard_ms.get(device, 0) >= self._span_ms
                out.append(LeaseExpired(id=self._next_id("expired"), by=ENGINE, at=at, silent=silent))
        self._expiry = expiry
        self._reported_expired = {key: None for key in self._reported_expired if key in expiry}
        self._reported_unnamed = unnamed
        # Results that arrived meanwhile are read before the next sweep; a loop that is always late waits only once.
        self._let_pass = stood_still and not self._let_pass
        if self.shard is not None and not self._let_pass:
            out.extend(self._timer_fired(due) for due in timeouts.passed(self.shard, now))
        return out

    def _open(self) -> Iterator[tuple[Key, LeaseRef, str, int]]:
        """Yield every open lease with its device and the milliseconds that it may go unnamed while the device talks."""
        if self.shard is None:
            return
        for device, holders in self.shard.fleet.holders.items():
            for name, task in holders:
                constellation = self.shard.constellations[name]
                record = constellation.tasks[task]
                if record.state not in _RENEWABLE:
                    continue
                attempt = constellation.attempt(task, record.attempt)
                at = LeaseRef(attempt=record.attempt, constellation=name, incarnation=attempt.incarnation, task=task)
                yield (name, task, record.attempt), at, device, constellation.specs[task].timeouts.heartbeat_s * 1000
