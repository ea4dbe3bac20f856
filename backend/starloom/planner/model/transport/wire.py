"""The owner's model over HTTP, in the wire formats of OpenAI and Anthropic, by pydantic-ai (extra `model`).

Dials the set endpoint and nothing else: its name is resolved once a call, no redirect is followed, no proxy of the
environment is used, and a call ends at its limits of time and bytes. An answer is asked for as a stream and read only
when it is whole. Imported only when a model is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar, cast

import httpx2
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from starloom.planner.model.answers import Stage, answer_schema
from starloom.planner.model.endpoints.endpoint import Endpoint, Wire
from starloom.planner.model.port import CallStopped, Hear, ModelAway, ModelFault, Piece, Reply, ToolsRefused, Turn
from starloom.planner.model.transport.completing import Lacking
from starloom.planner.model.transport.dialling import Guarded, Resolve, TooMuch, resolve_once
from starloom.planner.model.transport.pieces import BrokenStream
from starloom.planner.model.transport.streaming import Streamed
from starloom_protocol.vocabulary import Code

Unanswered = TypeVar("Unanswered", ModelFault, CallStopped)

BYTES_A_TOKEN = 3
"""The estimate for texts whose tokens the endpoint does not count: English has 4 or 5, code and other scripts fewer."""

_MISREAD = (AttributeError, KeyError, TypeError, ValueError)
"""The exceptions of the libraries for JSON of another shape than the wire format promises."""

_REFUSES_A_TOOL: Final = frozenset({400, 404, 422, 500, 501})
_OF_TOOLS: Final = ("tool", "function", "jinja", "schema", "grammar")
"""The words by which servers refuse a tool or its schema: Ollama, vLLM, llama-server, OpenRouter and others."""

_NOBODY_BEHIND: Final = frozenset({502, 503, 504, 529})
"""The statuses of a gateway that has no model behind it now."""

_IN_PLAIN_TEXT: Final = "No tool is offered here: write the JSON object as the text of your answer, without a fence."
_ENDPOINTS_MOST: Final = 64
_without_tools: dict[tuple[str, str, Wire], None] = {}
"""The endpoints that this process found to refuse tools, the oldest first."""

# What an owner changes, by the cause of a fault.
_KEY: Final = "Set the key of this endpoint: STARLOOM_LLM_KEY_FILE, or Settings > Model."
_NAME: Final = (
    "Set the name that the endpoint knows (STARLOOM_LLM_MODEL) and its address (STARLOOM_LLM_URL, often with /v1)."
)
_PATIENCE: Final = "Try again later, or raise the limit at the provider."
_FORM: Final = (
    "Check the wire format (STARLOOM_LLM_WIRE) and the address (STARLOOM_LLM_URL); the server's log says more."
)
_ADDRESS: Final = "Set the address of a model's API (STARLOOM_LLM_URL) and its wire format (STARLOOM_LLM_WIRE)."
_SERVER: Final = "Look at the log of the model's server, and try again later."
_SLOW: Final = "Use a faster model, or raise STARLOOM_LLM_TIMEOUT_S."
_REACH: Final = "Start the model's server, or set its address: STARLOOM_LLM_URL, or Settings > Model."
_LENGTH: Final = "Use another model, or lower STARLOOM_LLM_OUTPUT_TOKENS."

_ASKED_FOR = {
    Stage.PLANNING: "Give the plan, a recipe with its values, one question, or why it cannot be done.",
    Stage.REVIEWING: "Give the edit, no change, or what a person should decide.",
    Stage.JUDGING: "Give the verdict with the results that it rests on.",
    Stage.CHOOSING: "Give the task whose result you choose, or none, and why.",
    Stage.WORKING: "Give the next step, the answer with the results that it rests on, or why you give up.",
    Stage.TIERED: "Give the next step, the answer with the results that it rests on, or why you hand over or give up.",
    Stage.ANSWERING: "Give the answer in words with the results that it rests on, or why there is none.",
}


def _answer_tool(stage: Stage) -> ToolDefinition:
    # Not `strict`: that closes each object, and the arguments of a task are as its tool takes them.
    return ToolDefinition(
        name="answer", description=_ASKED_FOR[stage], parameters_json_schema=answer_schema(stage), strict=False
    )


class Format(Protocol):
    """A wire format: the library that writes it, made for one call, and the settings of that call."""

    def model(self, endpoint: Endpoint, client: httpx2.AsyncClient) -> WireModel: ...

    def settings(self, output_tokens_most: int) -> ModelSettings: ...


def format_of(wire: Wire) -> Format:
    """Return a wire format; its library is loaded now.

    Raises:
        ImportError: that library is not installed.
    """
    # Each library takes as long to load as all else that a worker is made of, and an endpoint needs one of them.
    return cast(Format, import_module(f"{__package__}.{wire}_wire"))


class WiredModel:
    """One endpoint. Each call has connections of its own and leaves none open."""

    def __init__(self, endpoint: Endpoint, resolve: Resolve = resolve_once) -> None:
        self._format = format_of(endpoint.wire)
        self._endpoint = endpoint
        self._resolve = resolve
        self._hear: Hear = _unheard
        self._identity = (endpoint.url, endpoint.model, endpoint.wire)
        self._plain = self._identity in _without_tools

    def listen(self, hear: Hear) -> None:
        """Have each piece of all replies from now on told."""
        self._hear = hear

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        """Return the model's reply to the last turn.

        Raises:
            ToolsRefused: the endpoint takes no tools; the next call offers none.
            ModelFault: no reply came, in time, size and form.
        """
        limits = self._endpoint.limits
        plain = self._plain
        if plain:
            instructions = f"{instructions}\n{_IN_PLAIN_TEXT}"
        self._hear(Piece("begun"))
        sent = len(instructions.encode()) + sum(len(turn.text.encode()) for turn in turns)
        received = _Received(self._hear)
        client = httpx2.AsyncClient(
            transport=Streamed(Guarded(self._endpoint, self._resolve), self._endpoint, received),
            headers={"accept-encoding": "identity"},
            follow_redirects=False,
            trust_env=False,
            timeout=httpx2.Timeout(limits.call_s, connect=limits.connect_s),
        )
        try:
            async with asyncio.timeout(limits.call_s), client:
                response = await model_request(
                    self._format.model(self._endpoint, client),
                    _messages(instructions, turns, marked=self._endpoint.wire is Wire.ANTHROPIC),
                    model_settings=self._format.settings(self._endpoint.limits.output_tokens_most),
                    model_request_parameters=ModelRequestParameters(
                        function_tools=[] if plain else [_answer_tool(stage)], allow_text_output=True
                    ),
                )
        except TimeoutError as error:
            fault: ModelFault = self._absent(f"it did not answer within {limits.call_s:g} s", _SLOW)
            raise self._with_cost(fault, sent, received) from error
        except asyncio.CancelledError as error:
            raise self._with_cost(CallStopped(*error.args), sent, received) from error
        except ModelHTTPError as error:
            if not plain and _refuses_tools(error):
                self._plain = True
                raise self._refusal(error.status_code) from error
            absent = error.status_code in _NOBODY_BEHIND
            raise (self._absent if absent else self._away)(*_status_words(error.status_code)) from error
        except (AgentRunError, UserError, httpx2.HTTPError, TooMuch, BrokenStream, Lacking, *_MISREAD) as error:
            words, hint, absent = _cause_words(error)
            fault = (self._absent if absent else self._away)(words, hint)
            raise (self._with_cost(fault, sent, received) if _was_sent(error) else fault) from error
        if plain:
            _remember(self._identity)
        return _reply(response, sent, priced=not self._endpoint.local)

    def _with_cost(self, fault: Unanswered, sent_bytes: int, received: _Received) -> Unanswered:
        """Return a fault with the cost of a call that was sent, since its endpoint bills it in part or whole."""
        fault.input_tokens, fault.output_tokens = _tokens(sent_bytes), received.tokens
        if not self._endpoint.local:
            fault.micros = listed_price(self._endpoint, fault.input_tokens, fault.output_tokens) or 0
        return fault

    def _away(self, why: str, hint: str) -> ModelFault:
        return ModelFault(Code.MODEL_UNREACHABLE, self._sentence(why), hint)

    def _absent(self, why: str, hint: str) -> ModelAway:
        return ModelAway(Code.MODEL_UNREACHABLE, self._sentence(why), hint)

    def _refusal(self, status: int) -> ToolsRefused:
        why = self._sentence(f"it takes no tools ({status}), so it is asked in plain text")
        return ToolsRefused(Code.MODEL_UNREACHABLE, why)

    def _sentence(self, why: str) -> str:
        return f"the model {self._endpoint.model} at {self._endpoint.host}: {why}"


class _Received:
    """Counts what comes of a reply, and passes each piece on."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._bytes = 0
        self._tokens = 0

    def __call__(self, piece: Piece) -> None:
        self._bytes += len(piece.text.encode("utf-8", "replace"))
        self._tokens = max(self._tokens, piece.tokens)
        self._hear(piece)

    @property
    def tokens(self) -> int:
        return max(self._tokens, _tokens(self._bytes) if self._bytes else 0)


