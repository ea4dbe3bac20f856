"""What the owner's model was used for on one day. An entity of `fleet`; holds no prompt, no answer and no key."""

from __future__ import annotations

from starloom_protocol.record import Record


class ModelDay(Record, frozen=True, kw_only=True):
    """Calls, tokens and, where the price is known, millionths of a dollar; `day` counts UTC days since 1970."""

    calls: int = 0
    day: int
    micros: int = 0
    tokens: int = 0
