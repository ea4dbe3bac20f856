"""A live model as the planner of the suite: the owner's own settings, what a run may use, and what it has used.

Dials nothing itself: the private hub of the run asks the model, by these settings. The key stays in its owner's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from starloom.planner.model.endpoints.endpoint import Endpoint, endpoint_from, others_from
from starloom.planner.model.endpoints.page_settings import in_force
from starloom.planner.model.endpoints.spending import MICROS
from starloom.planner.model.port import ModelFault
from starloom.planner.model.transport.connecting import price_of, price_words
from starloom.process.settings import Settings
from starloom_protocol.records.models import ModelCall
from starloom_protocol.vocabulary import CODES, Code

TOKENS_OF_A_TASK: Final = 100_000
"""Budget of one task unless it is set: a plan with two repairs, looks, a review and an answer have less."""
TOKENS_OF_A_RUN: Final = 2_000_000
READ_USUALLY: Final = 14_000
"""Tokens that a task reads where nothing has to be mended: a prompt of a plan and one of an answer in words."""
WRITTEN_USUALLY: Final = 1_500
NOT_BEGUN: Final = "not begun: the tokens of the run are used up"


@dataclass(frozen=True)
class ModelUse:
    """The calls of a model and what they came to; money in millionths of a dollar."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    took_ms: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Self) -> ModelUse:
        return ModelUse(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def document(self) -> dict[str, Any]:
        """Return it for JSON, money in dollars."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "dollars": self.micros / MICROS,
            "took_s": round(self.took_ms / 1000, 1),
        }

    def words(self, *, price_known: bool) -> str:
        """Return it as one line."""
        money = f"{self.micros / MICROS:.4f} dollars" if price_known else "at a price that is not known here"
        return (
            f"{self.calls} calls, {self.input_tokens:,} tokens read ({self.cached_tokens:,} of them from the cache) "
            f"and {self.output_tokens:,} written, {money}, {self.took_ms / 1000:.0f} s"
        )


def use_of(calls: Iterable[ModelCall]) -> ModelUse:
    """Return what the recorded calls of one constellation come to."""
    total = ModelUse()
    for call in calls:
        total += ModelUse(1, call.input_tokens, call.cached_tokens, call.output_tokens, call.micros, call.took_ms)
    return total


@dataclass(frozen=True)
class LiveModel:
    """The owner's model, and the tokens that a run and each task of it may use."""

    variables_in_force: Mapping[str, str]
    endpoints: tuple[Endpoint, ...]
    tokens_most: int = TOKENS_OF_A_RUN
    tokens_a_task: int = TOKENS_OF_A_TASK

    @property
    def price_known(self) -> bool:
        return all(price_of(endpoint, 1000, 1000) is not None for endpoint in self.endpoints)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all its endpoints, which nothing that a run keeps may hold."""
        return tuple(dict.fromkeys(endpoint.key for endpoint in self.endpoints if endpoint.key))

    def variables(self, used: int) -> dict[str, str]:
        """Return the settings of a private hub of the run, when so many tokens are used already."""
        left = max(0, self.tokens_most - used)
        limits = {"TOKENS_PER_DAY": left, "TOKENS_PER_CONSTELLATION": min(self.tokens_a_task, left)}
        return {**self.variables_in_force, **{f"STARLOOM_LLM_{name}": str(most) for name, most in limits.items()}}

    def announced(self, tasks: int) -> list[str]:
        """Return whom a run asks and what it will cost, before its first call."""
        planner = self.endpoints[0]
        input_tokens, output_tokens = READ_USUALLY * tasks, WRITTEN_USUALLY * tasks
        others = "".join(f"; {other.model} at {other.host}" for other in self.endpoints[1:])
        whom = f"This asks {planner.model} at {planner.host}{others} about {tasks} tasks of a made-up world."
        price = price_words(planner, input_tokens, output_tokens)
        cost = f"About {input_tokens + output_tokens:,} tokens, {price}; plans that have to be mended cost more."
        most = f"It ends at {self.tokens_most:,} tokens, and each task at {self.tokens_a_task:,}."
        return [f"{whom} Nothing about your devices leaves this machine.", f"{cost} {most}"]


def live_model(settings: Settings, *, tokens_most: int, tokens_a_task: int) -> LiveModel:
    """Return the model that the settings name.

    Raises:
        ModelFault: none is set, or it is set wrongly.
    """
    settings_in_force = in_force(settings.llm_variables, settings.model_folder)
    planner = endpoint_from(settings_in_force)
    if planner is None:
        raise ModelFault(Code.MODEL_NOT_SET, "no model is set")
    endpoints = dict.fromkeys([planner, *others_from(settings_in_force).values()])
    price_of(planner, 1, 1)  # without the libraries of a model nothing is begun
    return LiveModel(dict(settings_in_force), tuple(endpoints), tokens_most, tokens_a_task)


def way_out(error: ModelFault) -> str:
    """Return what to do where there is no model."""
    return error.fault.hint or CODES[Code.MODEL_NOT_SET].hint
