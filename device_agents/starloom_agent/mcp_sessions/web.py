"""An MCP server that is reached by streamable HTTP: one request a message, its answer as JSON or as a stream of events.

Owns the address that the owner wrote, and no other: no redirect is followed, no proxy of the environment is used, and
an address that a server names is never asked. Each message and each stream is bounded, and each read has a deadline.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from starloom_agent.mcp_sessions.conversation import MESSAGE_BYTES_MOST, Conversation, ServerFault
from starloom_protocol.wording import quoted

_READ_BYTES: Final = 64 * 1024
_LINE_BYTES_MOST: Final = MESSAGE_BYTES_MOST
_SESSION_CHARS_MOST: Final = 512
_LISTEN_S: Final = 3600.0
_END_S: Final = 2.0
_ACCEPTED, _GONE, _OK = 202, 404, 200


def address_fault(url: str) -> str | None:
    """Return why a text is no address of such a server, or None."""
    try:
        parsed = urllib.parse.urlsplit(url)
        parsed.port  # noqa: B018 - reading it judges it
    except ValueError as error:
        return f"{quoted(url[:200])} is not an address: {error}"
    if parsed.scheme not in ("http", "https") or not parsed.hostname:
        return f"{quoted(url[:200])} is not an address that begins with https:// or http://"
    if parsed.username or parsed.password:
        return "an address holds no user and no password; write them into headers"
    if parsed.fragment:
        return "an address of a server has no part after #"
    return None


class WebCarrier:
    """The requests of one session. Requests run in their callers' threads; one more thread hears notices."""

    def __init__(self, conversation: Conversation, url: str, headers: Mapping[str, str]) -> None:
        self._conversation = conversation
        self._parts = urllib.parse.urlsplit(url)
        self._headers = dict(headers)
        self._session = ""
        self._protocol = ""
        self._closed = threading.Event()
        self._listener: http.client.HTTPConnection | None = None

    def send(self, message: Mapping[str, Any], within_s: float) -> None:
        """Send one message, and route all that comes back on its way."""
        deadline = time.monotonic() + within_s
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        connection = self._connect(within_s)
        try:
            answer = self._asked(connection, "POST", msgspec.json.encode(message), accept)
            began = answer.getheader("mcp-session-id") or ""
            if message.get("method") == "initialize" and began.isprintable() and len(began) <= _SESSION_CHARS_MOST:
                self._session = began
            if answer.status == _ACCEPTED:
                return
            self._route(answer, connection, deadline, wanted=message.get("id"))
        finally:
            connection.close()

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
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = self._connect(_END_S)
                connection.request("DELETE", self._target(), headers=self._own({}))
                connection.getresponse()
                connection.close()

    def _listen(self) -> None:
        """Hear notices; a server without such a stream says so, and its changes are seen at the next start."""
        connection = self._listener = self._connect(_LISTEN_S)
        with contextlib.suppress(ServerFault, OSError, ValueError, http.client.HTTPException):
            connection.request("GET", self._target(), headers=self._own({"Accept": "text/event-stream"}))
            answer = connection.getresponse()
            if answer.status == _OK and not self._closed.is_set():
                self._route(answer, connection, time.monotonic() + _LISTEN_S, wanted=None)
        connection.close()

    def _connect(self, within_s: float) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return make(self._parts.hostname or "", self._parts.port, timeout=max(0.1, within_s))

    def _target(self) -> str:
        path = urllib.parse.quote(self._parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
        query = urllib.parse.quote(self._parts.query, safe="/?%:@!$&'()*+,;=-._~")
        return f"{path}?{query}" if query else path

    def _own(self, more: Mapping[str, str]) -> dict[str, str]:
        said = {"User-Agent": "starloom-agent", "Accept-Encoding": "identity", **self._headers, **more}
        if self._session:
            said["Mcp-Session-Id"] = self._session
        if self._protocol:
            said["MCP-Protocol-Version"] = self._protocol
        return said

    def _asked(
        self, connection: http.client.HTTPConnection, method: str, body: bytes, more: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        try:
            connection.request(method, self._target(), body=body, headers=self._own(more))
            answer = connection.getresponse()
        except TimeoutError as error:
            raise ServerFault("no answer in time") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ServerFault(f"it cannot be reached: {error}") from error
        if 300 <= answer.status < 400:
            raise ServerFault("it sends to another address, which is not followed; name that one in mcp.toml")
        if answer.status == _GONE and self._session:
            self._conversation.fail("it has forgotten this session")
            raise ServerFault("it has forgotten this session")
        if answer.status not in (_OK, _ACCEPTED):
            raise ServerFault(f"it answered with the status {answer.status}")
        return answer

    def _route(
        self,
        answer: http.client.HTTPResponse,
        connection: http.client.HTTPConnection,
        deadline: float,
        *,
        wanted: Any,
    ) -> None:
        streamed = (answer.getheader("content-type") or "").partition(";")[0].strip() == "text/event-stream"
        chunks = self._chunks(answer, connection, deadline)
        for text in _events(chunks) if streamed else [b"".join(chunks)]:
            try:
                said = msgspec.json.decode(text)
            except msgspec.DecodeError as error:
                raise ServerFault(f"it wrote what is no JSON: {quoted(text[:80])}") from error
            for one in said if isinstance(said, list) else [said]:
                self._conversation.take(one)
                if wanted is not None and isinstance(one, dict) and one.get("id") == wanted and "method" not in one:
                    return

    def _chunks(
        self, answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline: float
    ) -> Iterator[bytes]:
        """Yield the body in parts until its end, its deadline, or its bound."""
        size = 0
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise ServerFault("no answer in time")
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(left_s)
                part = answer.read1(_READ_BYTES)
            except TimeoutError as error:
                raise ServerFault("no answer in time") from error
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ServerFault(f"its answer was cut off: {error}") from error
            if not part:
                return
            size += len(part)
            if size > _LINE_BYTES_MOST:
                raise ServerFault(f"an answer is larger than {_LINE_BYTES_MOST} bytes")
            yield part


def _events(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the data of each event of a stream."""
    held = b""
    data: list[bytes] = []
    for part in chunks:
        held += part.replace(b"\r\n", b"\n")
        *lines, held = held.split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                text = b"\n".join(data)
                data = []
                if text.strip():
                    yield text
