"""Inputs from other processes: each is stepped like any other and settled with its answer.

A delivery that was taken and not settled is taken again by the next owner; handlers answer a repeated one the same.
The constellation of a repeated request may be retired by then, so it is loaded before the request is stepped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from starloom.core.state.inputs import AnyInput, RequestReceived
from starloom.engine.ports import Clock, Inbox, Overloaded, Reply
from starloom.store.faults import UNREADABLE
from starloom.store.port import Damaged, InboxPort, Refused, Unavailable, Unsettled
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CODES, Code
from starloom_protocol.wire.frames import LeaseRef, Renew

log = logging.getLogger("starloom.engine")
RETRY_MS = 200
"""An outage is seen to end within this time; five tries a second cost nothing."""
ANSWER_WITHIN_S = 15.0
"""Longer than a change of owners takes, so that a request survives one."""
SENDING_MOST = 100
"""An input without an answer may be lost, so an outage of the store must not collect them in memory."""
_decode_input = msgspec.json.Decoder(AnyInput)
_encode_reply = msgspec.json.Encoder().encode
_encode_input = msgspec.json.Encoder().encode
_decode_reply = msgspec.json.Decoder(Reply)


Bring = Callable[[str], Awaitable[None]]


async def take_remote(remote: InboxPort, inbox: Inbox, clock: Clock, bring: Bring, leaving: Callable[[], bool]) -> None:
    """Step arriving inputs until cancelled; wait through outages of the store. `bring` loads a constellation.

    Inputs refused by a hub that is `leaving` are not settled; the next owner answers them.
    """
    pending: set[asyncio.Task[None]] = set()
    while True:
        try:
            async for delivery, raw in remote.take():
                task = asyncio.get_running_loop().create_task(_deliver(remote, inbox, delivery, raw, bring, leaving))
                pending.add(task)
                task.add_done_callback(pending.discard)
                task.add_done_callback(_log_fault)
        except Unavailable as error:
            log.warning("event=inbox_unavailable reason=%s", error)
        await clock.wait(RETRY_MS)


def _log_fault(task: asyncio.Task[None]) -> None:
    """Log a fault that nobody expects: the delivery stays unsettled, and whoever asked hears of the end of its wait."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("event=input_failed", exc_info=error)


async def _deliver(
    remote: InboxPort, inbox: Inbox, delivery: str, raw: bytes, bring: Bring, leaving: Callable[[], bool]
) -> None:
    try:
        item = _decode_input.decode(raw)
        if isinstance(item, RequestReceived):
            await bring(item.constellation)
        reply = await inbox.ask(item)
    except UNREADABLE as error:
        log.warning("event=input_unreadable delivery=%s reason=%s", delivery, error)
        reply = Reply(faults=[_fault(Code.BAD_REQUEST, str(error))])
    except Overloaded as error:
        reply = Reply(faults=[_fault(error.code, error.reason)])
    except Unavailable as error:
        reply = Reply(faults=[_fault(error.code, str(error))])
    except (Refused, Damaged) as error:
        reply = Reply(faults=[_fault(Code.STORE_UNAVAILABLE, str(error))])
    if reply.faults and leaving():
        return
    try:
        await remote.settle(delivery, _encode_reply(reply))
    except Unavailable as error:
        log.warning("event=settle_unavailable delivery=%s reason=%s", delivery, error)


def _fault(code: Code, reason: str) -> Fault:
    return Fault(code=code, reason=reason, hint=CODES[code].hint)


class RemoteInbox:
    """`ports.Inbox` of a hub that does not own the shard: inputs go through the store to the owner.

    It has no devices: their sockets end at the owner.
    """

    def __init__(self, remote: InboxPort, *, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        self._remote = remote
        self._answer_within_s = answer_within_s
        self._sending: set[asyncio.Task[None]] = set()

    async def ask(self, item: AnyInput) -> Reply:
        """Step an input at the owner and wait for its answer (see `ports.Inbox`)."""
        raw = await self._remote.post(_encode_input(item), answer_within_s=self._answer_within_s)
        if raw is None:
            raise Unsettled("the owner of the shard gave no answer")
        return _decode_reply.decode(raw)

    def post(self, item: AnyInput) -> None:
        """Send an input to the owner without an answer; it is lost if too many are in flight or the store is away."""
        if len(self._sending) >= SENDING_MOST:
            log.warning("event=input_dropped input=%s", type(item).__name__)
            return
        task = asyncio.get_running_loop().create_task(self._send(item))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, item: AnyInput) -> None:
        try:
            await self._remote.post(_encode_input(item), answer_within_s=None)
        except Unavailable as error:
            log.warning("event=input_dropped input=%s reason=%s", type(item).__name__, error)

    def room(self) -> asyncio.Future[None] | None:
        raise TypeError("no device is connected here, so none is read")

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> Renew:
        raise TypeError(f"device {device} is not connected here ({len(running)} attempts at {sent_ms})")

    def when_proved(self, device: str, on_proved: Callable[[], object]) -> None:
        raise TypeError(f"device {device} is not connected here, so nothing can be said to it by {on_proved}")
