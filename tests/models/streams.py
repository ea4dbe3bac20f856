"""The answers of a fake model as streams of both wire formats, and the ways in which a stream breaks.

A stream is a list of events, each as the bytes of its own. A fault takes that list and gives what is sent instead;
without an end of its own the line stays open and nothing more comes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

Json = dict[str, Any]
PIECE_CHARS: Final = 7


class Gate:
    """Holds each piece of a stream back until a test lets it go, from any thread."""

    def __init__(self) -> None:
        self._let = 0
        self._moved = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def passed(self) -> None:
        """Wait for the turn of the next piece."""
        self._loop = asyncio.get_running_loop()
        while not self._let:
            self._moved.clear()
            await self._moved.wait()
        self._let -= 1

    def release(self, pieces: int = 1) -> None:
        """Let so many more pieces go."""
        if self._loop is None:
            self._let += pieces
        else:
            self._loop.call_soon_threadsafe(self._add, pieces)

    def _add(self, pieces: int) -> None:
        self._let += pieces
        self._moved.set()


def cut(text: str, pieces: Sequence[str] = ()) -> list[str]:
    """Return a text in pieces: those that are given, else some of a few characters."""
    if not text:
        return []
    assert not pieces or "".join(pieces) == text
    return list(pieces) or [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]


def openai_stream(body: Json, pieces: Sequence[str] = ()) -> list[bytes]:
    """Return a chat completion as its chunks."""
    choice = body["choices"][0]
    message, head = choice["message"], {key: body[key] for key in ("id", "created", "model")}

    def chunk(delta: Json, stop: str | None = None) -> bytes:
        told = {**head, "object": "chat.completion.chunk"}
        return _event({**told, "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})

    found = [b": a sign of life\n\n", chunk({"role": "assistant", "content": "" if message["content"] else None})]
    for name in ("reasoning_content", "content", "refusal"):
        found += [chunk({name: part}) for part in cut(message.get(name) or "", pieces if name == "content" else ())]
    for at, call in enumerate(message.get("tool_calls") or []):
        text = call["function"]["arguments"]
        begun = {**call, "index": at, "function": {"name": call["function"]["name"], "arguments": ""}}
        found.append(chunk({"tool_calls": [begun]}))
        found += [chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]}) for part in cut(text, pieces)]
    found.append(chunk({}, choice["finish_reason"]))
    if "usage" in body:
        found.append(_event({**head, "object": "chat.completion.chunk", "choices": [], "usage": body["usage"]}))
    return [*found, b"data: [DONE]\n\n"]


def anthropic_stream(body: Json, pieces: Sequence[str] = ()) -> list[bytes]:
    """Return a message as its events."""
    start = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
    found = [_named({"type": "message_start", "message": start}), _named({"type": "ping"})]
    for at, block in enumerate(body["content"]):
        kind = block["type"]
        name = {"text": "text", "thinking": "thinking", "tool_use": "input"}[kind]
        empty: Json = {"input": {}} if kind == "tool_use" else {name: ""}
        signed = block.get("signature")
        begun = {**block, **empty, **({"signature": ""} if signed else {})}
        found.append(_named({"type": "content_block_start", "index": at, "content_block": begun}))
        text = json.dumps(block[name]) if kind == "tool_use" else block[name] or ""
        field = "partial_json" if kind == "tool_use" else name
        deltas: list[Json] = [
            {"type": "input_json_delta" if kind == "tool_use" else f"{name}_delta", field: part}
            for part in cut(text, pieces if kind != "thinking" else ())
        ]
        if signed:
            deltas.append({"type": "signature_delta", "signature": signed})
        found += [_named({"type": "content_block_delta", "index": at, "delta": delta}) for delta in deltas]
        found.append(_named({"type": "content_block_stop", "index": at}))
    stop = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    used = {"output_tokens": body["usage"]["output_tokens"]}
    found.append(_named({"type": "message_delta", "delta": stop, "usage": used}))
    return [*found, _named({"type": "message_stop"})]


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _named(data: Json) -> bytes:
    return _event(data, data["type"])


@dataclass(frozen=True)
class StreamFault:
    """A way to break a stream; `ends` says that the server hangs up behind it."""

    of: Callable[[list[bytes]], Iterator[bytes]]
    ends: bool = True


def _half(events: list[bytes]) -> list[bytes]:
    return events[: len(events) // 2]


def _with(events: list[bytes], *more: bytes) -> Iterator[bytes]:
    return iter([*_half(events), *more])


ERROR: Final = {"type": "error", "error": {"message": "overloaded sk-secret-key"}}
DEEP: Final = b"data: " + b"[" * 100_000 + b"\n\n"
_ENDLESS: Final = "x" * 60_000

STREAM_FAULTS: Final[dict[str, StreamFault]] = {
    "stalled": StreamFault(lambda events: iter(_half(events)), ends=False),
    "nothing_at_all": StreamFault(lambda _events: iter(()), ends=False),
    "babbling": StreamFault(lambda _events: repeat(b": still here\n\n" * 4096)),
    "babbling_events": StreamFault(lambda _events: repeat(b"event: ping\ndata: {}\n\n" * 4096)),
    "never_ending": StreamFault(lambda events: _never_ending(events)),
    "one_endless_line": StreamFault(lambda _events: repeat(b"data: " + b"x" * 65_536)),
    "cut": StreamFault(lambda events: iter(_half(events))),
    "cut_at_once": StreamFault(lambda _events: iter(())),
    "cut_in_an_event": StreamFault(lambda events: _with(events, b'data: {"choices": [{"del')),
    "no_json": StreamFault(lambda events: _with(events, b"data: <html>\n\n", *events[-3:])),
    "no_object": StreamFault(lambda events: _with(events, b"data: 42\n\n", *events[-3:])),
    "no_utf8": StreamFault(lambda events: _with(events, b"data: \xff\xfe\n\n", *events[-3:])),
    "too_deep": StreamFault(lambda events: _with(events, DEEP, *events[-3:])),
    "an_error": StreamFault(lambda events: _with(events, _event(ERROR, "error"))),
    "texts_that_are_none": StreamFault(
        lambda events: _with(
            events,
            _event({"choices": [{"index": 0, "delta": {"content": {"a": 1}}}]}),
            _named({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 7}}),
        )
    ),
    "backwards": StreamFault(lambda events: iter(events[::-1])),
}


def _never_ending(events: list[bytes]) -> Iterator[bytes]:
    yield from events[:2]
    text = {"choices": [{"index": 0, "delta": {"content": _ENDLESS}}]}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    more = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _ENDLESS}}
    openai = b"chat.completion.chunk" in events[1]
    if not openai:
        yield _named(block)
    yield from repeat(_event(text) if openai else _named(more))
