"""The writer of attempt logs: takes chunks from sockets and writes them in batches, in one thread, in order.

The queue is bounded: when the disk cannot follow, the newest chunks are left out; their offsets show the loss.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

CHUNKS_MAX = 10_000
"""The disk takes chunks one after another; of a tool that prints faster than the disk writes, output is lost and
counted."""
BYTES_MAX = 32 * 1024 * 1024
"""The output of all devices that may wait in memory; more would let one noisy tool take the memory of the hub."""
_log = logging.getLogger(__name__)
Chunk = tuple[str, str, int, int, str]


class LogStore(Protocol):
    """Where attempt logs are kept; its functions block and are run in a thread."""

    def append(self, constellation: str, task: str, attempt: int, offset: int, text: str) -> None: ...


class LogWriter:
    """The writer of one hub process; `run` writes until it is cancelled, `flush` waits for the queued chunks."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._queue: list[Chunk] = []
        self._bytes = 0
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.lost = 0

    def append(self, constellation: str, task: str, attempt: int, offset: int, text: str) -> None:
        """Queue one chunk."""
        if len(self._queue) >= CHUNKS_MAX or self._bytes + len(text) > BYTES_MAX:
            self.lost += 1
            return
        self._queue.append((constellation, task, attempt, offset, text))
        self._bytes += len(text)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Write batches until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._queue, self._bytes = self._queue, [], 0
            await asyncio.to_thread(self._write, batch)
            if not self._queue:
                self._idle.set()

    async def flush(self) -> None:
        """Wait until all that was queued is written."""
        await self._idle.wait()

    def _write(self, batch: Sequence[Chunk]) -> None:
        for chunk in batch:
            try:
                self._store.append(*chunk)
            except (OSError, ValueError):
                self.lost += 1
                _log.exception("a chunk of the log of %s %s #%d could not be written", *chunk[:3])
