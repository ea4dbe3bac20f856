"""The one form in which a plan or a result names a time: `2026-11-26 12:30`, with seconds and an offset if wanted.

Pure; knows no clock. A time without an offset is one of the zone that is given.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from starloom_protocol.text.wording import quoted

CHARS_MOST: Final = 64
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,6})?)?\s?(Z|[+-]\d\d:?\d\d)?")


def time_ms(text: str, zone: str) -> int:
    """Return the milliseconds since 1970 of a time; `zone` is an IANA name that exists, or empty.

    Raises:
        ValueError: it is no such time; the words go on after *is*.
    """
    typed = text.strip() if len(text) <= 4 * CHARS_MOST else ""
    if len(typed) > CHARS_MOST or not _TIME.fullmatch(typed):
        raise ValueError(f"{quoted(text[:CHARS_MOST])}, which is no time such as 2026-11-26 12:30")
    try:
        at = datetime.fromisoformat(re.sub(r"\s(?=Z|[+-])", "", typed).replace(",", "."))
        if at.tzinfo is None and zone:
            at = at.replace(tzinfo=ZoneInfo(zone))
        # A time without a zone would be read in the zone of this machine, so that a replay elsewhere differs.
        ms = int(at.timestamp() * 1000) if at.tzinfo is not None else None
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{quoted(typed)}, which is no time of the calendar") from error
    if ms is None:
        raise ValueError(f"{quoted(typed)}, which has no offset, and the plan names no zone")
    return ms
