"""Usage of the owner's model, and the budget of a constellation; holds no prompt, no answer and no key."""

from __future__ import annotations

from starloom_protocol.record import Record


class ModelDay(Record, frozen=True, kw_only=True):
    """One day's calls, tokens and, if the price is known, millionths of a dollar; `day` counts UTC days since 1970."""

    calls: int = 0
    day: int
    micros: int = 0
    tokens: int = 0


class Budget(Record, frozen=True, kw_only=True):
    """The budget of a constellation, `times` over: attempts, and millionths of a dollar for the model; 0: no bound."""

    attempts: int = 0
    micros: int = 0
    times: int = 1
