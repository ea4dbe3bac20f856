"""A chat server of OpenAI's form whose answers are files: each call is written to `in/`, its reply awaited in `out/`.

Owns the exchange of one call with whoever answers the files, a person or another program. It knows nothing of plans and
changes no text: it only shows a call in readable form, and gives the reply the form that the call asked for.

    python scripts/model_mailbox.py /tmp/blind --port 8099 --wait-s 900
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

LOOPBACK: Final = "127.0.0.1"
PATH: Final = "/v1/chat/completions"
BODY_BYTES_MOST: Final = 4 * 1024 * 1024
BYTES_A_TOKEN: Final = 4
POLL_S: Final = 0.2
RULE: Final = "=" * 20


def text_of(content: object) -> str:
    """Return the text of a message, whose content may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))


def readable(call: Mapping[str, Any]) -> str:
    """Return a call as a text: each message under its role, then each tool with its schema."""
    lines: list[str] = []
    for message in call.get("messages", []):
        lines += [f"{RULE} {message.get('role', '?')}", text_of(message.get("content"))]
    for tool in call.get("tools", []):
        function = tool.get("function", {})
        shape = json.dumps(function.get("parameters", {}), ensure_ascii=False, separators=(",", ":"))
        lines += [f"{RULE} tool {function.get('name')}: {function.get('description', '')}", "arguments:", shape]
    lines += [f"{RULE} write the assistant's answer (the arguments of the tool as one JSON object)"]
    return "\n".join(lines) + "\n"


def chat(call: Mapping[str, Any], text: str, sent_bytes: int) -> bytes:
    """Return the body of a chat answer: a call of the offered tool, or the text where none was offered."""
    tools = call.get("tools") or []
    message: dict[str, Any] = {"role": "assistant", "content": text}
    reason = "stop"
    if tools:
        function = {"name": tools[0]["function"]["name"], "arguments": text}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        reason = "tool_calls"
    used = {"prompt_tokens": sent_bytes // BYTES_A_TOKEN + 1, "completion_tokens": len(text) // BYTES_A_TOKEN + 1}
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    head = {"id": "chatcmpl-mailbox", "object": "chat.completion", "created": 0, "model": str(call.get("model", ""))}
    return json.dumps({**head, "choices": [choice], "usage": {**used, "total_tokens": sum(used.values())}}).encode()


class Mailbox:
    """The two folders. `exchange` writes a call under the next number and waits for its reply."""

    def __init__(self, folder: Path, wait_s: float) -> None:
        self._in, self._out = folder / "in", folder / "out"
        self._wait_s = wait_s
        self._lock = threading.Lock()
        for one in (self._in, self._out):
            one.mkdir(parents=True, exist_ok=True)
        self._last = max((int(file.stem) for file in self._in.glob("[0-9]*.txt")), default=0)

    def exchange(self, text: str) -> str | None:
        """Return the reply to a call, None where none came in time."""
        with self._lock:
            self._last += 1
            name = f"{self._last:04}.txt"
        part = self._in / f"{name}.tmp"
        part.write_text(text)
        part.rename(self._in / name)
        reply, end = self._out / name, time.monotonic() + self._wait_s
        while time.monotonic() < end:
            if reply.exists():
                return reply.read_text().strip()
            time.sleep(POLL_S)
        return None


def handler_of(mailbox: Mailbox) -> type[BaseHTTPRequestHandler]:
    """Return the handler of requests, whose only route is the chat."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            size = int(length) if length.isascii() and length.isdigit() else 0
            if self.path != PATH or not 0 < size <= BODY_BYTES_MOST:
                return self._send(HTTPStatus.BAD_REQUEST, b"{}")
            try:
                call = json.loads(self.rfile.read(size))
            except ValueError:
                return self._send(HTTPStatus.BAD_REQUEST, b"{}")
            text = mailbox.exchange(readable(call))
            if text is None:
                return self._send(HTTPStatus.GATEWAY_TIMEOUT, b'{"error": {"message": "nobody answered"}}')
            return self._send(HTTPStatus.OK, chat(call, text, size))

        def _send(self, status: HTTPStatus, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Write nothing: the folders are the record."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--wait-s", type=float, default=900.0)
    options = parser.parse_args()
    server = ThreadingHTTPServer((LOOPBACK, options.port), handler_of(Mailbox(options.folder, options.wait_s)))
    print(f"http://{LOOPBACK}:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
