"""The planner's interface of a model: instructions and turns in, one reply out. Knows no wire and no library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from starloom.planner.model.answers import Stage
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CODES, Code


class ModelFault(Exception):
    """The model gave no usable reply; `fault` is for the person who asked. Never holds a key.

    The tokens and `micros` are about those of the call until it failed, for its budget; 0 where nothing was sent.
    """

    input_tokens = 0
    output_tokens = 0
    micros = 0

    def __init__(self, code: Code, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.fault = Fault(code=code, hint=hint or CODES[code].hint, place="model", reason=reason)


class CallStopped(asyncio.CancelledError):
    """A call was cancelled before its reply had come; the tokens and `micros` are as those of a `ModelFault`.

    It goes no further than the one who pays for the call: `asyncio.timeout` knows its own cancellation by its class.
    """

    input_tokens = 0
    output_tokens = 0
    micros = 0


class ModelAway(ModelFault):
    """The endpoint cannot be reached or gives no sign: another one may stand in. A bad answer is no such fault."""


class ToolsRefused(ModelFault):
    """The endpoint takes no call that offers a tool or its schema; the model asks without them from now on."""


@dataclass(frozen=True)
class Turn:
    """One turn of the conversation, as plain text.

    The first `stable_chars` of it are the same in the next conversation, so that a provider may keep them.
    """

    by: Literal["starloom", "model"]
    text: str
    stable_chars: int = 0


@dataclass(frozen=True)
class Reply:
    """The reply of a model.

    `micros` is its price in millionths of a dollar, 0 where that is not known; `cut` says that the model stopped at its
    length limit; `refused`, that it would not answer. `cached_tokens` are those of the input that the endpoint had kept
    from an earlier call.
    """

    text: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    cut: bool = False
    refused: bool = False


class Model(Protocol):
    """One model of the owner's choice."""

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        """Return its reply to the last turn, asked for as an answer of this stage.

        Raises:
            ModelFault: no reply came, in time, size and form.
        """
        ...


@dataclass(frozen=True)
class Piece:
    """A piece of a reply that is still being written.

    `begun` starts a new reply, and what came before is void. `told` has no text: it says how many `tokens` were written
    so far, where the endpoint counts them.
    """

    part: Literal["begun", "thought", "text", "call", "told"]
    text: str = ""
    tokens: int = 0


Hear = Callable[[Piece], None]
"""Takes each piece at once. It must return at once and must not fail: the reply waits for it."""


@runtime_checkable
class Streaming(Protocol):
    """A model that can be heard while it writes. Its pieces are for a picture; only the reply of `ask` counts."""

    def listen(self, hear: Hear) -> None:
        """Have each piece of all replies from now on told."""
        ...


async def reply_of(model: Model, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
    """Return a model's reply, asked for once more in plain text where its endpoint refuses tools.

    Each call goes through `model`, so that a model that counts its calls counts both.

    Raises:
        ModelFault: no reply came, in time, size and form.
    """
    try:
        return await model.ask(instructions, turns, stage)
    except ToolsRefused:
        return await model.ask(instructions, turns, stage)
