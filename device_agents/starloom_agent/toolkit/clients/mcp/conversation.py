"""One session with an MCP server: its requests, what the server asks or tells meanwhile, and cancellation.

Owns the client's side of the protocol as far as tools need it: initialize, lists, calls, reads, ping, progress and
cancelled. Any thread may ask; each message of the server is routed by the thread that read it. A message is
data: bounded by the carrier, and never an instruction. It lends the server no root, model or person.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from starloom_protocol.text.wording import quoted

PROTOCOL: Final = "2025-06-18"
TOOLS_MOST: Final = 200
MESSAGE_BYTES_MOST: Final = 16 * 1024 * 1024
"""A picture or a file comes in one message, as base64."""
_ERROR_CHARS: Final = 500
_CHANGED: Final = "notifications/tools/list_changed"
_PROGRESS: Final = "notifications/progress"
_CANCELLED: Final = "notifications/cancelled"
_NO_METHOD: Final = -32601

Progress = Callable[[Mapping[str, Any]], None]


class ServerFault(Exception):
    """The server cannot be used: what it did, in words."""


class Carrier(Protocol):
    """Moves whole messages to a server; it hands those of the server to the `take` of the conversation."""

    def send(self, message: Mapping[str, Any], within_s: float) -> None:
        """Send a message. A carrier whose answers come back on the same way reads them in here.

        Raises:
            ServerFault: the server cannot be reached.
        """

    def agreed(self, protocol: str) -> None:
        """Hear the version of the protocol that the server chose."""

    def close(self) -> None:
        """End the session, and the server where it is a program of this session."""


class Exchange:
    """One open request: it waits for its answer, and may be given up by another thread."""

    def __init__(self, method: str, on_progress: Progress | None) -> None:
        self.method = method
        self.on_progress = on_progress
        self.number = 0
        self.done = threading.Event()
        self.answer: Mapping[str, Any] | None = None
        self.fault = ""

    def end(self, *, answer: Mapping[str, Any] | None = None, fault: str = "") -> None:
        if not self.done.is_set():
            self.answer, self.fault = answer, fault
            self.done.set()


class Conversation:
    """The session. `on_changed` is called when the server says that its list of tools has changed."""

    def __init__(self, on_changed: Callable[[], None] = lambda: None) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, Exchange] = {}
        self._number = 0
        self._on_changed = on_changed
        self._carrier: Carrier | None = None
        self.capabilities: Mapping[str, Any] = {}
        """The capabilities that the server names at the greeting; empty where it names none."""
        self.broken = ""
        """Why the server can be asked nothing more; empty while it can."""

    def use(self, carrier: Carrier) -> None:
        """Send by this carrier from now on."""
        self._carrier = carrier

    def begin(self, within_s: float) -> None:
        """Say hello, as the protocol wants it before anything else."""
        us = {"name": "starloom-agent", "version": "1"}
        info = self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": us}, within_s)
        capabilities = info.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        assert self._carrier is not None  # noqa: S101 - the request used it
        self._carrier.agreed(str(info.get("protocolVersion") or PROTOCOL)[:20])
        self._notify("notifications/initialized", {}, within_s)

    def tools(self, within_s: float) -> list[dict[str, Any]]:
        """Return the tools that the server offers, at most `TOOLS_MOST`."""
        all_tools: list[dict[str, Any]] = []
        cursor: Any = None
        deadline = time.monotonic() + within_s
        for _ in range(TOOLS_MOST):
            left_s = max(0.0, deadline - time.monotonic())
            page = self.request("tools/list", {} if cursor is None else {"cursor": cursor}, left_s)
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise ServerFault("its list of tools is none")
            all_tools += [tool for tool in listed if isinstance(tool, dict)]
            cursor = page.get("nextCursor")
            if cursor is None or len(all_tools) >= TOOLS_MOST:
                break
        return all_tools[:TOOLS_MOST]

    def request(self, method: str, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        """Ask, and return the result.

        Raises:
            ServerFault: for an error, no answer in time, or an end.
        """
        return self.finish(Exchange(method, None), params, within_s)

    def finish(self, exchange: Exchange, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        """Carry out an exchange, as `request` does; `give_up` ends it from another thread."""
        deadline = time.monotonic() + within_s
        method = exchange.method
        with self._lock:
            if self.broken:
                raise ServerFault(f"{method}: {self.broken}")
            self._number += 1
            exchange.number = self._number
            self._open[exchange.number] = exchange
        if exchange.on_progress is not None:
            params = {**params, "_meta": {"progressToken": exchange.number}}
        try:
            self._send({"id": exchange.number, "method": method, "params": params}, within_s)
            if not exchange.done.wait(max(0.0, deadline - time.monotonic())):
                self.give_up(exchange, "it took too long")
                raise ServerFault(f"{method}: no answer in time")
        finally:
            with self._lock:
                self._open.pop(exchange.number, None)
        if exchange.answer is None:
            raise ServerFault(f"{method}: {exchange.fault}")
        return _result(method, exchange.answer)

    def give_up(self, exchange: Exchange, why: str) -> None:
        """Tell the server that an answer is no longer wanted, and wait for it no longer."""
        if exchange.done.is_set() or not exchange.number or exchange.method == "initialize":
            return
        exchange.end(fault=f"it was given up: {why}")
        try:
            self._notify(_CANCELLED, {"requestId": exchange.number, "reason": why}, 1.0)
        except ServerFault:
            return  # a server that cannot be told has ended, or reads nothing

    def take(self, message: Any) -> None:
        """Route one message of the server."""
        if not isinstance(message, dict):
            raise ServerFault(f"it wrote what is no message: {quoted(str(message)[:80])}")
        if "method" in message:
            self._answer_request(message)
            return
        with self._lock:
            exchange = self._open.get(message["id"]) if isinstance(message.get("id"), int) else None
        if exchange is not None:
            exchange.end(answer=message)

    def fail(self, why: str) -> None:
        """End every open exchange: the server says nothing more."""
        with self._lock:
            self.broken = self.broken or why
            waiting = list(self._open.values())
        for exchange in waiting:
            exchange.end(fault=why)

    def close(self) -> None:
        if self._carrier is not None:
            self._carrier.close()

    def _answer_request(self, message: Mapping[str, Any]) -> None:
        method = message["method"]
        if method == _PROGRESS:
            self._progressed(message.get("params"))
        elif method == _CHANGED:
            self._on_changed()
        elif "id" in message and method == "ping":
            self._send({"id": message["id"], "result": {}}, 1.0)
        elif "id" in message:
            refused = {"code": _NO_METHOD, "message": "not offered by this client"}
            self._send({"id": message["id"], "error": refused}, 1.0)

    def _progressed(self, params: Any) -> None:
        token = params.get("progressToken") if isinstance(params, dict) else None
        with self._lock:
            exchange = self._open.get(token) if isinstance(token, int) else None
        if exchange is not None and exchange.on_progress is not None:
            exchange.on_progress(params)

    def _notify(self, method: str, params: Mapping[str, Any], within_s: float) -> None:
        self._send({"method": method, "params": params} if params else {"method": method}, within_s)

    def _send(self, message: Mapping[str, Any], within_s: float) -> None:
        assert self._carrier is not None  # noqa: S101 - `use` comes first
        self._carrier.send({"jsonrpc": "2.0", **message}, within_s)


def _result(method: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        error = answer["error"] if isinstance(answer["error"], dict) else {}
        raise ServerFault(f"{method}: {str(error.get('message', 'an error without words'))[:_ERROR_CHARS]}")
    result = answer.get("result")
    if not isinstance(result, dict):
        raise ServerFault(f"{method}: the answer has no result")
    return result
