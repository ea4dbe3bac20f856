"""The fault proxy beside synchronous tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from starloom.lab.proxy import FaultProxy


class ThreadedProxy:
    """The fault proxy on a loop of its own, so that tests can stay synchronous."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.proxy = FaultProxy("127.0.0.1", port)
        asyncio.run_coroutine_threadsafe(self.proxy.start(), self._loop).result(10)
        self.url = self.proxy.url

    def do(self, fault: Callable[[FaultProxy], None]) -> None:
        """Carry out a fault on the proxy's own loop."""

        async def act() -> None:
            fault(self.proxy)

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(10)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.proxy.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
