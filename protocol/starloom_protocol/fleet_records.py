"""What is kept of devices beside themselves: how trustworthy one is, and whether it confirmed that it stopped."""

from __future__ import annotations

from starloom_protocol.record import Record


class Health(Record, frozen=True, kw_only=True):
    """How a device fares among its peers; there is none of a device without recent faults.

    `state`: ok (some faults), suspect (asked last), quarantined (asked only by a probe; `trying`: it has one). `good`
    counts successes in a row since the last fault; `probe_ms` is how long after `since_ms` the next probe is due.
    """

    device: str
    faults: int = 0
    good: int = 0
    probe_ms: int = 0
    since_ms: int
    state: str = "ok"
    trying: bool = False


class Stopping(Record, frozen=True, kw_only=True):
    """What one device was told to end by the last stop-all, and whether it confirmed.

    `attempts` are CONSTELLATION/TASK/ATTEMPT that are still open there, `asked` how many there were. `confirmed_ms` is
    when the last of them ended for sure.
    """

    asked: int
    at_ms: int
    attempts: list[str] = []
    by: str
    confirmed_ms: int = 0
    device: str
    reason: str = ""
