"""Spending on a model: its budget by the owner's settings. The core decides whether a call may be made within it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starloom.planner.model.port import ModelFault
from starloom_protocol.records.models import ModelBudget
from starloom_protocol.vocabulary import Code

MICROS: Final = 1_000_000
_MOST: Final = 2**53
"""The largest whole number that JSON keeps; a larger budget is none that is met."""


def budget_from(environment: Mapping[str, str]) -> ModelBudget:
    """Return the budget that the owner has set by `STARLOOM_LLM_*`.

    Raises:
        ModelFault: a value is not a number.
    """
    money = environment.get("STARLOOM_LLM_BUDGET_PER_DAY", "").strip()
    tokens = environment.get("STARLOOM_LLM_TOKENS_PER_DAY", "").strip()
    here = environment.get("STARLOOM_LLM_TOKENS_PER_CONSTELLATION", "").strip()
    try:
        bounds = {
            "micros_per_day": round(float(money) * MICROS) if money else None,
            "tokens_per_constellation": int(here) if here else None,
            "tokens_per_day": int(tokens) if tokens else None,
        }
        return ModelBudget(**{name: min(most, _MOST) for name, most in bounds.items() if most is not None})
    except (ValueError, OverflowError) as error:
        names = ("BUDGET_PER_DAY", "TOKENS_PER_DAY", "TOKENS_PER_CONSTELLATION")
        reason = f"{', '.join(f'STARLOOM_LLM_{name}' for name in names)} must be numbers"
        raise ModelFault(Code.MODEL_NOT_SET, reason) from error
