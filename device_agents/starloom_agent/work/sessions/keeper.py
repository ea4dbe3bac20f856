"""The process that keeps one session with an MCP server: `python -m starloom_agent.work.sessions.keeper FD FD`.

It starts the server or reaches it, takes calls from the processes of tools over its own socket, and passes progress on.
A call that is given up is cancelled at the server. If the call may have changed something, the session ends with it,
because nothing else proves that it no longer runs. The keeper ends with the socket of its agent, and with it the server
and everything that the server started. It decides nothing about permission.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from typing import Any, Final

import msgspec

from starloom_agent.platforms import processes
from starloom_agent.sandbox import usage
from starloom_agent.toolkit.clients.mcp.carriers import carrier_of
from starloom_agent.toolkit.clients.mcp.conversation import Conversation, Exchange, ServerFault
from starloom_agent.toolkit.clients.mcp.keeping import (
    CALL,
    METHODS,
    Answered,
    Ask,
    Broke,
    Changed,
    Keep,
    Went,
    decode_ask,
    decode_keep,
    encode,
    lines_of,
)
from starloom_protocol.text.wording import quoted

GREET_S: Final = 45.0
"""As long as the agent waits for a server at its own start (`owner.mcp.LIST_WITHIN_S`); calls wait meanwhile."""
CALLS_MOST: Final = 16
"""Each call has a thread here; further ones wait until one of them has ended."""
CHANGES_EVERY_S: Final = 5.0
"""A server that changes its tools more often than this is heard at this pace: each change is an offer to the hub."""
_CHANGES_MOST: Final = 200
"""A server that changes its tools more often in one session is listed no more; the next session lists it again."""
_LIST_S: Final = 30.0
_TOOL_BYTES_MOST: Final = 64 * 1024
"""Twice the largest schema that is offered (`owner.mcp`); a tool beyond it is named to the owner as left out."""
_NOTE_CHARS: Final = 200
_ROUNDS_MOST: Final = 20
"""Each round ends what was forked during the one before; a program that outruns all of them is left to its agent."""


class Keeper:
    """One session, from the first line of the agent to the end of its socket."""

    def __init__(self, agent: socket.socket, calls: socket.socket) -> None:
        self._agent = agent
        self._calls = calls
        self._telling = threading.Lock()
        self._slots = threading.BoundedSemaphore(CALLS_MOST)
        self._changed = threading.Event()
        self._conversation = Conversation(self._changed.set)
        self._ready = threading.Event()
        self._over = threading.Event()
        self._fault = ""

    def serve(self) -> None:
        """Keep the session until the agent closes its end."""
        lines = lines_of(self._agent)
        keep = decode_keep(next(lines))
        for body in (lambda: self._open(keep), self._take_calls, self._watch_changes):
            threading.Thread(target=body, daemon=True).start()
        for _ in lines:
            continue
        self._over.set()
        self._conversation.close()

    def _open(self, keep: Keep) -> None:
        try:
            self._conversation.use(carrier_of(self._conversation, keep, quiet=True))
            self._conversation.begin(GREET_S)
        except ServerFault as fault:
            self._fault = str(fault)
            self._ready.set()
            self._tell(Broke(why=str(fault)))
            return
        self._ready.set()

    def _watch_changes(self) -> None:
        """List again after a notice, at most once in `CHANGES_EVERY_S`; notices that come meanwhile share one list."""
        for _ in range(_CHANGES_MOST):
            self._changed.wait()
            self._changed.clear()
            try:
                listed = self._conversation.tools(_LIST_S)
            except ServerFault as fault:
                self._tell(Broke(why=str(fault)))
                return
            self._tell(Changed(tools=[_bounded(tool) for tool in listed]))
            self._over.wait(CHANGES_EVERY_S)

    def _tell(self, report: Changed | Broke) -> None:
        with self._telling, contextlib.suppress(OSError):
            self._agent.sendall(encode(report) + b"\n")

    def _take_calls(self) -> None:
        while True:
            self._slots.acquire()
            link, _ = self._calls.accept()
            threading.Thread(target=self._call, args=(link,), daemon=True).start()

    def _call(self, link: socket.socket) -> None:
        with link:
            try:
                lines = lines_of(link)
                request = decode_ask(next(lines))
                answer = self._answered(link, request)
                with contextlib.suppress(OSError):
                    link.sendall(encode(answer) + b"\n")
            except (StopIteration, msgspec.DecodeError, OSError):
                return  # the caller is gone, or said what no caller of ours says
            finally:
                self._slots.release()
        if self._conversation.broken:
            self._tell(Broke(why=self._conversation.broken))

    def _answered(self, link: socket.socket, query: Ask) -> Answered:
        self._ready.wait(GREET_S)
        if self._fault or not self._ready.is_set():
            return Answered(fault=self._fault or "it did not greet in time")
        if query.method not in METHODS:
            return Answered(fault=f"{quoted(query.method[:_NOTE_CHARS])} is no request of a call")
        exchange = Exchange(query.method, (lambda note: _pass_on(link, note)) if query.method == CALL else None)
        threading.Thread(target=self._watch_caller, args=(link, exchange, query), daemon=True).start()
        try:
            return Answered(result=self._conversation.finish(exchange, query.params, query.within_s))
        except ServerFault as fault:
            return Answered(fault=str(fault))

    def _watch_caller(self, link: socket.socket, exchange: Exchange, request: Ask) -> None:
        """Give the call up when its caller goes away before the answer."""
        with contextlib.suppress(OSError):
            while link.recv(1024):
                continue
        if exchange.done.is_set():
            return
        self._conversation.give_up(exchange, "the call was ended")
        if not request.reads:
            self._conversation.fail("a call that may change something was ended, and the session with it")
            end_session()


def _bounded(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as it was listed; of one that is too large only the name, with which it cannot be offered."""
    return tool if len(encode(tool)) <= _TOOL_BYTES_MOST else {"name": str(tool.get("name"))[:_NOTE_CHARS]}


def _pass_on(link: socket.socket, progress: object) -> None:
    """Send the progress that a server tells on to the caller; what is no figure is left out."""
    if not isinstance(progress, dict):
        return
    done, total = progress.get("progress"), progress.get("total")
    went = Went(
        done=float(done) if isinstance(done, int | float) else 0.0,
        total=float(total) if isinstance(total, int | float) else 0.0,
        note=str(progress.get("message") or "")[:_NOTE_CHARS],
    )
    with contextlib.suppress(OSError):
        link.sendall(encode(went) + b"\n")


def end_session() -> None:
    """End every process below this one, those that left its group too, and then this one."""
    for _ in range(_ROUNDS_MOST):
        below = usage.below(os.getpid())
        if not below:
            break
        for pid in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        processes.reap()
        threading.Event().wait(0.02)
    os._exit(0)


def main() -> None:
    # Processes that leave the tree of the server come back to this one, which ends them.
    processes.adopt_orphans()
    processes.protect_memory(True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control, calls = map(int, sys.argv[1:3])
    keeper = Keeper(socket.socket(fileno=control), socket.socket(fileno=calls))
    try:
        keeper.serve()
    finally:
        sys.stderr.flush()
        end_session()


if __name__ == "__main__":
    main()
