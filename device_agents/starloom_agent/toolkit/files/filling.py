"""The outlook of a disk: the free room at earlier measurements of this device, and the days until it is full.

The notes are the agent's own (one small file, no contents of files); a device that was never measured before has none.
The estimate is a straight line through the last thirty days.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

import msgspec

from starloom_agent.home.directory import write_private

if sys.platform != "win32":
    import fcntl

_FILE = "disk-free.json"
_DAY_S = 24 * 3600
_KEPT_S = 30 * _DAY_S
_EVERY_S = 3600
"""With thirty days of it the notes have at most `_SAMPLES_MOST` measurements of a disk."""
_SAMPLES_MOST = 720
_DISKS_MOST = 32
"""Those that were measured last: a stick that is plugged in once is forgotten."""
_SPAN_S = _DAY_S
_DAYS_MOST = 3650
"""An estimate of more than ten years says no more than that the disk does not fill up."""
_BYTES_A_DAY_LEAST = 1024 * 1024
"""Less is the noise of logs and caches."""


def used_percent(used: int, free: int) -> int:
    """Return how full a disk is, as `df` says it: what only the system may fill is neither used nor free."""
    return -(-100 * used // (used + free)) if used + free else 0


class _Disk(msgspec.Struct):
    """`samples` are (unix time, free bytes), oldest first; another size is another disk."""

    total: int
    samples: list[tuple[int, int]]


def noted(folder: Path, disk: str, *, total: int, free: int, now_s: int) -> list[tuple[int, int]]:
    """Add a measurement (one an hour is kept) and return all of this disk, the present one last.

    Raises:
        OSError: if the note cannot be written; what was noted before stays.
    """
    with _alone(folder):
        path = folder / _FILE
        disks = _read(path)
        before = disks.pop(disk, None)
        samples = before.samples if before is not None and before.total == total else []
        samples = [sample for sample in samples if now_s - _KEPT_S <= sample[0] <= now_s]
        if not samples or now_s - samples[-1][0] >= _EVERY_S:
            samples = [*samples, (now_s, free)][-_SAMPLES_MOST:]
            disks = dict(list(disks.items())[-(_DISKS_MOST - 1) :])
            disks[disk] = _Disk(total=total, samples=samples)
            write_private(path, msgspec.json.encode(disks))
    return samples if samples[-1][0] == now_s else [*samples, (now_s, free)]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other calls from the notes between reading and writing; an agent that was removed gets no folder back."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks loses one of two measurements
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> dict[str, _Disk]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, _Disk])
    except (OSError, msgspec.DecodeError):
        return {}  # nothing is known yet, or the note is damaged: it begins anew


class Outlook(TypedDict):
    """The days until a disk is full, null if there is no estimate, and the reason in words."""

    days_left: int | None
    outlook: str


def outlook(samples: list[tuple[int, int]]) -> Outlook:
    """Return `days_left` (null where nothing can be said, or it does not fill up) and the reason in words."""
    first_s, last_s = samples[0][0], samples[-1][0]
    if last_s - first_s < _SPAN_S:
        return {"days_left": None, "outlook": "measured for less than a day; ask again tomorrow"}
    mean_s = sum(at for at, _ in samples) / len(samples)
    mean_free = sum(free for _, free in samples) / len(samples)
    spread = sum((at - mean_s) ** 2 for at, _ in samples)
    slope = sum((at - mean_s) * (free - mean_free) for at, free in samples) / spread
    a_day = round(-slope * _DAY_S)
    days_long = round((last_s - first_s) / _DAY_S)
    since = f"{days_long} days" if days_long > 1 else "a day"
    if a_day < _BYTES_A_DAY_LEAST:
        return {"days_left": None, "outlook": f"not filling up, over {since}"}
    days = samples[-1][1] // a_day
    words = f"{round(a_day / 1024 / 1024)} MiB more a day, over {since}"
    return {"days_left": days if days <= _DAYS_MOST else None, "outlook": words}
