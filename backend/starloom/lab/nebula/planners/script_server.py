"""The scripted model's endpoint: a chat server of OpenAI's form on 127.0.0.1 that says what a transcript says.

Owns the wire alone; `script` and `recording` decide the replies. It answers who has its key, one transcript at a time.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Protocol, Self

import msgspec

from starloom.lab.nebula.planners.script import TIERED, Script, ScriptPlayer, ScriptReply
from starloom.lab.nebula.world.devices import LOOPBACK
from starloom.planner.model.answers import Stage, answer_schema

MODEL: Final = "script"
SMALL_MODEL: Final = "script-small"
PATH: Final = "/v1/chat/completions"
BODY_BYTES_MOST: Final = 4 * 1024 * 1024
BYTES_A_TOKEN: Final = 4
TOKENS_PER_DAY: Final = 100_000_000
OWN_FILE_MODE: Final = 0o600
_FIRST: Final = {Stage.JUDGING: "holds", Stage.CHOOSING: "choice"}
_KINDS: Final = {
    tuple(answer_schema(stage)["properties"][_FIRST.get(stage, "kind")].get("enum", ())): stage for stage in Stage
}
"""The words that the first field of an answer takes, which differ between the stages; a choice takes any name."""


class Part(msgspec.Struct, frozen=True):
    """A part of a message; other parts than text have none."""

    text: str = ""


class Message(msgspec.Struct, frozen=True):
    """One message of a call."""

    content: str | list[Part] | None = None


class Property(msgspec.Struct, frozen=True):
    """One field of the declared answer."""

    enum: tuple[str, ...] = ()


class Parameters(msgspec.Struct, frozen=True):
    """The schema of the declared answer."""

    properties: dict[str, Property] = {}


class Function(msgspec.Struct, frozen=True):
    """The declared answer."""

    parameters: Parameters = Parameters()


class Tool(msgspec.Struct, frozen=True):
    """A tool that a call declares."""

    function: Function = Function()


class Call(msgspec.Struct, frozen=True):
    """The part of a call's body that is read."""

    messages: list[Message] = []
    tools: list[Tool] = []


class Speaker(Protocol):
    """The voice of the endpoint: a reply to each call, and at the end the stages of the calls that did not come."""

    def reply(self, stage: str, turns: Sequence[str], /) -> ScriptReply: ...

    def left(self) -> list[str]: ...


class ScriptServer:
    """`begin` a transcript, let the hub ask, and `end` it for the faults; `close` ends the server."""

    def __init__(self, folder: Path) -> None:
        key = secrets.token_urlsafe(24)
        self._key_file = folder / "model.key"
        self._key_file.touch(mode=OWN_FILE_MODE)
        self._key_file.write_text(key)
        self._lock = threading.Lock()
        self._speaker: Speaker | None = None
        self._faults: list[str] = []
        self._on_stage: Callable[[str], None] | None = None
        self._server = ThreadingHTTPServer((LOOPBACK, 0), _handler(self, f"Bearer {key}"))
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted model", daemon=True)
        self._thread.start()

    def variables(self, kind: str = "") -> dict[str, str]:
        """Return the settings by which a hub uses it as its model, and for a tiered kind as its small one, too."""
        port = self._server.server_address[1]
        small = {"STARLOOM_LLM_SMALL_MODEL": SMALL_MODEL} if kind.startswith(TIERED) else {}
        return {
            **small,
            "STARLOOM_LLM_URL": f"http://{LOOPBACK}:{port}/v1",
            "STARLOOM_LLM_MODEL": MODEL,
            "STARLOOM_LLM_WIRE": "openai",
            "STARLOOM_LLM_KEY_FILE": str(self._key_file),
            "STARLOOM_LLM_TOKENS_PER_DAY": str(TOKENS_PER_DAY),
        }

    def begin(self, transcript: Script | Speaker, on_stage: Callable[[str], None] | None = None) -> None:
        """Say a transcript from now on; `on_stage` is called with the stage of each call before its reply."""
        speaker = ScriptPlayer(transcript) if isinstance(transcript, Script) else transcript
        with self._lock:
            self._speaker, self._faults, self._on_stage = speaker, [], on_stage

    def end(self) -> list[str]:
        """Return the faults of the transcript that ran, calls that did not come among them."""
        with self._lock:
            speaker, self._speaker = self._speaker, None
            if speaker is None:
                return []
            left = speaker.left()
            missed = f"{len(left)} calls did not come: {', '.join(left)}"
            return [*self._faults, *([missed] if left and not self._faults else [])]

    def answer(self, call: Call) -> ScriptReply | None:
        """Return the reply to a call, None where there is none."""
        stage = stage_of(call)
        turns = [_text_of(message) for message in call.messages]
        if self._on_stage is not None:
            self._on_stage(stage)
        with self._lock:
            if self._speaker is None:
                return None
            reply = self._speaker.reply(stage, turns)
            self._faults += reply.faults
            return None if reply.faults else reply

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def stage_of(call: Call) -> str:
    """Return the stage of a call by the answers that it declares; empty where it declares none that is known."""
    for tool in call.tools:
        fields = tool.function.parameters.properties
        first = next((fields[name] for name in ("kind", *_FIRST.values()) if name in fields), None)
        if first is not None and first.enum in _KINDS:
            return str(_KINDS[first.enum])
    return ""


def _text_of(message: Message) -> str:
    content = message.content or ""
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


def _chat(reply: ScriptReply, sent_bytes: int) -> bytes:
    """Return the body of a chat answer that calls the declared tool."""
    text = reply.text
    used = {"prompt_tokens": sent_bytes // BYTES_A_TOKEN + 1, "completion_tokens": len(text) // BYTES_A_TOKEN + 1}
    call = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": text}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = "length" if reply.cut else "content_filter" if reply.refused else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": end, "logprobs": None}
    usage = {**used, "total_tokens": sum(used.values())}
    head = {"id": "chatcmpl-script", "object": "chat.completion", "created": 0, "model": MODEL}
    return json.dumps({**head, "choices": [choice], "usage": usage}).encode()


def _handler(server: ScriptServer, authorization: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            header = self.headers.get("authorization", "")
            if not hmac.compare_digest(header.encode(), authorization.encode()):
                return self._send(HTTPStatus.UNAUTHORIZED, b"{}")
            if self.path != PATH:
                return self._send(HTTPStatus.NOT_FOUND, b"{}")
            length = self.headers.get("content-length", "")
            size = int(length) if length.isascii() and length.isdigit() else 0
            if not 0 < size <= BODY_BYTES_MOST:
                return self._send(HTTPStatus.BAD_REQUEST, b"{}")
            try:
                call = msgspec.json.decode(self.rfile.read(size), type=Call)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return self._send(HTTPStatus.BAD_REQUEST, b"{}")
            reply = server.answer(call)
            if reply is None:
                return self._send(HTTPStatus.CONFLICT, b'{"error": {"message": "the transcript has no reply to this"}}')
            return self._send(HTTPStatus.OK, _chat(reply, size))

        def _send(self, status: HTTPStatus, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Write nothing: `end` tells the faults of a transcript."""

    return Handler
