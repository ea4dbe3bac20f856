"""Spending on a model: whether a call may be made, asked before it, and its cost, recorded after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starloom.planner.model.port import ModelFault
from starloom_protocol.vocabulary import Code

TOKENS_PER_DAY = 1_000_000
TOKENS_PER_CONSTELLATION = 200_000
CALLS_PER_CONSTELLATION = 50
MICROS = 1_000_000


@dataclass(frozen=True)
class Spent:
    """The usage so far. Money is in millionths of a dollar, if the price of the model is known."""

    calls: int = 0
    tokens: int = 0
    micros: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.micros + other.micros)


@dataclass(frozen=True)
class Budget:
    """The budget of the owner's model. `micros_per_day` None: money is not limited."""

    tokens_per_day: int = TOKENS_PER_DAY
    tokens_per_constellation: int = TOKENS_PER_CONSTELLATION
    micros_per_day: int | None = None

    def need(self, today: Spent, here: Spent, micros_here: int | None = None) -> None:
        """Return if another call may be made; `micros_here` is the limit of the constellation's own budget.

        Raises:
            ModelFault: `model_budget`, naming which one is used up.
        """
        if here.calls >= CALLS_PER_CONSTELLATION:
            raise _used_up(f"this constellation has asked the model {here.calls} times")
        if here.tokens >= self.tokens_per_constellation:
            raise _used_up(f"this constellation has used {here.tokens} of {self.tokens_per_constellation} tokens")
        if micros_here is not None and here.micros >= micros_here:
            spent, most = here.micros / MICROS, micros_here / MICROS
            raise _used_up(f"this constellation has used {spent:.2f} of its {most:.2f} dollars")
        if today.tokens >= self.tokens_per_day:
            raise _used_up(f"{today.tokens} of {self.tokens_per_day} tokens are used today")
        if self.micros_per_day is not None and today.micros >= self.micros_per_day:
            most = self.micros_per_day / MICROS
            raise _used_up(f"{today.micros / MICROS:.2f} of {most:.2f} dollars are used today")


def budget_from(environment: Mapping[str, str]) -> Budget:
    """Return the budget that the owner has set by `STARLOOM_LLM_*`.

    Raises:
        ModelFault: a value is not a number.
    """
    money = environment.get("STARLOOM_LLM_BUDGET_PER_DAY", "").strip()
    tokens = environment.get("STARLOOM_LLM_TOKENS_PER_DAY", "").strip()
    here = environment.get("STARLOOM_LLM_TOKENS_PER_CONSTELLATION", "").strip()
    try:
        return Budget(
            tokens_per_day=int(tokens) if tokens else TOKENS_PER_DAY,
            tokens_per_constellation=int(here) if here else TOKENS_PER_CONSTELLATION,
            micros_per_day=round(float(money) * MICROS) if money else None,
        )
    except (ValueError, OverflowError) as error:
        names = ("BUDGET_PER_DAY", "TOKENS_PER_DAY", "TOKENS_PER_CONSTELLATION")
        reason = f"{', '.join(f'STARLOOM_LLM_{name}' for name in names)} must be numbers"
        raise ModelFault(Code.MODEL_NOT_SET, reason) from error


def _used_up(why: str) -> ModelFault:
    return ModelFault(Code.MODEL_BUDGET, f"the model's budget is used up: {why}")
