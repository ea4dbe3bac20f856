"""The pieces of a streamed answer, joined into the answer that the same call gives unstreamed. Pure, one class a wire.

Owns what the two wire formats send piece by piece. Must not judge an answer: the joined body is read like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from starloom.planner.model.endpoints.endpoint import Wire
from starloom.planner.model.port import Piece

PARTS_MOST: Final = 256
"""Calls, texts and thoughts of one answer. An answer has one or two; the joining of more is work for nobody."""
_DONE: Final = "[DONE]"
_TEXTS: Final = ("content", "refusal", "reasoning_content", "reasoning")
"""The fields of a message of OpenAI's format that come in pieces; any other comes whole."""

Json = dict[str, Any]


class BrokenStream(Exception):
    """The endpoint ended its streamed answer with an error of its own, or before it was whole."""


@dataclass(frozen=True)
class ServerEvent:
    """One event of a stream: its data, and its name where it has one."""

    data: str
    name: str = ""


class EventLines:
    """The lines of a `text/event-stream` become its events. Comments, ids and the times of a retry are left out."""

    def __init__(self) -> None:
        self._data: list[str] = []
        self._name = ""

    def take(self, line: str) -> ServerEvent | None:
        """Return the event that a line ends, None while none has ended."""
        if not line:
            event = ServerEvent("\n".join(self._data), self._name) if self._data else None
            self._data, self._name = [], ""
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None


class Joining(Protocol):
    """A streamed answer that is being joined."""

    def take(self, event: ServerEvent) -> Iterator[Piece]:
        """Yield what an event adds.

        Raises:
            BrokenStream: it is an error.
            KeyError, TypeError, ValueError: it has another shape than the wire format promises.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        ...

    def body(self) -> Json:
        """Return the body of the unstreamed answer.

        Raises:
            BrokenStream: the answer is not whole.
            ValueError: a call of a tool is no JSON.
        """
        ...


def joining(wire: Wire) -> Joining:
    """Return an empty answer of a wire."""
    return AnthropicPieces() if wire is Wire.ANTHROPIC else OpenAIPieces()


def streamed(body: Json, wire: Wire) -> Json:
    """Return the body of a call that asks for a streamed answer, with its usage where the server gives one."""
    more: Json = {"stream": True}
    if wire is not Wire.ANTHROPIC:  # whose streams always have it
        more["stream_options"] = {"include_usage": True}
    return {**body, **more}


@dataclass
class _Call:
    """A call of a tool in OpenAI's format."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self) -> Json:
        function = {"arguments": "".join(self.arguments), "name": self.name}
        return {"function": function, "id": self.id, "type": "function"}


class OpenAIPieces:
    """Chunks of a chat completion. Only its first choice is read; no more was asked for."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._message: Json = {"content": None, "role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, _Call] = {}
        self._stop: str | None = None
        self._ended = False

    @property
    def ended(self) -> bool:
        return self._ended

    def take(self, event: ServerEvent) -> Iterator[Piece]:
        if event.data.strip() == _DONE:
            self._ended = True
            return
        chunk = _object(event.data)
        if chunk.get("error"):
            raise BrokenStream("it ended its answer with an error")
        self._head.update({key: value for key, value in chunk.items() if key != "choices" and value is not None})
        tokens = _count((chunk.get("usage") or {}).get("completion_tokens"))
        if tokens:
            yield Piece("told", tokens=tokens)
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) != 0:
                continue
            yield from self._delta(choice.get("delta") or {})
            self._stop = choice.get("finish_reason") or self._stop

    def _delta(self, delta: Json) -> Iterator[Piece]:
        for name, value in delta.items():
            if value is None or name == "tool_calls":
                continue
            if name in _TEXTS:
                self._texts.setdefault(name, []).append(_text(value))
                yield Piece("thought" if name.startswith("reasoning") else "text", value)
            else:
                self._message[name] = value
        for call in delta.get("tool_calls") or []:
            function = call.get("function") or {}
            part_of = self._call(call.get("index"), call.get("id") or "")
            part_of.id = part_of.id or call.get("id") or ""
            part_of.name = part_of.name or function.get("name") or ""
            text = _text(function.get("arguments") or "")
            part_of.arguments.append(text)
            yield Piece("call", text)

    def _call(self, index: int | None, identity: str) -> _Call:
        """Return the call that a piece belongs to. Some servers number every call 0, and others number none."""
        last = max(self._calls, default=-1)
        at = index if index is not None else max(last, 0)
        if not isinstance(at, int):
            raise TypeError("the number of a call is no number")
        open_call = self._calls.get(at)
        if open_call is not None and identity and open_call.id and identity != open_call.id:
            at, open_call = last + 1, None
        if open_call is None:
            if len(self._calls) >= PARTS_MOST:
                raise ValueError("an answer has too many calls")
            open_call = self._calls[at] = _Call()
        return open_call

    def body(self) -> Json:
        if self._stop is None and not (self._ended and (self._texts or self._calls)):
            raise BrokenStream("it hung up before its answer was whole")
        message = {**self._message, **{name: "".join(texts) for name, texts in self._texts.items()}}
        if self._calls:
            message["tool_calls"] = [self._calls[at].whole() for at in sorted(self._calls)]
            # A call beside it leaves an empty text where the unstreamed answer has none.
            message["content"] = message["content"] or None
        stop = self._stop or ("tool_calls" if self._calls else "stop")
        choice = {"finish_reason": stop, "index": 0, "logprobs": None, "message": message}
        return {"created": 0, "id": "", **self._head, "choices": [choice], "object": "chat.completion"}


_FIELDS: Final[dict[str, tuple[str, Literal["text", "thought", "call"] | None]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thought"),
    "signature_delta": ("signature", None),
    "input_json_delta": ("input", "call"),
}
"""By the kind of a delta of Anthropic's format: the field of its block, and the part of an answer that it is."""


