"""A fake model server on a loop of its own, for tests that are not async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.models.server import FakeModel, Reading, Say, fake_model
from tests.waiting import SLOWER


@contextmanager
def a_model(*says: Say | Reading, streams: bool = False) -> Iterator[FakeModel]:
    """Serve in a thread until the block ends."""
    up, over = threading.Event(), asyncio.Event()
    held: list[FakeModel] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with fake_model(*says, streams=streams) as fake:
            held.append(fake)
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert up.wait(60 * SLOWER), "the fake model did not start"
        yield held[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        loop.close()
