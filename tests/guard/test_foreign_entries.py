"""T248: a program that may write to Redis leaves entries in the inbox that no hub has written."""

from __future__ import annotations

import asyncio

import msgspec

from starloom.core.state import inputs as i
from starloom.engine.inputs.remote import RemoteInbox, take_remote
from starloom.engine.ports import Reply
from starloom.process.clock import HubClock
from starloom.store.redis import keys
from starloom_protocol.vocabulary import Code
from tests.store.harness import RedisWorld
from tests.waiting import PATIENCE_S

FOREIGN = [
    ("x", "y"),
    ("i", "{nonsense"),
    ("i", b"\xff\xfe"),
    ("i", ""),
    ("i", '{"type":"a_kind_of_a_later_release","id":"1"}'),
    ("i", '{"a":' + "[" * 100_000),
    ("a", b"\xff\xfe"),
]


class Taking(RemoteInbox):
    """The inbox of an engine that answers each input with its id."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    async def ask(self, item: i.AnyInput) -> Reply:
        self.taken.append(item.id)
        return Reply(value=item.id)


async def test_t248_no_entry_of_somebody_else_stops_the_hub(redis_world: RedisWorld) -> None:
    store, engine = await redis_world.store(), Taking()

    async def bring(name: str) -> None:
        del name

    async def takes() -> None:
        await take_remote(store.inbox, engine, HubClock(), bring, lambda: False)

    running = asyncio.create_task(takes())
    for name, value in FOREIGN:
        await redis_world.direct("XADD", keys.INBOX, "*", name, value)
    good = i.RequestReceived(by="person:ann", constellation="c1", id="mine", request="how are my machines")
    async with asyncio.timeout(PATIENCE_S):
        reply = await RemoteInbox(store.inbox).ask(good)
    assert (reply.value, engine.taken, running.done()) == ("mine", ["mine"], False)
    foreign = await store.inbox.post(b"{nonsense", answer_within_s=PATIENCE_S)
    assert foreign is not None
    assert msgspec.json.decode(foreign, type=Reply).faults[0].code is Code.BAD_REQUEST
    left = await redis_world.direct("XPENDING", keys.INBOX, keys.INBOX_GROUP)
    assert left["pending"] == 0, "none comes to the next owner"
    running.cancel()
    await asyncio.wait([running])
