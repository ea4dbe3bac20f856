"""Inputs that other processes post: each is stepped like any other and settled with its answer.

A delivery that was taken and not settled is taken again by the next owner; handlers answer a repeated one the same.
What a repeated request made may be over and retired by then, so it is brought back before the request is stepped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from starloom.core.inputs import AnyInput, RequestReceived
from starloom.engine.ports import Clock, Inbox, Overloaded, Reply
from starloom.store.port import Damaged, InboxPort, Refused, Unavailable
from starloom_protocol.entities import Fault
from starloom_protocol.vocabulary import CODES, Code

log = logging.getLogger("starloom.engine")
RETRY_MS = 200
_decode_input = msgspec.json.Decoder(AnyInput)
_encode_reply = msgspec.json.Encoder().encode


Bring = Callable[[str], Awaitable[None]]


async def take_remote(remote: InboxPort, inbox: Inbox, clock: Clock, bring: Bring) -> None:
    """Step what arrives, for ever; an outage of the store is waited for. `bring` has a constellation loaded."""
    pending: set[asyncio.Task[None]] = set()
    while True:
        try:
            async for delivery, raw in remote.take():
                task = asyncio.get_running_loop().create_task(_one(remote, inbox, delivery, raw, bring))
                pending.add(task)
                task.add_done_callback(pending.discard)
        except Unavailable as error:
            log.warning("event=inbox_unavailable reason=%s", error)
        await clock.wait(RETRY_MS)


async def _one(remote: InboxPort, inbox: Inbox, delivery: str, raw: bytes, bring: Bring) -> None:
    try:
        item = _decode_input.decode(raw)
        if isinstance(item, RequestReceived):
            await bring(item.constellation)
        reply = await inbox.ask(item)
    except msgspec.ValidationError as error:
        reply = Reply(faults=[_fault(Code.BAD_REQUEST, str(error))])
    except Overloaded as error:
        reply = Reply(faults=[_fault(Code.OVERLOADED, error.reason)])
    except (Unavailable, Refused, Damaged) as error:
        reply = Reply(faults=[_fault(Code.STORE_UNAVAILABLE, str(error))])
    try:
        await remote.settle(delivery, _encode_reply(reply))
    except Unavailable as error:
        log.warning("event=settle_unavailable delivery=%s reason=%s", delivery, error)


def _fault(code: Code, reason: str) -> Fault:
    return Fault(code=code, reason=reason, hint=CODES[code].hint)