def _was_sent(error: BaseException) -> bool:
    """Tell whether a failed call may have reached its endpoint."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, httpx2.ConnectError | httpx2.ConnectTimeout | Lacking):
            return False
        seen = seen.__cause__ or seen.__context__
    return True


def _unheard(_piece: Piece) -> None:
    """Nobody draws this reply."""


def _refuses_tools(error: ModelHTTPError) -> bool:
    """Whether an error is about the tool that was offered; its words are only searched, never shown."""
    text = str(error.body).casefold()
    return error.status_code in _REFUSES_A_TOOL and any(word in text for word in _OF_TOOLS)


def _remember(identity: tuple[str, str, Wire]) -> None:
    _without_tools[identity] = None
    while len(_without_tools) > _ENDPOINTS_MOST:
        del _without_tools[next(iter(_without_tools))]


def _messages(instructions: str, turns: Sequence[Turn], *, marked: bool) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[TextPart(turn.text)])
        if turn.by == "model"
        else ModelRequest(parts=[_prompt(turn, marked=marked)], instructions=instructions)
        for turn in turns
    ]


def _prompt(turn: Turn, *, marked: bool) -> UserPromptPart:
    """Return a turn, with a mark behind what the next conversation has, too."""
    at = turn.stable_chars
    if not marked or not turn.text[:at].strip() or not turn.text[at:].strip():
        return UserPromptPart(turn.text)
    return UserPromptPart([turn.text[:at], CachePoint(), turn.text[at:]])


def _reply(response: ModelResponse, sent_bytes: int, *, priced: bool) -> Reply:
    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    # Declared a text, yet None where an endpoint sends an empty block.
    texts = [part.content or "" for part in response.parts if isinstance(part, TextPart)]
    text = "\n".join(calls or texts)
    thought = sum(len(part.content.encode()) for part in response.parts if isinstance(part, ThinkingPart))
    # An endpoint that does not count, or says that nothing was used, must not keep the budget from filling.
    billed = response.usage
    input_tokens = billed.input_tokens if billed.input_tokens > 0 else _tokens(sent_bytes)
    cached = min(max(billed.cache_read_tokens, 0), input_tokens)
    # What was read from the provider's cache costs less, and what was written into it more: both are input tokens.
    usage = RequestUsage(
        input_tokens=input_tokens,
        output_tokens=billed.output_tokens if billed.output_tokens > 0 else _tokens(len(text.encode()) + thought),
        cache_read_tokens=cached,
        cache_write_tokens=min(max(billed.cache_write_tokens, 0), input_tokens - cached),
    )
    response = replace(response, usage=usage)
    return Reply(
        text=text,
        input_tokens=usage.input_tokens,
        cached_tokens=cached,
        output_tokens=usage.output_tokens,
        cut=response.finish_reason == "length",
        micros=_price(response) if priced else 0,
        refused=response.finish_reason == "content_filter",
    )


def _tokens(size_bytes: int) -> int:
    """Return about how many tokens a text has; rather too many than too few, at least one."""
    return size_bytes // BYTES_A_TOKEN + 1


def listed_price(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> int | None:
    """Return the millionths of a dollar that so many tokens would cost, None where the list has no such model."""
    response = ModelResponse(
        parts=[],
        usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens),
        model_name=endpoint.model,
        provider_name=str(endpoint.wire),
        provider_url=endpoint.url,
    )
    return _price(response) or None


def _price(response: ModelResponse) -> int:
    """Return millionths of a dollar by the price list that comes with the library; 0 where it has no such model."""
    try:
        return max(round(response.cost().total_price * 1_000_000), 0)
    except (LookupError, ValueError, AssertionError):
        return 0


def _status_words(status: int) -> tuple[str, str]:
    """Return what a status means, and what to change."""
    if status in (401, 403):
        return f"it refuses the key ({status})", _KEY
    if status == 404:
        return "it knows no such model or path (404)", _NAME
    if status == 429:
        return "it has had too many calls (429)", _PATIENCE
    return f"it answered with the status {status}", _SERVER if status >= 500 else _FORM


def _cause_words(error: BaseException) -> tuple[str, str, bool]:
    """Return a sentence without anything that an endpoint or a library wrote, what to change, and whether nobody was
    there."""
    seen: Any = error
    while seen is not None:
        if isinstance(seen, TooMuch):
            return str(seen), _LENGTH if "longer" in str(seen) else _ADDRESS, False
        if isinstance(seen, BrokenStream):
            return str(seen), _SERVER, True
        if isinstance(seen, Lacking):
            return str(seen), _ADDRESS, False
        if isinstance(seen, httpx2.TimeoutException):
            return "it did not answer in time", _SLOW, True
        if isinstance(seen, httpx2.ConnectError):
            return "it cannot be reached", _REACH, True
        if isinstance(seen, httpx2.NetworkError | httpx2.RemoteProtocolError):
            return "it hung up before its answer was whole", _SERVER, True
        seen = seen.__cause__ or seen.__context__
    return "its answer does not have the form of a chat answer", _ADDRESS, False