class AnthropicPieces:
    """Events of a message, block by block."""

    def __init__(self) -> None:
        self._message: Json | None = None
        self._blocks: dict[int, Json] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._ended = False

    @property
    def ended(self) -> bool:
        return self._ended

    def take(self, event: ServerEvent) -> Iterator[Piece]:
        content = _object(event.data)
        kind = content.get("type") or event.name
        if kind == "error":
            raise BrokenStream("it ended its answer with an error")
        if kind == "message_start":
            self._message = dict(content["message"])
        elif kind == "content_block_start":
            yield from self._begin(content["index"], dict(content["content_block"]))
        elif kind == "content_block_delta":
            yield from self._delta(content["index"], content["delta"])
        elif kind == "message_delta":
            yield from self._tell(content)
        elif kind == "message_stop":
            self._ended = True

    def _begin(self, at: int, block: Json) -> Iterator[Piece]:
        if len(self._blocks) >= PARTS_MOST or not isinstance(at, int):
            raise ValueError("an answer has too many blocks")
        self._blocks[at] = block
        for name in ("text", "thinking", "signature"):
            if block.get(name):
                self._texts[at, name] = [_text(block[name])]
        if block.get("text"):
            yield Piece("text", block["text"])

    def _delta(self, at: int, delta: Json) -> Iterator[Piece]:
        if at not in self._blocks:
            raise ValueError("a piece belongs to a block that did not begin")
        if delta.get("type") not in _FIELDS:
            return
        name, part = _FIELDS[delta["type"]]
        text = _text(delta["partial_json" if name == "input" else name])
        self._texts.setdefault((at, name), []).append(text)
        if part is not None:
            yield Piece(part, text)

    def _tell(self, content: Json) -> Iterator[Piece]:
        message = self._open_message()
        message.update(content.get("delta") or {})
        usage = {key: value for key, value in (content.get("usage") or {}).items() if value is not None}
        message["usage"] = {**(message.get("usage") or {}), **usage}
        tokens = _count(usage.get("output_tokens"))
        if tokens:
            yield Piece("told", tokens=tokens)

    def _open_message(self) -> Json:
        if self._message is None:
            raise ValueError("an answer ends that did not begin")
        return self._message

    def body(self) -> Json:
        if self._message is None or not self._ended:
            raise BrokenStream("it hung up before its answer was whole")
        cut = self._message.get("stop_reason") == "max_tokens"
        for (at, name), texts in self._texts.items():
            text = "".join(texts)
            self._blocks[at][name] = text if name != "input" else _input(text, cut=cut)
        return {**self._message, "content": [self._blocks[at] for at in sorted(self._blocks)]}


def _input(text: str, *, cut: bool) -> Json:
    """Return the arguments of a call; those that the limit of length cut have none that count."""
    try:
        arguments = _read(text or "{}")
    except ValueError:
        if cut:
            return {}
        raise
    if not isinstance(arguments, dict):
        raise TypeError("the arguments of a call are no object")
    return arguments


def _object(data: str) -> Json:
    value = _read(data)
    if not isinstance(value, dict):
        raise TypeError("an event of a streamed answer is no object")
    return value


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("a piece of an answer is nested too deeply") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a piece of a text is no text")
    return value


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
