"""What a connection costs: CPU of both sides for a handshake and for a message there and back, without a wire.

`python -m tests.bench.handshake`; the same file runs in the tree of an older commit, for a ratio on one machine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, a_world

ROUNDS = 5
HANDSHAKES = 60
MESSAGES = 2_000


async def least_s(once: Callable[[], Awaitable[None]], times: int) -> float:
    """Return the CPU seconds of one call, the least of some rounds."""
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            await once()
        found.append((time.process_time() - began) / times)
    return min(found)


async def measure(world: World, agent: Agent) -> str:
    async def handshake() -> None:
        await agent.dial(world)
        await agent.send(agent.hello())
        await agent.send(agent.prove(await agent.next(f.Challenge)))
        await agent.next(f.Welcome)
        assert agent.ws is not None
        await agent.ws.leave()

    async def there_and_back() -> None:
        await agent.send(f.Ping(at_ms=1))
        await agent.next(f.Pong)

    shaken = await least_s(handshake, HANDSHAKES)
    await agent.connect(world)
    said = await least_s(there_and_back, MESSAGES)
    return f"handshake {shaken * 1e3:.2f} ms, a message there and back {said * 1e6:.0f} us of CPU, both sides"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with a_world(Path(folder)) as world:
            print(await measure(world, await world.join("one")))


if __name__ == "__main__":
    asyncio.run(main())
