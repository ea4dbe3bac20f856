"""An MCP server that is reached by streamable HTTP: one request a message, its answer as JSON or as a stream of events.

Owns the address that the owner wrote, and no other: no redirect is followed, no proxy of the environment is used, and
an address that a server names is never asked. Each message and each stream is bounded, and each read has a deadline.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.clients import http_streams
from starloom_agent.toolkit.clients.http_streams import AddressFault, CutOff
from starloom_agent.toolkit.clients.mcp.conversation import Conversation, ServerFault
from starloom_protocol.text.wording import quoted

_SESSION_CHARS_MOST: Final = 512
_LISTEN_S: Final = 3600.0
"""Longer than most sessions are kept; changes after it are seen when the next one begins."""
_END_S: Final = 2.0
_EVENT_ID_CHARS_MOST: Final = 512
_RESUME_AFTER_S: Final = 1.0
"""A server that restarts has a moment for it; one that ends each stream quickly is asked once a second."""
_ACCEPTED, _GONE, _OK = 202, 404, 200
_HUNG_UP: Final = "it hung up before its answer"


class WebCarrier:
    """The requests of one session. Requests run in their callers' threads; one more thread hears notices."""

    def __init__(self, conversation: Conversation, url: str, headers: Mapping[str, str]) -> None:
        self._conversation = conversation
        self._url = url
        self._headers = dict(headers)
        self._session = ""
        self._protocol = ""
        self._closed = threading.Event()
        self._listener: http.client.HTTPConnection | None = None

    def send(self, message: Mapping[str, Any], within_s: float) -> None:
        """Send one message, and route all that comes back on its way."""
        deadline = time.monotonic() + within_s
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        connection = http_streams.connect(self._url, within_s)
        try:
            answer = self._post(connection, msgspec.json.encode(message), accept)
            began = answer.getheader("mcp-session-id") or ""
            if message.get("method") == "initialize" and began.isprintable() and len(began) <= _SESSION_CHARS_MOST:
                self._session = began
            if answer.status == _ACCEPTED:
                return
            number = message.get("id") if "method" in message else None
            ended_at = self._route(answer, connection, deadline, number=number)
        finally:
            connection.close()
        while number is not None and ended_at is not None:
            ended_at = self._resume(ended_at, deadline, number=number)

    def agreed(self, protocol: str) -> None:
        """Name the version in each request from now on, and hear what the server tells unasked."""
        self._protocol = protocol
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Tell the server that the session is over; one that does not know sessions has nothing to forget."""
        self._closed.set()
        listener = self._listener
        if listener is not None and listener.sock is not None:
            with contextlib.suppress(OSError):
                listener.sock.close()
        if self._session:
            with contextlib.suppress(AddressFault):
                connection = http_streams.connect(self._url, _END_S)
                http_streams.ask(connection, "DELETE", self._url, self._headers_with({}))
                connection.close()

    def _listen(self) -> None:
        """Hear notices; a server without such a stream says so, and its changes are seen at the next start."""
        connection = self._listener = http_streams.connect(self._url, _LISTEN_S)
        with contextlib.suppress(ServerFault, AddressFault):
            answer = http_streams.ask(connection, "GET", self._url, self._headers_with({"Accept": "text/event-stream"}))
            if answer.status == _OK and not self._closed.is_set():
                self._route(answer, connection, time.monotonic() + _LISTEN_S, number=None)
        connection.close()

    def _headers_with(self, more: Mapping[str, str]) -> dict[str, str]:
        headers = {**self._headers, **more}
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self._protocol:
            headers["MCP-Protocol-Version"] = self._protocol
        return headers

    def _post(
        self, connection: http.client.HTTPConnection, body: bytes, more: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        try:
            answer = http_streams.ask(connection, "POST", self._url, self._headers_with(more), body)
        except AddressFault as fault:
            raise ServerFault(str(fault)) from fault
        if answer.status == _GONE and self._session:
            self._conversation.fail("it has forgotten this session")
            raise ServerFault("it has forgotten this session")
        if answer.status not in (_OK, _ACCEPTED):
            raise ServerFault(f"it answered with the status {answer.status}")
        return answer

    def _resume(self, event: str, deadline: float, *, number: Any) -> str | None:
        """Take up behind this event a stream that ended before the answer; return as `_route` does.

        Raises:
            ServerFault: the server gives nothing more.
        """
        left_s = deadline - time.monotonic()
        if not event or left_s <= _RESUME_AFTER_S or self._closed.wait(_RESUME_AFTER_S):
            raise ServerFault(_HUNG_UP)
        connection = http_streams.connect(self._url, left_s)
        headers = self._headers_with({"Accept": "text/event-stream", "Last-Event-ID": event})
        try:
            answer = http_streams.ask(connection, "GET", self._url, headers)
            if answer.status != _OK or not http_streams.is_stream(answer):
                raise ServerFault(f"{_HUNG_UP}, and does not go on with it (status {answer.status})")
            ended_at = self._route(answer, connection, deadline, number=number)
        except AddressFault as fault:
            raise ServerFault(f"{_HUNG_UP}, and then: {fault}") from fault
        finally:
            connection.close()
        return "" if ended_at == event else ended_at

    def _route(
        self,
        answer: http.client.HTTPResponse,
        connection: http.client.HTTPConnection,
        deadline: float,
        *,
        number: Any,
    ) -> str | None:
        """Route the messages of a response, up to the one that answers `number`.

        Return None when it came, else the identity of the last event of the stream, empty where it has none.
        """
        seen: list[str] = [""]

        def note(event: str) -> None:
            if event.isascii() and event.isprintable() and len(event) <= _EVENT_ID_CHARS_MOST:
                seen[0] = event

        streamed = http_streams.is_stream(answer)
        parts = http_streams.chunks(answer, connection, deadline)
        texts = http_streams.events(parts, note) if streamed else (b"".join(parts) for _ in range(1))
        try:
            for text in texts:
                decoded = _decoded(text)
                for one in decoded if isinstance(decoded, list) else [decoded]:
                    self._conversation.take(one)
                    if number is not None and _answers(one, number):
                        return None
        except AddressFault as fault:
            if not (streamed and isinstance(fault, CutOff)):
                raise ServerFault(str(fault)) from fault
        if not streamed and number is not None:
            raise ServerFault("it answered another call than the one that was made")
        return seen[0]


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ServerFault(f"it wrote what is no JSON: {quoted(text[:80])}") from error


def _answers(one: Any, number: Any) -> bool:
    return isinstance(one, dict) and one.get("id") == number and "method" not in one
