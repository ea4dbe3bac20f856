"""A fake model on 127.0.0.1 that speaks the real wire formats, and breaks them on purpose.

One raw HTTP server for both formats: `POST .../chat/completions` (OpenAI) and `POST .../messages` (Anthropic). What it
answers is a list of `Say`, or of functions that make one from the request; the last one is repeated. It keeps every
request body, so tests can see what left the hub. A call that asks for a stream gets one where the fake streams.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.models.streams import Gate, StreamFault, anthropic_stream, openai_stream

Json = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """One HTTP answer. `body` may be bytes as they are; `drip` sends so many single bytes and no more; `stall` never
    answers. `counts` False leaves out how many tokens were used; `cached` of those read were kept from an earlier call.
    `reasoning` is what the model thought, in a field beside its answer; `message` overrides fields of the message.
    Streamed, its text comes in `pieces`, each when `gate` lets it go, or broken by `fault`."""

    tool: Any = None
    text: str | None = None
    refusal: str | None = None
    stop: str | None = None
    body: bytes | None = None
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    drip: int = 0
    stall: bool = False
    close_after: int | None = None
    calls: int = 1
    counts: bool = True
    cached: int = 0
    reasoning: str | None = None
    message: tuple[tuple[str, Any], ...] = ()
    model: str = "fake-1"
    pieces: tuple[str, ...] = ()
    gate: Gate | None = None
    fault: StreamFault | None = None


Reading = Callable[[Json], Say]
"""A model that reads what it is asked before it answers."""


def without_streams(refusal: Say, then: Say) -> Reading:
    """Return a server that refuses each call that asks for a stream, and answers the others."""
    return lambda asked: refusal if asked.get("stream") else then


def without_tools(refusal: Say, then: Say) -> Reading:
    """Return a server that refuses each call that offers a tool, and answers the others."""
    return lambda asked: refusal if asked.get("tools") else then


def openai_body(say: Say) -> Json:
    """Return a chat completion."""
    message: Json = {"role": "assistant", "content": say.text}
    if say.refusal is not None:
        message["refusal"] = say.refusal
    if say.tool is not None:
        text = say.tool if isinstance(say.tool, str) else json.dumps(say.tool)
        call = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": text}}
        message["tool_calls"] = [{**call, "id": f"call_{number}"} for number in range(say.calls)]
    if say.reasoning is not None:
        message["reasoning_content"] = say.reasoning
    message.update(say.message)
    kept = {"prompt_tokens_details": {"cached_tokens": say.cached}} if say.cached else {}
    stop = say.stop or ("tool_calls" if say.tool is not None else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": say.model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
        **(
            {"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, **kept}}
            if say.counts
            else {}
        ),
    }


_STOPS = {"length": "max_tokens", "content_filter": "refusal"}


def anthropic_body(say: Say) -> Json:
    """Return a message."""
    content: list[Json] = []
    if say.reasoning is not None:
        content.append({"type": "thinking", "thinking": say.reasoning, "signature": "s"})
    if say.text is not None or say.refusal is not None:
        content.append({"type": "text", "text": say.text or say.refusal})
    if say.tool is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": say.tool}
        content.extend({**block, "id": f"toolu_{number}"} for number in range(say.calls))
    stop = _STOPS.get(say.stop or "", "tool_use" if say.tool is not None else "end_turn")
    if say.refusal is not None:
        stop = "refusal"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": say.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100 - say.cached if say.counts else 0,
            "output_tokens": 20 if say.counts else 0,
            **({"cache_read_input_tokens": say.cached} if say.cached else {}),
        },
    }


class FakeModel:
    """The server's state: what it will say, and what it was asked."""

    def __init__(self, says: Sequence[Say | Reading], *, streams: bool = False) -> None:
        self.says = list(says)
        self.streams = streams
        self.asked: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.port = 0
        self.serving: list[asyncio.Task[None]] = []
        self.lines: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines.append(writer)
        self.serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the hub hung up, which is what several modes are about
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        chosen = self.says[min(len(self.asked), len(self.says) - 1)]
        self.asked.append(json.loads(raw))
        say = chosen if isinstance(chosen, Say) else chosen(self.asked[-1])
        self.headers.append(headers)
        self.paths.append(path)
        if say.stall:
            await reader.read()  # until the hub gives up
            return
        if self.streams and self.asked[-1].get("stream") and say.status == 200 and say.body is None:
            await self._stream(reader, writer, say, anthropic=path.endswith("/messages"))
            return
        made = anthropic_body(say) if path.endswith("/messages") else openai_body(say)
        body = json.dumps(made).encode() if say.body is None else say.body
        lines = [f"HTTP/1.1 {say.status} X", f"content-type: {say.kind}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in say.headers] + ["connection: close", "", ""]
        writer.write("\r\n".join(lines).encode())
        if say.close_after is not None:
            body = body[: say.close_after]
        if say.drip:
            for byte in body[: say.drip]:
                writer.write(bytes((byte,)))
                await writer.drain()
            await reader.read()  # the rest never comes; the hub gives up
        else:
            for start in range(0, len(body), 65_536):
                writer.write(body[start : start + 65_536])
                await writer.drain()

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, say: Say, *, anthropic: bool
    ) -> None:
        events = (
            anthropic_stream(anthropic_body(say), say.pieces)
            if anthropic
            else openai_stream(openai_body(say), say.pieces)
        )
        writer.write(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n")
        for event in say.fault.of(events) if say.fault else events:
            if say.gate is not None:
                await say.gate.passed()
            writer.write(event)
            await writer.drain()
        if say.fault and not say.fault.ends:
            await reader.read()  # the rest never comes; the hub gives up


@asynccontextmanager
async def fake_model(*says: Say | Reading, streams: bool = False) -> AsyncIterator[FakeModel]:
    """Serve on a free port of 127.0.0.1 until the block ends."""
    fake = FakeModel(says, streams=streams)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        for serving in fake.serving:
            serving.cancel()
        await asyncio.gather(*fake.serving, return_exceptions=True)
        for line in fake.lines:  # one that was cancelled before its first turn has not closed its own
            line.close()
