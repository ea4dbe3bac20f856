"""The fault proxy on a loop and a thread of its own, beside code that waits for processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from starloom.lab.proxy import FaultProxy

_ACT_S = 10.0


class ThreadedProxy:
    """One link. `do` carries out a fault on the proxy's own loop."""

    def __init__(self, port: int, *, seed: int = 0, raw: bool = False) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.proxy = FaultProxy("127.0.0.1", port, seed=seed, raw=raw)
        asyncio.run_coroutine_threadsafe(self.proxy.start(), self._loop).result(_ACT_S)
        self.url = self.proxy.url

    def do(self, fault: Callable[[FaultProxy], None]) -> None:
        async def act() -> None:
            fault(self.proxy)

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(_ACT_S)

    def close(self) -> None:
        """End every connection and the thread."""
        asyncio.run_coroutine_threadsafe(self.proxy.stop(), self._loop).result(_ACT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_ACT_S)
        self._loop.close()
